// SPDX-License-Identifier: BSD-2-Clause
// A static function that is declared, used, and then defined: what its definition says is known all the same.
// RUN: %cc -O2 %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-NOP
// RUN: %cc -O0 %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-ASKED
#include "fastsdt.h"
#define NOINLINE __attribute__((noinline, noipa))
volatile int sink;
static unsigned long late(int a);
static int asked(int a);
static int refused(int a);
NOINLINE static long user(int a) { return late(a) + asked(a) + refused(a); }
NOINLINE static unsigned long late(int a) { return sink + a; }
NOINLINE static FASTPROBE_EXIT("nop10") int asked(int a) { return sink * a; }
NOINLINE static NO_FASTPROBE int refused(int a) { return sink * a; }
int main(void) { return user(0) != 0; }
// NOP-DAG: {{^}}late exit: nop {{.*}} return register:8 unsigned
// ALL-X86-DAG: {{^}}asked exit: nop1+nop10 {{.*}} return register:4 signed
// ALL-DAG: {{^}}refused: no record
