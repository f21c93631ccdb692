// SPDX-License-Identifier: BSD-2-Clause
// Functions whose entries fastprobe made cheap, each called 100 times from each of two threads: `hits 200`. Results are checked,
// so that a probe or return probe that changes an argument, a return value or the stack is noticed.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noipa)) long f_leaf(long a)
{
    return a + 1;
}
__attribute__((noipa)) long f_loop(long n)
{
    long sum = 0;
    do
        sum += n;
    while (--n > 0);
    return sum;
}
__attribute__((noipa)) long f_calls(long a, long b)
{
    return f_leaf(a) * b - f_leaf(b);
}
__attribute__((noipa)) long f_stack(long a, long b, long c, long d, long e, long f, long g, long h)
{
    volatile long kept[40];
    for (int i = 0; i < 40; i++)
        kept[i] = a * i;
    return kept[39] + b + c + d + e + f + g + h;
}
__attribute__((noipa)) double f_double(double a, double b)
{
    return a * b + 0.5;
}
__attribute__((noipa)) long f_varargs(int n, ...)
{
    va_list args;
    long sum = 0;
    va_start(args, n);
    while (n-- > 0)
        sum += va_arg(args, long);
    va_end(args);
    return sum;
}
struct Big {
    long words[6];
};
__attribute__((noipa)) struct Big f_struct(struct Big in)
{
    in.words[5] += in.words[0];
    return in;
}
__attribute__((noipa)) static void verify(int good)
{
    if (!good) {
        fprintf(stderr, "a function gave a wrong result\n");
        exit(1);
    }
}

static void* all(void* arg)
{
    for (long i = 1; i <= 100; i++) {
        verify(f_loop(i) == i * (i + 1) / 2);
        verify(f_calls(i, 3) == (i + 1) * 3 - 4);
        verify(f_stack(i, 1, 2, 3, 4, 5, 6, 7) == 39 * i + 28);
        verify(f_double(i, 2) == 2 * i + 0.5);
        verify(f_varargs(3, i, 2l, 3l) == i + 5);
        verify(f_struct((struct Big){{i, 0, 0, 0, 0, 7}}).words[5] == 7 + i);
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, all, NULL))
        return 1;
    all(NULL);
    pthread_join(thread, NULL);
    printf("hits 200\n");
    return 0;
}
