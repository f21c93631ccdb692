/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One note of each kind for build.sh to compare, with what fastprobe records: sites with and without arguments, with a semaphore and with names, results in different
 * registers, a tail call, arguments on the stack. */
#include <fastsdt.h>

int called(int a);

int site(int a, char* s)
{
    FASTSDT_WITH(default, implicit, notes, site, a, s);
    return a * 2;
}
void nothing(void)
{
    FASTSDT(notes, nothing);
}
int named(int a)
{
    FASTSDT_NAMED(notes, named, (int, number, a));
    return a;
}
int tail(int a)
{
    return called(a + 1);
}
double real(double x)
{
    return x * 2;
}
unsigned long many(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e, unsigned long f,
                   unsigned long g, unsigned long h, unsigned long i)
{
    return a + b + c + d + e + f + g + h + i;
}
