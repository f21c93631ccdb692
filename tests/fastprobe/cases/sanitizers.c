// SPDX-License-Identifier: BSD-2-Clause
// Sanitizers and stack protection keep working, with an entry in front of their code.
// RUN: ASAN x86-64 : -O1 -fsanitize=address,undefined entry=nop
// RUN: ASAN arm64 norun : -O1 -fsanitize=address,undefined entry=nop
// RUN: TSAN norun : -O1 -fsanitize=thread entry=nop
// RUN: SSP : -O2 -fstack-protector-all entry=nop
// RUN: SSP : -O2 -fstack-protector-all -fstack-clash-protection entry=nop
#include <string.h>
#define NOINLINE __attribute__((noinline))
NOINLINE int buffer(int n) { char a[40]; memset(a, n, sizeof a); __asm__ volatile("" ::"r"(a) : "memory"); return a[n]; }
// ASAN-DAG: {{^}}buffer: nop {{.*}} added | nop
// TSAN-DAG: {{^}}buffer: nop {{.*}} added | nop
// SSP-DAG: {{^}}buffer: nop {{.*}} added | nop
int main(void) { return buffer(3) != 3; }
