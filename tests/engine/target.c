/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program to be armed. Each pass of a site checks that the site left registers, flags and red zone alone
 * (target_sites.S).
 * It says "ready" and takes commands, one a line, each answered by one line:
 *
 *     run THREADS PASSES   that many threads pass the sites in turn, so often each; answer: "passed ALL wrong N
 *                          left L", L passes at most that a handler left before they were counted
 *     start THREADS        threads pass the sites in turn until
 *     stop                 answer: the same
 *     pass PASSES          the same by the first thread: "passed ALL wrong N left 0"
 *     signals              from now on each such thread gets a signal every 100 us. Its handler passes a site too, and
 *                          every fourth leaves by siglongjmp
 *     fork PASSES          as run with one thread, in a child
 *     stay                 a child that does nothing as long as we live: "child PID"
 *     many                 from now on a pass is one of each site target:many: "many"
 *     vfork                a child that shares the memory and waits for the next line: "child PID", then "vforked"
 *     share                a child that shares the memory and runs beside us until unshare: "child PID", then "unshared"
 *     semaphore            "active N": N is the value of target:counted's semaphore
 *     undump               PR_SET_DUMPABLE 0: "undumped 0"
 *     leave                the first thread ends, another goes on: "left", then "ready"
 *     exec                 executes itself again, which says "ready" again
 *     load FILE            dlopen: "loaded N", N what its run() returns; call: "called N"; unload: dlclose
 *     mask                 "mask HEX": signals that the first thread has blocked
 *     sleep                nanosleep for 1 ms, 300 times: "sleeping", then "slept N", N how many returned early
 *     vectors              the first thread fills its SVE registers and works with them for a while: "working", then
 *                          "changed N"; without such registers "none" at once
 *     nap                  nanosleep for a second: "napping", then "napped N", N milliseconds
 */
#define _GNU_SOURCE
#include <fastsdt.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

long keep_vectors(long rounds);
int pass_many(void), pass_s0(void), pass_s1(void), pass_s2(void), pass_s3(void);
FASTSDT_DEFINE_SEMA(target_counted);

static int (*const sites[])(void) = {pass_s0, pass_s1, pass_s2, pass_s3};
static int many; /* a pass is pass_many() */
static atomic_long passed, wrong, left;
static atomic_int stopping;
static int with_signals;
static long passes_each; /* 0: until stopping */
static _Thread_local sigjmp_buf before;
static _Thread_local unsigned signals_seen;

static void pass(unsigned long i)
{
    if (many ? pass_many() : sites[i % 4]())
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&passed, 1);
}

/* Stops the process while the handler has interrupted what the thread did; on a stack of its own. */
static void stop_here(int signal)
{
    (void)signal;
    kill(getpid(), SIGSTOP);
}

static void on_signal(int signal)
{
    (void)signal;
    pass(1);
    if (++signals_seen % 4 == 0) {
        atomic_fetch_add(&left, 1);
        siglongjmp(before, 1);
    }
}

static void* worker(void* unused)
{
    volatile unsigned long i = 0;
    timer_t timer;

    (void)unused;
    sigsetjmp(before, 1);
    if (i == 0 && with_signals) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
        struct itimerspec every = {{0, 100000}, {0, 100000}};
        event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        i = 1;
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        timer_settime(timer, 0, &every, NULL);
    }
    while (passes_each ? i < (unsigned long)passes_each : !stopping)
        pass(i++);
    if (with_signals)
        timer_delete(timer);
    return NULL;
}

