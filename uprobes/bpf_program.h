// SPDX-License-Identifier: BSD-2-Clause
// The BPF programs that count, a few instructions each.
#pragma once
#include "base/descriptor.h"
#include "base/layouts.h"
#include "bpf_members.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

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

/// The programs and their maps for `size` targets. Numbers of targets are cookies.
class BpfPrograms : public BpfMembers {
public:
    /// Throws Unusable if the kernel refuses. `where` is what it refused.
    BpfPrograms(size_t size, Members members, bool multi);

    int entry_program() const { return entry_.get(); }
    int return_program() const { return return_.get(); }

    uint64_t hits(size_t target) const;
    std::optional<SeenBytes> seen(size_t target) const;

private:
    Descriptor load_count(bool multi, bool on_return) const;
    BpfMap counts_, seen_;
    Descriptor entry_, return_;
};

/// Empty where BPF is not available: no libbpf at build time, no CAP_BPF, ...
Descriptor load_empty_uprobe_program();

/// What programs may have, as the kernel says when it is asked.
struct BpfFeatures {
    bool rings = false;   ///< BPF_MAP_TYPE_RINGBUF: Linux 5.8
    bool cookies = false; ///< bpf_get_attach_cookie(): Linux 5.15
    /// BPF_CMPXCHG: Linux 5.12. Kernels without it run uprobe programs with preemption off
    /// (__uprobe_perf_func() in kernel/trace/trace_uprobe.c).
    bool exchanges = false;
};
const BpfFeatures& bpf_features();

/// Attaches a program to an open perf event, with a cookie where the kernel knows them. Empty: no; errno says why.
Descriptor link_event(int program, int event, uint64_t cookie);

} // namespace fastsdt
