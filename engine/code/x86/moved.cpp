// SPDX-License-Identifier: BSD-2-Clause
#include "code/x86/moved.h"

#include "movable/instructions_x86.h"
#include "code/x86/compiler.h"

#include <functional>
#include <stdexcept>

namespace fastsdt::engine::x86 {
namespace {

using fastsdt::x86::Instruction;

void each_instruction(uint64_t from, std::span<const std::byte> code,
                      const std::function<void(const Instruction&, uint64_t at, std::span<const std::byte>)>& visit)
{
    while (!code.empty()) {
        Instruction next;
        if (!decode(code, next))
            throw std::logic_error("code that is to be moved cannot be decoded");
        visit(next, from, code.first(next.length));
        code = code.subspan(next.length);
        from += next.length;
    }
}

} // namespace

void move_instructions(Assembler& as, uint64_t from, std::span<const std::byte> code)
{
    const uint64_t end = from + code.size();
    each_instruction(from, code, [&](const Instruction& next, uint64_t at, std::span<const std::byte> bytes) {
        if (next.calls()) {
            if (!next.direct() || at + next.length != end)
                throw std::logic_error("a call that is to be moved is no direct one, or not the last instruction");
            // The return address is the original's, so no frame ever has one of the stub. Flags and registers stay.
            as.emit(ZYDIS_MNEMONIC_PUSH, {int64_t(int32_t(end))});
            as.emit(ZYDIS_MNEMONIC_MOV,
                    {Memory{.base = rsp, .displacement = 4, .size = 4}, int64_t(int32_t(end >> 32))});
            as.jump_to(ZYDIS_MNEMONIC_JMP, next.target(at));
        } else if (next.direct()) {
            as.jump_to(next.mnemonic, next.target(at));
        } else if (next.rip_relative()) {
            as.copy(bytes, next.raw.disp.offset, next.refers_to(at));
        } else {
            as.copy(bytes);
        }
    });
}

std::vector<uint64_t> reached_from(uint64_t from, std::span<const std::byte> code)
{
    std::vector<uint64_t> targets;
    each_instruction(from, code, [&](const Instruction& next, uint64_t at, std::span<const std::byte>) {
        if (next.direct())
            targets.push_back(next.target(at));
        else if (next.rip_relative())
            targets.push_back(next.refers_to(at));
    });
    return targets;
}

void Compiler::move_code(uint64_t from, std::span<const std::byte> code)
{
    move_instructions(as_, from, code);
}

} // namespace fastsdt::engine::x86
