// SPDX-License-Identifier: BSD-2-Clause
#include "movable/instructions.h"

#include "movable/instructions_arm64.h"
#include "movable/instructions_x86.h"

namespace fastsdt {

bool Decoder::decode(std::span<const std::byte> code, uint64_t address, Instruction& instruction)
{
    return arch_ == Arch::arm64 ? pages_.decode(code, address, instruction) : x86::decode(code, address, instruction);
}

Motion motion_of(const Image& image, std::span<const std::byte> code, uint64_t address)
{
    return image.arch() == Arch::arm64 ? arm64::motion_of(image, code, address) : x86::motion_of(image, code, address);
}

} // namespace fastsdt
