// SPDX-License-Identifier: BSD-2-Clause
// Runs through sites of every layout and checks after each passage that nothing but the hit happened:
//
//   layouts SCENARIO [LAYOUT]      plain threads fork vfork clone exec signals
//   layouts dlopen LIBRARY         the sites are in a library that is loaded and unloaded
//   layouts orphan LAYOUT [second] attaches itself, at the second byte if wanted, and forks (needs the right to attach)
//   layouts churn [LAYOUT]         probes come and go under eight threads (needs the right to attach)
//
// Prints `hits N`: how often each site is passed in this process and all it makes. Exit status 1: something was changed; the
// line on stderr says what.
#define _GNU_SOURCE
#include "uprobe.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// The values of registers and flags here are those that layout_sites.S sets.
typedef unsigned long Word;
#ifdef __x86_64__
#define LAYOUTS(X) X(nop1) X(nop1_nop4) X(nop5) X(nop1_nop5) X(nop10) X(nop1_nop10)
static const Word registers[] = {0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x108,
                                 0x109, 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x80000000};
static const Word status_flags = 0x97 << 8 | 1; // SF, AF, PF, CF and the bit that is always set, and OF
static const uint8_t before_site[] = {0x41, 0x83, 0xc7, 0x01, 0xf9}; // add, stc
enum { Red_zone_words = 16 };
#elif defined __aarch64__
#define LAYOUTS(X) X(nop)
static const Word registers[] = {0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109,
                                 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x10f, 0x110, 0x111, 0x113,
                                 0x114, 0x115, 0x116, 0x117, 0x118, 0x119, 0x11a, 0x11b, 0x11c};
static const Word status_flags = 0xf0000000;
static const uint8_t before_site[] = {0x01, 0x42, 0x1b, 0xd5, 0x21, 0x20, 0x80, 0xd2}; // msr nzcv, x1; mov x1, #0x101
enum { Red_zone_words = 0 }; // arm64 has none: signals come there
#elif defined __riscv
#define LAYOUTS(X) X(nop)
static const Word registers[] = {0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109,
                                 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x10f, 0x110, 0x111, 0x112,
                                 0x113, 0x114, 0x115, 0x116, 0x117, 0x118, 0x119, 0x11a, 0x11b};
static const Word status_flags = 0;
static const uint8_t before_site[] = {0x93, 0x05, 0x10, 0x10}; // li a1, 0x101
enum { Red_zone_words = 0 };
#elif defined __loongarch__
#define LAYOUTS(X) X(nop)
static const Word registers[] = {0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109,
                                 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x10f, 0x110, 0x111, 0x112,
                                 0x113, 0x114, 0x115, 0x116, 0x117, 0x118, 0x119, 0x11a, 0x11b};
static const Word status_flags = 0;
static const uint8_t before_site[] = {0x05, 0x04, 0x84, 0x03}; // ori $a1, $zero, 0x101
enum { Red_zone_words = 0 };
#elif defined __s390x__
#define LAYOUTS(X) X(nop)
static const Word registers[] = {0x101, 0x102, 0x105, 0x106, 0x107, 0x108, 0x109,
                                 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x10f, 0x110};
static const Word status_flags = 3;
static const uint8_t before_site[] = {0xa7, 0x11, 0x01, 0x01}; // tmll %r1, 0x101
enum { Red_zone_words = 0 };
#elif defined __powerpc64__
#define LAYOUTS(X) X(nop)
static const Word registers[] = {0x101, 0x102, 0x107, 0x108, 0x109, 0x10a, 0x10b, 0x10c, 0x10d, 0x10e,
                                 0x110, 0x111, 0x112, 0x113, 0x114, 0x115, 0x116, 0x117, 0x118, 0x119,
                                 0x11a, 0x11b, 0x11c, 0x11d, 0x11e, 0x11f, 0x120, 0x121};
static const Word status_flags = 0x5a3c0000;
static const uint8_t before_site[] = {0x01, 0x01, 0x80, 0x38}; // li r4, 0x101
enum { Red_zone_words = 16 };
#elif defined __arm__
#define LAYOUTS(X) X(nop)
static const Word registers[] = {0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107,
                                 0x108, 0x109, 0x10a, 0x10b, 0x10c, 0x10e};
static const Word status_flags = 0xf0000000;
static const uint8_t before_site[] = {0x01, 0x11, 0x00, 0xe3}; // movw r1, #0x101
enum { Red_zone_words = 0 };
#endif
enum { Registers = sizeof registers / sizeof *registers };

struct Seen {
    Word regs[Registers], sp_moved, flags, red_zone[16];
};
typedef void Check(struct Seen*);
#define X(name) Check check_##name;
LAYOUTS(X)
#undef X

static struct {
    const char* name;
    Check* check;
} checks[] = {
#define X(name) {#name, check_##name},
    LAYOUTS(X)
#undef X
};
enum { Checks = sizeof checks / sizeof *checks };
static const char* only; // or all
static int look = 1;

static void verify(const char* layout, const struct Seen* seen)
{
    for (int i = 0; i < Registers; i++)
        if (seen->regs[i] != registers[i]) {
            fprintf(stderr, "%s: register %d is %#lx, not %#lx\n", layout, i, seen->regs[i], registers[i]);
            _exit(1);
        }
    if (seen->flags != status_flags || seen->sp_moved) {
        fprintf(stderr, "%s: flags %#lx, stack pointer moved by %ld\n", layout, seen->flags, (long)seen->sp_moved);
        _exit(1);
    }
    for (int i = 0; i < Red_zone_words; i++)
        if (seen->red_zone[i] != 0x5a01u + i) {
            fprintf(stderr, "%s: red zone: the word at -%d(%%rsp) is %#lx\n", layout, 8 * (i + 1), seen->red_zone[i]);
            _exit(1);
        }
}

