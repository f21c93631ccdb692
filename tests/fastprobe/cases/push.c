// SPDX-License-Identifier: BSD-2-Clause
// The scheduler puts an instruction before the prologue's push; where a push is asked for or serves, it comes first.
// REQUIRES: gcc, x86-64
// RUN: %cc -O2 -g %s -o %t && %run %t && %entries %t | %check-PUSH
// RUN: %cc -O2 %fp-entry=none %s -o %t && %run %t && %entries %t | %check-NONE
// RUN: %cc -O2 %fp-entry=nop %s -o %t && %run %t && %entries %t | %check-NOP
// RUN: %cc -O2 -fcf-protection=full %s -o %t && %run %t && %entries %t | %check-CET
// RUN: %cc -O2 -fcompare-debug -c %s -o %t.o
#define NOINLINE __attribute__((noinline, noipa))
NOINLINE long callee(long a) { return a + 1; }
NOINLINE int sleeper(void *p, int us) { int s = (us + 999999) / 1000000; callee(s); return s * 1000000; }
// PUSH-DAG: {{^}}sleeper: push {{.*}} stack=0 | push %r{{.*}}add
// NONE-DAG: {{^}}sleeper: other {{.*}} | add {{.*}}; push
// NOP-DAG: {{^}}sleeper: nop {{.*}} added | nop; add {{.*}}; push
// CET-DAG: {{^}}sleeper: push lead=4 {{.*}} | endbr64; push %r{{.*}}add
int main(void) { return sleeper(0, 3) != 1000000; }
