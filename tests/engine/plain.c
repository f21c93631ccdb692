/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Built without fastsdt. For each line "go" it does its work a thousand times and answers "did"; "handle": from then on it handles SIGSEGV;
 * "load": it loads ./libplain.so, which is this file too.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>

static long table[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static void ignores(int signal)
{
    (void)signal;
}

__attribute__((noipa)) long reads(const long* from)
{
    return from[0] * 3 + from[1];
}

__attribute__((noipa)) long work(long i)
{
    return reads(table + i % 4) + i;
}

int main(void)
{
    char line[16];
    long i, sum = 0;

    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 'h')
            signal(SIGSEGV, ignores);
        else if (line[0] == 'l')
            dlopen("./libplain.so", RTLD_NOW);
        else
            for (i = 0; i < 1000; ++i)
                sum += work(i);
        puts("did");
        fflush(stdout);
    }
    return sum == 1;
}
