/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program whose only thread is always in a restartable sequence, but for the few instructions with which it begins the next. The
 * kernel ends a sequence by sending the thread to its abort handler. If something else takes the thread out of it and back, the kernel
 * forgets the sequence, and the thread goes on in it as if nothing had happened: then its word is 0.
 * Says "ready" and the address of the word that names its sequence to the kernel; SIGUSR1 ends the sequences: "aborted N taken N".
 * Then it answers each line with a hit and "answered".
 */
#define _GNU_SOURCE
#include <fastsdt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_rseq
#define SYS_rseq 334
#endif
enum { signature = 0x53053053 }; /* what glibc takes on x86-64 */

struct area {
    unsigned cpu_start, cpu;
    volatile unsigned long sequence;
    unsigned flags, rest[11];
} __attribute__((aligned(64)));
extern const int __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

static volatile sig_atomic_t leaving;

static void leave(int number)
{
    (void)number;
    leaving = 1;
}

int main(void)
{
    static struct area own;
    struct area* area = &own;
    struct sigaction action = {.sa_handler = leave};
    unsigned long aborted = 0, taken = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (&__rseq_size && __rseq_size) /* by the C library, glibc 2.35 */
        area = (struct area*)((char*)__builtin_thread_pointer() + __rseq_offset);
    else if (syscall(SYS_rseq, area, 32, 0, signature) != 0)
        return 1;
    sigaction(SIGUSR1, &action, NULL);
    printf("ready\n%p\n", (void*)&area->sequence);
    while (!leaving) {
        unsigned long was_taken;
        __asm__ volatile(".pushsection .data.rel.local, \"aw\"\n"
                         ".balign 32\n"
                         "1: .long 0, 0\n"
                         ".quad 2f, 3f - 2f, 4f\n"
                         ".popsection\n"
                         "lea 1b(%%rip), %%rax\n"
                         "xor %k0, %k0\n"
                         "mov %%rax, 8(%1)\n"
                         "2: cmp %%rax, 8(%1)\n"
                         "je 2b\n"
                         "3: inc %0\n"
                         "jmp 5f\n"
                         ".byte 0x0f, 0xb9, 0x3d\n" /* ud1: the signature stands in no code that can be executed */
                         ".long %c2\n"
                         "4:\n"
                         "5:"
                         : "=&r"(was_taken)
                         : "r"(area), "i"(signature)
                         : "rax", "memory", "cc");
        taken += was_taken;
        aborted += !was_taken;
    }
    area->sequence = 0;
    printf("aborted %lu taken %lu\n", aborted, taken);
    for (char line[8]; fgets(line, sizeof line, stdin);) {
        FASTSDT(sequence, answered);
        puts("answered");
    }
    return 0;
}
