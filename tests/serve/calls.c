/* SPDX-License-Identifier: BSD-2-Clause
 * Calls and probes for spans: `calls N` N times, `calls N 2` by two threads.
 */
#include <fastsdt.h>
#include <pthread.h>
#include <stdlib.h>

static volatile long last;
__attribute__((noinline)) long inner(long n)
{
    FASTSDT(app, hit, n, "a \"text\" <b>\n");
    last = 7 * n; /* so that the return has room for a jump */
    return last + n;
}
__attribute__((noinline)) long outer(long n)
{
    last = inner(n) + inner(-n); /* as well */
    return 3 * last + n;
}
static void* work(void* times)
{
    volatile long sum = 0;
    long i;

    for (i = 0; i < (long)times; ++i)
        sum += outer(i);
    return NULL;
}

int main(int argc, char** argv)
{
    void* const times = (void*)(argc > 1 ? atol(argv[1]) : 0);
    pthread_t thread;

    if (argc > 2 && pthread_create(&thread, NULL, work, times) != 0)
        return 1;
    work(times);
    return argc > 2 ? pthread_join(thread, NULL) : 0;
}
