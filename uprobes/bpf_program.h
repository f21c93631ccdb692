// SPDX-License-Identifier: BSD-2-Clause
// The BPF programs that count, a few instructions each, assembled here so that neither clang nor BTF is needed.
#pragma once
#include "base/layouts.h"
#include "base/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

inline constexpr uint32_t bpf_trace_uprobe_multi = 48; ///< BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h of 6.6

/// Which processes' hits a program counts.
enum class Members {
    everyone, ///< or whom the kernel's own filter lets through
    process,  ///< one process with all its threads
    tree,     ///< and what it forks, and what that forks, from then on
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

/// How many bytes are read at a uprobe's place, as the probed program sees them.
inline constexpr size_t seen_size = 16;
static_assert(seen_size >= longest_layout);
/// Registers as the kernel's struct pt_regs has them (arm64: its first part, user_pt_regs).
#if defined(__x86_64__)
inline constexpr size_t seen_registers = 21;
#elif defined(__aarch64__)
inline constexpr size_t seen_registers = 34;
#else
inline constexpr size_t seen_registers = 1;
#endif
struct SeenBytes {
    unsigned char bytes[seen_size];
    uint64_t registers[seen_registers];
    uint64_t valid;
};

/// What the programs report without being asked.
enum class Notice : uint64_t {
    tree_empty = 1,     ///< live_tasks has become 0
    leader_changed = 2, ///< the root process called exec from another thread than its first
};

/// The programs and their maps for `size` targets. Numbers of targets are cookies.
class BpfPrograms {
public:
    /// Throws Unusable if the kernel refuses. `where` is what it refused.
    BpfPrograms(size_t size, Members members, bool multi);
    BpfPrograms(const BpfPrograms&) = delete;
    BpfPrograms& operator=(const BpfPrograms&) = delete;
    ~BpfPrograms();

    int entry_program() const { return entry_.get(); }
    int return_program() const { return return_.get(); }
    CounterState& state() { return *state_; }

    uint64_t hits(size_t target) const;
    std::optional<SeenBytes> seen(size_t target) const;
    /// A descriptor that becomes readable with a notice.
    int notices() const;
    /// The next notice, without waiting.
    std::optional<Notice> next_notice();

private:
    struct Ring;
    void open_queue();
    Descriptor config_, counts_, seen_, tasks_, ring_, entry_, return_;
    Descriptor on_exec_;
    std::vector<Descriptor> follow_; // programs that follow forks and exits
    CounterState* state_ = nullptr;
    Ring* queue_ = nullptr;
    size_t cpus_ = 0;
};

/// Empty where BPF is not available: no libbpf at build time, no CAP_BPF, ...
Descriptor load_empty_uprobe_program();

/// Attaches a program to an open perf event, with a cookie: Linux 5.15. Empty: no; errno says why.
Descriptor link_event(int program, int event, uint64_t cookie);

} // namespace fastsdt
