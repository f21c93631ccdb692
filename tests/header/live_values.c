/* Values of every type as arguments; live.sh reads them back through bpftrace. Built as C and as C++. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fastsdt.h"
#ifndef __cplusplus
#include <stdbool.h>
#endif

enum color { red, green = 7 };
enum depth { below = -5, above = 5 };
struct fields {
    unsigned three : 3;
    int five : 5;
    unsigned long forty : 40;
};
int global_int = -11;
__thread long tls_long = -12;
static const char array[] = "an array";
static int callee(void) { return 1; }

/* Values come from the command line, so that no compiler knows them. */
__attribute__((noinline)) static void values(long n)
{
    char c = (char)('A' + n);
    signed char sc = (signed char)(-1 - n);
    unsigned char uc = (unsigned char)(255 - n);
    short s = (short)(-1000 - n);
    unsigned short us = (unsigned short)(65535 - n);
    int i = (int)(-100000 - n);
    unsigned u = 4000000000u - (unsigned)n;
    long l = -5000000000L - n;
    unsigned long ul = 0xfedcba9876543210UL - (unsigned long)n;
    bool b = n == 0;
    enum color color = (enum color)(7 - n);
    enum depth depth = (enum depth)(-5 + n);
    float f = (float)n + 1.5f;
    double d = (double)n - 2.25;
    struct fields fields;
    volatile int vi = (int)n - 77;
    const char *string = n ? "no" : "a string";
    fields.three = (unsigned)n + 5;
    fields.five = (int)n - 9;
    fields.forty = 0xabcdef0123UL + (unsigned long)n;

    FASTSDT(live, integers, c, sc, uc, s, us, i, u, l, ul);
    FASTSDT(live, more, b, color, depth, vi, fields.three, fields.five, fields.forty, global_int, tls_long);
    FASTSDT(live, reals, f, d);
    FASTSDT(live, pointers, string, array, "literal", callee, &callee, &global_int);
    FASTSDT(live, constants, 42, -43, 44UL, 'x', 0x123456789abcdefL, n);
    FASTSDT(live, twelve, c, s, i, l, uc, us, u, ul, b, -10, n, n + 12);
}
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0, k, hits = argc > 2 ? atol(argv[2]) : 1;
    for (k = 0; k < hits; k++)
        values(n);
    if (argc > 3) { /* did the kernel rewrite a site into a call? */
        char line[512];
        bool optimized = false;
        FILE *maps = fopen("/proc/self/maps", "r");
        while (maps && fgets(line, sizeof line, maps))
            optimized = optimized || strstr(line, "[uprobes-trampoline]");
        puts(optimized ? "optimized" : "not optimized");
        fflush(stdout);
    }
    return 0;
}
