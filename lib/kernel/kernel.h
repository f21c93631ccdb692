// SPDX-License-Identifier: BSD-2-Clause
// The kernel model: what a Linux kernel does with a uprobe at an instruction.
#pragma once
#include "kernel/features.h"

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
/// What traps and mappings show of the verdict: xol for xol_unsafe, and so on.
Verdict mechanism(Verdict verdict);
/// A probe there gives wrong results or ends the program at once.
inline bool breaks_program(Verdict verdict)
{
    return verdict == Verdict::xol_unsafe || verdict == Verdict::emulate_unsafe;
}

struct Kernel {
    Release release;
    /// Those of the release, or what the running kernel answered.
    Knowledge features;
    /// "this": the release is only its name; the features were asked (ask_running() of uprobes/ask.h asks more).
    bool running = false;

    Kernel() = default;
    explicit Kernel(const Release& which) : release(which), features(features_of(which)) {}
    std::string name() const { return fastsdt::name(release); } ///< "6.12", "ubuntu-7.0.0-43", "6.12+stp"
    bool operator==(const Kernel&) const = default;
};

/// A release by parse_release(), or "this": the running kernel, its release as uname() tells it and its features corrected by what
/// syscall 336 answers (distributions backport). Empty when the text is none of these.
std::optional<Kernel> parse_kernel(std::string_view text);

/// The kernels that a report covers when none are named: those in use in 2026.
std::vector<Kernel> default_kernels();

/// Kernels as a list says them: "6.1,6.12,6.18-7.2,this", ranges as parse_range() has them.
Result<std::vector<Kernel>> parse_kernels(std::string_view list);
/// The inverse: "6.1, 6.12, 6.18-7.2".
std::string list_kernels(std::span<const Kernel> kernels);

/// One sentence about a kernel that was not measured: it is older or newer than those whose rules are known, or Red
/// Hat's. Empty for the others.
std::string doubt(const Kernel& kernel);

/// The page size of uprobes on x86. What notes promise about pages is for this size on every architecture.
inline constexpr uint64_t uprobe_page = 4096;

struct Judgement {
    Verdict verdict = Verdict::unknown;
    std::string why; ///< one clause, naming the kernel's function or rule
};

} // namespace fastsdt
