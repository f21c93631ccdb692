// SPDX-License-Identifier: BSD-2-Clause
// The instruction patterns that kernels are asked about: lines `ARCH HEX [PAGE_OFFSET]`, grouped under `# ARCH: title`.
//
// HEX is the bytes in memory; where instructions are words (arm64, arm, riscv, powerpc, loongarch) the word. What follows a pattern in memory is
// breakpoint instructions. Lists are exhaustive where an encoding is small (prefixes, opcodes, ModRM forms of the NOPs), because nobody can know in
// advance where a kernel's rule has its edge.
#include "patterns.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

class Writer {
public:
    Writer(std::string& text, std::string arch) : text_(text), arch_(std::move(arch)) {}
    void group(const char* title) { text_ += fmt::format("# {}: {}\n", arch_, title); }
    /// Each pattern once, whichever group names it first.
    void add(const Bytes& bytes, int page_offset = -1)
    {
        std::string hex;
        for (uint8_t byte : bytes)
            hex += fmt::format("{:02x}", byte);
        add_hex(hex, page_offset);
    }
    void add_hex(const std::string& hex, int page_offset = -1)
    {
        std::string line = fmt::format("{} {}", arch_, hex);
        if (page_offset >= 0)
            line += fmt::format(" {}", page_offset);
        if (seen_.insert(line).second)
            text_ += line + '\n';
    }
    void word(uint32_t insn, int page_offset = -1) { add_hex(fmt::format("{:08x}", insn), page_offset); }

private:
    std::string& text_;
    std::string arch_;
    std::set<std::string> seen_;
};

Bytes operator+(Bytes a, const Bytes& b)
{
    for (uint8_t byte : b) // GCC 16 warns of insert()
        a.push_back(byte);
    return a;
}

void entries(Writer& out, const std::string& directory, const std::string& arch)
{
    std::ifstream in(directory + "/entries-" + arch + ".txt");
    if (!in)
        throw std::runtime_error("cannot read " + directory + "/entries-" + arch + ".txt");
    out.group("first instructions of functions in real libraries");
    for (std::string line, count, hex; std::getline(in, line);)
        if (line[0] != '#' && std::istringstream(line) >> count >> hex)
            out.add_hex(hex);
}

/// ModRM forms of `0f 1f`-like instructions with their SIB and displacement: all the lengths there are.
std::vector<Bytes> modrm_forms(unsigned reg)
{
    auto r = static_cast<uint8_t>(reg << 3);
    auto m = [r](unsigned byte) { return static_cast<uint8_t>(byte | r); };
    return {
        {m(0x00)},                   // (%rax)
        {m(0x40), 0},                // 0(%rax)
        {m(0x44), 0, 0},             // 0(%rax,%rax,1)
        {m(0x80), 0, 0, 0, 0},       // 0(%rax), disp32
        {m(0x84), 0, 0, 0, 0, 0},    // 0(%rax,%rax,1), disp32
        {m(0x05), 0, 0, 0, 0},       // 0(%rip)
        {m(0x04), 0x25, 0, 0, 0, 0}, // absolute
        {m(0xc0)},                   // register
        {m(0xc8 & 0xc7)},            // the same with another rm below
        {m(0xc1)},
    };
}

