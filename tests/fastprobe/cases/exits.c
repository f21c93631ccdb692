// SPDX-License-Identifier: BSD-2-Clause
// A site in front of every way out, or of none: returns, tail calls, and parts of split functions.
// RUN: %cc -O2 %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-NOP10
// RUN: %cc -O2 %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-NOP
// RUN: %cc -O2 %fp-entry=none %fp-exit=nop %s -o %t && %run %t && %entries --check-exits --entry none %t && %entries %t | %check-NONE
// RUN: %cc -O2 %s -o %t && %run %t && %entries %t | %check-ASKED
// RUN: %cc -O2 %fp-exclude=. %s -o %t && %run %t && %entries %t | %check-ASKED
// RUN: %cc -O0 %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
// RUN: %cc -Os %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-SMALL
// RUN: %cc -O3 -g %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
// RUN: %cc -O2 %lto %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
// A section for each function is not made larger than its code.
// RUN: %if x86-64 %{ %cc -O2 -ffunction-sections %fp-exit=nop10 -c %s -o %t.o && readelf -SW %t.o | %only-SECTIONS %}
// SECTIONS: .text.leaf {{.*}} AX 0 0 16{{$}}
// RUN: %cc -O2 -ffunction-sections -Wl,--gc-sections %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
// RUN: %if x86-64 %{ %cc -O2 -fcf-protection=full %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t %}
// RUN: %if return-thunks %{ %cc -O2 -mfunction-return=thunk-extern -DTHUNK %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t %}
// Calls at entries and exits change nothing in which functions have exits.
// RUN: rm -f %t.json && %cc -O2 -finstrument-functions %fp-exit=nop10 %fp-report=%t.json %s -o %t && %run %t && %entries --check-exits %t && awk '/"exits": 0,/ && !/never returns|returns twice/ {bad = 1} END {exit bad}' %t.json
// -mfentry, the default of later GCCs, leaves no place for a plugin.
// RUN: %if x86-64 %{ %cc -O2 -pg %if gcc %{-mno-fentry%} %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t %}
// RUN: %if arm64 %{ %cc -O2 -mbranch-protection=standard %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-PAC %}
// RUN: %if arm64 %{ %cc -O2 -march=armv8.3-a -mbranch-protection=standard %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t && %entries %t | %check-RETAA %}
// RUN: %if asan && x86-64 %{ %cc -O1 -fsanitize=address,undefined %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t %}
// RUN: %if asan && arm64 %{ %cc -O1 -fsanitize=address,undefined %fp-exit=nop10 %s -o %t && %entries --check-exits %t %}
#include "fastsdt.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noipa))
volatile int sink;
#ifdef THUNK
__asm__(".globl __x86_return_thunk; .type __x86_return_thunk, @function; __x86_return_thunk: ret; .size __x86_return_thunk, . - __x86_return_thunk");
#endif

NOINLINE int leaf(int a) { return a * 3; }
// NOP10-X86-DAG: {{^}}leaf: nop {{.*}} added exits |
// NOP10-X86-DAG: {{^}}leaf exit: nop1+nop10 patch=1+10 bound=6 return register:4 signed at={{.*}} | nop; cs nopw 0x0(%rax,%rax,1); ret
// NOP-X86-DAG: {{^}}leaf exit: nop patch=0+1 bound=0 return register:4 signed at={{.*}} | nop; ret
// NOP-ARM64-DAG: {{^}}leaf exit: nop patch=0+4 bound=0 return register:4 signed at={{.*}} | nop; ret
// NOP10-ARM64-DAG: {{^}}leaf exit: nop patch=0+4 bound=0
NOINLINE void nothing(void) { }
// It begins with its exit: the entry is a place of its own, or there is no exit.
// NOP-DAG: {{^}}nothing: nop {{.*}} added exits | nop; nop; ret
// NOP-DAG: {{^}}nothing exit: nop {{.*}} return none
// NONE-DAG: {{^}}nothing: other lead=0 {{[^|]*[0-9]}} | ret
// So does this one: an empty asm is no instruction.
NOINLINE void empty_asm(void) { __asm__ volatile("" ::: "memory"); }
// NOP-DAG: {{^}}empty_asm exit: nop {{.*}} return none
// NONE-DAG: {{^}}empty_asm: other lead=0 {{[^|]*[0-9]}} | ret
NOINLINE int tail(int a) { return leaf(a + 1); }
// NOP10-X86-DAG: {{^}}tail exit: nop1+nop10 patch=1+10 bound=6 tail-call register:4 signed at={{.*}} | nop; cs nopw 0x0(%rax,%rax,1); jmp {{.*}}<leaf>
// NOP-ARM64-DAG: {{^}}tail exit: nop patch=0+4 bound=0 tail-call register:4 signed at={{.*}} | nop; b {{.*}}<leaf>
int (*volatile pointer)(int) = leaf;
NOINLINE int indirect(int a) { return pointer(a); }
// NOP-X86-DAG: {{^}}indirect exit: {{.*}} tail-call {{.*}} | nop; jmp *
NOINLINE int several(int a) { if (a == 1) return leaf(a); if (a == 2) { sink = a; return 7; } return pointer(a) + sink; }
// NOP-DAG: {{^}}several exit: {{.*}} tail-call
// NOP-DAG: {{^}}several exit: {{.*}} return
__attribute__((noinline, cold)) int complain(int a) { sink = a; return a; }
NOINLINE int split(int a) {
    if (__builtin_expect(a > 100, 0)) { complain(a); printf("%d\n", a); return complain(a * 2); }
    return a * 3 + leaf(a) * leaf(a + 1);
}
// NOP-X86-GCC-DAG: {{^}}split exit: {{.*}} in split.cold at=
// NOP-DAG: {{^}}split exit: {{.*}} signed at=

