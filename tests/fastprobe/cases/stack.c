// SPDX-License-Identifier: BSD-2-Clause
// Bytes of arguments on the stack: a tracer that copies them needs to know.
// RUN: %cc -O2 %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cc -O0 %s -o %t && %run %t && %entries %t | %check-AUTO
// RUN: %cc -O2 %fp-entry=nop10 %s -o %t && %run %t && %entries %t | %check-NOP10
#include <stdarg.h>
#define NOINLINE __attribute__((noinline, noipa))
struct Big { long a[5]; };
// ALL-DAG: {{^}}none: {{.*}} stack=0
NOINLINE int none(int a, int b, int c, int d, int e, int f) { return a + b + c + d + e + f; }
// ALL-X86-DAG: {{^}}eight: {{.*}} stack=16
// ALL-ARM64-DAG: {{^}}eight: {{.*}} stack=0
NOINLINE long eight(long a, long b, long c, long d, long e, long f, long g, long h) { return a + b + c + d + e + f + g * 2 + h; }
// ALL-X86-DAG: {{^}}ten: {{.*}} stack=32
// ALL-ARM64-DAG: {{^}}ten: {{.*}} stack=16
NOINLINE int ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) { return a + b + c + d + e + f + g + h + i + j * 2; }
// arm64 passes large structures by reference.
// ALL-X86-DAG: {{^}}structure: {{.*}} stack=40
// ALL-ARM64-DAG: {{^}}structure: {{.*}} stack=0
NOINLINE long structure(struct Big b) { return b.a[4]; }
// ALL-X86-DAG: {{^}}mixed: {{.*}} stack=8
NOINLINE double mixed(double a, double b, double c, double d, double e, double f, double g, double h, double i) { return a + b + c + d + e + f + g + h + i; }
// ALL-X86-DAG: {{^}}extended: {{.*}} stack=16
NOINLINE long double extended(long double a) { return a * 2; }
// ALL-DAG: {{^}}variadic: {{.*}} stack=unknown
NOINLINE int variadic(int n, ...) {
    va_list list;
    va_start(list, n);
    int sum = 0;
    while (n-- > 0) sum += va_arg(list, int);
    va_end(list);
    return sum;
}
int main(void) {
    struct Big big = {{1, 2, 3, 4, 5}};
    return !(none(1, 2, 3, 4, 5, 6) == 21 && eight(1, 2, 3, 4, 5, 6, 7, 8) == 43 && ten(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 65 && structure(big) == 5 &&
             mixed(1, 2, 3, 4, 5, 6, 7, 8, 9) == 45 && extended(2) == 4 && variadic(3, 1, 2, 3) == 6);
}
