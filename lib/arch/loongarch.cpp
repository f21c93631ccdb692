// SPDX-License-Identifier: BSD-2-Clause
//
// What arch_uprobe_analyze_insn() (arch/loongarch/kernel/uprobes.c) decides, by insns_not_supported() and insns_need_simulation()
// (arch/loongarch/kernel/inst.c).
#include "arch/architecture.h"
#include "arch/opcode_masks.h"

#include <elf.h>

#include <algorithm>

#ifndef EM_LOONGARCH // glibc before 2.37 lacks it
#define EM_LOONGARCH 258
#endif

namespace fastsdt {
namespace {

constexpr uint32_t r_larch_32 = 1, r_larch_64 = 2;

// arch/loongarch/kernel/inst.c, insns_not_supported(), insns_need_simulation(); opcodes of asm/inst.h.
constexpr OpcodeMask rules_loongarch[] = {
    {0xfd000000, 0x20000000, reject, "insns_not_supported(): ll"},
    {0xfd000000, 0x21000000, reject, "insns_not_supported(): sc"},
    {0xfffff000, 0x38578000, reject, "insns_not_supported(): llacq, screl"},
    {0xffff8000, 0x38570000, reject, "insns_not_supported(): sc.q"},
    {0xfff00000, 0x38600000, reject, "insns_not_supported(): atomic memory access"},
    {0xfffe0000, 0x38700000, reject, "insns_not_supported(): atomic memory access"},
    {0xfc000000, 0x48000000, reject, "insns_not_supported(): bceqz, bcnez"},
    {0xf8000000, 0x18000000, emulate, "insns_need_simulation(): PC-relative"},
    {0xf0000000, 0x40000000, emulate, "insns_need_simulation(): branch"},
    {0xf0000000, 0x50000000, emulate, "insns_need_simulation(): branch"},
    {0xf0000000, 0x60000000, emulate, "insns_need_simulation(): branch"},
    {0, 0, xol, "arch_uprobe_analyze_insn(): not simulated"},
};

Judgement judge_loongarch(Features, std::span<const std::byte> bytes, uint64_t vaddr)
{
    if (bytes.empty())
        return no_bytes;
    if (vaddr % 4)
        return not_aligned;
    const auto next = look_up(rules_loongarch, first_bytes(bytes.subspan(std::min<size_t>(bytes.size(), 4)), 4, false));
    if (next.verdict == reject)
        return {Verdict::reject, "arch_uprobe_analyze_insn(): insns_not_supported() of the next instruction"};
    return look_up(rules_loongarch, first_bytes(bytes, 4, false));
}

} // namespace

const Architecture arch_loongarch{.arch = Arch::loongarch,
                                  .is = [](uint16_t machine, bool) { return machine == EM_LOONGARCH; },
                                  .absolute_width = plain_absolute<r_larch_64, r_larch_32>,
                                  .judge = judge_loongarch,
                                  .judges_next = true};

} // namespace fastsdt
