// SPDX-License-Identifier: BSD-2-Clause
// compare KERNEL COUNT: judge() against the functions of a Linux tree, linked in. First every pair of first bytes, then
// COUNT random instructions that are likely to begin with prefixes and to end in zeros.
#include "judge/judge.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>

extern "C" int linux_x86(bool is_64bit, const uint8_t* code, unsigned long address);
extern "C" int linux_arm64(uint32_t insn);

using namespace fastsdt;

namespace {

Kernel kernel;
unsigned long compared, unknown, differ;
std::map<std::string, std::string> examples;

void differs(const std::string& kind, const std::string& example)
{
    ++differ;
    examples.emplace(kind, example);
}

std::string hex(const uint8_t* bytes, size_t size)
{
    std::string text;
    for (size_t i = 0; i < size; ++i) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%02x ", bytes[i]);
        text += byte;
    }
    return text;
}

void x86(const uint8_t (&code)[16], bool is_64bit, unsigned long address)
{
    const auto judged = judge(kernel, is_64bit ? Arch::x86_64 : Arch::i386, std::as_bytes(std::span(code)), address);
    ++compared;
    if (judged.verdict == Verdict::unknown) {
        ++unknown;
        return;
    }
    const int mine = int(mechanism(judged.verdict));
    const int theirs = linux_x86(is_64bit, code, address);
    if (mine == theirs)
        return;
    const std::string names = std::string(name(Verdict(theirs))) + ", judged " + std::string(name(judged.verdict));
    differs(names + hex(code, 2), hex(code, 16) + (is_64bit ? "" : "(32-bit) ") + "is " + names + ": " + judged.why);
}

void all_x86(unsigned long count)
{
    static constexpr uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x67, 0x64, 0x65, 0x2e, 0x3e, 0xf0, 0x26, 0x36};
    static constexpr uint8_t opcodes[] = {0x90, 0x1f, 0x89, 0x8d, 0xe9, 0xeb, 0xe8, 0x50, 0x74, 0xff, 0x84};
    std::mt19937_64 random(1);
    for (bool is_64bit : {false, true}) {
        for (int first = 0; first < 256; ++first)
            for (int second = 0; second < 256; ++second) {
                uint8_t code[16] = {uint8_t(first), uint8_t(second), 0xc0};
                x86(code, is_64bit, 0);
                for (int i = 2; i < 16; ++i)
                    code[i] = uint8_t(random());
                x86(code, is_64bit, 0x1000 - random() % 12);
            }
        // The 10-byte NOP at every place of a page.
        for (unsigned long place = 0; place < 4096; ++place)
            for (uint8_t last : {0x00, 0xe8}) {
                const uint8_t nop10[16] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, last, 0, 0, 0, 0, 0xc3};
                x86(nop10, is_64bit, place);
                const uint8_t nop5[16] = {0x0f, 0x1f, 0x44, 0, 0, 0xc3};
                x86(nop5, is_64bit, place);
            }
    }
    for (unsigned long i = 0; i < count; ++i) {
        uint8_t code[16];
        for (auto& byte : code)
            byte = uint8_t(random());
        size_t at = 0;
        for (auto n = random() % 4; n; --n)
            code[at++] = prefixes[random() % (random() % 4 ? 6 : 11)];
        if (random() % 3 == 0)
            code[at++] = 0x40 | random() % 16;
        if (random() % 3 == 0)
            code[at++] = 0x0f;
        if (random() % 4 == 0)
            code[at++] = opcodes[random() % sizeof opcodes];
        if (random() % 3 == 0)
            std::memset(code + at + 1, 0, 15 - at);
        x86(code, random() % 4 != 0, random() % 2 ? 0x1000 - random() % 12 : 0);
    }
}

void arm64(uint32_t insn)
{
    const uint8_t bytes[4] = {uint8_t(insn), uint8_t(insn >> 8), uint8_t(insn >> 16), uint8_t(insn >> 24)};
    const auto judged = judge(kernel, Arch::arm64, std::as_bytes(std::span(bytes)), 0);
    ++compared;
    const int theirs = linux_arm64(insn);
    if (int(mechanism(judged.verdict)) == theirs)
        return;
    char text[200];
    std::snprintf(text, sizeof text, "%08x is %s, judged %s: %s", insn, name(Verdict(theirs)).data(),
                  name(judged.verdict).data(), judged.why.c_str());
    differs(std::string(text + 9), text);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 3 || !parse_kernel(argv[1]))
        return 2;
    kernel = *parse_kernel(argv[1]);
    const unsigned long count = std::strtoul(argv[2], nullptr, 0);
    all_x86(count);
    std::printf("%s: x86: %lu instructions compared, %lu more unknown to the model, %lu differ\n", argv[1],
                compared - unknown, unknown, differ);
    const unsigned long x86_compared = compared;
    // Every system instruction and hint, then anything.
    for (uint32_t low = 0; low < 1u << 22; ++low)
        arm64(0xd5000000 | low);
    std::mt19937 random(2);
    for (unsigned long i = 0; i < count; ++i)
        arm64(uint32_t(random()));
    std::printf("%s: arm64: %lu instructions compared\n", argv[1], compared - x86_compared);
    for (const auto& [kind, example] : examples)
        std::printf("  %s\n", example.c_str());
    return examples.empty() ? 0 : 1;
}
