// SPDX-License-Identifier: BSD-2-Clause
// A .cold part is no entry; clones are entries of their own; aliases share one record.
// RUN: %cc -O2 %s -o %t && %run %t && %entries %t >%t.entries && %check-AUTO <%t.entries && %only-NEVER <%t.entries
// RUN: %cc -O3 -ffunction-sections -Wl,--gc-sections %fp-entry=nop10 %s -o %t && %run %t && %entries %t >%t.entries && %check-NOP10 <%t.entries && %only-NEVER <%t.entries
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
__attribute__((noinline, cold)) void complain(int a) { sink = a; }
__attribute__((noinline)) int split(int a) {
    if (__builtin_expect(a > 100, 0)) { complain(a); printf("%d\n", a); complain(a * 2); return a / 3; }
    return a * 3;
}
// NEVER-NOT: {{^split\.cold[^:]*: (nop|push|stp|other)}}
// ALL-DAG: {{^}}split: {{nop|push|stp}}
static __attribute__((noinline)) int cloned(int a, int b) { for (int i = 0; i < b; i++) sink = a; return a * b; }
// AUTO-GCC-DAG: {{^}}cloned.{{(constprop|isra).*}}: {{nop|push|stp|other}}
__attribute__((noinline)) int target(int a) { return a + 5; }
extern int other_name(int) __attribute__((alias("target")));
extern int weak_name(int) __attribute__((weak, alias("target")));
// AUTO-DAG: {{^}}other_name=target=weak_name: nop
static inline int inlined(int a) { return a * 7; }
// NEVER-NOT: {{^inlined:}}
__attribute__((constructor, noinline)) static void before(void) { sink = 1; }
// AUTO-X86-DAG: {{^}}before: nop
// The function's own section and a start-up section of GCC's choice.
int main(int argc, char **argv) { return !(split(argc) == 3 && cloned(argc, 7) == 7 && other_name(1) + weak_name(2) == 13 && inlined(argc) == 7); }
// AUTO-DAG: {{^}}main: {{nop|push|stp|other}}
