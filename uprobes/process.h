// SPDX-License-Identifier: BSD-2-Clause
// Processes that are probed: starting one, waiting for one and for signals, what a running one has mapped.
#pragma once
#include "base/descriptor.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

struct Mapping;

/// Every signal that would end this process, and that a process can hold back, as a descriptor while this lives; none is
/// lost between two looks. None that says that this process itself went wrong. SIGPIPE is ignored: the reader of a report may go away, and
/// everything is undone all the same.
class Signals {
public:
    Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    ~Signals();

    struct Signal {
        int number = 0;
        bool from_terminal = false; ///< its whole foreground process group got it
    };
    int descriptor() const { return descriptor_.get(); }
    std::optional<Signal> next(); ///< without waiting
    void as_before() const;       ///< for a child, before it executes a program

private:
    Descriptor descriptor_;
    sigset_t former_{};
    void (*former_pipe_)(int) = nullptr;
};

/// A started program that waits for go() before it executes anything of its own. Until release() it ends when this process does, however
/// that ends: nobody else would let it go on. After that it ends by itself. No PR_SET_PDEATHSIG: a program cannot be made to forget that.
class Launched {
public:
    /// Throws Unusable if there can be no new process.
    Launched(const std::vector<std::string>& command, const Signals& signals);
    Launched(const Launched&) = delete;
    Launched& operator=(const Launched&) = delete;
    ~Launched(); ///< kills it if it was not released

    pid_t pid() const { return pid_; }
    void go();      ///< executes the command. Throws Unusable if it cannot be executed
    void release(); ///< it is, or will be, let go on, and is its own
    bool is_released() const { return !held_; }
    /// After its end: its status as from waitpid, and the CPU seconds of it and all that it waited for.
    struct End {
        int wait_status = 0;
        double cpu_seconds = 0;
    };
    End reap();
    /// Sends a signal; one from the terminal only if the program is not in our process group and so has not got it.
    void pass_on(Signals::Signal signal);

private:
    std::string name_;
    pid_t pid_ = -1, guard_ = -1; // the latter waits for the end of held_
    Descriptor go_, failed_, held_;
};

/// A descriptor that becomes readable when the process with all its threads has ended. Throws Unusable.
Descriptor open_process(pid_t pid);

/// Waits until one of the descriptors (-1: none) is readable or the time has come. No polling.
/// @return  for each descriptor, whether it is readable
std::vector<bool> wait_readable(const std::vector<int>& descriptors,
                                std::optional<std::chrono::steady_clock::time_point> until);

/// Whether a process has mapped a file.
struct FoundMapping {
    bool mapped = false;           ///< by device and inode, executable
    std::string replaced_by_other; ///< the path, if the process has mapped another file of that path
};
FoundMapping find_mapped(pid_t pid, const std::string& path);
FoundMapping find_mapped(pid_t pid, const std::string& path, const std::vector<Mapping>& mappings); ///< these it has

/// Runtime address in `pid` of the byte at `file_offset` of the file `path`, where it is mapped executable. Empty: nowhere.
std::optional<uint64_t> runtime_address(pid_t pid, const std::string& path, uint64_t file_offset);
/// Up to `size` bytes of the process's memory; fewer, or none, if they cannot be read.
std::vector<std::byte> read_memory(pid_t pid, uint64_t address, size_t size);

} // namespace fastsdt
