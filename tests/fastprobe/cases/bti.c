// SPDX-License-Identifier: BSD-2-Clause
// bti c stays first. Where paciasp was the landing pad, bti c takes its place and the nop stands before paciasp: behind
// it x30 is signed, and a return probe would exchange it for an address that autiasp refuses.
// REQUIRES: arm64
// RUN: %cc -O2 -mbranch-protection=standard %s -o %t && %run %t && %entries %t | %check-STD
// RUN: %cc -O2 -mbranch-protection=pac-ret %s -o %t && %run %t && %entries %t | %check-PAC
// RUN: %cc -O2 -mbranch-protection=bti %s -o %t && %run %t && %entries %t | %check-BTI
// RUN: rm -f %t.json && %cc -O2 -mbranch-protection=standard %fp-entry=frame %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-FRAME && %only-REPORT-FRAME <%t.json
#define NOINLINE __attribute__((noinline, noipa))
NOINLINE int leaf(int a) { return a * 3; }
int (*volatile pointer)(int) = leaf;
// STD-DAG: {{^}}leaf: nop lead=4 patch=0+4 bound=0 stack=0 added | bti c; nop; add
// PAC-DAG: {{^}}leaf: nop lead=0 patch=0+4 bound=0 stack=0 added | nop; add
// BTI-DAG: {{^}}leaf: nop lead=4 patch=0+4 bound=0 stack=0 added | bti c; nop; add
NOINLINE int caller(int a) { return pointer(a) + 1; }
// STD-DAG: {{^}}caller: nop lead=4 patch=0+4 bound=0 stack=0 added | bti c; nop; paciasp
// PAC-DAG: {{^}}caller: nop lead=0 patch=0+4 bound=0 stack=0 added | nop; paciasp
// BTI-DAG: {{^}}caller: nop lead=4 patch=0+4 bound=0 stack=0 added | bti c; nop
// A frame push behind paciasp is a miss for the same reason.
// FRAME-DAG: {{^}}caller: nop lead=4 patch=0+4 bound=0 stack=0 added missed | bti c; nop; paciasp
// REPORT-FRAME: "function": "caller", {{.*}} "action": "missed", {{.*}} "reason": "
int main(void) { return caller(2) != 7; }
