// SPDX-License-Identifier: BSD-2-Clause
// dtrace: makes, from a provider file, the header that sources include (-h), and the object that they are linked with (-G).
#include "files.h"
#include "header.h"
#include "object.h"
#include "parser.h"
#include "compiler.h"

#include <csignal>
#include <cstdio>
#include <optional>
#include <span>

#include <fastsdt/note.h>

namespace {

using namespace dtrace;

constexpr const char* usage_line =
    "usage: dtrace -h | -G  -s FILE  [-C] [-o FILE] [-I DIR] [-D NAME[=VALUE]] [-U NAME] [-k] [OBJECT...]\n";
constexpr const char* help =
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
Environment: CC, CPP, CFLAGS (for -G), TMPDIR. Exit status: 0 done, 1 the input or the compiler has an error, 2 usage.
)";

struct UsageError : std::runtime_error {
    using runtime_error::runtime_error;
};

struct Options {
    bool header = false, object = false, preprocess = false, keep = false, help = false, version = false;
    std::string input, output, cpp_path;
    std::vector<std::string> preprocessor; // -I, -D, -U as given
};

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

void append(std::vector<std::string>& to, const std::vector<std::string>& words)
{
    to.insert(to.end(), words.begin(), words.end());
}

std::string preprocessed(const Options& o)
{
    std::vector<std::string> command;
    if (!o.cpp_path.empty())
        command = split_words(o.cpp_path, "-x cpppath"), append(command, {"-E"});
    else if (command = environment_words("CPP"); command.empty())
        command = compiler(), append(command, {"-E"});
    append(command, {"-x", "c"}); // a compiler takes .d for something else
    append(command, o.preprocessor);
    append(command, {o.input});
    return run(command, "", true);
}

void write_object(const Options& o, const Model& model)
{
    TemporaryDirectory temporary(o.keep);
    const std::string source = object_text(model), object = temporary.path() + "/probes.o";
    std::vector<std::string> command = compiler();
    append(command, o.preprocessor);
    append(command, environment_words("CFLAGS"));
    // The names are used by notes, which LTO does not see. A sanitizer would put its own words between the semaphores.
    append(command, {"-fno-lto", "-fno-sanitize=all", "-fPIC", "-x", "c", "-c", "-", "-o", object});
    if (o.keep)
        write_file(temporary.path() + "/probes.c", source);
    run(command, source, false); // from a pipe: the name of a temporary file would be in its debug information
    write_file(o.output, read_file(object));
    if (o.keep)
        std::printf("dtrace: kept %s\n", temporary.path().c_str());
}

void work(const Options& o)
{
    const std::string source = o.preprocess ? preprocessed(o) : read_file(o.input);
    if (o.keep && o.preprocess) {
        TemporaryDirectory temporary(true);
        write_file(temporary.path() + "/preprocessed.d", source);
        std::printf("dtrace: kept %s\n", temporary.path().c_str());
    }
    const Model model = parse(source, o.input);
    if (o.header)
        write_file(o.output, header_text(model, o.input.substr(o.input.rfind('/') + 1)));
    else
        write_object(o, model);
}

} // namespace

int main(int argc, char** argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    try {
        const Options o = read_options({argv + 1, argv + argc});
        if (o.help)
            std::printf("%s%s", usage_line, help);
        else if (o.version)
            std::printf("dtrace (fastsdt) " FASTSDT_VERSION_STRING "\n");
        else
            work(o);
        if (std::fflush(stdout) != 0)
            throw Error("dtrace: error: cannot write to the standard output");
        return 0;
    } catch (const UsageError& e) {
        std::fprintf(stderr, "dtrace: error: %s\n%s", e.what(), usage_line);
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
