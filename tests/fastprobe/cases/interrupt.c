// SPDX-License-Identifier: BSD-2-Clause
// An interrupt handler has no return address at its entry.
// RUN: AUTO x86-64 : -O2 -mgeneral-regs-only -mno-red-zone
// RUN: NOP10 x86-64 : -O2 -mgeneral-regs-only -mno-red-zone entry=nop10
struct frame { unsigned long ip, cs, flags, sp, ss; };
volatile int ticks;
__attribute__((interrupt)) void handler(struct frame *frame) { ticks++; }
// AUTO-DAG: {{^}}handler: no record
// NOP10-DAG: {{^}}handler: no record
// REPORT-AUTO: "function": "handler", {{.*}}"action": "skipped", {{.*}}"reason": "interrupt
int main(void) { return 0; }
