// SPDX-License-Identifier: BSD-2-Clause
#include "compiler.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dtrace {
namespace {

bool on_path(const std::string& program)
{
    const char* path = std::getenv("PATH");
    std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        const size_t colon = rest.find(':');
        const std::string folder(rest.substr(0, colon));
        if (access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0)
            return true;
        if (colon == rest.npos)
            return false;
        rest.remove_prefix(colon + 1);
    }
}

struct Pipe {
    int read = -1, write = -1;
    Pipe()
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw Unusable(fastsdt::Error::of_system(errno, "a pipe"));
        read = ends[0], write = ends[1];
    }
    ~Pipe() { close_end(read), close_end(write); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    static void close_end(int& end)
    {
        if (end >= 0)
            close(end);
        end = -1;
    }
};

} // namespace

std::vector<std::string> split_words(std::string_view text, std::string_view of)
{
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (std::strchr(" \t\n\r\v\f", c) && c) {
            if (in_word)
                words.push_back(std::move(word));
            word.clear();
            in_word = false;
            continue;
        }
        if (c == '\\' && i + 1 < text.size()) {
            if (text[++i] == '\n') // continued line
                continue;
            word += text[i];
        } else if (c == '\'' || c == '"') {
            const size_t open = i;
            for (++i; i < text.size() && text[i] != c; ++i) {
                if (c == '"' && text[i] == '\\' && i + 1 < text.size() && std::strchr("\"\\$`", text[i + 1]))
                    ++i;
                word += text[i];
            }
            if (i == text.size())
                throw Unusable({"a quote is never closed: " + std::string(text.substr(open)), std::string(of)});
        } else
            word += c;
        in_word = true;
    }
    if (in_word)
        words.push_back(std::move(word));
    return words;
}

std::vector<std::string> environment_words(const char* variable)
{
    const char* value = std::getenv(variable);
    return value ? split_words(value, variable) : std::vector<std::string>{};
}

std::vector<std::string> compiler()
{
    std::vector<std::string> words = environment_words("CC");
    if (!words.empty())
        return words;
    for (const char* name : {"cc", "gcc", "clang"})
        if (on_path(name))
            return {name};
    throw Unusable({"there is no compiler: none of cc, gcc and clang is on the PATH", {}, "set CC"});
}

std::string run(const std::vector<std::string>& command, std::string_view input, bool wants_output)
{
    Pipe in, out;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.read, 0);
    if (wants_output)
        posix_spawn_file_actions_adddup2(&actions, out.write, 1);
    posix_spawnattr_t attributes; // we ignore SIGPIPE, and the compiler should not
    posix_spawnattr_init(&attributes);
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

    std::vector<char*> words;
    std::string shown;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
        shown += (shown.empty() ? "" : " ") + word;
    }
    words.push_back(nullptr);
    pid_t child;
    const int failed = posix_spawnp(&child, words[0], &actions, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed)
        throw Unusable(fastsdt::Error::of_system(failed, command[0]));
    Pipe::close_end(in.read);
    Pipe::close_end(out.write);
    fcntl(in.write, F_SETFL, O_NONBLOCK);
    if (!wants_output)
        Pipe::close_end(out.read);

    // A child that does not read its input, or writes before it reads, must not stop us.
    std::string output;
    char buffer[65536];
    if (input.empty())
        Pipe::close_end(in.write);
    while (in.write >= 0 || out.read >= 0) {
        pollfd ends[2] = {{in.write, POLLOUT, 0}, {out.read, POLLIN, 0}}; // a negative one is left out
        if (poll(ends, 2, -1) < 0 && errno != EINTR)
            break;
        if (ends[0].revents) {
            const ssize_t n = write(in.write, input.data(), input.size());
            if (n >= 0)
                input.remove_prefix(size_t(n));
            if (input.empty() || (n < 0 && errno != EAGAIN && errno != EINTR))
                Pipe::close_end(in.write);
        }
        if (ends[1].revents) {
            const ssize_t n = read(out.read, buffer, sizeof buffer);
            if (n > 0)
                output.append(buffer, size_t(n));
            else if (n == 0 || errno != EINTR)
                Pipe::close_end(out.read);
        }
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status))
        throw Unusable({"killed by signal " + std::to_string(WTERMSIG(status)), shown});
    if (WEXITSTATUS(status) != 0)
        throw Unusable({"exit status " + std::to_string(WEXITSTATUS(status)), shown});
    return output;
}

} // namespace dtrace
