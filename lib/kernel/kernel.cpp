// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/kernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <sys/utsname.h>
#include <unistd.h>

namespace fastsdt {
namespace {

#ifdef __x86_64__
// The syscall `uprobe` (336), called from outside a trampoline, tells what the kernel optimizes, whatever its version
// says: ENXIO a nop5, EPROTO a nop10. ENOSYS tells nothing: a seccomp filter gives it too.
void correct_by_syscall(Knowledge& features)
{
    constexpr long nr_uprobe = 336;
    errno = 0;
    if (syscall(nr_uprobe) == 0)
        return;
    if (errno == ENXIO)
        features.learn(bit(Feature::optimize), bit(Feature::optimize_nop10));
    if (errno == EPROTO)
        features.learn(bit(Feature::optimize) | bit(Feature::optimize_nop10), 0);
}
#else
void correct_by_syscall(Knowledge&) {}
#endif

// b is the series right after a: the range from a to b has no other kernel.
bool follows(const Release& a, const Release& b)
{
    return a.build == Release::untold && b == next_series(a) && !(a == b);
}

std::optional<Kernel> running_kernel()
{
    utsname system;
    if (uname(&system))
        return std::nullopt;
    const auto release = parse_release(system.release, system.version);
    if (!release)
        return std::nullopt;
    Kernel kernel(*release);
    kernel.running = true;
    correct_by_syscall(kernel.features);
    return kernel;
}

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

std::optional<Kernel> parse_kernel(std::string_view text)
{
    if (text == "this")
        return running_kernel();
    const auto release = parse_release(text);
    return release ? std::optional(Kernel(*release)) : std::nullopt;
}

Result<std::vector<Kernel>> parse_kernels(std::string_view list)
{
    std::vector<Kernel> kernels;
    while (true) {
        const size_t comma = list.find(',');
        const std::string_view item = list.substr(0, comma);
        if (item == "this") {
            const auto running = running_kernel();
            if (!running)
                return Error{"cannot tell the running kernel's version from its name"};
            kernels.push_back(*running);
        } else {
            const auto range = parse_range(item);
            if (!range)
                return range.error();
            for (const Release& release : *range)
                kernels.emplace_back(release);
        }
        if (comma == list.npos)
            break;
        list.remove_prefix(comma + 1);
    }
    // Of two kernels with one name, keep the running one: its features were asked.
    std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
        return a.release == b.release ? a.running > b.running : a.release < b.release;
    });
    const auto same = [](const Kernel& a, const Kernel& b) { return a.release == b.release; };
    kernels.erase(std::unique(kernels.begin(), kernels.end(), same), kernels.end());
    return kernels;
}

std::string list_kernels(std::span<const Kernel> kernels)
{
    std::string text;
    for (size_t i = 0; i < kernels.size();) {
        size_t end = i + 1;
        while (end < kernels.size() && follows(kernels[end - 1].release, kernels[end].release))
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
    const Release& release = kernel.release;
    if (release.before(oldest_known.major, oldest_known.minor))
        return fmt::format("Linux {} is older than {}, the oldest kernel whose rules are known here: judged as {}",
                           kernel.name(), name(oldest_known), name(oldest_known));
    if (Release newest = newest_known; newest.before(release.major, release.minor))
        return fmt::format("Linux {} is newer than {}, the newest kernel that was measured: judged as {}",
                           kernel.name(), name(newest_known), name(newest_known));
    if (release.vendor == Vendor::rhel && !kernel.running)
        return fmt::format("Linux {} was not measured: what Red Hat took from later kernels than {}.{} is unknown here",
                           kernel.name(), release.major, release.minor);
    return {};
}

std::vector<Kernel> default_kernels()
{
    return *parse_kernels("5.10,5.15,6.1,6.8,6.12,6.18,ubuntu-7.0.0-43,7.2");
}

} // namespace fastsdt
