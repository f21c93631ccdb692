// SPDX-License-Identifier: BSD-2-Clause
#include "base/integers.h"
#include "elf/exits.h"

#include <Zydis/Zydis.h>

#include <algorithm>

namespace fastsdt {
namespace {

std::optional<Step> step_x86_64(std::span<const std::byte> code, uint64_t address)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))
        || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &instruction)))
        return {};
    Step step;
    step.length = instruction.length;
    switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_RET: step.flow = Flow::returns; break;
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_COND_BR:
        step.flow = Flow::indirect;
        if (instruction.raw.imm[0].size != 0 && instruction.raw.imm[0].is_relative) {
            step.flow = Flow::away;
            step.target = address + step.length + uint64_t(instruction.raw.imm[0].value.s);
        }
        break;
    default: break;
    }
    return step;
}

// Branches, of the Arm Architecture Reference Manual, C4.1.
std::optional<Step> step_arm64(std::span<const std::byte> code, uint64_t address)
{
    if (code.size() < 4)
        return {};
    const auto word = uint32_t(load(code.data(), 4, false));
    const auto jump = [&](unsigned shift, unsigned bits) {
        const uint64_t field = word >> shift & ((uint64_t(1) << bits) - 1);
        const uint64_t sign = uint64_t(1) << (bits - 1);
        return Step{4, Flow::away, address + 4 * ((field ^ sign) - sign)};
    };
    if ((word & 0xfc000000) == 0x14000000) // b
        return jump(0, 26);
    if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) // b.cond, bc.cond, cbz, cbnz
        return jump(5, 19);
    if ((word & 0x7e000000) == 0x36000000) // tbz, tbnz
        return jump(5, 14);
    if ((word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff) // ret, retaa, retab
        return Step{4, Flow::returns, 0};
    if ((word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfefff800) == 0xd61f0800) // br, braa and its kin
        return Step{4, Flow::indirect, 0};
    return Step{4, Flow::next, 0};
}

} // namespace

std::optional<Step> step(Arch arch, std::span<const std::byte> code, uint64_t address)
{
    switch (arch) {
    case Arch::x86_64: return step_x86_64(code, address);
    case Arch::arm64: return step_arm64(code, address);
    default: return {};
    }
}

std::optional<uint64_t> each_jump(const Image& image, uint64_t begin, uint64_t end,
                                  const std::function<void(uint64_t address, const Step& step)>& visit)
{
    std::optional<uint64_t> undecoded;
    auto code = image.bytes_at(begin);
    code = code.first(std::min<size_t>(code.size(), end - begin));
    for (uint64_t address = begin; !code.empty();) {
        const auto here = step(image.arch(), code, address);
        if (!here && !undecoded)
            undecoded = address;
        const size_t length = here ? here->length : image.arch() == Arch::x86_64 ? 1 : 4; // data in the code
        if (here && (here->flow == Flow::returns || here->flow == Flow::away))
            visit(address, *here);
        code = code.subspan(std::min(length, code.size()));
        address += length;
    }
    return undecoded;
}

} // namespace fastsdt
