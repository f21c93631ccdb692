// SPDX-License-Identifier: BSD-2-Clause
#include "kernel.h"

#include "arm64.h"
#include "tables.h"
#include "x86.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sys/utsname.h>
#include <unistd.h>

namespace fastsdt {
namespace {

constexpr std::string_view stp_suffix = "+stp";

// MAJOR.MINOR, alone or followed by more of a release name: "6.12", "6.12.43", "6.1.0-44-amd64".
std::optional<Kernel> parse_release(std::string_view text)
{
    Kernel kernel;
    const char* const end = text.data() + text.size();
    auto [dot, error] = std::from_chars(text.data(), end, kernel.major);
    if (error != std::errc() || dot == end || *dot != '.')
        return std::nullopt;
    auto [rest, error2] = std::from_chars(dot + 1, end, kernel.minor);
    if (error2 != std::errc() || (rest != end && *rest != '.' && *rest != '-'))
        return std::nullopt;
    return kernel;
}

#ifdef __x86_64__
// The syscall `uprobe` (336), called from outside a trampoline, tells what the kernel optimizes, whatever its version
// says: ENXIO a nop5, EPROTO a nop10. ENOSYS tells nothing by itself, a seccomp filter answers so too.
Kernel correct_by_syscall(Kernel kernel)
{
    constexpr long nr_uprobe = 336;
    errno = 0;
    if (syscall(nr_uprobe) == 0)
        return kernel;
    if (errno == ENXIO)
        return std::clamp(kernel, Kernel{6, 18}, Kernel{7, 1});
    if (errno == EPROTO)
        return std::max(kernel, Kernel{7, 2});
    return kernel;
}
#else
Kernel correct_by_syscall(Kernel kernel)
{
    return kernel;
}
#endif

} // namespace

std::string_view name(Verdict verdict)
{
    switch (verdict) {
    case Verdict::unknown: break;
    case Verdict::reject: return "reject";
    case Verdict::xol_unsafe: return "xol-unsafe";
    case Verdict::emulate_unsafe: return "emulate-unsafe";
    case Verdict::xol: return "xol";
    case Verdict::emulate: return "emulate";
    case Verdict::optimize_unsafe: return "optimize-unsafe";
    case Verdict::optimize: return "optimize";
    }
    return "unknown";
}

Verdict mechanism(Verdict verdict)
{
    switch (verdict) {
    case Verdict::xol_unsafe: return Verdict::xol;
    case Verdict::emulate_unsafe: return Verdict::emulate;
    case Verdict::optimize_unsafe: return Verdict::optimize;
    default: return verdict;
    }
}

std::string Kernel::name() const
{
    return fmt::format("{}.{}{}", major, minor, arm64_stp ? stp_suffix : "");
}

std::optional<Kernel> parse_kernel(std::string_view text)
{
    if (text == "this") {
        utsname system;
        if (uname(&system))
            return std::nullopt;
        auto kernel = parse_release(system.release);
        if (kernel)
            kernel = correct_by_syscall(*kernel);
        return kernel;
    }
    const bool stp = text.ends_with(stp_suffix);
    if (stp)
        text.remove_suffix(stp_suffix.size());
    auto kernel = parse_release(text);
    if (kernel)
        kernel->arm64_stp = stp;
    return kernel;
}

std::vector<Kernel> default_kernels()
{
    return {{6, 1}, {6, 12}, {6, 18}, {7, 2}};
}

Judgement judge(const Kernel& kernel, Arch arch, std::span<const std::byte> bytes, uint64_t vaddr)
{
    switch (arch) {
    case Arch::x86_64:
    case Arch::i386: return judge_x86(kernel, arch == Arch::x86_64, bytes, vaddr);
    case Arch::arm64: return judge_arm64(kernel, bytes, vaddr);
    case Arch::riscv:
    case Arch::s390:
    case Arch::loongarch:
    case Arch::powerpc: return judge_by_table(arch, bytes, vaddr);
    case Arch::arm:
    case Arch::mips:
    case Arch::unknown: break;
    }
    return {Verdict::unknown, fmt::format("no rules for {}", name(arch))};
}

} // namespace fastsdt
