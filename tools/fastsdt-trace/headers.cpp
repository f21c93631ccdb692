// SPDX-License-Identifier: BSD-2-Clause
#include "headers.h"

#include "base/search_path.h"
#include "base/unusable.h"
#include "output_of.h"
#include "process/debug_types.h"
#include "process/signals_blocked.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fastsdt::trace_tool {
namespace {

constexpr std::string_view prefix = "fastsdt_value_"; ///< of a constant that has the value of a macro

class Compiler {
public:
    explicit Compiler(const std::vector<std::string>& folders) : folders_(folders)
    {
        const char* const wanted = std::getenv("CC");
        for (const std::string& each :
             {std::string(wanted ? wanted : ""), std::string("cc"), std::string("gcc"), std::string("clang")})
            if (program_.empty() && !each.empty())
                program_ = each.find('/') == each.npos ? in_search_path(each) : each;
        if (program_.empty())
            throw Unusable({"#include needs a C compiler, and there is none", {}, "CC names one"});
        std::string folder = (std::filesystem::temp_directory_path() / "fastsdt-headers.XXXXXX").string();
        if (!mkdtemp(folder.data()))
            throw Unusable(Error::of_system(errno, folder));
        folder_ = folder;
    }
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;
    ~Compiler()
    {
        std::error_code error;
        std::filesystem::remove_all(folder_, error);
    }

    /// The macros that a text has at its end: "#define NAME VALUE" each.
    std::string macros(const std::string& text) const { return run(text, {"-E", "-dM"}, true); }
    /// A file with the debug information of a text. Empty: the compiler has refused it. @param is_quiet  and does not say why
    std::string compiled(const std::string& text, bool is_quiet) const
    {
        const std::string file = folder_ / "headers.so";
        std::filesystem::remove(file);
        run(text, {"-g", "-fno-eliminate-unused-debug-types", "-shared", "-fPIC", "-nostdlib", "-w", "-o", file},
            is_quiet);
        return std::filesystem::exists(file) ? file : "";
    }

private:
    std::string run(const std::string& text, const std::vector<std::string>& options, bool is_quiet) const
    {
        const std::string source = folder_ / "headers.c";
        std::ofstream(source) << text;
        std::vector<std::string> words = {"sh", "-c", is_quiet ? "exec \"$@\" 2>/dev/null" : "exec \"$@\"", "sh",
                                          program_};
        for (const std::string& each : folders_)
            words.push_back("-I" + each);
        words.insert(words.end(), options.begin(), options.end());
        words.push_back(source);
        const auto printed = output_of("/bin/sh", std::move(words));
        if (!printed)
            throw Unusable(Error::of_system(errno, "/bin/sh"));
        return *printed;
    }

    // What ends this process waits, since the folder would stay: it is the first here, and so the last that goes. The compiler gets its signals.
    const engine::SignalsBlocked blocked_;
    const std::vector<std::string>& folders_;
    std::string program_;
    std::filesystem::path folder_;
};

} // namespace

engine::Declared CompiledHeaders::read(const std::vector<std::string>& includes, const std::set<std::string>& words)
{
    std::string text;
    for (const std::string& each : includes)
        text += fmt::format("#include {}\n", each);
    const Compiler compiler(folders_);
    std::vector<std::string> constants; // macros without parameters that the script may mean
    std::istringstream lines(compiler.macros(text));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream parts(line);
        std::string define, name, value;
        parts >> define >> name >> value;
        if (words.contains(name) && !value.empty())
            constants.push_back(name);
    }
    const std::string file = compiler.compiled(text, false);
    if (file.empty())
        throw Unusable(
            {fmt::format("the C compiler refuses {}", fmt::join(includes, ", ")), {}, "-I DIR says where headers are"});
    engine::Declared declared = engine::declared_in(file);
    // All at once, and one by one where the compiler refuses that: a macro that is no number is none of C's constants.
    const auto add = [&](const std::vector<std::string>& names) {
        std::string with = text;
        for (const std::string& name : names)
            with += fmt::format("enum {{ {}{} = (long long)({}) }};\n", prefix, name, name);
        const std::string made = names.empty() ? "" : compiler.compiled(with, true);
        if (made.empty())
            return false;
        const engine::Declared known = engine::declared_in(made);
        for (const std::string& name : names)
            if (const auto found = known.constants.find(std::string(prefix) + name); found != known.constants.end())
                declared.constants[name] = {found->second.first, nullptr};
        return true;
    };
    if (!add(constants) && constants.size() > 1)
        for (const std::string& name : constants)
            add({name});
    return declared;
}

engine::Surroundings surroundings(const Options& options, engine::Headers& headers)
{
    engine::Surroundings found;
    found.is_newer = options.is_newer;
    found.headers = &headers;
    for (const std::string& each : options.includes)
        found.includes.push_back(fmt::format("<{}>", each));
    for (const auto& [variable, setting] :
         {std::pair("BPFTRACE_STACK_MODE", "stack_mode"), std::pair("BPFTRACE_MAX_CAT_BYTES", "max_cat_bytes"),
          std::pair("BPFTRACE_DUMMY_TS_MAP", "dummy_ts_map")})
        if (const char* const text = std::getenv(variable))
            found.settings.emplace_back(setting, text);
    return found;
}

} // namespace fastsdt::trace_tool
