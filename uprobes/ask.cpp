// SPDX-License-Identifier: BSD-2-Clause
#include "ask.h"

#include "base/unusable.h"
#include "observe.h"

#include <fmt/format.h>

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace fastsdt {
namespace {

// If the kernel is seen to do `seen` at the instruction, it has the features `yes` and does not have those of `no`.
struct Sample {
    std::string_view bytes;
    Verdict seen;
    uint32_t yes, no;
};

#if defined(__x86_64__)
using namespace std::string_view_literals;
constexpr std::string_view nop3 = "\x0f\x1f\x00"sv, nop5 = "\x0f\x1f\x44\x00\x00"sv,
                           nop10 = "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"sv, mov = "\x48\x89\xc0"sv,
                           endbr64 = "\xf3\x0f\x1e\xfa"sv, push_rex2 = "\xd5\x00\x50"sv,
                           no_xop = "\x8f\xc9\x00\x00\x00\x00"sv;
// Instructions that some kernels refuse come last. Probes are put on all at once; if one is refused, on each half by
// itself. So a half without such instructions costs only one attempt.
constexpr Sample samples[] = {
    {nop3, Verdict::xol, 0, bit(Feature::nop_table) | bit(Feature::insn_is_nop)},
    {nop3, Verdict::emulate, bit(Feature::nop_table), 0},
    {mov, Verdict::emulate, bit(Feature::insn_is_nop), 0},
    {mov, Verdict::xol, 0, bit(Feature::insn_is_nop)},
    {endbr64, Verdict::emulate, bit(Feature::emulate_endbr), 0},
    {endbr64, Verdict::xol, 0, bit(Feature::emulate_endbr)},
    // A kernel optimizes either nop5 or nop10. A later line of this table overrides an earlier one.
    {nop5, Verdict::optimize, bit(Feature::optimize), bit(Feature::optimize_nop10)},
    {nop5, Verdict::emulate, 0, bit(Feature::optimize)},
    {nop5, Verdict::xol, 0, bit(Feature::optimize)},
    {push_rex2, Verdict::xol, bit(Feature::decode_rex2), 0},
    {push_rex2, Verdict::reject, 0, bit(Feature::decode_rex2)},
    // An instruction of an undefined opcode map of XOP; kernels that do not decode XOP take it for a pop.
    {no_xop, Verdict::reject, bit(Feature::decode_xop), 0},
    {no_xop, Verdict::xol, 0, bit(Feature::decode_xop)},
    {nop10, Verdict::optimize, bit(Feature::optimize) | bit(Feature::optimize_nop10), 0},
    {nop10, Verdict::reject, 0, bit(Feature::optimize_nop10)},
};
#elif defined(__aarch64__)
using namespace std::string_view_literals;
constexpr std::string_view nop = "\x1f\x20\x03\xd5"sv, stp = "\xfd\x7b\xbf\xa9"sv, bti_c = "\x5f\x24\x03\xd5"sv,
                           bc_eq = "\x90\x00\x00\x54"sv, ldr_literal = "\x80\x00\x00\x58"sv,
                           cpyfp = "\x40\x04\x01\x19"sv;
constexpr Sample samples[] = {
    {nop, Verdict::emulate, bit(Feature::simulate_nop), 0},
    {nop, Verdict::xol, 0, bit(Feature::simulate_nop)},
    {stp, Verdict::emulate, bit(Feature::simulate_stp), 0},
    {stp, Verdict::xol, 0, bit(Feature::simulate_stp)},
    {bti_c, Verdict::emulate, bit(Feature::simulate_bti), 0},
    {bti_c, Verdict::xol, 0, bit(Feature::simulate_bti)},
    {bc_eq, Verdict::emulate, bit(Feature::simulate_bc_cond), 0},
    {bc_eq, Verdict::xol, 0, bit(Feature::simulate_bc_cond)},
    {ldr_literal, Verdict::reject, bit(Feature::reject_literal_loads), 0},
    {ldr_literal, Verdict::emulate, 0, bit(Feature::reject_literal_loads)},
    {cpyfp, Verdict::reject, bit(Feature::reject_mops), 0},
    {cpyfp, Verdict::xol, 0, bit(Feature::reject_mops)},
};
#else
constexpr Sample samples[] = {{{}, Verdict::unknown, 0, 0}};
#endif

constexpr size_t apart = 64; // no sample crosses a page

// A file without a name, with each sample at its place.
Descriptor file_of_samples()
{
    Descriptor file(memfd_create("fastsdt samples", MFD_CLOEXEC));
    unsigned char text[std::size(samples) * apart] = {};
    for (size_t i = 0; i < std::size(samples); ++i)
        std::memcpy(text + i * apart, samples[i].bytes.data(), samples[i].bytes.size());
    if (file && write(file.get(), text, sizeof text) != ssize_t(sizeof text))
        return {};
    return file;
}

} // namespace

void ask_running(Kernel& kernel)
{
    if (own_arch == Arch::unknown || !cannot_attach().empty())
        return;
    const Descriptor file = file_of_samples();
    if (!file)
        return;
    std::vector<Target> targets;
    for (size_t i = 0; i < std::size(samples); ++i)
        targets.push_back({fmt::format("/proc/self/fd/{}", file.get()), i * apart, 0, false});
    try {
        const auto seen = observe(targets, own_arch);
        for (size_t i = 0; i < std::size(samples); ++i)
            if (seen[i].verdict == samples[i].seen)
                kernel.features.learn(samples[i].yes, samples[i].no);
    } catch (const Unusable&) { // this machine does not let us map or trace that: the kernel's name has to do
    }
}

} // namespace fastsdt