const std::vector<Bytes> Nops = {
    {0x90},
    {0x66, 0x90},
    {0x0f, 0x1f, 0x00},
    {0x0f, 0x1f, 0x40, 0x00},
    {0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
    {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
    {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
};
const Bytes Nop8_tail = {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00};
const Bytes Nop10 = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00};

void x86(Writer& out, const std::string& arch, const std::string& directory)
{
    const bool x64 = arch == "x86_64";
    const Bytes legacy = {0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65};

    out.group("the NOPs that assemblers emit, with each prefix and pair of prefixes");
    for (const Bytes& nop : Nops) {
        out.add(nop);
        for (uint8_t prefix : legacy) {
            out.add(Bytes{prefix} + nop);
            for (uint8_t second : legacy)
                if (nop.size() == 1 || (x64 && nop == Nop8_tail))
                    out.add(Bytes{prefix, second} + nop);
        }
        if (x64)
            for (unsigned rex = 0x40; rex < 0x50; ++rex)
                if (nop.size() <= 3 || rex % 4 == 0)
                    out.add(Bytes{static_cast<uint8_t>(rex)} + nop);
    }
    out.group("long NOPs: 66 repeated, 2e first and last");
    for (unsigned n = 0; n <= 7; ++n) {
        const Bytes many(n, 0x66);
        out.add(many + Nop8_tail);
        out.add(many + Bytes{0x2e} + Nop8_tail);
        out.add(Bytes{0x2e} + many + Nop8_tail);
        out.add(many + Bytes{0x90});
    }
    out.group("the 10-byte NOP with other operands, other forms of the same length");
    out.add(Nop10);
    for (size_t i = 5; i < 10; ++i)
        for (unsigned value : {0x01u, 0x7fu, 0x80u, 0xe8u, 0xffu}) {
            Bytes changed = Nop10;
            changed[i] = static_cast<uint8_t>(value);
            out.add(changed);
        }
    out.add({0x66, 0x2e, 0x0f, 0x1f, 0x84, 0xe8, 0x12, 0x34, 0x56, 0x78}); // after the kernel's unoptimization
    out.add({0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00}); // clang's 512(%rax,%rax,1)
    out.add({0x66, 0x2e, 0x0f, 0x1f, 0x8c, 0x00, 0x00, 0x00, 0x00, 0x00}); // reg field 1
    out.add({0x66, 0x2e, 0x0f, 0x19, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}); // another hint NOP
    out.add({0x66, 0x2e, 0x0f, 0x1e, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
    out.add({0x66, 0x3e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
    out.add({0x66, 0x64, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
    out.add({0x66, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
    out.add({0x66, 0x67, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
    out.add({0xf3, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
    out.add({0x66, 0x48, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00});
    out.add({0x2e, 0x66, 0x48, 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00});
    out.add({0x66, 0x2e, 0x48, 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00});
    out.add({0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00});
    out.add(Bytes{0x90} + Nop10);

    out.group("NOPs at the end of a page");
    for (Bytes nop : Nops) {
        for (int offset = 4085; offset <= 4095; ++offset)
            out.add(nop, offset);
    }
    for (int offset = 4085; offset <= 4095; ++offset)
        out.add(Nop10, offset);
    for (int offset : {0, 1, 2047, 4000})
        out.add(Nop10, offset);
    out.add({0x55}, 4095);
    out.add({0xe8, 0x00, 0x00, 0x00, 0x00}, 4093);

    out.group("every ModRM form of 0f 1f; the other hint NOPs; endbr and its neighbours");
    for (unsigned reg = 0; reg < 8; ++reg)
        for (const Bytes& form : modrm_forms(reg))
            if (x64 || form[0] != (0x05 | reg << 3))
                out.add(Bytes{0x0f, 0x1f} + form);
    for (unsigned rm = 0; rm < 8; ++rm)
        out.add({0x0f, 0x1f, static_cast<uint8_t>(0xc0 | rm)});
    for (unsigned opcode = 0x18; opcode <= 0x1f; ++opcode)
        for (unsigned reg = 0; reg < 8; ++reg)
            for (const Bytes& prefix : {Bytes{}, Bytes{0x66}, Bytes{0xf2}, Bytes{0xf3}}) {
                if (!prefix.empty() && reg != 0 && reg != 1 && reg != 7)
                    continue;
                auto o = static_cast<uint8_t>(opcode);
                out.add(prefix + Bytes{0x0f, o, static_cast<uint8_t>(0x00 | reg << 3)});
                out.add(prefix + Bytes{0x0f, o, static_cast<uint8_t>(0xc0 | reg << 3)});
            }
    for (unsigned modrm = 0xf8; modrm <= 0xff; ++modrm)
        out.add({0xf3, 0x0f, 0x1e, static_cast<uint8_t>(modrm)});
    out.add({0xf3, 0x48, 0x0f, 0x1e, 0xc8}); // rdsspq
    out.add({0x66, 0xf3, 0x0f, 0x1e, 0xfa});
    out.add({0xf3, 0x40, 0x0f, 0x1e, 0xfa});
    out.add({0x0f, 0x0d, 0x00});
    out.add({0x0f, 0x0d, 0x08});

    out.group("moves to self, xchg and lea forms that do nothing");
    std::vector<Bytes> rex_forms = {{}};
    if (x64)
        for (unsigned rex : {0x40u, 0x41u, 0x45u, 0x48u, 0x4du})
            rex_forms.push_back({static_cast<uint8_t>(rex)});
    for (const Bytes& rex : rex_forms) {
        for (unsigned opcode : {0x86u, 0x87u, 0x88u, 0x89u, 0x8au, 0x8bu})
            for (unsigned modrm : {0xc0u, 0xc1u, 0xdbu, 0xe4u, 0xffu})
                out.add(rex + Bytes{static_cast<uint8_t>(opcode), static_cast<uint8_t>(modrm)});
        for (const Bytes& form : {Bytes{0x00},
                                  Bytes{0x40, 0x00},
                                  Bytes{0x40, 0x01},
                                  Bytes{0x49, 0x00},
                                  Bytes{0x76, 0x00},
                                  Bytes{0x36},
                                  Bytes{0x6d, 0x00},
                                  Bytes{0x24, 0x24},
                                  Bytes{0x64, 0x24, 0x00},
                                  Bytes{0x64, 0x24, 0x80},
                                  Bytes{0x74, 0x26, 0x00},
                                  Bytes{0x74, 0x25, 0x00},
                                  Bytes{0x34, 0x26},
                                  Bytes{0x44, 0x20, 0x00},
                                  Bytes{0x44, 0x00, 0x00},
                                  Bytes{0xb6, 0, 0, 0, 0},
                                  Bytes{0xb4, 0x26, 0, 0, 0, 0},
                                  Bytes{0xb4, 0x66, 0, 0, 0, 0},
                                  Bytes{0xb6, 1, 0, 0, 0},
                                  Bytes{0x80, 0, 0, 0, 0},
                                  Bytes{0x04, 0x20},
                                  Bytes{0x04, 0x60},
                                  Bytes{0x05, 0, 0, 0, 0},
                                  Bytes{0x48, 0x00},
                                  Bytes{0x41, 0x00},
                                  Bytes{0x09},
                                  Bytes{0xc0}})
            out.add(rex + Bytes{0x8d} + form);
    }
    for (unsigned opcode = 0x91; opcode <= 0x97; ++opcode) {
        out.add({static_cast<uint8_t>(opcode)});
        if (x64)
            out.add({0x48, static_cast<uint8_t>(opcode)});
    }
    for (uint8_t prefix : legacy) {
        out.add({prefix, 0x89, 0xc0});
        out.add({prefix, 0x8d, 0x76, 0x00});
        if (x64) {
            out.add({prefix, 0x48, 0x89, 0xc0});
            out.add({prefix, 0x48, 0x8d, 0x00});
        }
    }

    out.group("push and pop");
    for (unsigned opcode = 0x50; opcode <= 0x5f; ++opcode) {
        auto o = static_cast<uint8_t>(opcode);
        out.add({o});
        out.add({0x66, o});
        if (opcode == 0x50 || opcode == 0x55 || opcode == 0x57 || opcode == 0x5d)
            for (uint8_t prefix : legacy)
                out.add({prefix, o});
        if (x64)
            for (unsigned rex = 0x40; rex < 0x50; ++rex)
                if (rex == 0x41 || opcode == 0x50 || opcode == 0x55 || opcode == 0x5d)
                    out.add({static_cast<uint8_t>(rex), o});
    }
    out.add({0x66, 0x41, 0x55});
    out.add({0x41, 0x41, 0x55});
    out.add({0x6a, 0x00});
    out.add({0x68, 0x00, 0x00, 0x00, 0x00});
    out.add({0xff, 0x30});
    out.add({0xff, 0xf0});
    out.add({0xff, 0xf5});
    out.add({0xff, 0x35, 0, 0, 0, 0});
    out.add({0x8f, 0x00});
    out.add({0x8f, 0xc0});
    for (unsigned opcode : {0xa0u, 0xa1u, 0xa8u, 0xa9u})
        out.add({0x0f, static_cast<uint8_t>(opcode)});

    out.group("call, jmp, jcc, loop, ret with their prefixes");
    const std::vector<Bytes> branch_prefixes = {{}, {0x66}, {0x67}, {0x2e}, {0x3e}, {0xf2}, {0xf3}, {0xf0}, {0x64}};
    for (const Bytes& prefix : branch_prefixes) {
        out.add(prefix + Bytes{0xeb, 0x10});
        out.add(prefix + Bytes{0xe9, 0x10, 0, 0, 0});
        out.add(prefix + Bytes{0xe8, 0x10, 0, 0, 0});
        out.add(prefix + Bytes{0x74, 0x10});
        out.add(prefix + Bytes{0x0f, 0x84, 0x10, 0, 0, 0});
        out.add(prefix + Bytes{0xe2, 0x10});
        out.add(prefix + Bytes{0xc3});
        out.add(prefix + Bytes{0xc2, 0x08, 0x00});
        for (unsigned reg = 2; reg <= 5; ++reg) {
            out.add(prefix + Bytes{0xff, static_cast<uint8_t>(0x00 | reg << 3)});
            out.add(prefix + Bytes{0xff, static_cast<uint8_t>(0xc0 | reg << 3)});
        }
    }
    for (unsigned condition = 0; condition < 16; ++condition) {
        out.add({static_cast<uint8_t>(0x70 | condition), 0x10});
        out.add({0x0f, static_cast<uint8_t>(0x80 | condition), 0x10, 0, 0, 0});
    }
    for (unsigned opcode : {0xe0u, 0xe1u, 0xe3u})
        out.add({static_cast<uint8_t>(opcode), 0x10});
    if (x64) {
        for (unsigned rex : {0x40u, 0x41u, 0x48u}) {
            auto r = static_cast<uint8_t>(rex);
            out.add({r, 0xe8, 0x10, 0, 0, 0});
            out.add({r, 0xeb, 0x10});
            out.add({r, 0x74, 0x10});
            out.add({r, 0xc3});
            out.add({r, 0xff, 0xe0});
            out.add({r, 0xff, 0xd0});
        }
        out.add({0xff, 0x15, 0, 0, 0, 0});
        out.add({0xff, 0x25, 0, 0, 0, 0});
        out.add({0xf2, 0xff, 0x25, 0, 0, 0, 0});
    } else {
        out.add({0x9a, 0, 0, 0, 0, 0, 0});
        out.add({0xea, 0, 0, 0, 0, 0, 0});
    }

    out.group("every one-byte opcode, with a memory and a register operand where it takes one");
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        auto o = static_cast<uint8_t>(opcode);
        // jmp and loop onto themselves would not end: 0x10 as displacement serves those, and is a harmless ModRM too.
        out.add({o, 0x10, 0x00, 0x00, 0x00, 0x00});
        out.add({o, 0xc1, 0x00, 0x00, 0x00, 0x00});
    }
    out.group("every two-byte opcode");
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        auto o = static_cast<uint8_t>(opcode);
        out.add({0x0f, o, 0x10, 0x00, 0x00, 0x00});
        out.add({0x0f, o, 0xc1, 0x00, 0x00, 0x00});
    }
    out.group("groups whose ModRM decides");
    for (unsigned opcode : {0x80u, 0x8fu, 0xc0u, 0xc6u, 0xc7u, 0xd8u, 0xd9u, 0xdbu, 0xf6u, 0xf7u, 0xfeu, 0xffu})
        for (unsigned reg = 0; reg < 8; ++reg)
            out.add({static_cast<uint8_t>(opcode), static_cast<uint8_t>(0xc1 | reg << 3), 0, 0, 0, 0});
    for (unsigned opcode : {0x00u, 0x01u, 0xaeu, 0xbau, 0xc7u})
        for (unsigned reg = 0; reg < 8; ++reg) {
            out.add({0x0f, static_cast<uint8_t>(opcode), static_cast<uint8_t>(0xc1 | reg << 3), 0});
            out.add({0x0f, static_cast<uint8_t>(opcode), static_cast<uint8_t>(0x00 | reg << 3), 0});
        }
    for (unsigned segment = 0; segment < 8; ++segment) // mov to and from segment registers
        for (unsigned opcode : {0x8cu, 0x8eu})
            out.add({static_cast<uint8_t>(opcode), static_cast<uint8_t>(0xc0 | segment << 3)});
    out.add({0xf0, 0xff, 0x00});
    out.add({0xf0, 0x0f, 0xb1, 0x08});
    for (uint8_t segment : {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65})
        out.add({segment, 0x8b, 0x00});

    out.group("VEX, EVEX, XOP, three-byte opcodes, REX2");
    out.add({0xc5, 0xf8, 0x77});       // vzeroupper
    out.add({0xc5, 0xf8, 0x28, 0xc1}); // vmovaps
    out.add({0xc5, 0xf8, 0x10, 0x00});
    out.add({0xc4, 0xe2, 0x78, 0xf2, 0xc1}); // andn
    out.add({0xc4, 0xe2, 0x79, 0x18, 0x00});
    out.add({0xc4, 0xe3, 0x79, 0x04, 0xc1, 0x00});
    out.add({0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1}); // vmovaps zmm
    out.add({0x62, 0xf1, 0x7c, 0x48, 0x10, 0x00});
    out.add({0x62, 0x05});
    out.add({0x8f, 0xe9, 0x78, 0x01, 0xc8}); // XOP
    out.add({0x0f, 0x38, 0x00, 0xc1});
    out.add({0x66, 0x0f, 0x38, 0x00, 0xc1});
    out.add({0x0f, 0x38, 0xf0, 0x00});
    out.add({0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x00});
    out.add({0x0f, 0x0f, 0xc1, 0xbf}); // 3DNow!
    if (x64) {
        out.add({0xc5, 0xf8, 0x28, 0x05, 0, 0, 0, 0});
        out.add({0xc4, 0xe2, 0x79, 0x18, 0x05, 0, 0, 0, 0});
        out.add({0x62, 0xf1, 0x7c, 0x48, 0x28, 0x05, 0, 0, 0, 0});
        for (unsigned payload : {0x00u, 0x01u, 0x08u, 0x10u, 0x11u, 0x19u, 0x44u, 0x80u, 0x90u, 0xffu}) {
            auto p = static_cast<uint8_t>(payload);
            out.add({0xd5, p, 0x50}); // push, pushp, push of r16-r31
            out.add({0xd5, p, 0x55});
            out.add({0xd5, p, 0x58});
            out.add({0xd5, p, 0x90});
            out.add({0xd5, p, 0x89, 0xc0});
            out.add({0xd5, p, 0x1f, 0x00}); // with M0 set: a NOP of map 1
            out.add({0xd5, p, 0x8d, 0x00});
            out.add({0xd5, p, 0xff, 0xd0});
            out.add({0xd5, p, 0xc3});
            out.add({0xd5, p, 0xeb, 0x10});
            out.add({0xd5, p, 0xe8, 0x10, 0, 0, 0});
            out.add({0xd5, p, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0});
            out.add({0x66, 0xd5, p, 0x90});
        }
        out.add({0xd5});
        out.group("RIP-relative operands");
        for (const Bytes& insn :
             {Bytes{0x8b, 0x05}, Bytes{0x48, 0x8b, 0x05}, Bytes{0x89, 0x05}, Bytes{0x48, 0x8d, 0x05}, Bytes{0x80, 0x3d},
              Bytes{0x0f, 0xb6, 0x05}, Bytes{0x64, 0x8b, 0x05}, Bytes{0xf0, 0xff, 0x05}})
            out.add(insn + Bytes{0, 0, 0, 0, 0});
    } else {
        out.group("32-bit only: inc, dec, pusha, segment pushes");
        for (unsigned opcode :
             {0x06u, 0x0eu, 0x16u, 0x1eu, 0x07u, 0x17u, 0x1fu, 0x27u, 0x2fu, 0x37u, 0x3fu, 0x60u, 0x61u, 0xd6u})
            out.add({static_cast<uint8_t>(opcode)});
        for (unsigned opcode = 0x40; opcode < 0x50; ++opcode)
            out.add({static_cast<uint8_t>(opcode)});
        out.add({0x8b, 0xff}); // mov %edi,%edi
        out.add({0xd5, 0x0a}); // aad
        out.add({0xc5, 0x00}); // lds, not VEX
        out.add({0xc4, 0x00});
        out.add({0x62, 0x00}); // bound, not EVEX
    }
    entries(out, directory, arch);
}

void arm64(Writer& out, const std::string& directory)
{
    out.group("every hint: nop, yield, wfe, the pac and bti forms");
    for (uint32_t hint = 0; hint < 128; ++hint)
        out.word(0xd503201f | hint << 5);
    out.group("nop and the frame push across the page");
    for (int offset : {0, 4088, 4092}) {
        out.word(0xd503201f, offset);
        out.word(0xa9bf7bfd, offset);
    }
    out.word(0xd503201f, 4094); // not aligned
    out.word(0xd503201f, 257);
    out.group("stp and ldp: every addressing form and size");
    for (uint32_t opc : {0u, 1u, 2u, 3u})
        for (uint32_t vector : {0u, 1u})
            for (uint32_t mode : {0u, 1u, 2u, 3u})
                for (uint32_t load : {0u, 1u})
                    out.word(opc << 30 | 5u << 27 | vector << 26 | mode << 23 | load << 22 | 0x7e << 15 | 30u << 10
                             | 31u << 5 | 29u);
    for (uint32_t imm = 0x40; imm < 0x80; imm += 7) // stp x29, x30, [sp, #-N]!
        out.word(0xa9807bfd | imm << 15);
    out.word(0xa9bf53f3); // stp x19, x20, [sp, #-16]!
    out.word(0xa9bf7bfc);
    out.word(0xa9bf77fd);
    out.word(0xa9bf7bdd); // stp x29, x30, [x30, #-16]!
    out.word(0xf81f0ffe); // str x30, [sp, #-16]!
    out.group("sub, add, mov and other arithmetic on sp");
    for (uint32_t insn :
         {0xd10043ffu, 0xd14007ffu, 0x910043ffu, 0x910003fdu, 0xd10403ffu, 0xcb2063ffu, 0xaa1e03e9u, 0xaa0003e1u,
          0x2a0003e1u, 0x52800000u, 0xd2800000u, 0x72a00000u, 0x92800000u, 0x7100001fu, 0xf100001fu, 0x6b01001fu,
          0x0b010000u, 0x8b010000u, 0x9b017c00u, 0x93407c00u, 0x1a9f17e0u, 0x5ac00000u, 0x13001c00u, 0xdac10000u})
        out.word(insn);
    out.group("branches");
    for (uint32_t insn : {0x14000004u, 0x94000004u, 0x17ffffffu, 0x97ffffffu, 0x34000080u, 0x35000080u, 0xb4000080u,
                          0xb5000080u, 0x36000080u, 0x37000080u, 0xb7f80080u, 0xd61f0000u, 0xd63f0000u, 0xd65f03c0u,
                          0xd65f0000u, 0xd61f03c0u, 0xd65f0bffu, 0xd65f0fffu, 0xd71f0800u, 0xd73f0800u, 0xd61f081fu,
                          0xd61f0c1fu, 0xd63f081fu, 0xd63f0c1fu, 0xd69f03e0u, 0xd6bf03e0u, 0xd69f0bffu})
        out.word(insn);
    for (uint32_t condition = 0; condition < 16; ++condition) {
        out.word(0x54000080 | condition);
        out.word(0x54000090 | condition); // bc.cond
    }
    out.group("addresses and literals");
    for (uint32_t insn : {0x10000080u, 0x90000000u, 0x30000080u, 0xb0000000u, 0x18000080u, 0x58000080u, 0x98000080u,
                          0xd8000080u, 0x1c000080u, 0x5c000080u, 0x9c000080u, 0xdc000080u})
        out.word(insn);
    out.group("loads and stores");
    for (uint32_t insn :
         {0xf9400000u, 0xf9000000u, 0xb9400000u, 0xb9000000u, 0x39400000u, 0x39000000u, 0x79400000u, 0xf8408400u,
          0xf8408c00u, 0xf8400000u, 0xf8616800u, 0xf9800000u, 0xf8a06800u, 0x3dc00000u, 0x3d800000u, 0xf8400800u,
          0xf8200400u, 0xf8200c00u, 0x4c407000u, 0x0d400000u, 0xd9200000u, 0xd9600000u, 0x69400000u, 0xd9400000u})
        out.word(insn);
    out.group("exclusives, acquire and release, atomics");
    for (uint32_t size : {0u, 1u, 2u, 3u})
        for (uint32_t insn :
             {0x085f7c00u, 0x085ffc00u, 0x08007c00u, 0x0800fc00u, 0x08dffc00u, 0x089ffc00u, 0x08df7c00u, 0x089f7c00u,
              0x08a07c00u, 0x08e0fc00u, 0x38200000u, 0x38a00000u, 0x38208000u, 0x38bfc000u, 0x19400000u, 0x19000000u})
            out.word(insn | size << 30);
    for (uint32_t insn : {0xc87f7800u, 0xc87ff800u, 0xc8207800u, 0xc820f800u, 0x887f7800u, 0x88207800u, 0x48207c02u,
                          0x08207c02u, 0xd53be000u, 0xf83fd000u, 0xf83f9000u, 0xf83fa000u, 0xf83fb000u})
        out.word(insn);
    out.group("system instructions");
    for (uint32_t insn :
         {0xd4000001u, 0xd4000002u, 0xd4000003u, 0xd4200000u, 0xd4200020u, 0xd4200080u, 0xd42000a0u, 0xd4207d00u,
          0xd4400000u, 0xd4a00001u, 0xd4a00002u, 0xd4a00003u, 0xd503305fu, 0xd5033f5fu, 0xd50330ffu, 0xd5033fdfu,
          0xd5033bbfu, 0xd5033f9fu, 0xd503309fu, 0xd503349fu, 0xd503307fu, 0xd5031000u, 0xd5031020u, 0xd500401fu,
          0xd500403fu, 0xd500405fu, 0xd5004000u, 0xd503415fu, 0xd503419fu, 0xd51b4200u, 0xd53b4200u, 0xd53bd040u,
          0xd51bd040u, 0xd53be040u, 0xd51b4400u, 0xd53b4400u, 0xd5380000u, 0xd5087500u, 0xd50b7520u, 0xd50b7b20u,
          0xd50b7420u, 0xd52b7420u, 0xd51b4220u, 0xd50344ffu, 0xd503467fu, 0xd503477fu, 0xd51b2500u, 0x00000000u,
          0x0000ffffu, 0x00010000u})
        out.word(insn);
    out.group("pointer authentication, memory tagging, memory copy and set");
    for (uint32_t insn :
         {0xdac10000u, 0xdac10400u, 0xdac10800u, 0xdac11000u, 0xdac123e0u, 0xdac143e0u, 0x9ac03000u, 0xf8200400u,
          0xd9200800u, 0xd9a00800u, 0xd9600000u, 0x9ac01000u, 0x91800000u, 0xd1800000u, 0xb9ac0000u, 0x19010440u,
          0x19410440u, 0x19810440u, 0x19c00440u, 0x19c04440u, 0x19c08440u, 0x1d010440u, 0x1d410440u})
        out.word(insn);
    out.group("vector, SVE, SME");
    for (uint32_t insn : {0x4e201c00u, 0x1e204000u, 0x9e670000u, 0x0420e3e0u, 0x2518e3e0u, 0x04e0e3e0u, 0x85804000u,
                          0xa4004000u, 0xc0080000u, 0xd503417fu, 0xd503447fu, 0x04605000u})
        out.word(insn);
    // The encoding's own top level: bits 28-25 choose the class, the byte above them most of the group.
    out.group("one encoding for each value of the highest byte and two of the next");
    for (uint32_t high = 0; high < 256; ++high)
        for (uint32_t next : {0x00u, 0x5fu})
            out.word(high << 24 | next << 16 | 0x0080);
    entries(out, directory, "arm64");
}

// riscv_probe_decode_insn() looks at opcodes and funct3; for compressed instructions at the quadrant and its opcode
// bits.
void riscv(Writer& out, const std::string& directory)
{
    const auto half = [&](unsigned insn) { out.add_hex(fmt::format("{:04x}", insn)); };
    out.group("compressed: every quadrant and funct3, with registers, immediates and the bits that tell forms apart");
    for (unsigned quadrant : {0u, 1u, 2u})
        for (unsigned funct3 = 0; funct3 < 8; ++funct3)
            for (unsigned rest : {0x001u, 0x008u, 0x020u, 0x021u, 0x029u, 0x040u, 0x055u, 0x108u, 0x1e0u,
                                  0x200u, 0x208u, 0x220u, 0x2a0u, 0x300u, 0x308u, 0x318u, 0x328u, 0x338u,
                                  0x400u, 0x420u, 0x428u, 0x4e0u, 0x700u, 0x718u, 0x738u, 0x7ffu})
                half(quadrant | rest << 2 | funct3 << 13);
    for (unsigned insn :
         {0x0000u, 0x0001u, 0x0002u, 0x2001u, 0x4001u, 0x4002u, 0x6001u, 0x8001u, 0x8002u, 0x9002u, 0x8082u,
          0x9082u, 0x8302u, 0x9302u, 0x1141u, 0x1101u, 0x7179u, 0xe406u, 0xa011u, 0xc111u, 0xe111u})
        half(insn);
    out.group("every major opcode and funct3");
    for (uint32_t opcode = 0; opcode < 32; ++opcode)
        for (uint32_t funct3 = 0; funct3 < 8; ++funct3)
            for (uint32_t high : {0x00800000u, 0x40000000u})
                for (uint32_t registers : {10u << 15 | 1u << 7, 2u << 15 | 2u << 7})
                    out.word(high | registers | funct3 << 12 | opcode << 2 | 3);
    out.group("named instructions: system, fences, jumps, branches, auipc, atomics");
    for (uint32_t insn :
         {0x00000013u, 0x00000073u, 0x00100073u, 0x30200073u, 0x10500073u, 0xc0002573u, 0xc0102573u, 0x00102573u,
          0x00151073u, 0x0ff0000fu, 0x0000100fu, 0x0100000fu, 0x8330000fu, 0x0080006fu, 0x008000efu, 0xff9ff06fu,
          0x00008067u, 0x000500e7u, 0x00000097u, 0x00001517u, 0x00b50463u, 0x00b51463u, 0x00b54463u, 0x00b55463u,
          0x00b56463u, 0x00b57463u, 0x1005252fu, 0x18b5252fu, 0x00b5252fu, 0x08b5252fu, 0x1005352fu, 0x18b5352fu,
          0xff010113u, 0x00113423u, 0x00812023u, 0xfe010113u, 0x000017b7u, 0x00053503u, 0x0005b507u, 0x00b53027u,
          0x02b50533u, 0x0205553bu, 0x00000000u, 0xffffffffu})
        out.word(insn);
    out.group("at the end of the page, and between instructions");
    for (int offset : {0, 4088, 4092, 4094}) {
        out.word(0x00000013, offset);
        out.word(0x00000097, offset);
        out.add_hex("0001", offset);
        out.add_hex("8082", offset);
    }
    for (int offset : {257, 258}) {
        out.word(0x00000013, offset);
        out.add_hex("0001", offset);
    }
    entries(out, directory, "riscv");
}

// The rest of an opcode is in the second byte, or its low half, or the sixth byte. The other bits make branches go
// forward, not to themselves.
void s390(Writer& out, const std::string& directory)
{
    const auto insn = [&](unsigned first, unsigned second, unsigned sixth) {
        std::string hex = fmt::format("{:02x}{:02x}", first, second);
        if (first >= 0xc0)
            hex += fmt::format("000000{:02x}", sixth);
        else if (first >= 0x40)
            hex += "0004";
        out.add_hex(hex);
    };
    out.group("every first byte, with two second ones");
    for (unsigned first = 0; first < 256; ++first)
        for (unsigned second : {0x00u, 0x15u})
            if (first != 0x0a || second == 0) // svc 0 is no system call; another would be one
                insn(first, second, 4);
    out.group("opcodes that go on in the second byte");
    for (unsigned first : {0x00u, 0x01u, 0xb2u, 0xb3u, 0xb9u, 0xe5u})
        for (unsigned second = 0; second < 256; ++second)
            insn(first, second, 4);
    out.group("opcodes that go on in the second byte's low half");
    for (unsigned first : {0xa5u, 0xa7u, 0xaau, 0xc0u, 0xc2u, 0xc4u, 0xc6u, 0xc8u, 0xccu})
        for (unsigned low = 0; low < 16; ++low)
            for (unsigned reg : {0x00u, 0x10u, 0xe0u})
                insn(first, reg | low, 4);
    out.group("opcodes that go on in the sixth byte");
    for (unsigned first : {0xe3u, 0xe6u, 0xe7u, 0xebu, 0xecu, 0xedu})
        for (unsigned sixth = 0; sixth < 256; ++sixth)
            insn(first, 0, sixth);
    out.group("named instructions: nops, entries, branches, addresses");
    for (const char* hex : {"0700",         "0707",     "47000000", "c00400000000", "eb6ff0300024", "ebbff0580024",
                            "e3f0ff60ff71", "a7fbff60", "b904001f", "c01000000004", "c0e500000004", "c0f400000004",
                            "a7f40004",     "a7150004", "0de1",     "07fe",         "c41800000004", "c61d00000004",
                            "e54c00000000", "a7490000", "b3cd0010", "b24f0010",     "b9140022",     "5810f000",
                            "e310f0000004", "84000004", "8500000a", "ec1200040064", "ec12000400e4", "eb1200000044"})
        out.add_hex(hex);
    out.group("at the end of the page, and between instructions");
    for (int offset : {0, 4090, 4092, 4094}) {
        out.add_hex("0707", offset);
        out.add_hex("47000000", offset);
        out.add_hex("c00400000000", offset);
        out.add_hex("c01000000004", offset);
    }
    out.add_hex("0707", 257);
    out.add_hex("0707", 258);
    entries(out, directory, "s390");
}

// arm_probes_decode_insn() looks at bits 27-20 and 7-4, then at registers that are pc. Every condition is one that holds.
void arm(Writer& out, const std::string& directory)
{
    constexpr uint32_t always = 14u << 28, registers = 1u << 16 | 2u << 12 | 3u << 8 | 4u;
    constexpr uint32_t rn = 15u << 16, rd = 15u << 12, rs = 15u << 8, rm = 15u;
    out.group("every class: bits 27-20 and 7-4");
    for (uint32_t high = 0; high < 0xf0; ++high)
        for (uint32_t low = 0; low < 16; ++low) {
            const bool by_register = high < 0x20 || (high >= 0x60 && high < 0x80);
            if (by_register || low == 0 || low == 9)
                out.word(always | high << 20 | low << 4 | registers);
        }
    for (uint32_t high = 0xf0; high < 0x100; ++high) // svc
        out.word(always | high << 20);
    out.group("each register as pc");
    for (uint32_t high = 0; high < 0x80; ++high)
        for (uint32_t low : {0u, 1u, 3u, 5u, 7u, 8u, 9u, 11u, 13u, 15u}) {
            const bool by_register = high < 0x20 || high >= 0x60;
            if ((!by_register && low != 0) || (high >= 0x60 && low > 7) || (high < 0x20 && (low == 3 || low == 7)))
                continue;
            for (uint32_t one : {rn, rd, rs, rm})
                if (by_register || one == rn || one == rd)
                    out.word(always | high << 20 | low << 4 | registers | one);
        }
    out.group("load and store multiple");
    for (uint32_t high = 0x80; high < 0xa0; ++high)
        for (uint32_t base : {1u, 13u, 14u, 15u})
            for (uint32_t list : {0x0010u, 0x4010u, 0x8010u, 0xc010u})
                out.word(always | high << 20 | base << 16 | list);
    out.group("unconditional instructions");
    for (uint32_t high = 0; high < 256; ++high)
        for (uint32_t low : {0u, 1u})
            // blx goes to Thumb code, where the breakpoints do not stop it and the program loops: a few are enough
            if ((high & 0xe0) != 0xa0 || (high & 0x0f) == low)
                out.word(15u << 28 | high << 20 | 1u << 16 | 2u << 12 | low << 4 | 4u);
    out.group("hints");
    for (uint32_t hint = 0; hint < 32; ++hint)
        out.word(0xe320f000 | hint);
    out.word(0xe320f0f0); // dbg
    out.group("named instructions: nops, entries, returns, branches, traps");
    for (uint32_t insn :
         {0xe1a00000u, 0xe320f000u, 0xe1a0c00du, 0xe92d4010u, 0xe92d4ff0u, 0xe92dd800u, 0xe8bd8010u, 0xe52de004u,
          0xe49df004u, 0xe24dd008u, 0xe12fff1eu, 0xe12fff33u, 0xe1a0f00eu, 0xeb000004u, 0xea000004u, 0x1a000004u,
          0xfa000004u, 0xe59f0010u, 0xe59ff010u, 0xe5910000u, 0xe28f0010u, 0xe3a00000u, 0xe3000101u, 0xe7f001f0u,
          0xe7f001f9u, 0xe7f000f0u, 0xe1200070u, 0xe1910f9fu, 0xe1812f93u, 0xf57ff05bu, 0xee1d0f70u, 0xed2d8b02u,
          0xf4600a0fu, 0xf2000000u, 0xe6ef0071u, 0x11a00000u, 0x1320f000u, 0xe10f0000u, 0xe128f000u, 0xf1010200u})
        out.word(insn);
    out.group("at the end of the page, and between instructions");
    for (int offset : {0, 4088, 4092}) {
        out.word(0xe320f000, offset);
        out.word(0xe1a00000, offset);
    }
    for (int offset : {257, 258})
        out.word(0xe320f000, offset);
    entries(out, directory, "arm");
}

// analyse_instr() of arch/powerpc/lib/sstep.c: the primary opcode, then the extended one.
void powerpc(Writer& out, const std::string& directory)
{
    constexpr uint32_t registers = 6u << 21 | 4u << 16, index = 3u << 11;
    out.group("every primary opcode and what its last bits may say");
    for (uint32_t opcode = 0; opcode < 64; ++opcode)
        for (uint32_t low = 0; low < 8; ++low)
            out.word(opcode << 26 | registers | 0x0010 | low);
    out.group("every extended opcode of 19 and 31");
    for (uint32_t extended = 0; extended < 1024; ++extended) {
        out.word(31u << 26 | registers | index | extended << 1);
        out.word(19u << 26 | registers | extended << 1);
    }
    for (uint32_t extended = 0; extended < 1024; extended += 3)
        out.word(31u << 26 | registers | index | extended << 1 | 1);
    out.group("extended opcodes of 4 and 30");
    for (uint32_t low = 0; low < 64; ++low) {
        out.word(4u << 26 | registers | index | 5u << 6 | low);
        out.word(30u << 26 | registers | index | low);
    }
    out.group("registers that are odd, or the same twice");
    for (uint32_t rd : {3u, 4u, 5u, 6u}) {
        const uint32_t pair = rd << 21 | 4u << 16;
        for (uint32_t opcode : {33u, 35u, 37u, 39u, 41u, 43u, 45u, 46u, 47u, 49u, 51u, 53u, 55u, 56u})
            out.word(opcode << 26 | pair | 0x10);
        for (uint32_t opcode : {57u, 58u, 61u, 62u})
            for (uint32_t low = 0; low < 4; ++low)
                out.word(opcode << 26 | pair | 0x10 | low);
        for (uint32_t extended : {53u, 55u, 119u, 181u, 183u, 247u, 276u, 182u, 373u, 439u, 567u, 631u, 695u, 759u})
            out.word(31u << 26 | pair | index | extended << 1);
    }
    out.group("special registers");
    for (uint32_t spr : {1u, 8u, 9u, 3u, 13u, 256u, 268u, 269u, 287u, 815u})
        for (uint32_t extended : {339u, 467u})
            out.word(31u << 26 | 5u << 21 | (spr & 31) << 16 | spr >> 5 << 11 | extended << 1);
    for (uint32_t length = 0; length < 4; ++length) // darn
        out.word(31u << 26 | 5u << 21 | length << 16 | 755u << 1);
    out.group("named instructions: nops, entries, returns, branches, traps, system calls");
    for (uint32_t insn :
         {0x60000000u, 0x7c0802a6u, 0xf8010010u, 0xf821ffa1u, 0x3c4c0002u, 0x38420100u, 0x4e800020u, 0x4e800420u,
          0x4e800421u, 0x48000010u, 0x48000011u, 0x41820010u, 0x4182fff0u, 0x7fe00008u, 0x7c810808u, 0x0fe00000u,
          0x08000000u, 0x44000002u, 0x44000001u, 0x4c00012cu, 0x7c0004acu, 0x7c2004acu, 0x7c0006acu, 0x4c000024u,
          0x7c000124u, 0x7c000164u, 0x7d8c42a6u, 0x7c2903a6u, 0x00000000u, 0x04000000u, 0x06000000u, 0x60420000u,
          0x63ff0000u, 0x7fffffffu, 0xffffffffu, 0xf0000000u, 0x10000000u, 0xfc00002au})
        out.word(insn);
    out.group("at the end of the page, and between instructions");
    for (int offset : {0, 4088, 4092}) {
        out.word(0x60000000, offset);
        out.word(0xf821ffa1, offset);
    }
    for (int offset : {257, 258})
        out.word(0x60000000, offset);
    entries(out, directory, "powerpc");
}

// insns_not_supported() and insns_need_simulation() of arch/loongarch/kernel/inst.c: opcodes of 6 to 22 bits from the top.
void loongarch(Writer& out, const std::string& directory)
{
    constexpr uint32_t registers = 4u << 10 | 6u << 5 | 5u; // a branch goes forward
    out.group("the highest ten bits");
    for (uint32_t high = 0; high < 1024; ++high)
        out.word(high << 22 | registers);
    out.group("seventeen bits where they are an opcode");
    for (uint32_t opcode = 0; opcode < 0x80; ++opcode)
        out.word(opcode << 15 | registers);
    for (uint32_t opcode = 0x7000; opcode < 0x7100; opcode += opcode < 0x7080 ? 4 : 1)
        out.word(opcode << 15 | registers);
    out.group("ll, sc and their neighbours");
    for (uint32_t opcode = 0xe15d8; opcode < 0xe15f0; ++opcode)
        out.word(opcode << 10 | 6u << 5 | 5u);
    out.group("branches on a condition flag, and the bits beside their offset");
    for (uint32_t middle = 0; middle < 4; ++middle)
        for (uint32_t opcode : {0x10u, 0x11u, 0x12u})
            out.word(opcode << 26 | 4u << 10 | middle << 8 | 6u << 5);
    out.group("an instruction and the next");
    for (uint64_t next : {0x03400000u, 0x20000084u, 0x21000084u, 0x38610084u, 0x48000000u, 0x002a0000u, 0x1c000004u})
        for (uint64_t insn : {0x03400000u, 0x1c000004u, 0x54000400u})
            out.add_hex(fmt::format("{:016x}", next << 32 | insn));
    out.group("named instructions: nops, entries, returns, branches, system calls, breaks");
    for (uint32_t insn : {0x03400000u, 0x02ffc063u, 0x02ff8063u, 0x29c02061u, 0x4c000020u, 0x54000400u, 0x50000400u,
                          0x1c000004u, 0x1a000004u, 0x18000004u, 0x1e000004u, 0x58000485u, 0x002b0000u, 0x002a0000u,
                          0x002a8000u, 0x00150004u, 0x28c02061u, 0x2400002cu, 0x00000000u, 0xffffffffu})
        out.word(insn);
    out.group("at the end of the page, and between instructions");
    for (int offset : {0, 4088, 4092})
        out.word(0x03400000, offset);
    for (int offset : {257, 258})
        out.word(0x03400000, offset);
    entries(out, directory, "loongarch");
}

} // namespace

std::string patterns(const std::string& entries_directory)
{
    std::string text;
    const auto write = [&](const char* arch, void (*rules)(Writer&, const std::string&)) {
        Writer out(text, arch);
        rules(out, entries_directory);
    };
    const auto write_x86 = [&](const char* arch) {
        Writer out(text, arch);
        x86(out, arch, entries_directory);
    };
    write_x86("x86_64");
    write_x86("i386");
    write("arm64", arm64);
    write("arm", arm);
    write("riscv", riscv);
    write("powerpc", powerpc);
    write("s390", s390);
    write("loongarch", loongarch);
    return text;
}
