// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel model against what the kernels were seen to do (Debian 6.1, 6.12, 7.2, and 6.18) and what their sources
// say. Live comparisons with the running kernel stand in kernel_live_test.cpp.
#include "arch/architecture.h"
#include "judge/judge.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <string>

namespace fastsdt {
namespace {

std::vector<std::byte> bytes_of(std::string_view hex)
{
    std::vector<std::byte> bytes;
    std::string digits;
    for (char c : hex)
        if (std::isxdigit(static_cast<unsigned char>(c)))
            digits += c;
    for (size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    return bytes;
}

Verdict verdict(const char* kernel, Arch arch, std::string_view hex, uint64_t vaddr = 0x1000)
{
    auto bytes = bytes_of(hex);
    // What follows an instruction in a program is never zero padding.
    if (arch == Arch::x86_64 || arch == Arch::i386)
        bytes.insert(bytes.end(), 16, std::byte{0xc3});
    return judge(parse_kernel(kernel).value(), arch, bytes, vaddr).verdict;
}

constexpr auto reject = Verdict::reject, xol = Verdict::xol, emulate = Verdict::emulate,
               optimize_unsafe = Verdict::optimize_unsafe, optimize = Verdict::optimize;

// One verdict for each range of versions, checked at both of its ends.
struct Row {
    const char* bytes;
    std::array<Verdict, 5> verdicts; // up to 6.15, 6.16-6.17, 6.18, 6.19-7.1, 7.2+
    uint64_t vaddr = 0x1000;
};
constexpr const char* ranges[5][2] = {
    {"5.10", "6.15"}, {"6.16", "6.17"}, {"6.18", "6.18"}, {"6.19", "7.1"}, {"7.2", "7.9"}};

void check(Arch arch, std::initializer_list<Row> rows)
{
    for (const Row& row : rows)
        for (size_t range = 0; range < 5; ++range)
            for (const char* kernel : ranges[range])
                EXPECT_EQ(name(verdict(kernel, arch, row.bytes, row.vaddr)), name(row.verdicts[range]))
                    << row.bytes << " at " << std::hex << row.vaddr << " on " << kernel << ", " << name(arch);
}

// The same on all versions.
Row always(const char* bytes, Verdict v)
{
    return {bytes, {v, v, v, v, v}};
}

TEST(X86_64, LayoutsAsMeasured)
{
    check(Arch::x86_64,
          {
              always("90", emulate),
              always("66 90", emulate),
              {"0f 1f 00", {xol, emulate, emulate, emulate, emulate}},
              {"0f 1f 40 00", {xol, emulate, emulate, emulate, emulate}},
              {"0f 1f 44 00 00", {xol, emulate, optimize_unsafe, optimize_unsafe, emulate}},
              {"0f 1f 44 00 00", {xol, emulate, optimize_unsafe, optimize_unsafe, emulate}, 0x1ffb},
              {"0f 1f 44 00 00", {xol, emulate, emulate, emulate, emulate}, 0x1ffc},
              {"0f 1f 44 00 00", {xol, emulate, emulate, emulate, emulate}, 0x1fff},
              {"66 2e 0f 1f 84 00 00 00 00 00", {reject, reject, reject, reject, optimize}},
              {"66 2e 0f 1f 84 e8 12 34 56 78", {reject, reject, reject, reject, optimize}}, // a stale call
              {"66 2e 0f 1f 84 00 00 00 00 00", {reject, reject, reject, reject, optimize}, 0x1ff6},
              {"66 2e 0f 1f 84 00 00 00 00 00", {reject, reject, reject, reject, reject}, 0x1ff7},
              {"66 2e 0f 1f 84 00 00 00 00 00", {reject, reject, reject, reject, reject}, 0x1fff},
          });
}

TEST(X86_64, InstructionsAtEntries)
{
    check(Arch::x86_64,
          {
              always("50", emulate),
              always("55", emulate),
              always("57", emulate),
              always("41 50", emulate),
              always("41 57", emulate),
              always("40 55", xol),
              always("48 55", xol),
              always("66 55", xol), // push_setup_xol_ops(): REX 41 only
              always("ff f0", xol),
              always("6a 01", xol),
              always("8f c0", xol), // push and pop, other forms
              always("f3 0f 1e fa", xol),
              always("f3 0f 1e fb", xol), // endbr64, endbr32
              always("48 83 ec 08", xol),
              always("48 8d 05 01 00 00 00", xol),
              always("31 c0", xol),
              always("48 85 ff", xol),
              always("c3", xol),
              always("5d", xol),
              always("c9", xol),
              always("89 f8", xol),
              always("48 89 e5", xol),
              always("0f b6 07", xol),
              always("e8 01 00 00 00", emulate),
              always("e9 01 00 00 00", emulate),
              always("eb 01", emulate),
              always("74 05", emulate),
              always("0f 84 01 00 00 00", emulate),
              always("e3 05", xol),
              always("e2 05", xol), // jrcxz, loop: single-stepped
              always("ff d0", xol),
              always("ff e0", xol),
              always("ff 25 01 00 00 00", xol),
              always("0f 05", xol), // syscall: 0f is in good_insns_64, so good_2byte_insns is not asked
              always("cc", reject),
              always("f1", reject),
              always("f4", reject),
              always("fa", reject),
              always("cd 80", reject),
              always("cf", reject),
              always("ce", reject),
              always("06", reject),
              always("60", reject),
              always("6c", reject),
              always("e4 01", reject),
              always("ec", reject),
              always("9a", reject),
              always("d4 0a", reject),
              always("ea", reject),
              always("8e d0", reject),
              always("8e d8", xol), // mov to %ss masks the trap
          });
}

TEST(X86_64, Prefixes)
{
    check(Arch::x86_64,
          {
              always("2e 90", reject), always("3e 90", reject), always("26 90", reject), always("36 90", reject),
              always("f0 90", reject), always("64 90", emulate), always("65 90", emulate), always("67 90", emulate),
              always("f0 48 ff 00", reject), always("64 48 8b 04 25 28 00 00 00", xol),
              always("3e ff e0", reject),                      // notrack jmp
              always("2e 66 0f 1f 84 00 00 00 00 00", reject), // clang's 10-byte patchable entry: wrong order
              always("66 66 2e 0f 1f 84 00 00 00 00 00", reject), always("66 e8 01 00 00 00", reject),
              always("66 e9 01 00 00 00", reject), always("66 74 01", reject), always("66 0f 84 01 00 00 00", reject),
              always("f2 e9 01 00 00 00", emulate), // bnd jmp
          });
}

TEST(X86_64, OtherNops)
{
    check(Arch::x86_64,
          {
              // x86_nops[], then insn_is_nop()
              {"66 0f 1f 44 00 00", {xol, emulate, emulate, emulate, emulate}},
              {"0f 1f 80 00 00 00 00", {xol, emulate, emulate, emulate, emulate}},
              {"0f 1f 84 00 00 00 00 00", {xol, emulate, emulate, emulate, emulate}},
              // not in the table, which ends at 8 bytes
              {"66 0f 1f 84 00 00 00 00 00", {xol, xol, xol, emulate, emulate}},
              {"0f 1f 40 01", {xol, xol, xol, emulate, emulate}},
              {"0f 1f c0", {xol, xol, xol, emulate, emulate}},
              {"48 0f 1f 00", {xol, xol, xol, emulate, emulate}},
              {"0f 1f 44 00 08", {xol, xol, optimize_unsafe, optimize_unsafe, emulate}}, // clang's patchable entry
              {"66 0f 1f 40 00", {xol, xol, optimize_unsafe, optimize_unsafe, emulate}},
              {"66 66 66 66 90", {emulate, emulate, optimize_unsafe, optimize_unsafe, emulate}},
              {"66 66 66 66 90", {emulate, emulate, emulate, emulate, emulate}, 0x1ffd},
              // 0f 1f with a register field is no NOP for insn_is_nop()
              always("0f 1f 48 00", xol),
              {"44 0f 1f 40 00", {xol, xol, optimize_unsafe, xol, xol}},
              always("0f 19 c0", xol),
              always("0f 0d 00", xol),
              // pause, and xchg %r8,%rax, which is none: opcode 90 until 6.18
              {"f3 90", {emulate, emulate, emulate, xol, xol}},
              {"41 90", {Verdict::emulate_unsafe, Verdict::emulate_unsafe, Verdict::emulate_unsafe, xol, xol}},
              {"49 90", {Verdict::emulate_unsafe, Verdict::emulate_unsafe, Verdict::emulate_unsafe, xol, xol}},
              always("48 90", emulate),
              always("87 c0", xol),
              always("91", xol),
              // moves to itself
              {"48 89 c0", {xol, xol, xol, emulate, emulate}},
              {"4d 89 c0", {xol, xol, xol, emulate, emulate}},
              always("4c 89 c0", xol),
              always("89 c0", xol),
              always("66 89 c0", xol),
              always("48 8b c0", xol),
              always("48 89 c8", xol),
              {"48 8d 40 00", {xol, xol, xol, emulate, emulate}},
              {"48 8d 64 24 00", {xol, xol, xol, optimize_unsafe, emulate}}, // lea 0(%rsp),%rsp: 5 bytes
              always("48 8d 64 24 80", xol),
              always("48 8d 00", xol),
              always("8d 40 00", xol),
              always("48 8d 41 00", xol),
              {"48 8d 80 00 00 00 00", {xol, xol, xol, emulate, emulate}},
              always("67 48 8d 40 00", xol),
              always("4a 8d 44 20 00", xol),
              // jumps to the next instruction
              always("eb 00", emulate),
              {"e9 00 00 00 00", {emulate, emulate, emulate, optimize_unsafe, emulate}},
              {"66 eb 00", {reject, reject, reject, emulate, emulate}},
          });
}

TEST(X86_64, FirstTenBytesAreWhatMattersForNop10)
{
    // Another encoding of the same length is refused for its prefix.
    check(Arch::x86_64,
          {always("2e 2e 0f 1f 84 00 00 00 00 00", reject), always("66 2e 0f 1f 80 00 00 00 00", reject),
           always("66 3e 0f 1f 84 00 00 00 00 00", reject)});
    // Cut off by the end of the file the kernel reads zeros.
    EXPECT_EQ(judge(*parse_kernel("7.2"), Arch::x86_64, bytes_of("66 2e 0f 1f 84"), 0x1000).verdict, optimize);
    EXPECT_EQ(judge(*parse_kernel("7.2"), Arch::x86_64, bytes_of("0f"), 0x1000).verdict, xol); // 0f 00 00
    EXPECT_EQ(judge(*parse_kernel("7.2"), Arch::x86_64, {}, 0x1000).verdict, reject);
}

TEST(X86_64, NotAnInstruction)
{
    check(Arch::x86_64,
          {always("66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 66", reject),
           always("66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", emulate)});
    EXPECT_EQ(verdict("7.2", Arch::x86_64, "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90"), reject);
}

TEST(X86_64, VexOpcodesMeetTheLegacyTables)
{
    // The opcode byte behind a VEX prefix is looked up in the tables of the legacy map: vpor is taken for jmp rel8,
    // vcmpps for ret, vfnmadd132sd for popf. 9a and ea (call and jmp far) can be probed in 32-bit processes only.
    constexpr auto lost = Verdict::emulate_unsafe, dies = Verdict::xol_unsafe;
    check(Arch::x86_64,
          {always("c5 f1 eb c2", lost),
           always("c5 f8 77", lost),
           always("c5 f1 74 c2", lost),
           always("62 f1 7d 48 74 c1", lost), // EVEX
           always("c5 f8 28 c1", xol),
           always("c5 f8 50 c0", xol),
           always("c5 f8 c2 c1 00", dies),
           always("0f c2 c1 00", xol), // cmpps: its opcode is 0f c2
           always("c4 e2 f1 9d c1", dies),
           always("c5 f9 ea c1", reject),
           {"c5 f9 90 c0", {lost, lost, lost, xol, xol}}});
    check(Arch::i386, {always("c5 f9 ea c1", dies), always("c4 e2 71 9a c1", dies)});
}

// APX: the decoder knows the REX2 prefix since 6.10. As 6.1, 6.12, 6.18 and 7.2 answered.
TEST(X86_64, Rex2)
{
    for (const char* bytes : {"d5 00 90", "d5 00 eb 10", "d5 08 89 c0", "d5 00 c3"})
        EXPECT_EQ(verdict("6.1", Arch::x86_64, bytes), reject) << bytes;
    for (const char* kernel : {"6.12", "6.18", "7.2"}) {
        EXPECT_EQ(verdict(kernel, Arch::x86_64, "d5 00 90"), emulate) << kernel;
        EXPECT_EQ(verdict(kernel, Arch::x86_64, "d5 00 eb 10"), emulate) << kernel;
        EXPECT_EQ(verdict(kernel, Arch::x86_64, "d5 00 50"), xol) << kernel; // push has to be one or two bytes
    }
    EXPECT_EQ(verdict("7.2", Arch::x86_64, "d5 08 89 c0"), emulate); // mov %rax,%rax
    EXPECT_EQ(verdict("7.2", Arch::x86_64, "d5 18 89 c0"), xol);     // mov %rax,%r16
    EXPECT_EQ(verdict("7.2", Arch::x86_64, "d5 80 1f 00"), reject);  // nopl (%rax), looked up as opcode 1f
    EXPECT_EQ(verdict("6.12", Arch::x86_64, "d5 80 90 c0"), Verdict::emulate_unsafe); // seto %al, taken for a nop
}

TEST(I386, NeverOptimized)
{
    check(Arch::i386,
          {
              always("90", emulate),
              always("66 90", emulate),
              always("55", emulate),
              always("41", xol),
              {"0f 1f 40 00", {xol, emulate, emulate, emulate, emulate}},
              {"0f 1f 44 00 00", {xol, emulate, emulate, emulate, emulate}},
              always("66 2e 0f 1f 84 00 00 00 00 00", reject),
              always("66 55", xol), // not one byte, and there is no REX
              always("60", xol),
              always("06", xol),
              always("07", reject),
              always("0f 05", xol),
              always("cd 80", reject),
              {"89 c0", {xol, xol, xol, emulate, emulate}},
              {"89 ff", {xol, xol, xol, emulate, emulate}},    // mov %edi,%edi
              {"8d 76 00", {xol, xol, xol, emulate, emulate}}, // lea 0(%esi),%esi
              {"8d b4 26 00 00 00 00", {xol, xol, xol, emulate, emulate}},
              {"8d 74 26 00", {xol, xol, xol, emulate, emulate}},
              always("f3 0f 1e fb", xol),
          });
}

TEST(Architectures, SayWhatIsAlwaysAsked)
{
    for (unsigned i = 0; i <= static_cast<unsigned>(last_arch); ++i) {
        const Architecture& one = architecture(static_cast<Arch>(i));
        EXPECT_EQ(one.arch, static_cast<Arch>(i));
        EXPECT_NE(one.is, nullptr) << name(one.arch);
        EXPECT_NE(one.absolute_width, nullptr) << name(one.arch);
    }
}

TEST(X86, PatchedForEndbr)
{
    for (const Arch arch : {Arch::x86_64, Arch::i386}) {
        for (const char* bytes : {"f3 0f 1e fa", "f3 0f 1e fb"}) {
            EXPECT_EQ(verdict("6.1+endbr", arch, bytes), emulate) << bytes;
            EXPECT_EQ(verdict("7.3+endbr", arch, bytes), emulate) << bytes;
        }
        EXPECT_EQ(verdict("7.3+endbr", arch, "f3 0f 1e f9"), xol);
        EXPECT_EQ(verdict("7.3+endbr", arch, "66 f3 0f 1e fa"), xol);
    }
}

TEST(Arm64, AsMeasured)
{
    struct {
        const char* bytes;
        Verdict old, now, patched;
    } rows[] = {
        {"1f 20 03 d5", xol, emulate, emulate},     // nop
        {"1f 24 03 d5", xol, xol, emulate},         // bti
        {"5f 24 03 d5", xol, xol, emulate},         // bti c
        {"3f 23 03 d5", xol, xol, xol},             // paciasp
        {"7f 23 03 d5", xol, xol, xol},             // pacibsp
        {"bf 23 03 d5", reject, reject, reject},    // autiasp
        {"3f 20 03 d5", reject, reject, reject},    // yield
        {"fd 7b bf a9", xol, xol, emulate},         // stp x29, x30, [sp, #-16]!
        {"fd 7b ba a9", xol, xol, emulate},         // stp x29, x30, [sp, #-96]!
        {"fd 7b 01 a9", xol, xol, xol},             // stp x29, x30, [sp, #16]
        {"f3 53 be a9", xol, xol, xol},             // stp x19, x20, [sp, #-32]!
        {"ff 43 00 d1", xol, xol, xol},             // sub sp, sp, #16
        {"e0 03 01 aa", xol, xol, xol},             // mov x0, x1
        {"00 00 40 f9", xol, xol, xol},             // ldr x0, [x0]
        {"01 00 00 14", emulate, emulate, emulate}, // b
        {"01 00 00 94", emulate, emulate, emulate}, // bl
        {"20 00 00 54", emulate, emulate, emulate}, // b.eq
        {"20 00 00 b4", emulate, emulate, emulate}, // cbz
        {"20 00 00 36", emulate, emulate, emulate}, // tbz
        {"00 00 00 10", emulate, emulate, emulate}, // adr
        {"00 00 00 90", emulate, emulate, emulate}, // adrp
        {"00 00 3f d6", emulate, emulate, emulate}, // blr x0
        {"00 00 1f d6", emulate, emulate, emulate}, // br x0
        {"c0 03 5f d6", emulate, emulate, emulate}, // ret
        {"ff 0b 5f d6", reject, reject, reject},    // retaa
        {"00 00 00 58", reject, reject, reject},    // ldr x0, literal
        {"00 7c 5f c8", reject, reject, reject},    // ldxr x0, [x0]
        {"01 00 00 d4", reject, reject, reject},    // svc #0
        {"00 00 20 d4", reject, reject, reject},    // brk #0
        {"00 42 1b d5", reject, reject, reject},    // msr nzcv, x0
        {"40 d0 3b d5", xol, xol, xol},             // mrs x0, tpidr_el0
        {"01 04 00 19", reject, reject, reject},    // cpyfp [x1]!, [x0]!, x0!
    };
    for (const auto& row : rows) {
        EXPECT_EQ(verdict("6.12", Arch::arm64, row.bytes), row.old) << row.bytes;
        EXPECT_EQ(verdict("6.13", Arch::arm64, row.bytes), row.now) << row.bytes;
        EXPECT_EQ(verdict("7.2", Arch::arm64, row.bytes), row.now) << row.bytes;
        EXPECT_EQ(verdict("7.2+stp+bti", Arch::arm64, row.bytes), row.patched) << row.bytes;
    }
    EXPECT_EQ(verdict("7.2+stp", Arch::arm64, "5f 24 03 d5"), xol);
    EXPECT_EQ(verdict("7.2+bti", Arch::arm64, "fd 7b bf a9"), xol);
    EXPECT_EQ(verdict("7.2+stp", Arch::arm64, "fd 7b 82 a9"), xol);         // stp x29, x30, [sp, #32]!: no push
    EXPECT_EQ(verdict("6.12", Arch::arm64, "1f 20 03 d5", 0x1002), reject); // not aligned
}

TEST(OtherArchitectures, AsStated)
{
    EXPECT_EQ(verdict("6.12", Arch::riscv, "13 00 00 00"), xol);                     // nop
    EXPECT_EQ(verdict("6.12", Arch::riscv, "01 00"), xol);                           // c.nop
    EXPECT_EQ(verdict("6.12", Arch::riscv, "82 80"), emulate);                       // ret: c.jr ra
    EXPECT_EQ(verdict("6.12", Arch::riscv, "97 00 00 00"), emulate);                 // auipc
    EXPECT_EQ(verdict("6.12", Arch::riscv, "73 00 00 00"), reject);                  // ecall
    EXPECT_EQ(verdict("6.12", Arch::riscv, "63 24 b5 00"), Verdict::emulate_unsafe); // a branch that there is not
    EXPECT_EQ(verdict("6.12", Arch::riscv, "13 00 00 00", 0x1002), xol);             // halfwords are aligned enough
    EXPECT_EQ(verdict("6.12", Arch::riscv, "13 00 00 00", 0x1001), reject);
    EXPECT_EQ(verdict("6.12", Arch::powerpc, "00 00 00 60"), emulate);          // nop
    EXPECT_EQ(verdict("6.12", Arch::powerpc, "a6 02 08 7c"), emulate);          // mflr r0
    EXPECT_EQ(verdict("6.12", Arch::powerpc, "d1 ff 21 f8"), emulate);          // stdu r1, -48(r1)
    EXPECT_EQ(verdict("6.12", Arch::powerpc, "2a 00 00 fc"), xol);              // fadd
    EXPECT_EQ(verdict("6.12", Arch::powerpc, "02 00 00 44"), reject);           // sc
    EXPECT_EQ(verdict("6.12", Arch::powerpc, "00 01 83 7c"), Verdict::unknown); // setb, which POWER8 lacks
    EXPECT_EQ(verdict("6.12", Arch::arm, "00 f0 20 e3"), emulate);              // nop
    EXPECT_EQ(verdict("6.12", Arch::arm, "00 00 a0 e1"), xol);                  // mov r0, r0
    EXPECT_EQ(verdict("6.12", Arch::arm, "10 40 2d e9"), xol);                  // push {r4, lr}
    EXPECT_EQ(verdict("6.12", Arch::arm, "9f 0f 91 e1"), reject);               // ldrex
    EXPECT_EQ(verdict("6.12", Arch::arm, "00 bf 08 b5"), Verdict::xol_unsafe);  // Thumb: nop; push {r3, lr}
    EXPECT_EQ(verdict("6.12", Arch::arm, "00 bf 08 b5", 0x1002), reject);
    EXPECT_EQ(verdict("6.12", Arch::s390, "07 00"), xol);                 // nopr
    EXPECT_EQ(verdict("6.12", Arch::s390, "47 00 00 00"), xol);           // nop
    EXPECT_EQ(verdict("6.12", Arch::s390, "c0 10 00 00 00 01"), emulate); // larl %r1
    EXPECT_EQ(verdict("6.12", Arch::s390, "c4 18 00 00 00 01"), emulate); // lgrl %r1
    EXPECT_EQ(verdict("6.12", Arch::s390, "c0 e5 00 00 00 01"), xol);     // brasl %r14
    EXPECT_EQ(verdict("6.12", Arch::s390, "eb bf f0 58 00 24"), xol);     // stmg %r11, %r15, 88(%r15)
    EXPECT_EQ(verdict("6.12", Arch::s390, "e5 60 00 00 ff 00"), reject);  // tbegin
    EXPECT_EQ(verdict("6.12", Arch::s390, "03 00"), reject);              // nothing that is_known_insn() knows
    EXPECT_EQ(verdict("6.11", Arch::s390, "b9 68 00 12"), reject);        // clzg of z17
    EXPECT_EQ(verdict("6.12", Arch::s390, "b9 68 00 12"), xol);
    EXPECT_EQ(verdict("6.12", Arch::loongarch, "00 00 40 03"), xol);     // nop
    EXPECT_EQ(verdict("6.12", Arch::loongarch, "63 c0 ff 02"), xol);     // addi.d $sp, $sp, -16
    EXPECT_EQ(verdict("6.12", Arch::loongarch, "04 00 00 1c"), emulate); // pcaddu12i $a0, 0
    EXPECT_EQ(verdict("6.12", Arch::loongarch, "20 00 00 4c"), emulate); // ret: jirl $zero, $ra, 0
    EXPECT_EQ(verdict("6.12", Arch::loongarch, "00 04 00 54"), emulate); // bl
    EXPECT_EQ(verdict("6.12", Arch::loongarch, "84 00 00 20"), reject);  // ll.w
    EXPECT_EQ(verdict("6.12", Arch::loongarch, "84 10 61 38"), reject);  // amadd.w $a0, $a0, $a0
    EXPECT_EQ(verdict("6.12", Arch::mips, "00 00 00 00"), Verdict::unknown);
    EXPECT_EQ(verdict("6.12", Arch::unknown, "90"), Verdict::unknown);
}

// CVE-2024-50099: kernels that are not mended accept a probe on a literal load. Its record names the releases that are; 5.10.223 was
// measured (arm64, 2026).
TEST(Kernel, PointReleases)
{
    const char* const ldr_literal = "80 00 00 58";
    for (const char* kernel : {"5.10.227", "5.10.223", "5.15.168", "6.1.113", "6.6.57", "6.11.4", "6.2", "6.10"})
        EXPECT_EQ(verdict(kernel, Arch::arm64, ldr_literal), Verdict::emulate_unsafe) << kernel;
    for (const char* kernel : {"5.10.228", "5.15.169", "6.1.114", "6.1.176", "6.6.58", "6.11.5", "6.12", "7.3"})
        EXPECT_EQ(verdict(kernel, Arch::arm64, ldr_literal), reject) << kernel;
    for (const char* kernel :
         {"5.10", "5.15", "6.1", "6.6", "6.11", "ubuntu-6.8", "ubuntu-6.8.0-44", "rhel-9.6", "6.1.0-44-arm64"})
        EXPECT_EQ(verdict(kernel, Arch::arm64, ldr_literal), Verdict::unknown) << kernel;
    // What does not depend on it is known.
    EXPECT_EQ(verdict("6.1", Arch::arm64, "1f 20 03 d5"), xol);
    // bc.eq: the announcements of 6.6.142, 6.12.92, 6.18.34 and 7.0.11 name the patch. Before 6.6 nobody knew the instruction.
    const char* const bc_eq = "90 00 00 54";
    for (const char* kernel : {"5.15", "6.1.176", "6.6.141", "6.12.91", "6.16", "6.18.33", "6.19", "7.0.10"})
        EXPECT_EQ(verdict(kernel, Arch::arm64, bc_eq), xol) << kernel;
    for (const char* kernel : {"6.6.142", "6.12.92", "6.18.34", "7.0.11", "7.1"})
        EXPECT_EQ(verdict(kernel, Arch::arm64, bc_eq), emulate) << kernel;
    EXPECT_EQ(verdict("6.12", Arch::arm64, bc_eq), Verdict::unknown);
    // Ubuntu's changelogs name the builds.
    EXPECT_EQ(verdict("ubuntu-7.0.0-27", Arch::arm64, bc_eq), xol);
    EXPECT_EQ(verdict("ubuntu-7.0.0-28", Arch::arm64, bc_eq), emulate);
}

// The changelog of 7.0.0-41 names the patch; system call 336 gives ENXIO in the builds 14, 38 and 39, EPROTO in 42, 43 and 44.
TEST(Kernel, UbuntuHasTheNop10)
{
    const char* const nop5 = "0f 1f 44 00 00";
    const char* const nop10 = "66 2e 0f 1f 84 00 00 00 00 00";
    EXPECT_EQ(verdict("ubuntu-7.0.0-14", Arch::x86_64, nop5), optimize_unsafe);
    EXPECT_EQ(verdict("ubuntu-7.0.0-14", Arch::x86_64, nop10), reject);
    EXPECT_EQ(verdict("ubuntu-7.0.0-39", Arch::x86_64, nop10), reject);
    EXPECT_EQ(verdict("ubuntu-7.0.0-42", Arch::x86_64, nop10), optimize);
    EXPECT_EQ(verdict("ubuntu-7.0.0-43", Arch::x86_64, nop5), emulate);
    EXPECT_EQ(verdict("ubuntu-7.0.0-43", Arch::x86_64, nop10), optimize);
    EXPECT_EQ(verdict("7.0.0-43-generic", Arch::x86_64, nop10), optimize);
    EXPECT_EQ(verdict("7.0.0-1012-aws", Arch::x86_64, nop10), Verdict::unknown);
    EXPECT_EQ(verdict("ubuntu-7.0", Arch::x86_64, nop10), Verdict::unknown);
    EXPECT_EQ(verdict("7.0.13", Arch::x86_64, nop10), reject); // Debian's
    EXPECT_EQ(verdict("ubuntu-7.0", Arch::x86_64, "90"), emulate);
    EXPECT_EQ(verdict("ubuntu-6.8", Arch::x86_64, nop10), reject);
    EXPECT_EQ(verdict("rhel-9.6", Arch::x86_64, nop10), Verdict::unknown); // nobody asked one
    EXPECT_EQ(verdict("rhel-9.6", Arch::x86_64, "55"), emulate);
}

TEST(Kernel, Names)
{
    EXPECT_EQ(parse_kernel("6.12")->name(), "6.12");
    EXPECT_EQ(parse_kernel("7.2+stp")->name(), "7.2+stp");
    EXPECT_EQ(parse_kernel("6.1.0-44-amd64")->name(), "6.1");
    EXPECT_EQ(parse_kernel("7.2.13+deb14-amd64")->name(), "7.2.13");
    EXPECT_EQ(parse_kernel("7.0.0-43-generic")->name(), "ubuntu-7.0.0-43");
    EXPECT_EQ(parse_kernel("6.8.0-151-lowlatency")->name(), "ubuntu-6.8.0-151");
    EXPECT_EQ(parse_kernel("6.8.0-1015-aws")->name(), "ubuntu-6.8"); // counted by itself
    EXPECT_EQ(parse_kernel("5.14.0-570.12.1.el9_6.x86_64")->name(), "rhel-9.6");
    EXPECT_EQ(parse_kernel("5.14.0-611.el9.x86_64")->name(), "rhel-9");         // CentOS Stream
    EXPECT_EQ(parse_kernel("5.15.0-300.161.13.el9uek.x86_64")->name(), "5.15"); // Oracle's own
    EXPECT_EQ(parse_kernel("6.1.112-122.189.amzn2023.x86_64")->name(), "6.1.112");
    EXPECT_EQ(parse_kernel("6.4.0-150600.21-default")->name(), "6.4"); // SUSE
    EXPECT_EQ(parse_kernel("6.17.5-200.fc42.x86_64")->name(), "6.17.5");
    EXPECT_EQ(parse_kernel("7.3-rc2")->name(), "7.3");
    for (const char* same : {"6.1.176", "ubuntu-7.0", "ubuntu-7.0.0-43", "ubuntu-6.8.0-44+stp", "rhel-9", "rhel-9.6"})
        EXPECT_EQ(parse_kernel(same)->name(), same);
    // `uname -v` and the package's version tell what Debian's .0 is.
    for (const char* version : {"#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-12)", "6.1.176-1"})
        EXPECT_EQ(name(*parse_release("6.1.0-50-amd64", version)), "6.1.176");
    EXPECT_EQ(name(*parse_release("6.1.0-50-amd64", "#1 SMP Debian 16.1.176-1")), "6.1");
    for (const char* bad : {"ubuntu-7", "ubuntu-", "ubuntu-7.0.0", "ubuntu-7.0.0-", "ubuntu-7.0.0-43-", "rhel-11",
                            "rhel-9.", "rhel-", "6.1.", "6.1+foo", "7.2+stp+"})
        EXPECT_FALSE(parse_kernel(bad)) << bad;
    for (const char* bad : {"", "6", "6.", ".1", "6.x", "six", "6.12x", "-6.1", "6.-1", "6.12 ", "99999999999.1"})
        EXPECT_FALSE(parse_kernel(bad)) << bad;
    ASSERT_TRUE(parse_kernel("this"));
    EXPECT_GT(parse_kernel("this")->release.major, 2u);
}

} // namespace
} // namespace fastsdt
