// SPDX-License-Identifier: BSD-2-Clause
#include "code/x86/assembler.h"

#include "base/integers.h"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace fastsdt::engine::x86 {
namespace {

ZydisRegister named(Part part)
{
    if (part.reg == no_register)
        return ZYDIS_REGISTER_NONE;
    // Zydis has ah to bh between bl and spl; a Reg is never one of those.
    static constexpr ZydisRegister low[] = {
        ZYDIS_REGISTER_AL,   ZYDIS_REGISTER_CL,   ZYDIS_REGISTER_DL,   ZYDIS_REGISTER_BL,
        ZYDIS_REGISTER_SPL,  ZYDIS_REGISTER_BPL,  ZYDIS_REGISTER_SIL,  ZYDIS_REGISTER_DIL,
        ZYDIS_REGISTER_R8B,  ZYDIS_REGISTER_R9B,  ZYDIS_REGISTER_R10B, ZYDIS_REGISTER_R11B,
        ZYDIS_REGISTER_R12B, ZYDIS_REGISTER_R13B, ZYDIS_REGISTER_R14B, ZYDIS_REGISTER_R15B};
    switch (part.size) {
    case 1: return low[part.reg];
    case 2: return ZydisRegister(ZYDIS_REGISTER_AX + int(part.reg));
    case 4: return ZydisRegister(ZYDIS_REGISTER_EAX + int(part.reg));
    default: return ZydisRegister(ZYDIS_REGISTER_RAX + int(part.reg));
    }
}

bool only_reads(ZydisMnemonic mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_CMP || mnemonic == ZYDIS_MNEMONIC_TEST || mnemonic == ZYDIS_MNEMONIC_PUSH
        || mnemonic == ZYDIS_MNEMONIC_MUL || mnemonic == ZYDIS_MNEMONIC_DIV;
}

// What tells an instruction from others.
using Key = std::array<uint64_t, 8>;

Key key_of(ZydisMnemonic mnemonic, std::initializer_list<Operand> operands, bool lock)
{
    constexpr size_t most = (std::tuple_size_v<Key> - 1) / 2;
    if (operands.size() > most)
        throw std::logic_error("more operands than any instruction of stubs has");
    Key key{uint64_t(mnemonic) | uint64_t(lock) << 32 | uint64_t(operands.size()) << 40};
    auto word = key.begin() + 1;
    for (const Operand& operand : operands) {
        if (const auto* part = std::get_if<Part>(&operand)) {
            *word++ = 1 | uint64_t(part->reg) << 8 | uint64_t(part->size) << 16;
            *word++ = 0;
        } else if (const auto* memory = std::get_if<Memory>(&operand)) {
            *word++ = 2 | uint64_t(memory->base) << 8 | uint64_t(memory->index) << 16 | uint64_t(memory->scale) << 24
                | uint64_t(memory->fs) << 32 | uint64_t(memory->size) << 40;
            *word++ = uint64_t(memory->displacement);
        } else {
            *word++ = 3;
            *word++ = uint64_t(std::get<int64_t>(operand));
        }
    }
    return key;
}

ZydisEncoderRequest request_for(ZydisMnemonic mnemonic, std::initializer_list<Operand> operands, bool lock)
{
    ZydisEncoderRequest request{};
    request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    request.mnemonic = mnemonic;
    if (lock)
        request.prefixes |= ZYDIS_ATTRIB_HAS_LOCK;
    for (const Operand& operand : operands) {
        ZydisEncoderOperand& to = request.operands[request.operand_count];
        if (const auto* part = std::get_if<Part>(&operand)) {
            to.type = ZYDIS_OPERAND_TYPE_REGISTER;
            to.reg.value = named(*part);
        } else if (const auto* memory = std::get_if<Memory>(&operand)) {
            to.type = ZYDIS_OPERAND_TYPE_MEMORY;
            to.mem.base = named({memory->base, 8});
            to.mem.index = named({memory->index, 8});
            to.mem.scale = memory->index == no_register ? 0 : ZyanU8(memory->scale);
            to.mem.displacement = memory->displacement;
            to.mem.size = ZyanU16(memory->size);
            if (memory->fs)
                request.prefixes |= ZYDIS_ATTRIB_HAS_SEGMENT_FS;
        } else {
            to.type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
            to.imm.s = std::get<int64_t>(operand);
        }
        ++request.operand_count;
    }
    return request;
}

ZydisEncoderRequest jump_request(ZydisMnemonic mnemonic)
{
    ZydisEncoderRequest request{};
    request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    request.mnemonic = mnemonic;
    request.branch_type = ZYDIS_BRANCH_TYPE_NEAR;
    request.branch_width = ZYDIS_BRANCH_WIDTH_32;
    request.operand_count = 1;
    request.operands[0].type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
    return request;
}

struct Encoded {
    Key key{};
    uint8_t length = 0;
    std::array<unsigned char, ZYDIS_MAX_INSTRUCTION_LENGTH> bytes{};
};

// A place for the instruction, which may have it already: stubs for a thousand processes are the same but for addresses, and for each
// instruction Zydis looks through all forms that there are.
Encoded& kept(const Key& key)
{
    // Not in the thread's own memory, which each thread pays for, those too that compile nothing.
    thread_local std::vector<Encoded> all(2048); // a script has some hundred
    uint64_t hash = 0;
    for (const uint64_t word : key)
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return all[(hash >> 32) % all.size()];
}

Encoded encoded(const Key& key, const ZydisEncoderRequest& request)
{
    Encoded to{key};
    ZyanUSize length = to.bytes.size();
    if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, to.bytes.data(), &length)))
        throw std::logic_error("no such instruction: " + std::string(ZydisMnemonicGetString(request.mnemonic)));
    to.length = uint8_t(length);
    return to;
}

} // namespace

