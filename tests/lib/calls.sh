#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The constants in calls of imported functions, and of system calls, of programs for both architectures; each program says itself what it
# calls.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc
cat >calls.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#define DIRECT(number) __asm__ volatile("mov %0, %%eax; syscall" ::"i"(number) : "rax", "rcx", "r11", "memory")
#else
#define DIRECT(number) __asm__ volatile("mov x8, %0; svc #0" ::"i"(number) : "x0", "x8", "memory")
#endif
int main(int argc, char** argv)
{
    for (int i = 0; i < argc; ++i) {
        switch (argv[i][0]) {
        case 'a': prctl(15, "name"); break;
        case 'b': prctl(22, 2L, argv); break;
        case 'c':
            if (prctl(4, 1) && syscall(39) > 0)
                return (int)syscall(186);
            break;
#ifdef UNKNOWN
        case 'd': return prctl(atoi(argv[i] + 1));
        case 'e': return (int)syscall(atoi(argv[i] + 1));
#endif
#ifdef POINTER
        case 'f': return ((int (*)(int, ...))(argc > 5 ? (void*)prctl : (void*)getpid))(1);
#endif
        case 'g': DIRECT(39); break;
        case 'h': DIRECT(317); break;
        default: return (int)syscall(202);
        }
    }
    return 0;
}
END
told() { "$FASTSDT_BUILD/bin/lib_calls" "$1"; }
seen=0
for compiler in gcc clang-19 aarch64-linux-gnu-gcc "clang-19 --target=aarch64-linux-gnu"; do
    have "${compiler%% *}" || continue
    for flags in -O0 -O1 -O2 -O3 -Os -fno-plt '-no-pie -fno-pie' '-O2 -fcf-protection=full -Wl,-z,ibtplt' '-O2 -Wl,-z,now' \
        '-O2 -mbranch-protection=standard'; do
        case "$compiler $flags" in *aarch64*-fno-plt) continue ;; esac # a call by a register: taken for unknown
        # Not each compiler has each option.
        $compiler $flags calls.c -o app 2>/dev/null || continue
        ((++seen))
        expect "$compiler $flags" "$(told app)" "prctl 4 15 22
syscall 39 186 202
direct 39 317"
        $compiler $flags -DUNKNOWN calls.c -o app
        expect "$compiler $flags -DUNKNOWN" "$(told app)" "prctl 4 15 22 others
syscall 39 186 202 others
direct 39 317"
        $compiler $flags -DPOINTER calls.c -o app
        expect "$compiler $flags -DPOINTER" "$(told app | sed -n 1p)" "prctl 4 15 22 others"
    done
done
[ $seen -ge 7 ] || fail "only $seen programs"
