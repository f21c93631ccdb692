// SPDX-License-Identifier: BSD-2-Clause
#include "kernel.h"

#include "arm64.h"
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
Kernel correct_by_syscall(Kernel kernel) { return kernel; }
#endif

uint32_t little_endian(std::span<const std::byte> bytes, size_t size)
{
    uint32_t value = 0;
    for (size_t i = 0; i < std::min(bytes.size(), size); ++i)
        value |= std::to_integer<uint32_t>(bytes[i]) << 8 * i;
    return value;
}

bool starts_with(std::span<const std::byte> bytes, std::initializer_list<uint8_t> pattern)
{
    return bytes.size() >= pattern.size() &&
           std::equal(pattern.begin(), pattern.end(), bytes.begin(),
                      [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

// riscv_probe_decode_insn(), arch/riscv/kernel/probes/decode-insn.c, for RV64.
Judgement judge_riscv(std::span<const std::byte> bytes)
{
    if (bytes.size() < 2)
        return {Verdict::reject, "copy_insn(): no instruction of the file at this offset"};
    struct Rule {
        uint32_t mask, value;
        Verdict verdict;
        const char* why;
    };
    static constexpr Rule rules[] = {
        {0x7f, 0x73, Verdict::reject, "RISCV_INSN_REJECTED(system)"},
        {0x7f, 0x0f, Verdict::reject, "RISCV_INSN_REJECTED(fence)"},
        {0xffff, 0x9002, Verdict::reject, "RISCV_INSN_REJECTED(c_ebreak)"},
        {0xe003, 0xa001, Verdict::emulate, "simulate_c_j"},
        {0xf07f, 0x8002, Verdict::emulate, "simulate_c_jr"},
        {0xf07f, 0x9002, Verdict::emulate, "simulate_c_jalr"},
        {0xe003, 0xc001, Verdict::emulate, "simulate_c_beqz"},
        {0xe003, 0xe001, Verdict::emulate, "simulate_c_bnez"},
        {0x7f, 0x6f, Verdict::emulate, "simulate_jal"},
        {0x707f, 0x67, Verdict::emulate, "simulate_jalr"},
        {0x7f, 0x17, Verdict::emulate, "simulate_auipc"},
        {0x7f, 0x63, Verdict::emulate, "simulate_branch"},
    };
    const uint32_t insn = little_endian(bytes, 4);
    for (const Rule& rule : rules)
        if ((insn & rule.mask) == rule.value)
            return {rule.verdict, std::string("riscv_probe_decode_insn(): ") + rule.why};
    return {Verdict::xol, "riscv_probe_decode_insn(): out of line"};
}

} // namespace

std::string_view name(Verdict verdict)
{
    switch (verdict) {
    case Verdict::unknown: break;
    case Verdict::reject: return "reject";
    case Verdict::xol: return "xol";
    case Verdict::emulate: return "emulate";
    case Verdict::optimize_unsafe: return "optimize-unsafe";
    case Verdict::optimize: return "optimize";
    }
    return "unknown";
}

std::string Kernel::name() const { return fmt::format("{}.{}{}", major, minor, arm64_stp ? stp_suffix : ""); }

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

std::vector<Kernel> default_kernels() { return {{6, 1}, {6, 12}, {6, 18}, {7, 2}}; }

Judgement judge(const Kernel& kernel, Arch arch, std::span<const std::byte> bytes, uint64_t vaddr)
{
    switch (arch) {
    case Arch::x86_64:
    case Arch::i386:
        return judge_x86(kernel, arch == Arch::x86_64, bytes, vaddr);
    case Arch::arm64:
        return judge_arm64(kernel, bytes, vaddr);
    case Arch::riscv:
        return judge_riscv(bytes);
    // For these three only the native nop is covered.
    case Arch::s390:
        if (starts_with(bytes, {0x07, 0x00}) || starts_with(bytes, {0x07, 0x07}))
            return {Verdict::xol, "arch_uprobe_analyze_insn(): not PC-relative"};
        break;
    case Arch::loongarch:
        if (starts_with(bytes, {0x00, 0x00, 0x40, 0x03}))
            return {Verdict::xol, "arch_uprobe_analyze_insn(): not PC-relative"};
        break;
    case Arch::powerpc:
        if (starts_with(bytes, {0x60, 0x00, 0x00, 0x00}) || starts_with(bytes, {0x00, 0x00, 0x00, 0x60}))
            return {Verdict::emulate, "emulate_step(): ori r0, r0, 0"};
        break;
    case Arch::arm:
    case Arch::mips:
    case Arch::unknown:
        break;
    }
    return {Verdict::unknown, fmt::format("no rules for this instruction of {}", name(arch))};
}

} // namespace fastsdt
