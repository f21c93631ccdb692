// SPDX-License-Identifier: BSD-2-Clause
// bpftrace as a child process.
#pragma once
#include "base/descriptor.h"
#include "process.h"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt::trace_tool {

/// What a script of ours has it print when all probes are attached.
inline constexpr std::string_view attached_line = "fastsdt-trace: all probes are attached";

/// The words as execvp() wants them. They have to outlive it.
std::vector<char*> pointers(const std::vector<std::string>& words);

/// In a process group of its own: a Ctrl-C comes to us, and we say what it shall do. It ends with us, whatever ends us.
class Bpftrace {
public:
    /// Its standard output is output(). Throws Unusable.
    Bpftrace(const std::vector<std::string>& command, const Signals& signals);
    Bpftrace(const Bpftrace&) = delete;
    Bpftrace& operator=(const Bpftrace&) = delete;
    ~Bpftrace(); ///< kills it, if it was not reaped

    int output() const { return output_.get(); }
    void interrupt() const;    ///< it detaches, prints its maps and ends
    void ask_for_maps() const; ///< it prints them, and goes on
    /// bpftrace 0.17 does not notice a signal that comes while it does not wait for events, as long as none come
    /// (BPFtrace::poll_perf_events()), and dies of a second interrupt. A stop ends its epoll_wait() without a signal.
    void remind() const;
    void end() const; ///< kills it, and what it has started
    /// Waits for its end, and kills what it has started. @return  its status as from waitpid
    int reap();

private:
    pid_t pid_ = -1;
    Descriptor output_;
};

} // namespace fastsdt::trace_tool
