// SPDX-License-Identifier: BSD-2-Clause
// libiberty reads the names, as it does for binutils and gdb: C++ (Itanium ABI), and both of Rust's manglings. libstdc++'s
// __cxa_demangle() is the same code without Rust's.
//
// A name of 200 bytes can stand for more text than there is memory, since parts of it may refer to others. So the text is taken piece by
// piece, and too much of it ends the work.
#include "base/demangle.h"

#include <fnmatch.h>
#define HAVE_DECL_BASENAME 1 // libiberty.h would declare it anew, otherwise than <cstring> does in C++
#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>

namespace fastsdt {
namespace {

constexpr size_t longest_name = 4096, longest_text = 16384;

bool demangling = true;

struct Output {
    std::string& text; // has room for longest_text: append_demangled() must not throw through libiberty
    std::jmp_buf too_long;
};

void append_demangled(const char* part, size_t size, void* to)
{
    auto& output = *static_cast<Output*>(to);
    if (size > longest_text - output.text.size())
        std::longjmp(output.too_long,
                     1); // NOLINT(cert-err52-cpp): C has no exceptions, and has nothing to clear up here
    output.text.append(part, size);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

bool demangle_with(Demangler demangler, const std::string& name, int options, std::string& text)
{
    text.clear();
    text.reserve(longest_text);
    Output output{text, {}};
    if (setjmp(output.too_long) != 0) // NOLINT(cert-err52-cpp)
        return false;
    return demangler(name.c_str(), options, append_demangled, &output) != 0;
}

// @param options  DMGL_PARAMS: with what is in the parentheses, and a template's return type
std::string demangled(const std::string& name, int options)
{
    if (name.size() < 3 || name.size() > longest_name || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return {};
    std::string text;
    // Rust's first: its old names are such of C++, with a hash as their last part.
    if (demangle_with(rust_demangle_callback, name, options, text)
        || demangle_with(cplus_demangle_v3_callback, name, options, text))
        return std::string(text); // without the room
    return {};
}

// "f" of "f[abi:cxx11]": no source has that.
std::string without_tags(std::string text)
{
    for (size_t at = 0; (at = text.find("[abi:", at)) != text.npos;)
        text.erase(at, std::min(text.find(']', at), text.size() - 1) + 1 - at);
    return text;
}

// "ns::twice" of "ns::twice<int>" and of "app::twice::<i32>".
std::string without_template(const std::string& name)
{
    if (!name.ends_with('>') || name.find("operator") != name.npos)
        return name;
    size_t at = name.size(), depth = 0;
    do {
        --at;
        depth += name[at] == '>' && (at == 0 || name[at - 1] != '-') ? 1 : 0;
        depth -= name[at] == '<' ? 1 : 0;
    } while (at > 0 && depth > 0);
    if (depth != 0 || at == 0)
        return name;
    return name.substr(0, name.substr(0, at).ends_with("::") ? at - 2 : at);
}

// "f" of "f [clone .isra.0]"
std::string without_clone(std::string text)
{
    text.resize(std::min(text.find(" [clone "), text.size()));
    return text;
}

// Rust's v0: "r::Cart::add" of "<r::Cart>::add", but nothing of "<r::Cart as r::Shop>::add".
std::string without_brackets(const std::string& name)
{
    if (!name.starts_with('<'))
        return name;
    size_t at = 0, depth = 0;
    do {
        depth += name[at] == '<' ? 1 : 0;
        depth -= name[at] == '>' && name[at - 1] != '-' ? 1 : 0;
        ++at;
    } while (at < name.size() && depth > 0);
    const std::string type = name.substr(1, at - 2);
    return depth != 0 || type.find(" as ") != type.npos ? name : type + name.substr(at);
}

// The brackets of parameters, and not of "(anonymous namespace)".
bool has_parameters(std::string wanted)
{
    constexpr std::string_view anonymous = "(anonymous namespace)";
    for (size_t at = 0; (at = wanted.find(anonymous)) != wanted.npos;)
        wanted.erase(at, anonymous.size());
    return wanted.find('(') != wanted.npos;
}

} // namespace

std::string demangled(const std::string& name)
{
    return demangled(name, DMGL_PARAMS | DMGL_ANSI);
}

std::string source_name(const std::string& name)
{
    return without_tags(without_clone(demangled(name, DMGL_NO_OPTS)));
}

bool has_source_name(const std::string& name, const std::string& wanted)
{
    const auto fits = [&](const std::string& text) {
        return !text.empty() && (wanted == text || fnmatch(wanted.c_str(), text.c_str(), 0) == 0);
    };
    if (wanted == "*" || fits(name)) // that of C, or of an extern "C"
        return true;
    if (has_parameters(wanted)) {
        const std::string text = without_clone(demangled(name));
        return fits(text) || fits(without_tags(text));
    }
    const std::string text = source_name(name);
    return fits(text)
        || (wanted.find('<') == wanted.npos
            && (fits(without_template(text)) || fits(without_template(without_brackets(text)))));
}

std::string shown_name(const std::string& name)
{
    std::string text = demangling ? demangled(name) : std::string();
    return text.empty() ? name : text;
}

void set_demangling(bool on)
{
    demangling = on;
}

} // namespace fastsdt
