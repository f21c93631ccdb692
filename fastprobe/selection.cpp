// SPDX-License-Identifier: BSD-2-Clause
#include "selection.h"

#include <cxxabi.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fastprobe {
namespace {

/// "ns::f(int) const" -> "ns::f"; empty when there is no parameter list.
std::string without_parameters(const std::string& name)
{
    size_t close = name.rfind(')');
    if (close == std::string::npos)
        return "";
    int depth = 0;
    for (size_t at = close + 1; at-- > 0;) {
        if (name[at] == ')')
            depth++;
        if (name[at] == '(' && --depth == 0)
            return name.substr(0, at);
    }
    return "";
}

/// "int ns::f<int>(int)" -> "ns::f<int>(int)": only names of templates begin with the type of the result. Empty: there is none.
std::string without_result(const std::string& name)
{
    const size_t operators = name.find("operator"); // "bool operator==<int>", "operator new"
    size_t last = std::string::npos;
    int depth = 0;
    for (size_t at = 0; at < std::min(operators, name.size()); at++) {
        const char c = name[at];
        if (c == '(' && depth == 0 && at > 0 && name[at - 1] != ' '
            && name.compare(at, 21, "(anonymous namespace)") != 0)
            break; // the parameters
        if (c == '<' || c == '(' || c == '[' || c == '{')
            depth++;
        if (c == '>' || c == ')' || c == ']' || c == '}')
            depth--;
        if (c == ' ' && depth == 0)
            last = at;
    }
    return last == std::string::npos ? "" : name.substr(last + 1);
}

} // namespace

std::string without_clone_suffix(const std::string& symbol)
{
    size_t dot = symbol.find('.', 1);
    return dot == std::string::npos ? symbol : symbol.substr(0, dot);
}

std::string source_name(const std::string& symbol)
{
    std::string base = without_clone_suffix(symbol);
    if (base.compare(0, 2, "_Z") != 0)
        return base;
    int status = 0;
    char* demangled = abi::__cxa_demangle(base.c_str(), nullptr, nullptr, &status);
    std::string result = status == 0 && demangled ? demangled : base;
    free(demangled);
    return result;
}

fastsdt::Result<void> Selection::add(Regexes& to, const char* regex)
{
    auto compiled = new regex_t;
    if (int code = regcomp(compiled, regex, REG_EXTENDED | REG_NOSUB)) {
        char text[256];
        regerror(code, compiled, text, sizeof text);
        delete compiled; // regcomp() failed: there is nothing for regfree()
        return fastsdt::Error{text, "bad regular expression '" + std::string(regex) + "'"};
    }
    to.emplace_back(compiled);
    return {};
}

fastsdt::Result<void> Selection::add_list(const char* path)
{
    const auto cannot_read = [&](int code) {
        return fastsdt::Error::of_system(code, "cannot read '" + std::string(path) + "'");
    };
    FILE* file = fopen(path, "re");
    if (!file)
        return cannot_read(errno);
    char* line = nullptr;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) >= 0) {
        std::string text(line, strcspn(line, "#\r\n"));
        size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
        if (begin != std::string::npos)
            list_.try_emplace(text.substr(begin, end - begin + 1), false);
    }
    bool failed = ferror(file) != 0;
    int reason = errno;
    free(line);
    fclose(file);
    has_list_ = true;
    if (failed)
        return cannot_read(reason);
    return {};
}

bool Selection::selects(const std::string& symbol) const
{
    if (include_.empty() && exclude_.empty() && !has_list_)
        return true;
    asked_ = true;
    std::string source = source_name(symbol);
    auto any = [&](const Regexes& regexes) {
        for (const auto& regex : regexes)
            if (regexec(regex.get(), symbol.c_str(), 0, nullptr, 0) == 0
                || regexec(regex.get(), source.c_str(), 0, nullptr, 0) == 0)
                return true;
        return false;
    };
    if (any(exclude_))
        return false;
    if (include_.empty() && !has_list_)
        return true;
    const std::string short_name = without_parameters(source);
    const bool named = listed(symbol) | listed(without_clone_suffix(symbol)) | listed(source) | listed(short_name)
        | listed(without_result(source)) | listed(without_result(short_name));
    return named || any(include_);
}

bool Selection::listed(const std::string& name) const
{
    const auto found = list_.find(name);
    if (found == list_.end())
        return false;
    found->second = true;
    return true;
}

std::vector<std::string> Selection::unmatched() const
{
    std::vector<std::string> names;
    for (const auto& [name, matched] : list_)
        if (asked_ && !matched)
            names.push_back(name);
    return names;
}

} // namespace fastprobe
