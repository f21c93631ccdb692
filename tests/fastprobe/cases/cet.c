// SPDX-License-Identifier: BSD-2-Clause
// endbr64 stays first; the layout comes right behind it, and `lead` says so.
// REQUIRES: x86-64
// RUN: %cc -O2 -fcf-protection=full %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cc -O2 -fcf-protection=full %lto %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cc -O2 -fcf-protection=full %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
// RUN: %cc -Os -fcf-protection=full %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
// RUN: %cc -O2 -fcf-protection=full %fp-entry=frame %s -o %t && %run %t && %entries %t | %check-FRAME
// RUN: %cc -O2 -fcf-protection=full %fp-entry=none %s -o %t && %run %t && %entries %t | %check-NONE
#define NOINLINE __attribute__((noinline, noipa))
NOINLINE int leaf(int a) { return a * 3; }
int (*volatile pointer)(int) = leaf;
// AUTO-DAG: {{^}}leaf: nop lead=4 patch=0+1 bound=0 stack=0 added | endbr64; nop; lea
// NOP10-DAG: {{^}}leaf: nop1+nop10 lead=4 patch=1+10 bound=4 stack=0 added | endbr64; nop; cs nopw 0x0(%rax,%rax,1); {{lea|imul}}
// FRAME-DAG: {{^}}leaf: push lead=4 patch=0+0 bound=0 stack=0 | endbr64; push %rbp
// NONE-DAG: {{^}}leaf: other lead=4 patch=0+0 bound=0 stack=0 | endbr64; lea

// Its address is not taken: GCC leaves the landing pad out of static functions.
static NOINLINE int direct(int a) { return a * 5; }
// AUTO-GCC-DAG: {{^}}direct: nop lead=0 patch=0+1 bound=0 stack=0 added | nop; lea
// NOP10-GCC-DAG: {{^}}direct: nop1+nop10 lead=0 patch=1+10 bound=4

__attribute__((nocf_check)) NOINLINE int unchecked(int a) { return a * 9; }
// AUTO-GCC-DAG: {{^}}unchecked: nop lead=0

int main(void) { return pointer(1) + direct(1) + unchecked(1) != 17; }
