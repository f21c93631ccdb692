/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program in which everything comes and goes: threads, forked and spawned children, a library, signals. Each pass of a site is in
 * the middle of a sum that is known. `churn LIBRARY [MIB]`, with so much memory that it has written to; for each line:
 *
 *     go       all of it begins: "going"
 *     quiet    all of it has ended: "quiet PASSES WRONG SEMAPHORES"; wrong are sums, children and what the library said
 *
 * Stacks of threads are its own, since the C library keeps some of those that it makes.
 */
#define _GNU_SOURCE
#include <fastsdt.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

FASTSDT_DEFINE_SEMA(churn_counted);
static atomic_ulong passes, wrong;
static atomic_int stopping;
static const char* library;
enum { spawners = 3, stack_size = 256 << 10 };
static char stacks[2 * spawners + 2][stack_size] __attribute__((aligned(4096)));

static void pass(unsigned long n)
{
    unsigned long sum = 0;
    char name[32];
    for (unsigned long i = 0; i < 8; ++i) {
        sum += (n + i) * 3;
        name[0] = (char)('a' + (n + i) % 26);
        name[1] = 0;
        FASTSDT(churn, pass, n + i, name, sum);
        FASTSDT_WITH(default, explicit(churn_counted), churn, counted, i);
        sum ^= (n + i) & 1;
    }
    unsigned long again = 0;
    for (unsigned long i = 0; i < 8; ++i) {
        again += (n + i) * 3;
        __asm__ volatile("" : "+r"(again));
        again ^= (n + i) & 1;
    }
    if (sum != again)
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&passes, 8);
}

static void on_signal(int number)
{
    pass((unsigned long)number);
}

static void start(pthread_t* thread, char* stack, void* (*work)(void*), void* argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, stack_size);
    if (pthread_create(thread, &attributes, work, argument) != 0)
        _exit(3);
    pthread_attr_destroy(&attributes);
}

static void* some_passes(void* first)
{
    for (unsigned long i = 0; i < 2000; ++i)
        pass((unsigned long)first + i);
    return NULL;
}

/* One thread after another, on one stack. */
static void* spawner(void* number)
{
    while (!stopping) {
        pthread_t thread;
        start(&thread, stacks[spawners + (size_t)number], some_passes, number);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void end_of(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status != 0)
        atomic_fetch_add(&wrong, 1);
}

/* Children that pass the sites, and others that share the memory until they execute something. */
static void* children(void* unused)
{
    for (unsigned long n = 0; !stopping; ++n) {
        pid_t child = fork();
        if (child == 0) {
            const unsigned long before = wrong;
            for (unsigned long i = 0; i < 100; ++i)
                pass(i);
            _exit(wrong != before);
        }
        end_of(child);
        if (n % 8 == 0) {
            char *const words[] = {(char*)"true", NULL}, *none[] = {NULL};
            if (posix_spawnp(&child, "true", NULL, NULL, words, none) == 0)
                end_of(child);
        }
    }
    return unused;
}

static void* libraries(void* unused)
{
    while (!stopping) {
        void* const handle = dlopen(library, RTLD_NOW);
        long (*run)(long) = handle ? (long (*)(long))dlsym(handle, "run") : NULL;
        for (long i = 0; run && i < 100; ++i)
            if (run(i) != i * 7)
                atomic_fetch_add(&wrong, 1);
        if (!run || dlclose(handle) != 0)
            atomic_fetch_add(&wrong, 1);
    }
    return unused;
}

int main(int argc, char** argv)
{
    char line[16];
    pthread_t threads[spawners + 2];
    size_t running = 0;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};

    if (argc < 2)
        return 2;
    library = argv[1];
    if (argc > 2) {
        const size_t size = (size_t)atol(argv[2]) << 20;
        char* const memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 2;
        for (size_t i = 0; i < size; i += 4096)
            memory[i] = 1;
    }
    mallopt(M_ARENA_MAX, 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGALRM, &action, NULL);
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "go\n")) {
            stopping = 0;
            for (size_t i = 0; i < spawners; ++i)
                start(&threads[i], stacks[i], spawner, (void*)i);
            start(&threads[spawners], stacks[2 * spawners], children, NULL);
            start(&threads[spawners + 1], stacks[2 * spawners + 1], libraries, NULL);
            running = spawners + 2;
            setitimer(ITIMER_REAL, &often, NULL);
            puts("going");
        } else {
            stopping = 1;
            for (size_t i = 0; i < running; ++i)
                pthread_join(threads[i], NULL);
            running = 0;
            setitimer(ITIMER_REAL, &never, NULL);
            printf("quiet %lu %lu %d\n", (unsigned long)passes, (unsigned long)wrong,
                   FASTSDT_SEMA_IS_ACTIVE(churn_counted));
        }
    }
    return 0;
}
