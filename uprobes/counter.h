// SPDX-License-Identifier: BSD-2-Clause
// Counts the hits of many uprobes in one process, or in a process and what it forks, without stopping anything.
//
// From best to least, by what the kernel and our permissions allow:
//   one BPF link for all places (6.6), the process filtered by the kernel (6.10) or by the BPF program;
//   one perf event a place with that BPF program (5.15);
//   one perf event a place and CPU, which counts every process: Scope::everyone.
#pragma once
#include "bpf_program.h"
#include "uprobe.h"

#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

enum class Scope {
    process,  ///< one process with all its threads, those to come too
    tree,     ///< and all processes that it forks from now on, and those that they fork
    everyone, ///< every process that has the file mapped
};

/// The kernel's means to count, the best last.
enum class Means { perf_events, bpf_events, bpf_multi };

/// What was seen at one target.
struct Counted {
    int error = 0;     ///< errno of the attach; 0: attached
    uint64_t hits = 0; ///< of all threads in scope
    /// The target's bytes when it was hit, as the program sees them; empty: never hit, or return probe, or no BPF.
    std::vector<std::byte> live;
    /// The registers at one of the last hits, see SeenBytes; empty as `live`.
    std::vector<uint64_t> registers;
};

class Counter {
public:
    /// Attaches; nothing counts before start(). Other processes are left alone only in Scope::process. In the other
    /// scopes every process that has the file mapped runs into the probes, counted or not.
    /// Throws Unusable if permission is missing for any probe at all, or if there is no such process.
    /// @param best  nothing better is tried; for tests on kernels that can do better
    Counter(std::vector<Target> targets, pid_t pid, Scope scope, Means best = Means::bpf_multi);
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;
    ~Counter();

    Scope scope() const { return scope_; } ///< what is counted, which may be more than was asked for
    /// Why scope() is not what was asked for; one clause. Empty: it is.
    const std::string& limitation() const { return limitation_; }

    void start();         ///< all begin to count at once
    void start_at_exec(); ///< the same when the process executes a program, before its first instruction
    void stop();          ///< all stop counting at once
    Counted counted(size_t target) const;

    /// Readable when handle_notice() has something to do; -1: never.
    int notices() const { return programs_ ? programs_->notices() : -1; }
    void handle_notice();
    /// Whether processes or threads in scope still live that the first process forked. False without BPF.
    bool others_live() const;
    void root_ended(); ///< the kernel may give its number to another process from now on
    uint64_t lost_tasks() const { return programs_ ? programs_->state().lost_tasks : 0; }
    /// The process called exec from another thread than its first: hits between that and the new attach are missing.
    bool attached_again() const { return attached_again_; }

private:
    void attach();
    void attach_run(size_t first, size_t last);
    void attach_for_everyone();

    const std::vector<Target> targets_;
    const pid_t pid_;
    Scope scope_;
    Means means_;
    bool kernel_filters_ = false;
    std::string limitation_;
    std::vector<int> errors_;
    std::unique_ptr<BpfPrograms> programs_;
    std::vector<Descriptor> events_, links_;
    size_t events_per_target_ = 1;
    bool attached_again_ = false;
};

} // namespace fastsdt
