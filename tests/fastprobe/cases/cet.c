// SPDX-License-Identifier: BSD-2-Clause
// endbr64 stays first; the layout comes right behind it, and `lead` says so.
// RUN: AUTO x86-64 : -O2 -fcf-protection=full
// RUN: AUTO x86-64 : -O2 -fcf-protection=full -flto
// RUN: NOP10 x86-64 : -O2 -fcf-protection=full entry=nop10
// RUN: NOP10 x86-64 : -Os -fcf-protection=full entry=nop10
// RUN: FRAME x86-64 : -O2 -fcf-protection=full entry=frame
// RUN: NONE x86-64 : -O2 -fcf-protection=full entry=none
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
