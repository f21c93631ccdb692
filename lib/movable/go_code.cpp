// SPDX-License-Identifier: BSD-2-Clause
#include "movable/go_code.h"

#include "base/bytes.h"
#include "movable/instructions.h"

#include <algorithm>
#include <span>

namespace fastsdt {
namespace {

// Whether an instruction compares with what is 16 bytes into g, its stack's guard: cmd/internal/obj/x86/obj6.go and arm64/obj7.go,
// stacksplit(). arm64 loads it first.
bool looks_at_guard(Arch arch, std::span<const std::byte> code)
{
    if (arch == Arch::arm64)
        return starts_with(code, {0x90, 0x0b, 0x40, 0xf9}); // ldr x16, [x28, #16]
    return starts_with(code, {0x49, 0x3b, 0x66, 0x10})      // cmp 0x10(%r14), %rsp
        || starts_with(code, {0x4d, 0x3b, 0x66, 0x10});     // cmp 0x10(%r14), %r12
}

} // namespace

GoCode go_code(const Image& image, const Function& function)
{
    constexpr unsigned longest_check = 8; // instructions
    GoCode code{.entry = function.address, .exits = std::nullopt};
    Decoder decoder(image.arch());
    std::vector<GoCode::Exit> exits;
    const uint64_t end = function.address + function.size;
    bool looked = false, checked = false, computed = false;
    unsigned count = 0;
    Instruction instruction;
    for (uint64_t at = function.address; at < end; at += instruction.length, ++count) {
        const auto bytes = image.bytes_at(at);
        if (!decoder.decode(bytes, at, instruction) || instruction.length == 0)
            return code;
        if (count < longest_check && !checked) {
            looked = looked || looks_at_guard(image.arch(), bytes);
            if (looked && instruction.branches()) {
                code.entry = at + instruction.length;
                checked = true;
            }
        }
        const bool leads_out =
            instruction.direct && (instruction.target < function.address || instruction.target >= end);
        if (instruction.returns())
            exits.push_back({at, false});
        else if (instruction.jumps() && leads_out)
            exits.push_back({at, true});
        else if (instruction.branches() && leads_out)
            return code;
        else if (instruction.jumps() && !instruction.direct)
            computed = true; // a switch's table, or another function
    }
    if (!computed || !exits.empty())
        code.exits = std::move(exits);
    return code;
}

} // namespace fastsdt
