// SPDX-License-Identifier: BSD-2-Clause
// Functions that need care: handled, or left alone with the reason in the report.
// RUN: rm -f %t.json && %cc -O2 %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-AUTO && %only-REPORT-AUTO <%t.json
// RUN: %if ifunc %{ rm -f %t.json && %cc -O0 %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-AUTO && %only-REPORT-AUTO <%t.json %}
// RUN: rm -f %t.json && %cc -O3 -fno-omit-frame-pointer %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-AUTO && %only-REPORT-AUTO <%t.json
// RUN: rm -f %t.json && %cc -O2 -fstack-clash-protection %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-AUTO && %only-REPORT-AUTO <%t.json
// RUN: %cc -O2 %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
// RUN: rm -f %t.json && %cc -O2 %fp-entry=frame %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-FRAME %if gcc && arm64 %{ && %only-REPORT-FRAME <%t.json %}
// RUN: rm -f %t.json && %cc -O2 -fstack-clash-protection %fp-entry=frame %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-FRAME %if gcc && arm64 %{ && %only-REPORT-FRAME <%t.json %}
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noipa))
volatile int sink;

// The programmer's own code, byte for byte.
#ifdef __x86_64__
__attribute__((naked)) NOINLINE int naked(void) { __asm__("mov $7,%eax\n\tret"); }
#else
// GCC knows `naked` on x86 only.
int naked(void);
__asm__(".text\n.globl naked\n.type naked,%function\nnaked: mov w0,#7\n\tret\n.size naked,.-naked\n");
#endif
// AUTO-DAG: {{^}}naked: no record | mov
// NOP10-DAG: {{^}}naked: no record | mov
// REPORT-AUTO-X86: "function": "naked", {{.*}}"action": "skipped", {{.*}}"reason": "naked

// Runs before the program is relocated.
static int implementation(int a) { return a + 1; }
static int (*resolve(void))(int) { return implementation; }
int indirect(int) __attribute__((ifunc("resolve")));
// AUTO-DAG: {{^}}{{.*}}resolve{{.*}}: no record
// REPORT-AUTO: "function": "resolve", {{.*}}"action": "skipped", {{.*}}"reason": "ifunc

// Returns twice when it is entered once.
__attribute__((returns_twice)) NOINLINE int twice(int a) { sink = a; return 0; }
// AUTO-DAG: {{^}}twice: {{.*}} returns-twice

// A frame that no single instruction can make, and one of unknown size.
NOINLINE int huge(int n) { char a[300000]; memset(a, n, sizeof a); __asm__ volatile("" ::"r"(a) : "memory"); return a[299999]; }
// AUTO-X86-DAG: {{^}}huge: {{nop .* added|push}}
// FRAME-X86-DAG: {{^}}huge: push {{.*}} | push %rbp
// arm64 makes room first; the miss is on record, and a nop stands there instead.
// FRAME-ARM64-GCC-DAG: {{^}}huge: nop {{.*}} added missed | nop
// FRAME-ARM64-CLANG-DAG: {{^}}huge: stp {{.*}} | stp x29, x30, [sp, #-
// REPORT-FRAME-ARM64-GCC: "function": "huge", {{.*}}"action": "missed", {{.*}}"reason": "
NOINLINE int dynamic(int n) { char *a = __builtin_alloca(n); memset(a, 5, n); __asm__ volatile("" ::"r"(a) : "memory"); return a[n - 1]; }
// The stack pointer is realigned, on x86 by way of r10.
NOINLINE int aligned(int n, ...) { char a[64] __attribute__((aligned(128))); a[0] = n; __asm__ volatile("" ::"r"(a) : "memory"); return a[0] + (int)((unsigned long)a & 127); }

#ifdef __x86_64__
__attribute__((ms_abi)) NOINLINE int windows(int a, int b, int c, int d, int e) { return a + b * 2 + c * 3 + d * 4 + e * 5; }
// AUTO-X86-DAG: {{^}}windows: {{.*}} stack={{40|unknown}}
NOINLINE __attribute__((target("general-regs-only"))) int plain_target(int a) { return a + 2; }
#endif

#ifndef __clang__
// The static chain of a nested function is in r10 or x18: an entry must not touch it.
NOINLINE int call(int (*f)(int), int a) { return f(a) + 1; }
NOINLINE int nesting(int n) {
    NOINLINE int inner(int a) { return a + n; }
    return call(inner, 3);
}
// AUTO-GCC-DAG: {{^}}inner.{{[0-9]+}}: {{nop|push|stp|other}} {{.*}} |
#endif

jmp_buf buffer;
NOINLINE int jumper(int a) { if (a == 0) longjmp(buffer, 5); return jumper(a - 1) + 1; }

int main(void) {
    char ok = naked() == 7 && indirect(1) == 2 && twice(1) == 0 && huge(3) == 3 && dynamic(100) == 5 && aligned(3) == 3;
#ifdef __x86_64__
    ok = ok && windows(1, 2, 3, 4, 5) == 55 && plain_target(1) == 3;
#endif
#ifndef __clang__
    ok = ok && nesting(4) == 8;
#endif
    int jumped = setjmp(buffer);
    if (!jumped) jumper(3);
    return !(ok && jumped == 5);
}
