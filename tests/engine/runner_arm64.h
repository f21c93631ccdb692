// SPDX-License-Identifier: BSD-2-Clause
// The other end of a program that executes arm64 code, for another machine under qemu-user: FASTSDT_RUNNER is its command.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

class RunnerPipe {
public:
    RunnerPipe()
    {
        int to[2], from[2];
        if (pipe(to) < 0 || pipe(from) < 0)
            throw std::runtime_error("pipe");
        child_ = fork();
        if (child_ == 0) {
            dup2(to[0], 0);
            dup2(from[1], 1);
            for (const int end : {to[0], to[1], from[0], from[1]})
                close(end);
            execl("/bin/sh", "sh", "-c", (std::string("exec ") + std::getenv("FASTSDT_RUNNER")).c_str(), nullptr);
            _exit(127);
        }
        close(to[0]);
        close(from[1]);
        to_ = to[1];
        from_ = from[0];
    }
    RunnerPipe(const RunnerPipe&) = delete;
    RunnerPipe& operator=(const RunnerPipe&) = delete;
    ~RunnerPipe()
    {
        close(to_);
        close(from_);
        waitpid(child_, nullptr, 0);
    }

    void get(void* bytes, size_t size) const
    {
        for (auto* at = static_cast<char*>(bytes); size > 0;) {
            const ssize_t n = read(from_, at, size);
            if (n <= 0)
                throw std::runtime_error("the runner has ended");
            at += n;
            size -= static_cast<size_t>(n);
        }
    }
    void put(const void* bytes, size_t size) const
    {
        for (const auto* at = static_cast<const char*>(bytes); size > 0;) {
            const ssize_t n = write(to_, at, size);
            if (n <= 0)
                throw std::runtime_error("the runner has ended");
            at += n;
            size -= static_cast<size_t>(n);
        }
    }

private:
    pid_t child_ = 0;
    int to_ = -1, from_ = -1;
};
