// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <optional>
#include <string_view>

namespace dtrace {

const char* const usage_line =
    "usage: dtrace -h | -G  -s FILE  [-C] [-o FILE] [-I DIR] [-D NAME[=VALUE]] [-U NAME] [-k] [OBJECT...]\n";
const char* const help =
    R"(Reads a provider file and makes the header that sources include, or the object that they are linked with.

  -h            make the header: for each probe PROVIDER_NAME(...) and PROVIDER_NAME_ENABLED()
  -G            make the object: it defines the semaphores
  -s FILE       the provider file
  -o FILE       the output (default: the provider file's name with the suffix .h or .o, in the current directory)
  -C            run the preprocessor on the provider file first: CPP, or CC -E
  -I DIR, -D NAME[=VALUE], -U NAME
                for the preprocessor, and for the compiler of -G
  -x cpppath=COMMAND
                the preprocessor is COMMAND -E
  -k            keep the temporary files and say where
      --help    this text
  -V, --version the version

Accepted without effect, for builds made for other systems: other -x options, -32, -64, -fpic, -fPIC, --types, objects.
Examples:
  dtrace -h -s shop.d -o shop.h
  dtrace -G -s shop.d -o shop_probes.o
Environment: CC, CPP, CFLAGS (for -G), TMPDIR. Exit status: 0 done, 1 the input or the compiler has an error, 2 usage.
)";

Options read_options(std::span<char*> words)
{
    Options o;
    std::optional<std::string> input, output;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        // The rest of the word or the next one.
        auto value = [&](const char* what) -> std::string {
            if (word.size() > 2)
                return std::string(word.substr(2));
            if (++i == words.size())
                throw UsageError(std::string(word) + " needs " + what);
            return words[i];
        };
        auto once = [&](std::optional<std::string>& option, const char* what) {
            std::string v = value(what);
            if (option)
                throw UsageError(std::string(word.substr(0, 2)) + " is given twice: " + *option + " and " + v);
            if (v.empty())
                throw UsageError(std::string(word.substr(0, 2)) + " needs " + what);
            option = std::move(v);
        };
        if (word == "-h")
            o.header = true;
        else if (word == "-G")
            o.object = true;
        else if (word == "-C")
            o.preprocess = true;
        else if (word == "-k")
            o.keep = true;
        else if (word == "--help")
            o.help = true;
        else if (word == "-V" || word == "--version")
            o.version = true;
        else if (word == "-32" || word == "-64" || word == "-fpic" || word == "-fPIC" || word == "--types") {
        } else if (word.starts_with("-s"))
            once(input, "a file");
        else if (word.starts_with("-o"))
            once(output, "a file");
        else if (word.starts_with("-I") || word.starts_with("-D") || word.starts_with("-U"))
            o.preprocessor.push_back(std::string(word.substr(0, 2)) + value(word[1] == 'I' ? "a directory" : "a name"));
        else if (word.starts_with("-x")) {
            const std::string option = value("an option");
            if (option.starts_with("cpppath="))
                o.cpp_path = option.substr(8);
        } else if (word.starts_with("-"))
            throw UsageError("unknown option " + std::string(word));
        // anything else: an object to link with, which DTrace on other systems rewrites
    }
    if (o.help || o.version)
        return o;
    if (o.header == o.object)
        throw UsageError(o.header ? "-h and -G are two runs" : "-h or -G says what to make");
    if (!input)
        throw UsageError("-s FILE says what the probes are");
    o.input = *input;
    if (output)
        o.output = *output;
    else {
        std::string name = o.input.substr(o.input.rfind('/') + 1); // npos + 1 is 0
        if (const size_t dot = name.rfind('.'); dot != name.npos && dot != 0)
            name.resize(dot);
        o.output = name + (o.header ? ".h" : ".o");
    }
    return o;
}

} // namespace dtrace
