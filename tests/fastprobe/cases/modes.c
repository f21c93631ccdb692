// SPDX-License-Identifier: BSD-2-Clause
// What each entry mode does to the usual beginnings of functions.
// RUN: %cc -O2 %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cc -O2 %fp-entry=nop %s -o %t && %run %t && %entries %t | %check-NOP
// RUN: %cc -O2 %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
// RUN: %cc -Os %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
// RUN: %cc -O2 %fp-entry=none %s -o %t && %run %t && %entries %t | %check-NONE
// RUN: %cc -O2 %fp-entry=frame %s -o %t && %run %t && %entries %t | %check-FRAME
// RUN: %cc -O2 %fp-entry=auto-frame %s -o %t && %run %t && %entries %t | %check-AUTOFRAME
// RUN: %if arm64 %{ %cc -O2 %fp-kernels=6.12+stp %fp-entry=auto-frame %s -o %t && %run %t && %entries %t | %check-STP %}
// RUN: %if arm64 %{ %cc -O2 %fp-kernels=6.1-6.12 %s -o %t && %run %t && %entries %t | %check-OLD %}
#define NOINLINE __attribute__((noinline, noipa))
volatile int sink;

// Begins with something no kernel emulates.
NOINLINE int leaf(int a) { return a * 3; }
// AUTO-DAG: {{^}}leaf: nop lead=0 patch=0+{{1|4}} bound=0 stack=0 added | nop; {{lea|add}}
// NOP-DAG: {{^}}leaf: nop lead=0 patch=0+{{1|4}} bound=0 stack=0 added | nop; {{lea|add}}
// NOP10-X86-DAG: {{^}}leaf: nop1+nop10 lead=0 patch=1+10 bound=4 stack=0 added | nop; cs nopw 0x0(%rax,%rax,1); lea
// NOP10-ARM64-DAG: {{^}}leaf: nop lead=0 patch=0+4 bound=0 stack=0 added | nop; add
// NONE-DAG: {{^}}leaf: other lead=0 patch=0+0 bound=0 stack=0 | {{lea|add}}
// FRAME-X86-DAG: {{^}}leaf: push lead=0 patch=0+0 bound=0 stack=0 | push %rbp
// FRAME-ARM64-DAG: {{^}}leaf: stp lead=0 patch=0+0 bound=0 stack=0 | stp x29, x30, [sp, #-16]!
// AUTOFRAME-DAG: {{^}}leaf: nop {{.*}} added | nop; {{lea|add}}
// 6.12 with that patch emulates the frame push and no nop: leaf functions get a frame as well.
// STP-DAG: {{^}}leaf: stp {{.*}} | stp x29, x30
// 6.12 emulates no nop yet: adding one would buy nothing.
// OLD-DAG: {{^}}leaf: other {{.*}} stack=0 | add

// Calls, and keeps something over the call: pushes a register anyway.
NOINLINE int caller(int a) { int b = leaf(a); sink = b; return leaf(b) + a; }
// AUTO-X86-DAG: {{^}}caller: push lead=0 patch=0+0 bound=0 stack=0 | push %r
// AUTO-ARM64-DAG: {{^}}caller: nop {{.*}} added | nop; stp x29, x30
// NOP-DAG: {{^}}caller: nop {{.*}} added | nop; {{push|stp x29}}
// NOP10-X86-DAG: {{^}}caller: nop1+nop10 lead=0 patch=1+10 bound=4 stack=0 added | nop; cs nopw 0x0(%rax,%rax,1); push
// NONE-DAG: {{^}}caller: {{push|stp}} lead=0 patch=0+0 bound=0 stack=0 | {{push|stp x29}}
// FRAME-X86-DAG: {{^}}caller: push lead=0 patch=0+0 bound=0 stack=0 | push %rbp; mov %rsp,%rbp
// FRAME-ARM64-DAG: {{^}}caller: stp {{.*}} stack=0 | stp x29, x30
// AUTOFRAME-X86-DAG: {{^}}caller: push {{.*}} stack=0 | push %rbp; mov %rsp,%rbp
// AUTOFRAME-ARM64-DAG: {{^}}caller: nop {{.*}} added | nop; stp x29, x30
// With kernels that emulate the frame push, it is as good as a nop.
// STP-DAG: {{^}}caller: stp {{.*}} stack=0 | stp x29, x30

// Returns at once in the usual case: the prologue would be moved behind the test.
NOINLINE int early(int a) { if (a > 0) return 0; int b = leaf(a); sink = b; return caller(b) + leaf(b) * a; }
// AUTO-X86-GCC-DAG: {{^}}early: nop {{.*}} added | nop; {{xor|test}}
// FRAME-X86-DAG: {{^}}early: push {{.*}} | push %rbp
// FRAME-ARM64-GCC-DAG: {{^}}early: stp {{.*}} | stp x29, x30

// A tail call: a direct jump is emulated.
NOINLINE int tail(int a) { return leaf(a); }
// AUTO-X86-GCC-DAG: {{^}}tail: other lead=0 patch=0+0 bound=0 stack=0 | jmp {{.*}}<leaf>
// AUTO-ARM64-GCC-DAG: {{^}}tail: other lead=0 patch=0+0 bound=0 stack=0 | b {{.*}}<leaf>
// NOP-DAG: {{^}}tail: nop {{.*}} added | nop; {{jmp|b}} {{.*}}<leaf>

// arm64 begins with a conditional branch, which every kernel emulates; a nop would be worse on those before 6.13.
NOINLINE void branches(int *p) { if (p) sink = *p; }
// AUTO-ARM64-GCC-DAG: {{^}}branches: other lead=0 patch=0+0 bound=0 stack=0 | cb{{n?}}z x0
NOINLINE void tests_bit(int a) { if (a & 4) sink = a; }
// AUTO-ARM64-GCC-DAG: {{^}}tests_bit: other lead=0 patch=0+0 bound=0 stack=0 | tb{{n?}}z w0

NOINLINE void empty(void) {}
// AUTO-X86-DAG: {{^}}empty: nop {{.*}} added | nop; ret
// AUTO-ARM64-GCC-DAG: {{^}}empty: other {{.*}} | ret

// Jumps back to its first instruction: a probe there would fire once a round, so it has to stand before.
NOINLINE void spin(void) { for (;;); }
// AUTO-DAG: {{^}}spin: nop {{.*}} added | nop
// NONE-DAG: {{^}}spin: other
// FRAME-DAG: {{^}}spin: {{push|stp}}

int main(void) {
    if (sink) spin();
    empty();
    return early(2) + tail(2) + caller(1) == 0 + 6 + 9 + 1 ? 0 : 1;
}
