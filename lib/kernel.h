// SPDX-License-Identifier: BSD-2-Clause
// The kernel model: what a Linux kernel does with a uprobe at an instruction.
#pragma once
#include "kernel_features.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt {

/// From worst to best; `unknown` is for what the model does not cover. The unsafe ones change what the probed
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
    Release release;
    /// Of the release, or what the running kernel answered.
    Knowledge features;
    /// "this": the release is a name for it, the features are asked (ask_running() of trace/ask.h asks on).
    bool running = false;

    Kernel() = default;
    explicit Kernel(const Release& which) : release(which), features(features_of(which)) {}
    std::string name() const { return fastsdt::name(release); } ///< "6.12", "ubuntu-7.0.0-43", "6.12+stp"
    bool operator==(const Kernel&) const = default;
};

/// A release by parse_release(), or "this": the running kernel, its release as uname() tells it and its features corrected by what
/// syscall 336 answers (distributions backport). Empty when the text is none of these.
std::optional<Kernel> parse_kernel(std::string_view text);

/// The kernels that a report covers when none are named: what is run in 2026.
std::vector<Kernel> default_kernels();

/// Kernels as a list says them: "6.1,6.12,6.18-7.2,this", ranges as parse_range() has them. On failure returns an empty list and
/// says why.
std::vector<Kernel> parse_kernels(std::string_view list, std::string& error);
/// The inverse: "6.1, 6.12, 6.18-7.2".
std::string list_kernels(std::span<const Kernel> kernels);

/// One sentence about a kernel that was not measured: older or newer than those of which the rules are known, or Red Hat's. Empty for the
/// others.
std::string doubt(const Kernel& kernel);

struct Judgement {
    Verdict verdict = Verdict::unknown;
    std::string why; ///< one clause, naming the kernel's function or rule
};

/// What `kernel` does with a uprobe on the first of `bytes`; unknown where that depends on a feature of which nothing is known.
/// @param bytes  the file's bytes from the probed address on; as many as the segment has, 16 are enough.
///               Fewer than the instruction needs is judged as the kernel would (it reads zeros past the file).
///               powerpc: in little-endian order.
/// @param vaddr  ELF virtual address of the first byte; only its offset in the 4096-byte page matters.
Judgement judge(const Kernel& kernel, Arch arch, std::span<const std::byte> bytes, uint64_t vaddr);

} // namespace fastsdt
