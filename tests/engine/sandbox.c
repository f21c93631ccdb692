/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Passes strings from each kind of memory to probes, and sets a seccomp filter when it is told to. Reads commands, one a
 * line, and answers "done":
 *
 *     strings    one hit for each kind of memory, by the main thread and by another one
 *     kill       sets a filter that kills the process for what stubs call
 *     errno      sets a filter that refuses these calls
 *     open FILE  loads a module, whose set_filter() the commands above use from then on
 *     fork       a child sets the filter that kills, makes hits, and has to end well
 *
 *     main       the hits of the main thread only
 *     tids       prints the threads' numbers and makes a hit by each
 *
 * HOW says by which instructions the filter is set. HIDDEN: finds prctl() by its name at run time, so that no instruction tells that it is called.
 */
#define _GNU_SOURCE
#include <fastsdt.h>

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

int set_filter(unsigned action);

#ifndef NO_FILTER
int set_filter(unsigned action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_process_vm_readv),
        REFUSE(SYS_gettid),
        REFUSE(SYS_rt_sigprocmask),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
#ifdef HIDDEN
    return ((int (*)(int, ...))dlsym(RTLD_DEFAULT, "prctl"))(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program);
#elif HOW == 1
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
#elif HOW == 2
    long result = SYS_seccomp;
    __asm__ volatile("syscall" : "+a"(result) : "D"(1L), "S"(0L), "d"(&program) : "rcx", "r11", "memory");
    return (int)result;
#elif HOW == 3
    static int (*volatile control)(int, ...) = prctl;
    return control(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program);
#elif HOW == 4
    static volatile int number = PR_SET_SECCOMP;
    return prctl(number, (long)SECCOMP_MODE_FILTER, &program);
#elif HOW == 5
    /* One call, to which two places jump. */
    static volatile int rename = 0;
    long result;
    __asm__ volatile(
        "cmpl $0, %[rename]; jne 1f; mov $22, %%edi; jmp 2f; .skip 200, 0x90; 1: mov $15, %%edi; 2: xor %%eax, %%eax;"
        "call prctl@plt"
        : "=a"(result)
        : [rename] "m"(rename), "S"((long)SECCOMP_MODE_FILTER), "d"(&program)
        : "rdi", "rcx", "r8", "r9", "r10", "r11", "memory");
    return (int)result;
#else
    return prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program);
#endif
}
#endif

#ifdef CONSTRUCTOR
static void __attribute__((constructor)) begin(void)
{
    set_filter(SECCOMP_RET_KILL_PROCESS);
}
#endif

#ifndef MODULE
static char written[64];

/* Read-only data, the stack's page in use and a page far above, and heap. */
static void __attribute__((noinline)) inner(const char* far)
{
    /* To the middle of a page, with the stack pointer. */
    char* const near = alloca(((uintptr_t)__builtin_frame_address(0) & 4095) + 2048);
    char* const heap = malloc(64);
    strcpy(near, "on the stack, near");
    strcpy(heap, "in the heap");
    FASTSDT(memory, text, "in read-only data");
    FASTSDT(memory, text, near);
    FASTSDT(memory, text, far);
    FASTSDT(memory, text, heap);
    FASTSDT(memory, text, written);
    FASTSDT(memory, text, (const char*)NULL);
    FASTSDT(memory, libc, strerror(ENOENT));
    free(heap);
}

static void __attribute__((noinline)) middle(const char* far)
{
    volatile char room[8192];
    room[0] = 0;
    inner(far);
    room[1] = 0;
}

static void* strings(void* nothing)
{
    char far[64];
    strcpy(far, "on the stack, far");
    strcpy(written, "in data");
    middle(far);
    far[0] = 0;
    __asm__ volatile("" : : "r"(far) : "memory");
    return nothing;
}

/* The filter may stand already, so the thread is asked before: by its name in /proc. */
static void* tids(void* nothing)
{
    char self[64] = "";
    if (readlink("/proc/thread-self", self, sizeof self - 1) > 0)
        printf("tid %s\n", strrchr(self, '/') + 1);
    FASTSDT(memory, thread);
    return nothing;
}

int main(void)
{
    int (*set)(unsigned) = NULL;
#ifndef NO_FILTER
    set = set_filter;
#endif
    setvbuf(stdout, NULL, _IOLBF, 0);
    prctl(PR_SET_NAME, "sandbox");
    syscall(SYS_getpid);
    puts("ready");
    for (char line[4096]; fgets(line, sizeof line, stdin);) {
        line[strcspn(line, "\n")] = 0;
        int failed = 0;
        if (strcmp(line, "strings") == 0) {
            strings(NULL);
#ifndef SINGLE
            pthread_t thread;
            failed = pthread_create(&thread, NULL, strings, NULL) || pthread_join(thread, NULL);
#endif
        } else if (strcmp(line, "main") == 0) {
            strings(NULL);
        } else if (strcmp(line, "tids") == 0) {
            tids(NULL);
#ifndef SINGLE
            pthread_t thread;
            failed = pthread_create(&thread, NULL, tids, NULL) || pthread_join(thread, NULL);
#endif
        } else if (strcmp(line, "kill") == 0) {
            failed = set(SECCOMP_RET_KILL_PROCESS);
        } else if (strcmp(line, "errno") == 0) {
            failed = set(SECCOMP_RET_ERRNO | EACCES);
        } else if (strcmp(line, "fork") == 0) {
            const pid_t child = fork();
            if (child == 0) {
                if (set(SECCOMP_RET_KILL_PROCESS))
                    _exit(1);
                strings(NULL);
                _exit(0);
            }
            int status = 1;
            failed = waitpid(child, &status, 0) != child || status != 0;
        } else if (strncmp(line, "open ", 5) == 0) {
            void* const module = dlopen(line + 5, RTLD_NOW);
            failed = !module;
            if (module)
                set = (int (*)(unsigned))dlsym(module, "set_filter");
        }
        puts(failed ? "failed" : "done");
    }
    return 0;
}
#endif
