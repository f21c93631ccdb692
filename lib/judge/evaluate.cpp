// SPDX-License-Identifier: BSD-2-Clause
#include "arch/architecture.h"
#include "base/layouts.h"
#include "judge/evaluate.h"
#include "judge/judge.h"
#include "kernel/tracers.h"

#include <algorithm>

namespace fastsdt {
namespace {

constexpr size_t most_bytes = 32; // longer than any instruction
static_assert(most_bytes > landing_pad + longest_layout);

fastsdt_recognized recognize_at(const Image& image, int expected, std::span<const std::byte> bytes)
{
    fastsdt_recognized seen;
    fastsdt_recognize(&seen, image.machine(), expected, reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size());
    return seen;
}

} // namespace

fastsdt_recognized recognize(const Image& image, const ProbePoint& point, int expected,
                             std::span<const std::byte> bytes)
{
    fastsdt_recognized seen = recognize_at(image, expected, bytes);
    if (seen.lead == point.lead() || (point.function && !point.record))
        return seen;
    // The record's lead is no landing pad that is known here, or there is a pad that the record does not have.
    const uint8_t lead = point.lead();
    seen = recognize_at(image, expected, bytes.subspan(std::min<size_t>(lead, bytes.size())));
    if (seen.lead != 0)
        seen = {};
    seen.lead = lead;
    if (seen.rel_end)
        seen.rel_end = static_cast<unsigned char>(seen.rel_end + lead);
    return seen;
}

const Evaluation* Evaluator::at(const ProbePoint& point)
{
    if (point.address == image_.undefined() || !image_.executable_at(point.address))
        return nullptr;
    auto bytes = image_.bytes_at(point.address);
    bytes = bytes.first(std::min(bytes.size(), point.lead() + most_bytes));
    if (bytes.size() <= point.lead())
        return nullptr;
    const fastsdt_recognized seen = recognize(image_, point, point.layout(), bytes);

    // Equal bytes get equal verdicts, except near the end of a page. Before the link nobody knows where in its page an
    // object's section will be.
    const uint64_t in_page = image_.relocatable() ? 0 : point.address % uprobe_page;
    const bool near_end = in_page + point.lead() + most_bytes > uprobe_page;
    const bool alone = seen.length != 0 && !architecture(image_.arch()).judges_next;
    const size_t significant = alone ? seen.lead + seen.length : bytes.size();
    std::string key(reinterpret_cast<const char*>(bytes.data()), significant);
    key += static_cast<char>(point.layout());
    key += static_cast<char>(point.lead());
    key += static_cast<char>(point.function * 2 + (point.record != nullptr));
    key += static_cast<char>(point.address % 4); // arm64 refuses what is not aligned
    if (near_end)
        key += std::to_string(in_page);
    const auto known = by_bytes_.find(key);
    if (known != by_bytes_.end())
        return known->second;
    const Evaluation* fresh = &evaluations_.emplace_back(evaluate(point, seen, bytes, in_page));
    by_bytes_.emplace(std::move(key), fresh);
    return fresh;
}

Evaluation Evaluator::evaluate(const ProbePoint& point, const fastsdt_recognized& seen,
                               std::span<const std::byte> bytes, uint64_t in_page) const
{
    Evaluation result;
    result.layout = seen.layout;
    result.state = seen.state;
    result.lead = seen.lead;
    result.length = seen.length;
    if (seen.lead == point.lead()) {
        result.patch_offset = seen.patch_offset;
        result.patch_length = seen.patch_length;
    }
    // judge() takes the instructions of powerpc, which are words, in one byte order.
    std::vector<std::byte> turned;
    if (image_.arch() == Arch::powerpc && image_.encoding().big_endian) {
        turned.assign(bytes.begin(), bytes.end());
        for (size_t at = 0; at + 4 <= turned.size(); at += 4)
            std::reverse(turned.begin() + long(at), turned.begin() + long(at) + 4);
        bytes = turned;
    }
    for (const Kernel& kernel : kernels_) {
        const auto judge_at = [&](size_t offset) {
            return judge(kernel, image_.arch(), bytes.subspan(offset), in_page + offset);
        };
        Behaviour behaviour;
        behaviour.at_start = judge_at(0);
        behaviour.at_note = point.lead() ? judge_at(point.lead()) : behaviour.at_start;
        if (result.patch_offset != 0) {
            behaviour.at_patch = judge_at(point.lead() + result.patch_offset);
            behaviour.attaches_at_patch =
                seen.state == FASTSDT_STATE_PRISTINE && libbpf_attaches_at_patch(kernel, seen.layout);
        }
        result.behaviours.push_back(std::move(behaviour));
    }
    return result;
}

Behaviour evaluate(const Image& image, const ProbePoint& point, const Kernel& kernel)
{
    const Judgement none{Verdict::unknown, "the file has no code at this address"};
    Evaluator evaluator(image, {kernel});
    const Evaluation* const found = evaluator.at(point);
    return found ? found->behaviours.front() : Behaviour{none, none, none, false};
}

SiteBytes site_bytes(const fastsdt_recognized& seen)
{
    switch (seen.state) {
    case FASTSDT_STATE_CALL:
    case FASTSDT_STATE_LEA_CALL:
        return seen.breakpoints & FASTSDT_BREAKPOINT_PATCH ? SiteBytes::updating : SiteBytes::call;
    case FASTSDT_STATE_JUMP: return SiteBytes::jump;
    case FASTSDT_STATE_DAMAGED: return SiteBytes::damaged;
    default: break;
    }
    if (seen.breakpoints)
        return SiteBytes::breakpoint;
    return seen.state == FASTSDT_STATE_STALE_CALL ? SiteBytes::stale_call
        : seen.state == FASTSDT_STATE_PRISTINE    ? SiteBytes::pristine
                                                  : SiteBytes::other;
}

bool begins_with_nop(const Image& image, std::span<const std::byte> code)
{
    if (image.arch() == Arch::unknown || recognize(image, {}, FASTSDT_LAYOUT_NOP, code).patch_length)
        return true;
    if (image.arch() != Arch::x86_64 && image.arch() != Arch::i386)
        return false;
    // Multi-byte nops that are no layout of ours: prefixes, then nop or nopl.
    while (!code.empty() && (code[0] == std::byte(0x66) || code[0] == std::byte(0x2e)))
        code = code.subspan(1);
    return (code.size() > 0 && code[0] == std::byte(0x90))
        || (code.size() > 1 && code[0] == std::byte(0x0f) && code[1] == std::byte(0x1f));
}

bool shows_call(Arch arch, std::span<const std::byte> live)
{
    const int machine = arch == Arch::x86_64 ? FASTSDT_MACHINE_X86_64 : 0;
    for (const int layout : {FASTSDT_LAYOUT_NOP10, FASTSDT_LAYOUT_NOP5}) {
        fastsdt_recognized seen;
        fastsdt_recognize(&seen, machine, layout, reinterpret_cast<const unsigned char*>(live.data()), live.size());
        if (seen.lead == 0 && !seen.breakpoints && seen.layout == layout && site_bytes(seen) == SiteBytes::call)
            return true;
    }
    return false;
}

} // namespace fastsdt
