// SPDX-License-Identifier: BSD-2-Clause
// include, exclude and list match the symbol or the demangled name; min-insns leaves small functions out. What the source selects stays.
// RUN: %cxx -O2 %fp-include=^net:: %s -o %t && %run %t && %entries %t | %check-INC
// RUN: %cxx -O2 %fp-include=^_ZN3net4send %s -o %t && %run %t && %entries %t | %check-MANGLED
// RUN: %cxx -O2 %fp-include=^net:: %fp-exclude=recv %s -o %t && %run %t && %entries %t | %check-EXC
// RUN: %cxx -O2 %fp-include=^net::send %fp-include=^disk:: %s -o %t && %run %t && %entries %t | %check-TWO
// RUN: %cxx -O2 %fp-list=%S/selection.list %s -o %t && %run %t && %entries %t | %check-LIST
// RUN: %cxx -O2 %fp-min-insns=12 %s -o %t && %run %t && %entries %t | %check-MIN
#include <fastsdt.h>
#define NOINLINE __attribute__((noinline, noipa))
volatile int sink;

namespace net {
NOINLINE int send(int a) { return a * 3; }
NOINLINE int recv(int a) { return a * 5; }
NOINLINE FASTPROBE int marked(int a) { return a * 7; }
} // namespace net
namespace disk {
NOINLINE int read(int a, int b) { sink = a; sink = b; sink = a + b; sink = a * b; sink = a ^ b; sink = a - b; sink = a & b; sink = a | b; return a; }
} // namespace disk
extern "C" NOINLINE int plain(int a) { return a * 9; }

// INC-DAG: {{^}}_ZN3net4sendEi: nop
// INC-DAG: {{^}}_ZN3net4recvEi: nop
// INC-DAG: {{^}}_ZN4disk4readEii: no record
// INC-DAG: {{^}}plain: no record
// MANGLED-DAG: {{^}}_ZN3net4sendEi: nop
// MANGLED-DAG: {{^}}_ZN3net4recvEi: no record
// MANGLED-DAG: {{^}}_ZN3net6markedEi: nop
// EXC-DAG: {{^}}_ZN3net4sendEi: nop
// EXC-DAG: {{^}}_ZN3net4recvEi: no record
// TWO-DAG: {{^}}_ZN3net4sendEi: nop
// TWO-DAG: {{^}}_ZN3net4recvEi: no record
// TWO-DAG: {{^}}_ZN4disk4readEii: {{nop|push|other}}
// TWO-DAG: {{^}}_ZN3net6markedEi: nop
// LIST-DAG: {{^}}_ZN3net4sendEi: no record
// LIST-DAG: {{^}}_ZN3net4recvEi: nop
// LIST-DAG: {{^}}_ZN4disk4readEii: {{nop|push|other}}
// LIST-DAG: {{^}}plain: nop
// LIST-DAG: {{^}}_ZN3net6markedEi: nop
// MIN-DAG: {{^}}_ZN3net4sendEi: no record
// MIN-DAG: {{^}}_ZN4disk4readEii: {{nop|push|other}}
// MIN-DAG: {{^}}_ZN3net6markedEi: nop

int main(int argc, char **) { return net::send(argc) + net::recv(argc) + net::marked(argc) + disk::read(argc, 2) + plain(argc) != 25; }
