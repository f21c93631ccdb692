// SPDX-License-Identifier: BSD-2-Clause
#include "movable/go_code.h"

#include "base/bytes.h"
#include "base/integers.h"
#include "elf/go_table.h"

#include <algorithm>
#include <span>

namespace fastsdt {
namespace {

// Whether an instruction compares with what is 16 bytes into g, its stack's guard: cmd/internal/obj/x86/obj6.go and arm64/obj7.go,
// stacksplit(). arm64 loads it first.
bool looks_at_guard(Arch arch, std::span<const std::byte> code)
{
    if (arch == Arch::arm64)
        return loads_go_guard(uint32_t(load(code.data(), 4, false)));
    return starts_with(code, {0x49, 0x3b, 0x66, 0x10})  // cmp 0x10(%r14), %rsp
        || starts_with(code, {0x4d, 0x3b, 0x66, 0x10}); // cmp 0x10(%r14), %r12
}

// On arm64 it stands behind the load and in front of the comparison.
bool is_underflow(Arch arch, std::span<const std::byte> code)
{
    return arch == Arch::arm64 && leaves_if_lower(uint32_t(load(code.data(), 4, false)));
}

} // namespace

bool GoInstructions::next()
{
    constexpr uint64_t load_mask = 0x3b000000,
                       load_constant = 0x18000000; // ldr of a literal: its size is in the two bits above
    for (auto constant = constants_.find(next_); constant != constants_.end(); constant = constants_.find(next_))
        next_ = constant->second;
    address_ = next_;
    const auto code = image_.bytes_at(address_);
    if (whole())
        return false;
    if (!decoder_.decode(code, address_, instruction_) || instruction_.length == 0
        || instruction_.length > end_ - address_) {
        // Until Go 1.21 constants that nobody loads stand at a function's end: what is no instruction, and nothing leads there.
        if (image_.arch() == Arch::arm64 && leaves_ && furthest_ < address_)
            next_ = end_;
        return false;
    }
    next_ += instruction_.length;
    leaves_ = instruction_.jumps() || instruction_.returns();
    if (instruction_.direct && !instruction_.calls() && instruction_.target < end_)
        furthest_ = std::max(furthest_, instruction_.target);
    if (image_.arch() == Arch::arm64 && (load(code.data(), 4, false) & load_mask) == load_constant
        && instruction_.refers_to >= next_ && instruction_.refers_to < end_) {
        const auto word = uint32_t(load(code.data(), 4, false));
        const bool of_vector = word >> 26 & 1, of_4_bytes = of_vector ? word >> 30 == 0 : word >> 30 != 1;
        constants_[instruction_.refers_to] = instruction_.refers_to
            + (of_4_bytes                         ? 4
                   : of_vector && word >> 30 == 2 ? 16
                                                  : 8);
    }
    return true;
}

GoCode go_code(const Image& image, const Function& function)
{
    constexpr unsigned longest_check = 8; // instructions
    GoCode code{.entry = function.address, .exits = std::nullopt};
    std::vector<GoCode::Exit> exits;
    const uint64_t end = go_code_end(image, function.address, function.address + function.size);
    bool looked = false, checked = false, computed = false;
    unsigned count = 0;
    GoInstructions instruction(image, function.address, end);
    for (; instruction.next(); ++count) {
        const uint64_t at = instruction.address();
        if (count < longest_check && !checked) {
            const auto bytes = image.bytes_at(at);
            looked = looked || looks_at_guard(image.arch(), bytes);
            if (looked && instruction->branches() && !is_underflow(image.arch(), bytes)) {
                code.entry = at + instruction->length;
                checked = true;
            }
        }
        const bool leads_out =
            instruction->direct && (instruction->target < function.address || instruction->target >= end);
        if (instruction->returns())
            exits.push_back({at, false});
        else if (instruction->jumps() && leads_out)
            exits.push_back({at, true});
        else if (instruction->branches() && leads_out)
            return code;
        else if (instruction->jumps() && !instruction->direct)
            computed = true; // a switch's table, or another function
    }
    if (instruction.whole() && (!computed || !exits.empty()))
        code.exits = std::move(exits);
    return code;
}

} // namespace fastsdt
