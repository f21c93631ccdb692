// SPDX-License-Identifier: BSD-2-Clause
// Whose hits a BPF program counts, and since when: a test that programs begin with, and programs that follow forks and exits.
#pragma once
#include "bpf.h"

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

/// Which processes' hits a program counts.
enum class Members {
    everyone, ///< or whom the kernel's own filter lets through
    process,  ///< one process with all its threads
    tree,     ///< and what it forks, and what that forks, from then on
    listed,   ///< those that are listed
    trees,    ///< and what they fork, from then on
};

/// Shared with the programs, through memory.
struct CounterState {
    uint32_t running = 0;        ///< hits count
    uint32_t root = 0;           ///< the process, as getpid() there says in this process's pid namespace; 0: gone
    uint32_t starts_at_exec = 0; ///< set `running` when the root process executes a program
    uint32_t pad = 0;
    uint64_t live_tasks = 0; ///< of the tree, without the root's own first threads
    uint64_t lost_tasks = 0; ///< that there was no room for: their hits are missing
};

/// What the programs report without being asked.
enum class Notice : uint64_t {
    tree_empty = 1,     ///< live_tasks has become 0
    leader_changed = 2, ///< the root process called exec from another thread than its first
};

/// Code that has in r0 the process of the current task, as this process knows it. Changes r1 to r5, uses the stack at -32.
void own_number(BpfAssembler& code, BpfAssembler::Label not_here);

class BpfMembers {
public:
    /// Throws Unusable if the kernel refuses. `where` is what it refused.
    explicit BpfMembers(Members members);
    BpfMembers(const BpfMembers&) = delete;
    BpfMembers& operator=(const BpfMembers&) = delete;
    ~BpfMembers();

    CounterState& state() { return *state_; }
    /// Whether hits count from now on.
    void count(bool yes) { __atomic_store_n(&state_->running, yes ? 1 : 0, __ATOMIC_SEQ_CST); }
    /// listed, trees. @return  false: there is no room
    bool list(pid_t pid) { return write(pid, true); }
    void unlist(pid_t pid) { write(pid, false); }

    /// Goes to `no` unless hits count, and the current task is one whose hits do. Changes r0 to r5, uses the stack from -8 to -32.
    void test(BpfAssembler& code, BpfAssembler::Label no) const;

    /// A descriptor that becomes readable with a notice.
    int notices() const;
    /// The next notice, without waiting.
    std::optional<Notice> next_notice();

private:
    bool write(pid_t pid, bool is_member) const;
    void test_root(BpfAssembler& code, BpfAssembler::Label yes) const;
    void test_member(BpfAssembler& code, BpfAssembler::Label no) const;
    void attach_new_task(const char* tracepoint, int child, bool last);
    void attach_ended_task(const char* tracepoint);
    void attach_exec();
    void attach(const char* tracepoint, BpfAssembler& code);
    void add_to_state(BpfAssembler& code, size_t field, int32_t value) const;
    void send(BpfAssembler& code, Notice notice) const;

    const Members members_;
    BpfMap config_, tasks_, ring_, list_;
    std::vector<Descriptor> attached_; // programs at tracepoints
    CounterState* state_ = nullptr;
    std::optional<BpfRing> queue_;
    std::vector<Notice> noticed_;
};

} // namespace fastsdt
