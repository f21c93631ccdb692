/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Function entries that are cheap to probe. Compile it without and with fastprobe, and compare:
 *
 *   gcc -O2 examples/entry.c -o e && fastsdt-check --functions e
 *   gcc -O2 -fplugin=$PWD/build/default/gcc-12/fastprobe.so examples/entry.c -o e && fastsdt-check --functions e
 *
 * `./e N` serves N requests, 1000 by default. docs/fastprobe.md has the plugin's arguments. The macros below are harmless without the plugin. */
#include "../include/fastsdt.h" /* <fastsdt.h> where it is installed */
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))

/* Begins with arithmetic: a probe on it would be single-stepped. With the plugin, a nop comes first. */
KEEP unsigned mix(unsigned x)
{
    return (x ^ (x >> 15)) * 0x2c1b3c6du;
}

KEEP unsigned chain(unsigned x, int n)
{
    unsigned sum = 0;
    while (n-- > 0)
        sum += x = mix(x);
    return sum;
}

/* Keeps a value over a call, so it begins with a push, which kernels emulate: auto leaves it alone on x86-64. */
KEEP void show(const char* name, unsigned value)
{
    printf("%s: ", name);
    printf("%u\n", value);
}

/* Wanted in the fastest form, whatever the command line says: nop1+nop10, optimized from Linux 7.2 on. */
KEEP FASTPROBE_MODE("nop10") unsigned request(unsigned id)
{
    return chain(id, 3);
}

/* Called so often that not even a nop is wanted. */
KEEP NO_FASTPROBE unsigned tick(unsigned x)
{
    return x * 5;
}

int main(int argc, char** argv)
{
    unsigned sum = 0;
    int requests = argc > 1 ? atoi(argv[1]) : 1000;
    for (int i = 0; i < requests; i++)
        sum += request((unsigned)(i + argc)) ^ tick((unsigned)i);
    show("sum", sum);
    return 0;
}
