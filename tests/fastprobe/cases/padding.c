// SPDX-License-Identifier: BSD-2-Clause
// What comes between the alignment and the function, and what assemblers do to keep branches off boundaries: what stands at an entry or exit
// is what its record says (entries.py --check), and the record says what it should.
// RUN: %if x86-64 && gcc %{ %cc -O2 -Wa,-mbranches-within-32B-boundaries %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-PUSH %}
// RUN: %if x86-64 && gcc %{ %cc -Os -Wa,-mbranches-within-32B-boundaries %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-PUSH %}
// RUN: %if x86-64 && clang %{ rm -f %t.json && %cc -Os -mbranches-within-32B-boundaries %fp-exit=nop %fp-report=%t.json %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-PUSH && %only-REPORT-NOPS <%t.json %}
// RUN: %if x86-64 && clang %{ rm -f %t.json && %cc -O2 -mbranches-within-32B-boundaries -mpad-max-prefix-size=5 %fp-report=%t.json %s -o %t && %run %t && %entries --check %t && %entries %t | %check-PREFIX && %only-REPORT <%t.json %}
// RUN: %if function-types %{ %cc -O2 -fsanitize=function -fsanitize-trap=function %fp-entry=nop10 %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-TYPES %}
// RUN: %if kcfi %{ %cc -O2 -fsanitize=kcfi %fp-entry=nop10 %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-TYPES %}
// RUN: %cc -O2 -fpatchable-function-entry=5,3 %fp-entry=nop10 %s -o %t && %run %t && %entries --check %t && %entries %t | %check-PATCHABLE
#define NOINLINE __attribute__((noinline, noipa))
volatile int sink;
int elements[64];
NOINLINE int other(int a) { return sink + a; }

// Branches at every distance from the entry. (No function of one of these sets of flags began so far with a prefixed push everywhere.)
#define BRANCHES(n, filler) NOINLINE int branches##n(int x, int y) { filler if (x > y + n) sink = y; else elements[n] = x; other(x); return x + other(y); }
BRANCHES(0, ) BRANCHES(1, sink = 1;) BRANCHES(2, sink = 1000000;) BRANCHES(3, sink = 1; sink = 2;) BRANCHES(4, sink = 1; sink = x; sink = 3;)
BRANCHES(5, sink = y; sink = y;) BRANCHES(6, sink = 1; sink = x; sink = x; sink = x;) BRANCHES(7, sink = x; sink = x; sink = x; sink = x; sink = y;)
BRANCHES(8, sink++;) BRANCHES(9, sink++; sink = x;) BRANCHES(10, sink += 1000; sink = x; sink++;) BRANCHES(11, sink = x; sink += y; sink = y;)
BRANCHES(12, sink = 1; sink = 1000001; sink = 2; sink = 1000003; sink = 4; sink = 1000005;) BRANCHES(13, sink = 1; sink = 1000001; sink = 2; sink = 1000003; sink = 4;)
// PUSH-DAG: {{^}}branches0: push lead=0 {{.*}} | push
// PUSH-DAG: {{^}}branches12: push lead=0 {{.*}} | push
// PREFIX-DAG: {{^}}branches0: no record
// REPORT: "function": "branches0", {{.*}}"action": "skipped", {{.*}}"reason": "-mpad-max-prefix-size
// PATCHABLE-DAG: {{^}}branches0: no record

// Tail calls at every offset from a boundary.
#define TAIL(n) NOINLINE int tail##n(int a) { return other(a * 2 + n); } NOINLINE int either##n(int a) { sink = a; return a > n ? other(a) : tail##n(a + 1); }
TAIL(1) TAIL(2) TAIL(3) TAIL(4) TAIL(5) TAIL(6) TAIL(7) TAIL(8) TAIL(9) TAIL(100) TAIL(101) TAIL(200) TAIL(300) TAIL(400)
// REPORT-NOPS: "function": "tail1", {{.*}}"exits": 0, {{.*}}"exit_reason": "the assembler may put nops
// TYPES-DAG: {{^}}tail1: {{nop1[+]nop10 lead=[0-9]+ patch=1[+]10 bound=[456]|nop lead=.*}} {{.*}}added exits

int main(void) {
    for (int i = 0; i < 3; i++) {
        sink = branches0(i, 1) + branches5(i, 1) + branches12(1, i) + tail1(i) + either400(i);
        if (branches7(5, 0) != 5 + 5 - 5) sink = i;
    }
    return 0;
}