static void* vforks(void* unused)
{
    for (;;) {
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    return unused;
}

static pthread_t threads[256];
static unsigned running;

static void start(unsigned count, long passes)
{
    running = count < 256 ? count : 256;
    passes_each = passes;
    passed = wrong = left = stopping = 0;
    for (unsigned i = 0; i < running; ++i)
        pthread_create(&threads[i], NULL, worker, NULL);
}

static void join(void)
{
    for (unsigned i = 0; i < running; ++i)
        pthread_join(threads[i], NULL);
    printf("passed %ld wrong %ld left %ld\n", (long)passed, (long)wrong, (long)left);
}

static atomic_int unsharing;

static int share(void* unused)
{
    (void)unused;
    while (!unsharing)
        sched_yield();
    return 0;
}

static char* arguments[] = {"engine_target", NULL};

static void* commands(void* unused)
{
    static void* library;
    char line[512];

    (void)unused;
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        unsigned count = 0;
        long number = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "run %u %ld", &count, &number) == 2) {
            start(count, number);
            join();
        } else if (sscanf(line, "pass %ld", &number) == 1) {
            running = 0;
            passed = wrong = left = 0;
            for (long i = 0; i < number; ++i)
                pass((unsigned long)i);
            join();
        } else if (sscanf(line, "start %u", &count) == 1) {
            start(count, 0);
            puts("started");
        } else if (!strcmp(line, "stop")) {
            stopping = 1;
            join();
        } else if (!strncmp(line, "handler", 7)) { /* "handler own": on an alternate stack */
            static char memory[65536];
            const stack_t own = {.ss_sp = memory, .ss_size = sizeof memory};
            struct sigaction action = {.sa_handler = stop_here};
            if (!strcmp(line, "handler own")) {
                sigaltstack(&own, NULL);
                action.sa_flags = SA_ONSTACK;
            }
            sigaction(SIGUSR2, &action, NULL);
            puts("installed");
        } else if (!strcmp(line, "signals")) {
            struct sigaction action = {.sa_handler = on_signal};
            sigaction(SIGUSR1, &action, NULL);
            with_signals = 1;
            puts("signals");
        } else if (sscanf(line, "fork %ld", &number) == 1) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                start(1, number);
                join();
                fflush(stdout);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        } else if (!strcmp(line, "stay")) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                    pause();
            }
            printf("child %d\n", (int)child);
        } else if (!strcmp(line, "many")) {
            many = 1;
            puts("many");
        } else if (!strcmp(line, "vfork")) {
            pid_t child = vfork();
            if (child == 0) {
                char text[64], c;
                int length = snprintf(text, sizeof text, "child %d\n", (int)getpid());
                if (write(1, text, (size_t)length) != length)
                    _exit(1);
                while (read(0, &c, 1) == 1 && c != '\n') {}
                _exit(0);
            }
            waitpid(child, NULL, 0);
            puts("vforked");
        } else if (!strcmp(line, "vforks")) { /* one after the other, until the program ends */
            pthread_t other;
            pthread_create(&other, NULL, vforks, NULL);
            puts("vforking");
        } else if (!strcmp(line, "share")) {
            static char stack[65536] __attribute__((aligned(16)));
            unsharing = 0;
            printf("child %d\n", clone(share, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL));
        } else if (!strcmp(line, "unshare")) {
            unsharing = 1;
            wait(NULL);
            puts("unshared");
        } else if (!strcmp(line, "semaphore")) {
            printf("active %d\n", FASTSDT_SEMA_IS_ACTIVE(target_counted));
        } else if (!strcmp(line, "undump")) {
            printf("undumped %d\n", prctl(PR_SET_DUMPABLE, 0));
        } else if (!strcmp(line, "leave")) {
            puts("left");
            pthread_t other;
            pthread_create(&other, NULL, commands, NULL);
            pthread_exit(NULL);
        } else if (!strcmp(line, "exec")) {
            execv("/proc/self/exe", arguments);
        } else if (!strncmp(line, "load ", 5)) {
            library = dlopen(line + 5, RTLD_NOW);
            long (*run)(void) = library ? (long (*)(void))dlsym(library, "run") : NULL;
            if (run)
                printf("loaded %ld\n", run());
            else
                printf("not loaded: %s\n", dlerror());
        } else if (!strcmp(line, "call")) {
            printf("called %ld\n", ((long (*)(void))dlsym(library, "run"))());
        } else if (!strcmp(line, "unload")) {
            dlclose(library);
            puts("unloaded");
        } else if (!strcmp(line, "mask")) {
            sigset_t mask;
            unsigned long bits = 0;
            sigprocmask(SIG_SETMASK, NULL, &mask);
            for (int s = 1; s < 64; ++s)
                bits |= sigismember(&mask, s) == 1 ? 1UL << (s - 1) : 0;
            printf("mask %lx\n", bits);
        } else if (!strcmp(line, "sleep")) {
            struct timespec ms = {0, 1000000};
            int early = 0;
            puts("sleeping");
            for (int i = 0; i < 300; ++i)
                early += nanosleep(&ms, NULL) != 0;
            printf("slept %d\n", early);
        } else if (!strcmp(line, "vectors")) {
#if defined(__aarch64__)
            if (getauxval(AT_HWCAP) >> 22 & 1) { /* HWCAP_SVE */
                long changed = 0;
                puts("working");
                for (int i = 0; i < 2000; ++i)
                    changed += keep_vectors(100);
                printf("changed %ld\n", changed);
                continue;
            }
#endif
            puts("none");
        } else if (!strcmp(line, "nap")) {
            struct timespec second = {1, 0}, begin, end;
            puts("napping");
            clock_gettime(CLOCK_MONOTONIC, &begin);
            nanosleep(&second, NULL);
            clock_gettime(CLOCK_MONOTONIC, &end);
            printf("napped %ld\n", (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
        }
        FASTSDT_WITH(default, explicit(target_counted), target, counted);
    }
    return NULL;
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    commands(NULL);
    return 0;
}