NOINLINE void note(int a) { sink = a; }
// clang has `jg note` there, and GCC a jump over `jmp note`.
NOINLINE void maybe(int a) { if (a > 3) note(a); }
// SMALL-DAG: {{^}}maybe exit: {{.*}} tail-call none
// SMALL-DAG: {{^}}maybe exit: {{.*}} return none

struct big { long a[5]; };
NOINLINE struct big big(long a) { struct big b = {{a, a}}; return b; }
// NOP-X86-DAG: {{^}}big exit: {{.*}} return memory:40 at=
struct two { long a, b; };
NOINLINE struct two two(long a) { struct two b = {a, 1}; return b; }
// NOP-DAG: {{^}}two exit: {{.*}} return pair:16 at=
struct mixed { long a; double b; };
NOINLINE struct mixed mixed(long a) { struct mixed b = {a, 1}; return b; }
// NOP-X86-DAG: {{^}}mixed exit: {{.*}} return other:16 at=
struct small { short a, b; };
NOINLINE struct small small(short a) { struct small b = {a, 1}; return b; }
// NOP-DAG: {{^}}small exit: {{.*}} return register:4 at=
NOINLINE unsigned char byte(int a) { return a; }
// NOP-DAG: {{^}}byte exit: {{.*}} return register:1 unsigned at=
NOINLINE void *address(void *a) { return a; }
// NOP-DAG: {{^}}address exit: {{.*}} return register:8 unsigned at=
NOINLINE float real(float a) { return a * 2; }
// NOP-DAG: {{^}}real exit: {{.*}} return vector:4 at=
NOINLINE long double extended(long double a) { return a * 2; }
// NOP-X86-DAG: {{^}}extended exit: {{.*}} return other:16 at=
NOINLINE __int128 wide(long a) { return (__int128)a * a; }
// NOP-DAG: {{^}}wide exit: {{.*}} return pair:16 signed at=
NOINLINE int variadic(int n, ...) { va_list v; va_start(v, n); int s = 0; while (n--) s += va_arg(v, int); va_end(v); return s; }
// NOP-DAG: {{^}}variadic exit: {{.*}} return register:4 signed

NOINLINE __attribute__((noreturn)) void quit(int a) { exit(a); }
// NOP-NOT: {{^}}quit exit
// NOP-DAG: {{^}}quit: {{(nop|push|stp) [^|]*}}stack=0{{( added)?}} |
NOINLINE __attribute__((returns_twice)) int twice(int a) { return a; }
// NOP-NOT: {{^}}twice exit
// NOP-DAG: {{^}}twice: {{[^|]*}}returns-twice{{( added)?}} |
NOINLINE NO_FASTPROBE int refused(int a) { return a + 9; }
// NOP-NOT: {{^}}refused exit

NOINLINE FASTPROBE_EXIT("nop10") int asked(int a) { return a + 1; }
// ASKED-X86-DAG: {{^}}asked exit: nop1+nop10
// ASKED-ARM64-DAG: {{^}}asked exit: nop
// NOP-X86-DAG: {{^}}asked exit: nop1+nop10
NOINLINE FASTPROBE_MODE("nop10") FASTPROBE_EXIT("nop") int both(int a) { return a + 2; }
// ASKED-X86-DAG: {{^}}both: nop1+nop10
// ASKED-DAG: {{^}}both exit: nop patch
NOINLINE FASTPROBE_EXIT("none") int not_here(int a) { return a + 3; }
// NOP-NOT: {{^}}not_here exit
// ASKED-NOT: {{^}}(leaf|tail) exit

// PAC-DAG: {{^}}caller exit: {{.*}} | nop; ret
// RETAA-DAG: {{^}}caller exit: {{.*}} | nop; retaa
NOINLINE int caller(int a) { int b = leaf(a); return b + leaf(b); }
static jmp_buf place;
NOINLINE int jumps(int a) { if (a > 3) longjmp(place, a); return a; }

// Declared before, and with names for its type, as Lua's atomic().
// RUN: %cc -O2 %fp-exit=nop %s -o %t && %entries %t | %only-FORWARD
typedef size_t lu_mem;
static lu_mem forward(int a);
static NOINLINE lu_mem forward(int a) { return (lu_mem)a * (lu_mem)sink; }
// FORWARD: {{^}}forward exit: {{.*}} return register:8 unsigned at=

int main(int argc, char **argv) {
    if (argc > 5) quit(3);
    nothing();
    maybe(argc + 3);
    if (setjmp(place) == 0) jumps(argc + 3);
    struct big b = big(2); struct two t = two(3); struct mixed m = mixed(4); struct small s = small(5);
    int sum = leaf(argc) + tail(argc) + indirect(argc) + several(argc) + several(argc + 1) + split(argc);
    sum += b.a[1] + t.a + m.a + s.a + byte(256 + argc) + (address(&b) == &b) + real(2) + extended(2) + wide(argc);
    sum += variadic(3, 1, 2, 3) + twice(1) + (int)forward(0) + refused(1) + asked(1) + both(1) + not_here(1) + caller(1);
    return sum != 106;
}
