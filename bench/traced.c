/* SPDX-License-Identifier: BSD-2-Clause
 * traced THREADS: what bench/parts/trace.py has tracers trace. It says "ready" when all threads run, then reads lines, LOOP and a
 * number, and answers each by a number:
 *
 *     site TURNS, pair TURNS, call TURNS   nanoseconds from when the first thread begins until the last one is done: a probe, two
 *                                          probes or one call of work() in a turn
 *     steady TURNS                         the same with a probe, 10,000 turns at the beginning of each millisecond
 *     sleep 0, compute 0                   threads sleep 0.1 ms at a time, or read the clock; answered at once, by 0
 *     end 0                                ends that: the longest time in nanoseconds that one of them was late
 *
 * Compiled with WITH_LTTNG the probes are LTTng's; with WITH_XRAY, work() is XRay's, and `traced THREADS handler` has a function that
 * counts called for it. With MANY=S10000 there are that many more sites, which are never executed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "traced_lttng.h"
#define PROBE(name, a, b) lttng_ust_tracepoint(bench, name, a, b)
#else
#include "../include/fastsdt.h"
#define PROBE(name, a, b) FASTSDT(bench, name, a, b)
#endif

#ifdef WITH_XRAY
#define TRACED __attribute__((noinline, xray_always_instrument))
#define UNTRACED __attribute__((xray_never_instrument))
extern int __xray_set_handler(void (*handler)(int function, int type)); /* xray/xray_interface.h is C++ */
static _Thread_local volatile unsigned long handled;
UNTRACED static void handler(int function, int type)
{
    (void)function, (void)type;
    handled = handled + 1;
}
#else
#define TRACED __attribute__((noinline))
#define UNTRACED
#endif

TRACED unsigned work(unsigned x)
{
    __asm__ volatile("" : "+r"(x));
    return (x ^ (x >> 15)) * 0x2c1b3c6du;
}

#ifdef MANY
#define S10(x) x x x x x x x x x x
#define S1 FASTSDT(bench, many, n);
#define S100 S10(S10(S1))
#define S10000 S10(S10(S100))
void many(int n)
{
    MANY
}
#endif

enum Loop { SITE, PAIR, CALL, STEADY, SLEEP, COMPUTE, END };
static const char* const names[] = {"site", "pair", "call", "steady", "sleep", "compute", "end"};

static pthread_barrier_t begin, done;
static enum Loop loop;
static long turns;
static atomic_bool ended;
static _Atomic long latest;

UNTRACED static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}

UNTRACED static void late(long nap)
{
    long most = 0;
    for (long last = now(); !ended;) {
        struct timespec t = {0, nap};
        if (nap)
            nanosleep(&t, NULL);
        const long then = now();
        most = then - last - nap > most ? then - last - nap : most;
        last = then;
    }
    long before = latest;
    while (most > before && !atomic_compare_exchange_weak(&latest, &before, most)) {}
}

UNTRACED static void run(void)
{
    unsigned sum = 0;
    switch (loop) {
    case SITE:
        for (long i = 0; i < turns; ++i)
            PROBE(hit, (int)(i & 15), 1234);
        break;
    case PAIR:
        for (long i = 0; i < turns; ++i) {
            PROBE(begin, (int)(i & 15), 1234);
            PROBE(end, (int)(i & 15), 1234);
        }
        break;
    case CALL:
        for (long i = 0; i < turns; ++i)
            sum += work((unsigned)i);
        __asm__ volatile("" : : "r"(sum));
        break;
    case STEADY: {
        struct timespec next;
        clock_gettime(CLOCK_MONOTONIC, &next);
        for (long i = 0; i < turns; ++i) {
            PROBE(hit, (int)(i & 15), 1234);
            if (i % 10000 == 9999) {
                next.tv_nsec += 1000000;
                if (next.tv_nsec >= 1000000000)
                    next.tv_nsec -= 1000000000, ++next.tv_sec;
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
            }
        }
        break;
    }
    case SLEEP: late(100000); break;
    case COMPUTE: late(0); break;
    case END: break;
    }
}

UNTRACED static void* thread(void* unused)
{
    for (;;) {
        pthread_barrier_wait(&begin);
        run();
        pthread_barrier_wait(&done);
    }
    return unused;
}

UNTRACED int main(int argc, char** argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    char line[64], name[16];
#ifdef WITH_XRAY
    if (argc > 2 && !strcmp(argv[2], "handler"))
        __xray_set_handler(handler);
#endif
    pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&done, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; ++i) {
        pthread_t t;
        if (pthread_create(&t, NULL, thread, NULL))
            return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%15s %ld", name, &turns) != 2)
            return 2;
        enum Loop wanted = SITE;
        while (wanted < END && strcmp(names[wanted], name))
            ++wanted;
        long answer = 0;
        if (wanted == END) {
            ended = 1;
            pthread_barrier_wait(&done);
            answer = latest;
        } else {
            loop = wanted;
            ended = 0;
            latest = 0;
            const long start = now();
            pthread_barrier_wait(&begin);
            if (wanted < SLEEP) {
                pthread_barrier_wait(&done);
                answer = now() - start;
            }
        }
        printf("%ld\n", answer);
    }
    return 0;
}
