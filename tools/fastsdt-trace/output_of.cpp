// SPDX-License-Identifier: BSD-2-Clause
#include "output_of.h"

#include "base/descriptor.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::trace_tool {

std::optional<std::string> output_of(const std::string& program, std::vector<std::string> words)
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) < 0)
        return std::nullopt;
    const Descriptor from(ends[0]);
    Descriptor to(ends[1]);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to.get(), STDOUT_FILENO);
    posix_spawnattr_init(&how);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&how, &none); // the tool blocks those that it waits for
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawn(&child, program.c_str(), &files, &how, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    to.reset();
    if (error != 0) {
        errno = error;
        return std::nullopt;
    }
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 1; got > 0;) {
        got = read(from.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            text.append(piece.data(), size_t(got));
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    return text;
}

} // namespace fastsdt::trace_tool
