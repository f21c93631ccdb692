// SPDX-License-Identifier: BSD-2-Clause
// What few programs contain: function multiversioning, a function without one instruction, __builtin_eh_return,
// functions in sections of their own choice.
// RUN: rm -f %t.json && %cc -O2 %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-AUTO %if gcc %{ && %only-REPORT-AUTO <%t.json %}
// RUN: rm -f %t.json && %cc -O2 -g -ffunction-sections %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-AUTO %if gcc %{ && %only-REPORT-AUTO <%t.json %}
// RUN: %cc -Os %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
// RUN: %if x86-64 %{ %cc -O2 -fcf-protection=full %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-CET %}
#define NOINLINE __attribute__((noinline, noipa))
#ifdef __x86_64__
__attribute__((target_clones("avx2", "default"))) int cloned(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
#else
NOINLINE int cloned(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
#endif
// AUTO-X86-GCC-DAG: {{^}}cloned.avx2{{(\.[0-9]+)?}}: nop {{.*}} added
// AUTO-X86-GCC-DAG: {{^}}cloned.default{{(\.[0-9]+)?}}: nop {{.*}} added
// The resolver runs before relocation.
// ALL-X86-GCC-DAG: {{^}}cloned=cloned.resolver: no record

// ALL-GCC-DAG: {{^}}unwinder: {{nop|push|stp|other}}
// ALL-X86-CLANG-DAG: {{^}}unwinder: {{nop|push|other}}
// (clang has no __builtin_eh_return for arm64 and makes no code for the function.)
NOINLINE void unwinder(long offset, void *handler) { __builtin_eh_return(offset, handler); }

// (If clang makes no code for the function before, both have the same address.)
// ALL-DAG: {{^([a-z]*=)*}}placed{{(=[a-z]*)*}}: nop
__attribute__((section(".text.mine"))) NOINLINE int placed(int a) { return a * 3; }
// ALL-DAG: {{^}}placed_too: nop
__attribute__((section(".text.mine"))) NOINLINE int placed_too(int a) { return a * 5; }
// ALL-DAG: {{^}}big_alignment: nop
__attribute__((aligned(256))) NOINLINE int big_alignment(int a) { return a * 7; }
// An alignment below 16 does not hold against the page rule of nop10.
// NOP10-X86-GCC-DAG: {{^}}no_alignment: nop1+nop10 {{.*}} bound=4
__attribute__((optimize("align-functions=1"))) NOINLINE int no_alignment(int a) { return a * 9; }

int main(void) {
    int a[4] = {1, 2, 3, 4};
    return !(cloned(a, 4) == 10 && placed(1) + placed_too(1) + big_alignment(1) + no_alignment(1) == 24 && (unsigned long)big_alignment % 256 == 0);
}

// Falls through into whatever follows: there is nothing to probe.
void never(void) { __builtin_unreachable(); }
// (GCC 16 puts a trap there.)
// REPORT-AUTO-GCC: "function": "never", {{.*("reason": "no instructions|"before": "[a-z0-9_]*trap)}}
