#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernels that optimize a nop5 push at it. With the clang plugin the plugin keeps the function out of the red zone,
# without it the header; never both.
. "$FASTSDT_SOURCE/tests/fastprobe/llvm/llvm.sh"
cat >r.c <<'E'
#define FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1
#include <fastsdt.h>
#define LEAF(name, layout) \
    long name(long a, long i) { \
        volatile long x[8]; \
        x[i & 7] = a; x[(i + 1) & 7] = a + 1; \
        FASTSDT_WITH(layout, none, fastsdt_test, name, a); \
        return x[i & 7]; \
    }
LEAF(with_nop10, nop1_nop10)
LEAF(with_nop4, nop1_nop4)
LEAF(with_nop5, nop1_nop5)
LEAF(with_bare_nop5, nop5)
static inline __attribute__((always_inline)) void site(long a) { FASTSDT_WITH(nop1_nop5, none, fastsdt_test, inlined, a); }
long inlines(long a, long i) { volatile long x[8]; x[i & 7] = a; site(a); return x[i & 7]; }
E
# Bytes below the stack pointer are in use, by the disassembly.
red() {
    objdump -d --no-show-raw-insn r.o | awk -v f="<$1>:" '$2 == f {on = 1; next} /^$/ {on = 0} on' | matches -e '-0x[0-9a-f]*(%rsp' &&
        echo red || echo clear
}
flags_read() { objdump -d --no-show-raw-insn r.o | grep -c 'pushf' || true; }
for level in -O1 -O2 -O3 -Os -Oz; do
    clang $level -I"$INCLUDE" -fplugin="$plugin" -c r.c -o r.o
    for name in with_nop5 with_bare_nop5 inlines; do expect "$level $name with the plugin" "$(red $name)" clear; done
    for name in with_nop10 with_nop4; do expect "$level $name with the plugin" "$(red $name)" red; done
    expect "$level: the header's own care, with the plugin" "$(flags_read)" 0
    clang $level -I"$INCLUDE" -c r.c -o r.o
    for name in with_nop5 with_bare_nop5 inlines; do expect "$level $name without the plugin" "$(red $name)" clear; done
    # Compiled for LTO, the code may end up where no plugin looks after it.
    clang $level -I"$INCLUDE" -fplugin="$plugin" -flto -c r.c -o r.bc
    clang $level -c r.bc -x ir -o r.o 2>/dev/null || "$bin/llc" -filetype=obj r.bc -o r.o
    for name in with_nop5 with_bare_nop5 inlines; do expect "$level $name after LTO without the plugin" "$(red $name)" clear; done
done
