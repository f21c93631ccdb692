// SPDX-License-Identifier: BSD-2-Clause
#include "sites.h"

#include <fastsdt/note.h>

#include <algorithm>
#include <initializer_list>

namespace fastsdt {
namespace {

using Bytes = std::span<const std::byte>;

bool begins(Bytes code, std::initializer_list<int> bytes)
{
    return code.size() >= bytes.size()
        && std::equal(bytes.begin(), bytes.end(), code.begin(), [](int a, std::byte b) { return std::byte(a) == b; });
}

// The nops that headers emit: `nop` of each assembler. File byte order differs only where both orders exist.
bool native_nop(Arch arch, Bytes code)
{
    switch (arch) {
    case Arch::x86_64:
    case Arch::i386: return begins(code, {FASTSDT_BYTES_nop1});
    case Arch::arm64: return begins(code, {0x1f, 0x20, 0x03, 0xd5});
    case Arch::arm:
        return begins(code, {0x00, 0xf0, 0x20, 0xe3}) || begins(code, {0x00, 0x00, 0xa0, 0xe1}) // nop; mov r0, r0
            || begins(code, {0x00, 0xbf}) || begins(code, {0xc0, 0x46});                        // Thumb: nop; mov r8, r8
    case Arch::riscv: return begins(code, {0x01, 0x00}) || begins(code, {0x13, 0x00, 0x00, 0x00}); // c.nop, nop
    case Arch::powerpc: return begins(code, {0x60, 0, 0, 0}) || begins(code, {0, 0, 0, 0x60});
    case Arch::s390: return begins(code, {0x07, 0x00}) || begins(code, {0x47, 0, 0, 0}); // nopr %r0, nop 0
    case Arch::loongarch: return begins(code, {0x00, 0x00, 0x40, 0x03});
    case Arch::mips: return begins(code, {0, 0, 0, 0});
    case Arch::unknown: break;
    }
    return true;
}

} // namespace

bool layout_stands_at(Arch arch, uint8_t layout, Bytes code)
{
    const bool x86_64 = arch == Arch::x86_64;
    switch (layout) {
    case FASTSDT_LAYOUT_NOP: return native_nop(arch, code);
    case FASTSDT_LAYOUT_NOP1_NOP4: return begins(code, {FASTSDT_BYTES_nop1_nop4});
    case FASTSDT_LAYOUT_NOP5: return begins(code, {FASTSDT_BYTES_nop5});
    case FASTSDT_LAYOUT_NOP1_NOP5: return begins(code, {FASTSDT_BYTES_nop1_nop5});
    case FASTSDT_LAYOUT_NOP10: return begins(code, {FASTSDT_BYTES_nop10});
    case FASTSDT_LAYOUT_NOP1_NOP10: return begins(code, {FASTSDT_BYTES_nop1_nop10});
    case FASTSDT_LAYOUT_PUSH: { // 50+r, or 41 50+r
        if (x86_64 && begins(code, {0x41}))
            code = code.subspan(1);
        return x86_64 && !code.empty() && (code[0] & std::byte(0xf8)) == std::byte(0x50);
    }
    case FASTSDT_LAYOUT_STP: // a9 10 bit: stp x29, x30, [sp, #imm]! with imm in bits 15 to 21
        return arch == Arch::arm64 && code.size() >= 4 && code[0] == std::byte(0xfd)
            && (code[1] & std::byte(0x7f)) == std::byte(0x7b) && (code[2] & std::byte(0xc0)) == std::byte(0x80)
            && code[3] == std::byte(0xa9);
    default: return true;
    }
}

bool any_nop_at(Arch arch, Bytes code)
{
    if (arch != Arch::x86_64 && arch != Arch::i386)
        return native_nop(arch, code);
    // Prefixes that multi-byte nops are built with, then nop or nopl.
    while (begins(code, {0x66}) || begins(code, {0x2e}))
        code = code.subspan(1);
    return begins(code, {0x90}) || begins(code, {0x0f, 0x1f});
}

} // namespace fastsdt
