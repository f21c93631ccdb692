// SPDX-License-Identifier: BSD-2-Clause
// Sanitizers and stack protection keep working, with an entry in front of their code.
// RUN: %if asan && x86-64 %{ %cc -O1 -fsanitize=address,undefined %fp-entry=nop %s -o %t && %run %t && %entries %t | %check-ASAN %}
// RUN: %if asan && arm64 %{ %cc -O1 -fsanitize=address,undefined %fp-entry=nop %s -o %t && %entries %t | %check-ASAN %}
// RUN: %if tsan %{ %cc -O1 -fsanitize=thread %fp-entry=nop %s -o %t && %entries %t | %check-TSAN %}
// RUN: %cc -O2 -fstack-protector-all %fp-entry=nop %s -o %t && %run %t && %entries %t | %check-SSP
// RUN: %cc -O2 -fstack-protector-all -fstack-clash-protection %fp-entry=nop %s -o %t && %run %t && %entries %t | %check-SSP
#include <string.h>
#define NOINLINE __attribute__((noinline))
NOINLINE int buffer(int n) { char a[40]; memset(a, n, sizeof a); __asm__ volatile("" ::"r"(a) : "memory"); return a[n]; }
// ASAN-DAG: {{^}}buffer: nop {{.*}} added | nop
// TSAN-DAG: {{^}}buffer: nop {{.*}} added | nop
// SSP-DAG: {{^}}buffer: nop {{.*}} added | nop
int main(void) { return buffer(3) != 3; }
