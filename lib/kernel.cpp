// SPDX-License-Identifier: BSD-2-Clause
#include "kernel.h"

#include "architecture.h"
#include "kernel_features.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sys/utsname.h>
#include <tuple>
#include <unistd.h>

namespace fastsdt {
namespace {

constexpr std::string_view stp_suffix = "+stp";

// MAJOR.MINOR, alone or followed by more of a release name: "6.12.43", "6.1.0-44-amd64", "7.3-rc2".
std::optional<Kernel> parse_release(std::string_view text)
{
    Kernel kernel;
    const char* const end = text.data() + text.size();
    auto [dot, error] = std::from_chars(text.data(), end, kernel.major);
    if (error != std::errc() || dot == end || *dot != '.')
        return std::nullopt;
    auto [rest, error2] = std::from_chars(dot + 1, end, kernel.minor);
    const std::string_view more(rest, size_t(end - rest));
    const auto begins = [&](char separator, std::string_view next) {
        return more.size() > 1 && more[0] == separator && next.find(more[1]) != next.npos;
    };
    constexpr std::string_view digits = "0123456789", letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (error2 != std::errc() || !(more.empty() || begins('.', digits) || begins('-', letters)))
        return std::nullopt;
    return kernel;
}

// The last minor release of each major one; what comes after 7.2 is not known yet, past majors ended at 19 or 20.
unsigned last_minor(unsigned major)
{
    return major == 4 ? 20 : 19;
}

Kernel next(Kernel kernel)
{
    if (kernel.minor >= last_minor(kernel.major))
        return {kernel.major + 1, 0, kernel.arm64_stp};
    return {kernel.major, kernel.minor + 1, kernel.arm64_stp};
}

// "6.12", "7.2+stp" or "this", without more of a release name.
bool bare(std::string_view text)
{
    if (text.ends_with(stp_suffix))
        text.remove_suffix(stp_suffix.size());
    return text == "this"
        || (std::count(text.begin(), text.end(), '.') == 1 && text.find_first_not_of("0123456789.") == text.npos);
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
        return std::clamp(kernel, nop5_first, nop5_last);
    if (errno == EPROTO)
        return std::max(kernel, nop10_first);
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

std::vector<Kernel> parse_kernels(std::string_view list, std::string& error)
{
    std::vector<Kernel> kernels;
    const auto fail = [&](std::string why) {
        error = std::move(why);
        return std::vector<Kernel>();
    };
    while (true) {
        const size_t comma = list.find(',');
        const std::string_view item = list.substr(0, comma);
        // A dash makes a range only between two bare versions: release names have dashes too (6.1.0-44-amd64).
        const size_t dash = item.find('-');
        const bool range = dash != item.npos && bare(item.substr(0, dash)) && bare(item.substr(dash + 1));
        const auto first = parse_kernel(range ? item.substr(0, dash) : item);
        const auto last = range ? parse_kernel(item.substr(dash + 1)) : first;
        if (!first || !last)
            return fail(fmt::format("\"{}\" is not a kernel version; write 6.12, 7.2, 6.1-7.2 or this", item));
        if (first->arm64_stp != last->arm64_stp)
            return fail(fmt::format("\"{}\": write +stp at both ends or at none", item));
        if (*last < *first)
            return fail(fmt::format("\"{}\": the range runs backwards", item));
        Kernel kernel = *first;
        for (; kernel < *last; kernel = next(kernel)) {
            if (kernels.size() > 200)
                return fail(fmt::format("\"{}\" is too many kernels", item));
            kernels.push_back(kernel);
        }
        kernels.push_back(*last);
        if (comma == list.npos)
            break;
        list.remove_prefix(comma + 1);
    }
    std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
        return std::tie(a.arm64_stp, a.major, a.minor) < std::tie(b.arm64_stp, b.major, b.minor);
    });
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    return kernels;
}

std::string list_kernels(std::span<const Kernel> kernels)
{
    std::string text;
    for (size_t i = 0; i < kernels.size();) {
        size_t end = i + 1;
        while (end < kernels.size() && kernels[end] == next(kernels[end - 1]))
            ++end;
        if (end - i < 3)
            end = i + 1;
        if (!text.empty())
            text += ", ";
        text += kernels[i].name();
        if (end - i > 1)
            text += "-" + kernels[end - 1].name();
        i = end;
    }
    return text;
}

std::string doubt(const Kernel& kernel)
{
    const Kernel version{kernel.major, kernel.minor};
    if (version < oldest_known)
        return fmt::format("Linux {} is older than {}, the oldest kernel whose rules are known here: judged as {}",
                           kernel.name(), oldest_known.name(), oldest_known.name());
    if (version > newest_known)
        return fmt::format("Linux {} is newer than {}, the newest kernel that was measured: judged as {}",
                           kernel.name(), newest_known.name(), newest_known.name());
    return {};
}

std::vector<Kernel> default_kernels()
{
    return {{6, 1}, {6, 12}, {6, 18}, {7, 2}};
}

Judgement judge(const Kernel& kernel, Arch arch, std::span<const std::byte> bytes, uint64_t vaddr)
{
    const auto rules = architecture(arch).judge;
    return rules ? rules(kernel, bytes, vaddr)
                 : Judgement{Verdict::unknown, fmt::format("no rules for {}", name(arch))};
}

} // namespace fastsdt