static void pass(int times)
{
    for (int n = 0; n < times; n++)
        for (int i = 0; i < Checks; i++)
            if (!only || strcmp(only, checks[i].name) == 0) {
                struct Seen seen;
                checks[i].check(&seen);
                if (look)
                    verify(checks[i].name, &seen);
            }
}

static volatile int stop;
static void* pass_100(void* arg)
{
    return pass(100), arg;
}
static void* pass_until_stop(void* arg)
{
    while (!stop)
        pass(1);
    return arg;
}

static volatile int signals_taken;
static void on_signal(int s)
{
    (void)s;
    signals_taken++;
    pass(1);
}

static int clone_body(void* arg)
{
    return pass(20), (void)arg, 0;
}

static void await(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, __WALL) != child)
        perror("child"), exit(1);
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "child killed by signal %d\n", WTERMSIG(status));
        _exit(1);
    }
    if (WEXITSTATUS(status))
        _exit(1);
}

// A uprobe on byte `second` of a site, for this thread, opened by the program itself; -1: refused.
static int probe_site(int layout, int second)
{
    // The site stands behind the instructions that end the set-up.
    const uint8_t* code = (const uint8_t*)checks[layout].check;
    while (memcmp(code - sizeof before_site, before_site, sizeof before_site) != 0)
        code++;
    unsigned long start = 0, end = 0, offset = 0, at = (uintptr_t)code + second;
    char line[512], access[8];
    FILE* f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)
           && (sscanf(line, "%lx-%lx %7s %lx", &start, &end, access, &offset) != 4 || at < start || at >= end))
        ;
    fclose(f);
    const int type = uprobe_type();
    if (type < 0)
        fprintf(stderr, "no uprobes\n"), exit(1);
    return open_uprobe(type, "/proc/self/exe", at - start + offset, 0, 0, -1);
}

// Attaches to and detaches from every site, at the first byte and at the second where a nop1 precedes, while threads run.
static void churn(void)
{
    pthread_t threads[8];
    unsigned attached = 0;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, pass_until_stop, NULL);
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < Checks; i++) {
            if (only && strcmp(only, checks[i].name) != 0)
                continue;
            for (int second = 0; second < 2; second++) {
                if (second == 1 && strncmp(checks[i].name, "nop1_", 5) != 0)
                    continue;
                int fd = probe_site(i, second);
                if (fd >= 0)
                    attached++, pass(3), close(fd);
            }
            pass(1);
        }
    stop = 1;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    printf("attached %u\n", attached);
    if (!attached)
        exit(1);
}

int main(int argc, char** argv)
{
    const char* scenario = argc > 1 ? argv[1] : "plain";
    if (argc > 2 && strcmp(scenario, "dlopen") != 0)
        only = argv[2];
    int hits = 0;
    if (strcmp(scenario, "plain") == 0) {
        pass(hits = 200);
    } else if (strcmp(scenario, "threads") == 0) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, pass_100, NULL);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
        hits = 800;
    } else if (strcmp(scenario, "fork") == 0) {
        pass(20); // optimized, where the kernel does that, before the fork
        pid_t child = fork();
        if (child == 0)
            pass(20), _exit(0);
        await(child);
        pass(20);
        hits = 60;
    } else if (strcmp(scenario, "orphan") == 0) {
        // The process probes itself, and no tracer takes care of its child. The red zone is not looked at: only the
        // hazard to the child is.
        int layout = 0;
        while (layout < Checks - 1 && only && strcmp(only, checks[layout].name) != 0)
            layout++;
        int second = argc > 3, fd = probe_site(layout, second);
        if (fd < 0)
            return fprintf(stderr, "%s: cannot attach at byte %d: %s\n", checks[layout].name, second, strerror(errno)),
                   1;
        look = 0;
        pass(20);
        pid_t child = fork();
        if (child == 0)
            pass(1), _exit(0);
        await(child);
        hits = 20;
    } else if (strcmp(scenario, "vfork") == 0) {
        pass(20);
        pid_t child = vfork();
        if (child == 0) {
            pass(20);
            _exit(0);
        }
        await(child);
        hits = 40;
    } else if (strcmp(scenario, "clone") == 0) {
        pass(20);
        char* stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        await(clone(clone_body, stack + (1 << 16), CLONE_VM | SIGCHLD, NULL));
        hits = 40;
    } else if (strcmp(scenario, "exec") == 0) {
        pass(20);
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], "plain", only, (char*)NULL);
            _exit(1);
        }
        await(child);
        hits = 220;
    } else if (strcmp(scenario, "signals") == 0) {
        signal(SIGALRM, on_signal);
        // Until enough signals have landed somewhere in this loop, in sites too. One at a time: a slow machine would only take signals.
        int sent = 0;
        for (hits = 0; signals_taken < 50 || hits < 200; hits++) {
            if (sent == signals_taken) {
                sent++;
                setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 1000}, NULL);
            }
            pass(1);
        }
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 0}, NULL);
        hits += signals_taken;
    } else if (strcmp(scenario, "dlopen") == 0 && argc > 2) {
        for (int round = 0; round < 3; round++) {
            void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
            if (!library)
                return fprintf(stderr, "%s\n", dlerror()), 1;
            for (int i = 0; i < Checks; i++) {
                char name[64];
                snprintf(name, sizeof name, "check_%s", checks[i].name);
                checks[i].check = (Check*)dlsym(library, name);
            }
            pass(50);
            dlclose(library);
        }
        hits = 150;
    } else if (strcmp(scenario, "churn") == 0) {
        churn();
    } else {
        return fprintf(stderr, "usage: layouts SCENARIO [LAYOUT]\n"), 2;
    }
    printf("hits %d\n", hits);
    return 0;
}
