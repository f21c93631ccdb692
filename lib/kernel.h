// SPDX-License-Identifier: BSD-2-Clause
// The kernel model: what a Linux kernel does with a uprobe at an instruction.
#pragma once
#include "arch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt {

/// From worst to best; `unknown` is for architectures the model does not cover. The unsafe ones change what the probed
/// program does: xol and emulate where the kernel takes the instruction for another one, optimize for a nop5.
enum class Verdict { unknown, reject, xol_unsafe, emulate_unsafe, xol, emulate, optimize_unsafe, optimize };

/// "unknown", "reject", "xol-unsafe", "emulate-unsafe", "xol", "emulate", "optimize-unsafe", "optimize".
std::string_view name(Verdict verdict);
/// What can be seen of the verdict from outside, in the traps and the mappings: xol of xol_unsafe and so on.
Verdict mechanism(Verdict verdict);
/// A probe there gives wrong results or ends the program at once.
inline bool breaks_program(Verdict verdict)
{
    return verdict == Verdict::xol_unsafe || verdict == Verdict::emulate_unsafe;
}

struct Kernel {
    unsigned major = 0;
    unsigned minor = 0;
    /// The kernel carries the out-of-tree patch that emulates stp x29,x30,[sp,#imm]! on arm64.
    bool arm64_stp = false;

    std::string name() const; ///< "6.12", or "6.12+stp"
    auto operator<=>(const Kernel&) const = default;
};

/// A release ("6.12", or a whole release name: "6.1.0-44-amd64"), "7.2+stp", or "this": the running kernel, told by what syscall 336 answers (distributions backport)
/// and else by its version. Empty when the text is none of these.
std::optional<Kernel> parse_kernel(std::string_view text);

/// The kernels that a report covers when none are named.
std::vector<Kernel> default_kernels();

/// Kernels as a list says them: "6.1,6.12,6.18-7.2,this". Ranges cover every release between their ends. On failure
/// returns an empty list and says why.
std::vector<Kernel> parse_kernels(std::string_view list, std::string& error);
/// The inverse: "6.1, 6.12, 6.18-7.2".
std::string list_kernels(std::span<const Kernel> kernels);

/// The rules of judge() were read from these kernels' sources and measured on them (docs/kernels.md).
inline constexpr Kernel oldest_known{5, 4}, newest_known{7, 3};
/// One sentence about a kernel outside of them, empty for the others.
std::string doubt(const Kernel& kernel);

struct Judgement {
    Verdict verdict = Verdict::unknown;
    std::string why; ///< one clause, naming the kernel's function or rule
};

/// What `kernel` does with a uprobe on the first of `bytes`.
/// @param bytes  the file's bytes from the probed address on; as many as the segment has, 16 are enough.
///               Fewer than the instruction needs is judged as the kernel would (it reads zeros past the file).
/// @param vaddr  ELF virtual address of the first byte; only its offset in the 4096-byte page matters.
Judgement judge(const Kernel& kernel, Arch arch, std::span<const std::byte> bytes, uint64_t vaddr);

} // namespace fastsdt
