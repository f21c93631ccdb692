// SPDX-License-Identifier: BSD-2-Clause
// Options that put something of their own at entries.
// RUN: %if gcc && x86-64 %{ %cc -O2 -pg -mno-fentry %s -o %t && %run %t && %entries %t | %check-PG %}
// RUN: %if gcc && arm64 %{ %cc -O2 -pg %s -o %t && %run %t && %entries %t | %check-PG %}
// RUN: %if gcc && x86-64 %{ rm -f %t.json && %cc -O2 -pg -mfentry -fno-pie -no-pie %fp-report=%t.json %s -o %t && %entries %t | %check-FENTRY && %only-REPORT-FENTRY <%t.json %}
// RUN: rm -f %t.json && %cc -O2 -fpatchable-function-entry=5 %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-PATCHABLE && %only-REPORT-PATCHABLE <%t.json
// RUN: rm -f %t.json && %cc -O2 -fpatchable-function-entry=5,2 %fp-entry=nop10 %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-PATCHABLE && %only-REPORT-PATCHABLE <%t.json
// RUN: %cc -O2 -finstrument-functions %s -o %t && %run %t && %entries %t | %check-INSTRUMENT
// RUN: %if gcc && x86-64 && split-stack %{ rm -f %t.json && %cc -O2 -fsplit-stack %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-SPLIT && %only-REPORT-SPLIT <%t.json %}
// RUN: %if gcc && x86-64 %{ rm -f %t.json && %cc -O2 -DHOOK %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-HOOK && %only-REPORT-HOOK <%t.json %}
// RUN: %if coverage %{ %cc -O2 --coverage %s -o %t && %entries %t | %check-COVERAGE %}
#define NOINLINE __attribute__((noinline, noipa))
#ifdef HOOK
#define NOINLINE __attribute__((noinline, noipa, ms_hook_prologue))
#endif
__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *f, void *c) {}
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *f, void *c) {}
NOINLINE int leaf(int a) { return a * 3; }
// mcount is called behind the prologue. (GCC 16 has -mfentry as its default.)
// PG-X86-DAG: {{^}}leaf: push {{.*}} | push %rbp; mov %rsp,%rbp; call
// PG-ARM64-DAG: {{^}}leaf: nop {{.*}} | nop; {{stp|mov}}
// FENTRY-DAG: {{^}}leaf: no record | call {{.*}}__fentry__
// REPORT-FENTRY: "function": "leaf", {{.*}}"action": "skipped", {{.*}}"reason": "-mfentry
// PATCHABLE-DAG: {{^}}leaf: no record | nop
// REPORT-PATCHABLE: "function": "leaf", {{.*}}"action": "skipped", {{.*}}"reason": "-fpatchable-function-entry
// INSTRUMENT-DAG: {{^}}leaf: {{nop|push|stp}}
// INSTRUMENT-DAG: {{^}}__cyg_profile_func_enter: no record
// SPLIT-DAG: {{^}}leaf: no record | {{lea|cmp}}
// REPORT-SPLIT: "function": "leaf", {{.*}}"action": "skipped", {{.*}}"reason": "-fsplit-stack
// HOOK-DAG: {{^}}leaf: no record | lea 0x0(%rsp)
// REPORT-HOOK: "function": "leaf", {{.*}}"action": "skipped", {{.*}}"reason": "ms_hook_prologue
// COVERAGE-DAG: {{^}}leaf: {{nop|push|stp|other}}
int main(void) { return leaf(3) != 9; }