void Assembler::put(const ZydisEncoderRequest& request)
{
    const Encoded instruction = encoded({}, request);
    append(instruction.bytes.data(), instruction.length);
}

void Assembler::emit(ZydisMnemonic mnemonic, std::initializer_list<Operand> operands, bool lock)
{
    const auto* const first = operands.size() ? std::get_if<Part>(operands.begin()) : nullptr;
    if (first && !only_reads(mnemonic))
        clobber(bit(first->reg));
    const Key key = key_of(mnemonic, operands, lock);
    Encoded& instruction = kept(key);
    if (instruction.length == 0 || instruction.key != key)
        instruction = encoded(key, request_for(mnemonic, operands, lock));
    append(instruction.bytes.data(), instruction.length);
}

void Assembler::jump(ZydisMnemonic mnemonic, Label to)
{
    jump_to(mnemonic, here());
    use(bytes_.size() - 4, to);
}

void Assembler::jump_to(ZydisMnemonic mnemonic, uint64_t runtime)
{
    const Key key{uint64_t(mnemonic) | uint64_t{1} << 56};
    Encoded& instruction = kept(key);
    if (instruction.length == 0 || instruction.key != key)
        instruction = encoded(key, jump_request(mnemonic));
    append(instruction.bytes.data(), instruction.length);
    displacement(bytes_.size() - 4, runtime);
}

void Assembler::load_near(Reg reg, uint64_t from)
{
    ZydisEncoderRequest request{};
    request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    request.mnemonic = ZYDIS_MNEMONIC_MOV;
    request.operand_count = 2;
    request.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
    request.operands[0].reg.value = named({reg, 8});
    request.operands[1].type = ZYDIS_OPERAND_TYPE_MEMORY;
    request.operands[1].mem.base = ZYDIS_REGISTER_RIP;
    request.operands[1].mem.size = 8;
    put(request);
    displacement(bytes_.size() - 4, from);
    clobber(bit(reg));
}

void Assembler::low_of_vector(Reg to, unsigned number, int size)
{
    ZydisEncoderRequest request{};
    request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    request.mnemonic = size == 8 ? ZYDIS_MNEMONIC_MOVQ : ZYDIS_MNEMONIC_MOVD;
    request.operand_count = 2;
    request.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
    request.operands[0].reg.value = named({to, size});
    request.operands[1].type = ZYDIS_OPERAND_TYPE_REGISTER;
    request.operands[1].reg.value = ZydisRegister(ZYDIS_REGISTER_XMM0 + number);
    put(request);
    clobber(bit(to));
}

void Assembler::jump_through(uint64_t from)
{
    ZydisEncoderRequest request{};
    request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    request.mnemonic = ZYDIS_MNEMONIC_JMP;
    request.operand_count = 1;
    request.operands[0].type = ZYDIS_OPERAND_TYPE_MEMORY;
    request.operands[0].mem.base = ZYDIS_REGISTER_RIP;
    request.operands[0].mem.size = 8;
    put(request);
    displacement(bytes_.size() - 4, from);
}

void Assembler::displacement(size_t at, uint64_t target)
{
    const int64_t value = int64_t(target - (start_ + at + 4));
    far_ |= value != int32_t(value);
    fastsdt::store(&bytes_[at], 4, uint64_t(value), false);
}

void Assembler::move(Reg to, Reg from)
{
    emit(ZYDIS_MNEMONIC_MOV, {Part{to}, Part{from}});
}

void Assembler::load(Reg to, const Memory& from)
{
    emit(ZYDIS_MNEMONIC_MOV, {Part{to}, from});
}

void Assembler::store(const Memory& to, Reg from)
{
    emit(ZYDIS_MNEMONIC_MOV, {to, Part{from, to.size}});
}

void Assembler::constant(Reg to, int64_t value)
{
    if (value >= 0 && value <= int64_t(UINT32_MAX))
        emit(ZYDIS_MNEMONIC_MOV, {Part{to, 4}, int64_t(int32_t(value))}); // zero-extended by the processor
    else
        emit(ZYDIS_MNEMONIC_MOV, {Part{to}, value});
}

void Assembler::long_constant(Reg to, uint64_t value)
{
    // REX.W, and REX.B for the upper eight registers; B8 + register; imm64
    const uint8_t opcode[] = {uint8_t(0x48 | to >> 3), uint8_t(0xb8 | (to & 7))};
    append(opcode, sizeof opcode);
    append(&value, sizeof value);
    clobber(bit(to));
}

void Assembler::address(Reg to, const Memory& of)
{
    emit(ZYDIS_MNEMONIC_LEA, {Part{to}, of});
}

void Assembler::copy(std::span<const std::byte> instruction)
{
    append(instruction.data(), instruction.size());
}

void Assembler::copy(std::span<const std::byte> instruction, size_t displacement_offset, uint64_t target)
{
    const size_t at = bytes_.size() + displacement_offset;
    copy(instruction);
    const size_t behind = bytes_.size() - (at + 4); // an immediate operand
    displacement(at, target - behind);
}

void Assembler::align(size_t boundary)
{
    const size_t before = bytes_.size();
    bytes_.resize((before + boundary - 1) / boundary * boundary);
    if (bytes_.size() > before)
        ZydisEncoderNopFill(&bytes_[before], bytes_.size() - before);
}

void Assembler::align_to(uint8_t low)
{
    const size_t before = bytes_.size();
    bytes_.resize(before + uint8_t(low - uint8_t(here())));
    if (bytes_.size() > before)
        ZydisEncoderNopFill(&bytes_[before], bytes_.size() - before);
}

} // namespace fastsdt::engine::x86
