/* SPDX-License-Identifier: BSD-2-Clause
 * arm_probe_decode_insn() of Linux, out of gen/arm64.inc. */
#include "kernel.h"

typedef u32 probe_opcode_t;
struct arch_probe_insn {
    void* handler;
};
enum probe_insn { INSN_REJECTED, INSN_GOOD_NO_SLOT, INSN_GOOD };
/* Until 6.3: encoding classes, of which one is asked for. */
enum aarch64_insn_encoding_class { AARCH64_INSN_CLS_OTHER, AARCH64_INSN_CLS_BR_SYS };
static enum aarch64_insn_encoding_class aarch64_insn_encoding_class[16] = {
    [10] = AARCH64_INSN_CLS_BR_SYS, [11] = AARCH64_INSN_CLS_BR_SYS};
#define HANDLER(name) static char name[1]
HANDLER(simulate_nop);
HANDLER(simulate_b_cond);
HANDLER(simulate_cbz_cbnz);
HANDLER(simulate_tbz_tbnz);
HANDLER(simulate_adr_adrp);
HANDLER(simulate_b_bl);
HANDLER(simulate_br_blr);
HANDLER(simulate_ret);
HANDLER(simulate_br_blr_ret);
HANDLER(simulate_ldr_literal);
HANDLER(simulate_ldrsw_literal);
#include "arm64.inc"

/* Numbers of enum Verdict. */
int linux_arm64(u32 insn)
{
    struct arch_probe_insn api;

    if (insn == 0xd42000a0) /* is_trap_insn(): BRK64_OPCODE_UPROBES */
        return 1;
    switch (arm_probe_decode_insn(insn, &api)) {
    case INSN_REJECTED: return 1;
    case INSN_GOOD: return 4;
    default: return 5;
    }
}
