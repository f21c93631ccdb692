// SPDX-License-Identifier: BSD-2-Clause
// What unwinders have to get past: epilogues of every shape before an exit, and exceptions that go through functions with exits, are caught in
// front of one, and leave destructors that have their own. ../unwinders.sh runs unwinders at each of the exits.
// RUN: %cxx -O2 %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
// clang's -O0 for arm64 leaves a jump to the end of again() behind the call of __cxa_rethrow(), which does not return.
// RUN: %cxx -O0 %fp-exit=nop10 %s -o %t && %run %t %if gcc || x86-64 %{ && %entries --check-exits %t %}
// RUN: %cxx -O2 %lto %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
// RUN: %cxx -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer %fp-exit=nop %s -o %t && %run %t && %entries --check-exits %t
// RUN: %cxx -O2 -fno-asynchronous-unwind-tables %fp-exit=nop10 %s -o %t && %run %t && %entries --check-exits %t
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdexcept>
#include <stdlib.h>
#include <string.h>
#define PLAIN extern "C" __attribute__((noinline, noclone))
volatile int sink;

PLAIN int leaf(int a) { sink = a; return a * 3; }
// Pops of callee-saved registers; some of them only on one of the ways.
PLAIN int pops(int a, int b, int c, int d, int e, int f) {
    int g = leaf(a), h = leaf(b), i = leaf(c), j = leaf(d), k = leaf(e), l = leaf(f);
    return (g ^ h) + (i ^ j) + (k ^ l) + leaf(g + h + i) + a + b + c + d + e + f;
}
PLAIN int wrapped(int a) { if (a < 3) return a; int s = leaf(a); s += leaf(a + s); return s + leaf(s); }
PLAIN int locals(int a) { char room[300]; memset(room, a, sizeof room); __asm__ volatile("" : : "r"(room) : "memory"); return leaf(room[a]); }
PLAIN int dynamic(int a) { char *room = (char *)alloca(a * 16); memset(room, a, a * 16); return leaf(room[a]) + a; }
PLAIN int aligned(int a) { alignas(64) char room[128]; memset(room, a, sizeof room); __asm__ volatile("" : : "r"(room) : "memory"); return leaf(room[a]) + a; }
PLAIN int on_stack(int a, int b, int c, int d, int e, int f, int g, int h) { return leaf(a + g) + leaf(b + h) + c + d + e + f; }
PLAIN int variadic(int n, ...) { va_list v; va_start(v, n); int s = 0; while (n--) s += leaf(va_arg(v, int)); va_end(v); return s; }
struct Big { long a[5]; };
PLAIN Big big(long a) { Big b = {{a, leaf(a)}}; return b; }
PLAIN int tail(int a) { return leaf(a + 1); }
int (*volatile pointer)(int) = leaf;
PLAIN int pops_tail(int a) { int b = leaf(a); b += leaf(b); return pointer(a + b); }
PLAIN __attribute__((cold)) int rare(int a) { sink = a; return a; }
PLAIN int split(int a) { if (__builtin_expect(a > 5, 0)) { rare(a); int b = leaf(a); return rare(b * 2) + b; } return leaf(a) * leaf(a + 1); }
PLAIN int compare(const void *a, const void *b) { return leaf(*(const int *)a) - leaf(*(const int *)b); }
PLAIN int through_c(int a) { int values[] = {3, a, 1}; qsort(values, 3, sizeof(int), compare); return values[0] * 100 + values[1] * 10 + values[2]; }

struct Guard { __attribute__((noinline)) ~Guard() { sink = leaf(1); } };
PLAIN int throws(int a) { if (a == 0) throw std::runtime_error("gone"); return leaf(a); }
PLAIN int passes(int a) { int b = leaf(a); b += throws(a); return b + leaf(b); }                 // an exception passes
PLAIN int guarded(int a) { Guard guard; int b = passes(a); sink = b; return b + 1; }             // with a destructor to run
PLAIN int catches(int a) { try { return guarded(a); } catch (const std::runtime_error &) { return -1; } } // caught, then an exit
PLAIN int goes_on(int a) { int b = 0; try { b = guarded(a); } catch (const std::runtime_error &) { b = leaf(2); } return b + leaf(b); }
PLAIN int again(int a) { try { return guarded(a); } catch (...) { sink = leaf(a); throw; } }
PLAIN int twice(int a) { try { return again(a); } catch (const std::exception &) { try { return again(a); } catch (...) { return leaf(a) - 2; } } }
PLAIN int deep(int n, int a) { Guard guard; if (n) { int b = deep(n - 1, a); sink = b; return b + 1; } return throws(a); }
PLAIN int from_deep(int a) { try { return deep(5, a); } catch (const std::runtime_error &) { return tail(a); } }

static jmp_buf place;
PLAIN int jumps(int a) { int b = leaf(a); if (b == 0) longjmp(place, 1); return b; }
PLAIN int jumped(int a) { if (setjmp(place)) return 5; int b = jumps(a); return leaf(b); }

int main() {
    for (int round = 0; round < 2; round++) {
        if (pops(1, 2, 3, 4, 5, 6) != 114 || wrapped(2) != 2 || wrapped(3) != 180 || locals(7) != 21 || dynamic(4) != 16 || aligned(5) != 20) return 1;
        if (on_stack(1, 2, 3, 4, 5, 6, 7, 8) != 72 || variadic(3, 1, 2, 3) != 18 || big(4).a[1] != 12 || tail(1) != 6 || pops_tail(2) != 78) return 2;
        if (split(2) != 54 || split(6) != 54 || through_c(2) != 123 || jumped(0) != 5 || jumped(2) != 18) return 3;
        if (passes(1) != 24 || catches(1) != 25 || catches(0) != -1 || goes_on(0) != 24 || goes_on(1) != 100 || twice(1) != 25) return 4;
        if (twice(0) != -2 || from_deep(2) != 11 || from_deep(0) != 3) return 5;
    }
    return 0;
}
