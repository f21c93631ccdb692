// SPDX-License-Identifier: BSD-2-Clause
// dtrace: makes, from a provider file, the header that sources include (-h), and the object that they are linked with (-G).
#include "files.h"
#include "header.h"
#include "object.h"
#include "options.h"
#include "parser.h"
#include "compiler.h"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include <fastsdt/note.h>

namespace {

using namespace dtrace;

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
    const std::string source = object_text(model);
    std::string contents;
    {
        TemporaryDirectory temporary(o.keep);
        const std::string object = temporary.path() + "/probes.o";
        std::vector<std::string> command = compiler();
        append(command, o.preprocessor);
        append(command, environment_words("CFLAGS"));
        // The names are used by notes, which LTO does not see. A sanitizer would put its own words between the semaphores.
        append(command, {"-fno-lto", "-fno-sanitize=all", "-fPIC", "-x", "c", "-c", "-", "-o", object});
        if (o.keep)
            write_file(temporary.path() + "/probes.c", source);
        run(command, source, false); // from a pipe: the name of a temporary file would be in its debug information
        contents = read_file(object);
        if (o.keep)
            std::printf("dtrace: kept %s\n", temporary.path().c_str());
    }
    // Now that no signal has anything to remove: it waits until the file is in its place.
    write_file(o.output, contents);
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
            throw Unusable(fastsdt::Error::of_system(errno, "the standard output"));
        return 0;
    } catch (const UsageError& e) {
        std::fprintf(stderr, "dtrace: %s\n%s", e.what(), usage_line);
        return 2;
    } catch (const Misread& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "dtrace: %s\n", e.what());
        return 1;
    }
}
