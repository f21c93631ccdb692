// SPDX-License-Identifier: BSD-2-Clause
// Attributes beat the command line; the no_ forms beat everything.
// RUN: %cc -O2 %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cc -O2 %fp-exclude=. %s -o %t && %run %t && %entries %t | %check-NOTHING
// RUN: %if gcc %{ %cc -O2 %lto %s -o %t && %run %t && %entries %t | %check-LTO %}
// RUN: %cc -O2 %fp-disable %fp-entry=nop %s -o %t && %run %t && %entries %t | %check-OFF
#include "fastsdt.h"
#define NOINLINE __attribute__((noinline, noipa))

NOINLINE FASTPROBE int asked(int a) { return a * 3; }
// AUTO-DAG: {{^}}asked: nop
// NOTHING-DAG: {{^}}asked: nop
// LTO-DAG: {{^}}asked: nop
// OFF-DAG: {{^}}asked: no record
NOINLINE FASTPROBE_MODE("nop10") int asked_nop10(int a) { return a * 5; }
// AUTO-X86-DAG: {{^}}asked_nop10: nop1+nop10
// AUTO-ARM64-DAG: {{^}}asked_nop10: nop lead=0
// NOTHING-X86-DAG: {{^}}asked_nop10: nop1+nop10
// LTO-X86-DAG: {{^}}asked_nop10: nop1+nop10
// OFF-DAG: {{^}}asked_nop10: no record
NOINLINE FASTPROBE_MODE("none") int asked_none(int a) { return a * 9; }
// AUTO-DAG: {{^}}asked_none: other
NOINLINE NO_FASTPROBE int refused(int a) { return a * 3 + 1; }
// AUTO-DAG: {{^}}refused: no record
// LTO-DAG: {{^}}refused: no record
NOINLINE __attribute__((no_instrument_function)) int refused_too(int a) { return a * 3 + 2; }
// AUTO-DAG: {{^}}refused_too: no record
NOINLINE FASTPROBE NO_FASTPROBE int both(int a) { return a * 3 + 3; }
// AUTO-DAG: {{^}}both: no record
NOINLINE int plain(int a) { return a * 3 + 4; }
// AUTO-DAG: {{^}}plain: nop
// NOTHING-DAG: {{^}}plain: no record
// OFF-DAG: {{^}}plain: no record

int main(int argc, char **argv) {
    return asked(argc) + asked_nop10(argc) + asked_none(argc) + refused(argc) + refused_too(argc) + both(argc) + plain(argc) != 39;
}
