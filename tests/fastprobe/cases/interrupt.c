// SPDX-License-Identifier: BSD-2-Clause
// An interrupt handler has no return address at its entry.
// REQUIRES: x86-64
// RUN: rm -f %t.json && %cc -O2 -mgeneral-regs-only -mno-red-zone %fp-report=%t.json %s -o %t && %run %t && %entries %t | %check-AUTO && %only-REPORT-AUTO <%t.json
// RUN: %cc -O2 -mgeneral-regs-only -mno-red-zone %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
struct frame { unsigned long ip, cs, flags, sp, ss; };
volatile int ticks;
__attribute__((interrupt)) void handler(struct frame *frame) { ticks++; }
// AUTO-DAG: {{^}}handler: no record
// NOP10-DAG: {{^}}handler: no record
// REPORT-AUTO: "function": "handler", {{.*}}"action": "skipped", {{.*}}"reason": "interrupt
int main(void) { return 0; }
