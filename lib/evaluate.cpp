// SPDX-License-Identifier: BSD-2-Clause
#include "evaluate.h"
#include "tracers.h"

#include <algorithm>

namespace fastsdt {
namespace {

constexpr size_t most_bytes = 32; // longer than any layout and any instruction

fastsdt_recognized recognize_at(const Image& image, int expected, std::span<const std::byte> bytes)
{
    fastsdt_recognized seen;
    fastsdt_recognize(&seen, image.machine(), expected, reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size());
    return seen;
}

} // namespace

fastsdt_recognized recognize(const Image& image, const Place& place, int expected, std::span<const std::byte> bytes)
{
    fastsdt_recognized seen = recognize_at(image, expected, bytes);
    if (seen.lead == place.lead() || (place.function && !place.record))
        return seen;
    // A lead that is no landing pad known here, or a pad that should not be there.
    const uint8_t lead = place.lead();
    seen = recognize_at(image, expected, bytes.subspan(std::min<size_t>(lead, bytes.size())));
    if (seen.lead != 0)
        seen = {};
    seen.lead = lead;
    if (seen.rel_end)
        seen.rel_end = static_cast<unsigned char>(seen.rel_end + lead);
    return seen;
}

const Evaluation* Evaluator::at(const Place& place)
{
    if (place.address == image_.undefined() || !image_.executable_at(place.address))
        return nullptr;
    auto bytes = image_.bytes_at(place.address);
    bytes = bytes.first(std::min(bytes.size(), place.lead() + most_bytes));
    if (bytes.size() <= place.lead())
        return nullptr;
    const fastsdt_recognized seen = recognize(image_, place, place.layout(), bytes);

    // Equal bytes get equal verdicts, except where the end of a page is near. Where an object's sections will lie in
    // their pages is not known before the link.
    const uint64_t in_page = image_.relocatable() ? 0 : place.address % uprobe_page;
    const bool near_end = in_page + place.lead() + most_bytes > uprobe_page;
    const size_t significant = seen.length != 0 ? seen.lead + seen.length : bytes.size();
    std::string key(reinterpret_cast<const char*>(bytes.data()), significant);
    key += static_cast<char>(place.layout());
    key += static_cast<char>(place.lead());
    key += static_cast<char>(place.function * 2 + (place.record != nullptr));
    key += static_cast<char>(place.address % 4); // arm64 refuses what is not aligned
    if (near_end)
        key += std::to_string(in_page);
    const auto known = by_bytes_.find(key);
    if (known != by_bytes_.end())
        return known->second;
    const Evaluation* fresh = &evaluations_.emplace_back(evaluate(place, seen, bytes, in_page));
    by_bytes_.emplace(std::move(key), fresh);
    return fresh;
}

Evaluation Evaluator::evaluate(const Place& place, const fastsdt_recognized& seen, std::span<const std::byte> bytes,
                               uint64_t in_page) const
{
    Evaluation result;
    result.layout = seen.layout;
    result.state = seen.state;
    result.lead = seen.lead;
    result.length = seen.length;
    if (seen.lead == place.lead()) {
        result.patch_offset = seen.patch_offset;
        result.patch_length = seen.patch_length;
    }
    // judge() has the instructions of a powerpc process in one byte order; they are words.
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
        behaviour.at_note = place.lead() ? judge_at(place.lead()) : behaviour.at_start;
        if (result.patch_offset != 0) {
            behaviour.at_patch = judge_at(place.lead() + result.patch_offset);
            behaviour.libbpf_moves = seen.state == FASTSDT_STATE_PRISTINE && libbpf_moves(kernel, seen.layout);
        }
        result.behaviours.push_back(std::move(behaviour));
    }
    return result;
}

Behaviour evaluate(const Image& image, const Place& place, const Kernel& kernel)
{
    const Judgement none{Verdict::unknown, "the file has no code at this address"};
    Evaluator evaluator(image, {kernel});
    const Evaluation* const found = evaluator.at(place);
    return found ? found->behaviours.front() : Behaviour{none, none, none, false};
}

bool shows_call(Arch arch, std::span<const std::byte> live)
{
    const int machine = arch == Arch::x86_64 ? FASTSDT_MACHINE_X86_64 : 0;
    for (const auto& [layout, state] : {std::pair(FASTSDT_LAYOUT_NOP10, FASTSDT_STATE_LEA_CALL),
                                        std::pair(FASTSDT_LAYOUT_NOP5, FASTSDT_STATE_CALL)}) {
        fastsdt_recognized seen;
        fastsdt_recognize(&seen, machine, layout, reinterpret_cast<const unsigned char*>(live.data()), live.size());
        if (seen.lead == 0 && seen.state == state && !seen.breakpoints)
            return true;
    }
    return false;
}

} // namespace fastsdt
