// SPDX-License-Identifier: BSD-2-Clause
#include "toolexec.h"

#include "base/unusable.h"
#include "elf/archive.h"
#include "elf/code_records.h"
#include "say.h"

#include <fastsdt/note.h>
#include <fmt/format.h>

#include <elf.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

extern "C" char** environ;

namespace fastsdt {
namespace {

constexpr int failed = 2;

// The status of the command, as a shell would have it. With `output` its standard output goes there.
int run(char** command, std::string* output)
{
    int ends[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output) {
        if (pipe(ends) != 0) {
            say(fmt::format("pipe: {}", strerror(errno)));
            return failed;
        }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
    }
    pid_t child = 0;
    const int error = posix_spawnp(&child, command[0], &actions, nullptr, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (output)
        close(ends[1]);
    if (error) {
        say(fmt::format("{}: cannot be run: {}", command[0], strerror(error)));
        if (output)
            close(ends[0]);
        return failed;
    }
    if (output) {
        char buffer[4096];
        for (;;) {
            const ssize_t size = read(ends[0], buffer, sizeof buffer);
            if (size > 0)
                output->append(buffer, size_t(size));
            else if (size == 0 || errno != EINTR)
                break;
        }
        close(ends[0]);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// go keeps what a linker has made by what it says its version is: this one's files are not those of the linker alone. Where the version ends
// with "buildID=...", as one that is no release does, go wants that at the end.
std::string version_line(std::string line)
{
    while (!line.empty() && line.back() == '\n')
        line.pop_back();
    const size_t last = line.rfind(' ');
    const bool build_id = last != line.npos && line.compare(last + 1, 8, "buildID=") == 0;
    line.insert(build_id ? last : line.size(), " fastsdt-index/" FASTSDT_VERSION_STRING);
    return line + '\n';
}

// The file of -o, with which go's linker is always called.
std::optional<std::string> output_of(char** arguments)
{
    for (; *arguments; ++arguments) {
        const std::string_view argument = *arguments;
        if (argument == "-o" && arguments[1])
            return arguments[1];
        if (argument.starts_with("-o="))
            return std::string(argument.substr(3));
    }
    return {};
}

// An executable or a library in whose code a record stands: fastsdt-gen itself has what one begins with in its data. Other systems' files and
// archives are not for this program, and a file without records stays as the linker has made it.
bool has_records(const std::string& path)
{
    const MappedFile file(path);
    const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    if (!text.starts_with(std::string_view(ELFMAG, SELFMAG)) || text.size() < EI_NIDENT + 2)
        return false;
    const auto type = static_cast<unsigned char>(text[EI_NIDENT + (text[EI_DATA] == ELFDATA2MSB ? 1 : 0)]);
    if ((type != ET_EXEC && type != ET_DYN)
        || text.find({code_record_magic, sizeof code_record_magic}) == text.npos) // reads no file in vain
        return false;
    bool found = false;
    const auto visit = [&](const Image& image) { found = !code_records(image).empty(); };
    Image::each(path, file.bytes(), visit, [](const Error&) {});
    return found;
}

} // namespace

int toolexec(char** command, const std::function<void(const std::string& path)>& index)
{
    const std::string_view path = command[0];
    if (path.substr(path.rfind('/') + 1) != "link") {
        execvp(command[0], command);
        say(fmt::format("{}: cannot be run: {}", command[0], strerror(errno)));
        return failed;
    }
    if (command[1] && std::string_view(command[1]) == "-V=full") {
        std::string line;
        const int status = run(command, &line);
        fmt::print("{}", status == 0 ? version_line(std::move(line)) : line);
        return status;
    }
    const int status = run(command, nullptr);
    const std::optional<std::string> output = output_of(command + 1);
    if (status != 0 || !output)
        return status;
    MappedFile::exit_when_shortened("fastsdt-index: a file was shortened while it was read\n", failed);
    try {
        if (has_records(*output))
            index(*output);
    } catch (const Unusable& error) {
        say(error.what());
        return failed;
    } catch (const std::exception& error) {
        say(fmt::format("{}: {}", *output, error.what()));
        return failed;
    }
    return 0;
}

} // namespace fastsdt
