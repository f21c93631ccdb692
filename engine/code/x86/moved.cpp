// SPDX-License-Identifier: BSD-2-Clause
#include "code/x86/moved.h"

#include "code/x86/compiler.h"

#include <functional>
#include <stdexcept>

namespace fastsdt::engine::x86 {
namespace {

struct Instruction {
    uint64_t at = 0; // runtime address of the original
    std::span<const std::byte> bytes;
    ZydisDecodedInstruction decoded{};

    uint64_t end() const { return at + bytes.size(); }
    bool has_near_target() const { return decoded.raw.imm[0].size != 0 && decoded.raw.imm[0].is_relative; }
    uint64_t near_target() const { return end() + uint64_t(decoded.raw.imm[0].value.s); }
    // Intel SDM, volume 2, table 2-7: mod 0 with rm 5 is rip + disp32.
    bool is_rip_relative() const
    {
        return decoded.raw.disp.size == 32 && decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM && decoded.raw.modrm.mod == 0
            && decoded.raw.modrm.rm == 5;
    }
    uint64_t rip_target() const { return end() + uint64_t(decoded.raw.disp.value); }
};

void each_instruction(uint64_t from, std::span<const std::byte> code,
                      const std::function<void(const Instruction&)>& visit)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (!code.empty()) {
        Instruction next;
        next.at = from;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &next.decoded)))
            throw std::logic_error("code that is to be moved cannot be decoded");
        next.bytes = code.first(next.decoded.length);
        visit(next);
        code = code.subspan(next.bytes.size());
        from = next.end();
    }
}

} // namespace

void move_instructions(Assembler& as, uint64_t from, std::span<const std::byte> code)
{
    each_instruction(from, code, [&](const Instruction& next) {
        if (next.decoded.meta.category == ZYDIS_CATEGORY_CALL) {
            if (!next.has_near_target() || next.end() != from + code.size())
                throw std::logic_error("a call that is to be moved is no direct one, or not the last instruction");
            // The return address is the original's, so no frame ever has one of the stub. Flags and registers stay.
            as.emit(ZYDIS_MNEMONIC_PUSH, {int64_t(int32_t(next.end()))});
            as.emit(ZYDIS_MNEMONIC_MOV,
                    {Memory{.base = rsp, .displacement = 4, .size = 4}, int64_t(int32_t(next.end() >> 32))});
            as.jump_to(ZYDIS_MNEMONIC_JMP, next.near_target());
        } else if (next.has_near_target()) {
            as.jump_to(next.decoded.mnemonic, next.near_target());
        } else if (next.is_rip_relative()) {
            as.copy(next.bytes, next.decoded.raw.disp.offset, next.rip_target());
        } else {
            as.copy(next.bytes);
        }
    });
}

std::vector<uint64_t> reached_from(uint64_t from, std::span<const std::byte> code)
{
    std::vector<uint64_t> targets;
    each_instruction(from, code, [&](const Instruction& next) {
        if (next.has_near_target())
            targets.push_back(next.near_target());
        else if (next.is_rip_relative())
            targets.push_back(next.rip_target());
    });
    return targets;
}

void Compiler::move_code(uint64_t from, std::span<const std::byte> code)
{
    move_instructions(as_, from, code);
}

} // namespace fastsdt::engine::x86
