// SPDX-License-Identifier: BSD-2-Clause
// Asm that uses the frame pointer's register: such a function gets no frame, however it was asked for.
// RUN: rm -f %t.json && %cc -O2 %fp-entry=frame %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-FRAME && %only-REPORT-FRAME <%t.json
// RUN: %cc -O2 %fp-entry=auto-frame %s -o %t && %run %t && %entries %t | %check-AUTOFRAME
#include <string.h>
#define NOINLINE __attribute__((noinline, noipa))
#ifdef __x86_64__
#define CLOBBER() __asm__ volatile("xor %%ebp, %%ebp" ::: "rbp")
#define FRAME_POINTER "rbp"
#else
#define CLOBBER() __asm__ volatile("mov x29, #0" ::: "x29")
#define FRAME_POINTER "x29"
#endif
static void keep(char *a) { __asm__ volatile("" ::"r"(a) : "memory"); }

NOINLINE int clobbers(int n) { char a[64]; memset(a, n, sizeof a); CLOBBER(); keep(a); return a[n]; }
// FRAME-GCC-DAG: {{^}}clobbers: nop {{.*}} added missed | nop
// REPORT-FRAME-GCC: "function": "clobbers", {{.*}}"action": "missed", {{.*}}"reason": "{{.*}}frame pointer
// (Clang on x86-64 saves the register first of all: that push is kept, and the reason says that it sets up no frame.)
// FRAME-X86-CLANG-DAG: {{^}}clobbers: push {{.*}} | push %rbp;
// REPORT-FRAME-X86-CLANG: "function": "clobbers", {{.*}}"action": "kept", {{.*}}"reason": "the function's asm uses the frame pointer"
// FRAME-ARM64-CLANG-DAG: {{^}}clobbers: nop {{.*}} added missed | nop; sub
// REPORT-FRAME-ARM64-CLANG: "function": "clobbers", {{.*}}"action": "missed", {{.*}}"reason": "the function's asm uses the frame pointer"
// AUTOFRAME-DAG: {{^}}clobbers: {{nop .* added | nop|push}}

NOINLINE int calls(int n) { char a[64]; memset(a, n, sizeof a); CLOBBER(); keep(a); return a[n] + clobbers(n); }
// AUTOFRAME-DAG: {{^}}calls: {{nop|push}}

#ifndef __clang__
// An operand that has to be in that register.
NOINLINE int operand(int n) {
    register long x __asm__(FRAME_POINTER) = n;
    char a[64];
    memset(a, n, sizeof a);
    __asm__ volatile("" : "+r"(x));
    keep(a);
    return a[n] + (int)x;
}
// (GCC 11 keeps the register with a push of its own, first.)
// FRAME-GCC-DAG: {{^}}operand: {{nop .* added missed | nop|push}}
#else
NOINLINE int operand(int n) { return 2 * n; }
#endif

// Others have one.
NOINLINE int plain(int n) { char a[64]; memset(a, n, sizeof a); keep(a); return a[n]; }
// FRAME-X86-DAG: {{^}}plain: push {{.*}} | push %rbp

int main(void) { return clobbers(3) + calls(3) + operand(3) + plain(3) != 18; }
