// SPDX-License-Identifier: BSD-2-Clause
// Executes stubs for arm64 that a test has compiled; on another machine under qemu-user. Commands come on standard
// input, answers go to standard output, both in binary; stubs_arm64.cpp is the other end.
//
//     -> greeting       struct greeting
//     M address size    maps memory that may be executed
//     W address size bytes
//     R address size    -> bytes
//     P state           one pass -> state; `unused` is 0 if the floating-point status and control are as before
//     N times state     passes -> state
//     T threads times   threads that pass, with x0 from 0 to 15 -> their ids
//     V                 one pass of wide_site with full SVE registers -> 1 if one of them has changed, else 0
//     S passes          a timer interrupts passes, x0 from 0 to 15, by handlers that pass too -> passes by handlers
#define _GNU_SOURCE
#include "runner_io.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

struct state {
    uint64_t x[31], sp, flags;
    uint64_t stack[16]; // from sp up
    uint64_t unused;
    unsigned char v[32][16];
};
_Static_assert(offsetof(struct state, sp) == 248 && offsetof(struct state, flags) == 256
                   && offsetof(struct state, stack) == 264 && offsetof(struct state, v) == 400,
               "the assembly has these");
struct greeting {
    uint64_t site, wide_site, pid, tid_offset, atomics, sve, copies, function;
};
extern void own_site_pass(struct state*);
extern uint64_t own_wide_pass(const void*);
extern char own_site[], own_wide_site[];

__asm__("    .text\n"
        "    .globl own_site_pass, own_site\n"
        "    .type own_site_pass, %function\n"
        "    .p2align 4\n"
        "own_site_pass:\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    stp x27, x28, [sp, #-16]!\n"
        "    stp x25, x26, [sp, #-16]!\n"
        "    stp x23, x24, [sp, #-16]!\n"
        "    stp x21, x22, [sp, #-16]!\n"
        "    stp x19, x20, [sp, #-16]!\n"
        "    stp d14, d15, [sp, #-16]!\n"
        "    stp d12, d13, [sp, #-16]!\n"
        "    stp d10, d11, [sp, #-16]!\n"
        "    stp d8, d9, [sp, #-16]!\n"
        "    sub sp, sp, #144\n"
        "    str x0, [sp, #128]\n"
        "    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "    ldr x1, [x0, #264 + 8 * \\i]\n"
        "    str x1, [sp, #8 * \\i]\n"
        "    .endr\n"
        "    mov x1, sp\n"
        "    str x1, [x0, #248]\n"
        "    ldr x1, [x0, #256]\n"
        "    msr nzcv, x1\n"
        "    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "    ldr q\\i, [x0, #400 + 16 * \\i]\n"
        "    .endr\n"
        "    .irp i, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,0\n"
        "    ldr x\\i, [x0, #8 * \\i]\n"
        "    .endr\n"
        "own_site:\n"
        "    nop\n"
        "    str x0, [sp, #136]\n"
        "    ldr x0, [sp, #128]\n"
        "    .irp i, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n"
        "    str x\\i, [x0, #8 * \\i]\n"
        "    .endr\n"
        "    ldr x1, [sp, #136]\n"
        "    str x1, [x0]\n"
        "    mrs x1, nzcv\n"
        "    str x1, [x0, #256]\n"
        "    mov x2, sp\n"
        "    ldr x1, [x0, #248]\n"
        "    sub x1, x2, x1\n"
        "    str x1, [x0, #248]\n" // 0: sp is as before
        "    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "    ldr x1, [sp, #8 * \\i]\n"
        "    str x1, [x0, #264 + 8 * \\i]\n"
        "    .endr\n"
        "    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "    str q\\i, [x0, #400 + 16 * \\i]\n"
        "    .endr\n"
        "    add sp, sp, #144\n"
        "    ldp d8, d9, [sp], #16\n"
        "    ldp d10, d11, [sp], #16\n"
        "    ldp d12, d13, [sp], #16\n"
        "    ldp d14, d15, [sp], #16\n"
        "    ldp x19, x20, [sp], #16\n"
        "    ldp x21, x22, [sp], #16\n"
        "    ldp x23, x24, [sp], #16\n"
        "    ldp x25, x26, [sp], #16\n"
        "    ldp x27, x28, [sp], #16\n"
        "    ldp x29, x30, [sp], #16\n"
        "    ret\n"
        "    .size own_site_pass, . - own_site_pass\n"
        "    .arch_extension sve\n"
        "    .globl own_wide_pass, own_wide_site\n"
        "    .type own_wide_pass, %function\n"
        "own_wide_pass:\n" // x0: an address
        "    stp d8, d9, [sp, #-64]!\n"
        "    stp d10, d11, [sp, #16]\n"
        "    stp d12, d13, [sp, #32]\n"
        "    stp d14, d15, [sp, #48]\n"
        "    mov x9, #0x3c3c\n"
        "    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "    ptrue p\\i\\().b\n"
        "    .endr\n"
        "    setffr\n"
        "    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "    dup z\\i\\().d, x9\n"
        "    .endr\n"
        "own_wide_site:\n"
        "    nop\n"
        "    mov x12, #0\n"
        "    cntb x10\n"
        "    .irp i, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0\n"
        "    cntp x11, p\\i, p\\i\\().b\n" // how many bytes are true
        "    eor x11, x11, x10\n"
        "    orr x12, x12, x11\n"
        "    .endr\n"
        "    rdffr p1.b\n"
        "    cntp x11, p1, p1.b\n"
        "    eor x11, x11, x10\n"
        "    orr x12, x12, x11\n"
        "    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "    lastb x11, p0, z\\i\\().d\n"
        "    eor x11, x11, x9\n"
        "    orr x12, x12, x11\n"
        "    .endr\n"
        "    ldp d10, d11, [sp, #16]\n"
        "    ldp d12, d13, [sp, #32]\n"
        "    ldp d14, d15, [sp, #48]\n"
        "    ldp d8, d9, [sp], #64\n"
        "    cmp x12, #0\n"
        "    cset x0, ne\n"
        "    ret\n"
        "    .size own_wide_pass, . - own_wide_pass\n");

static uint64_t number(void)
{
    uint64_t value;
    get(&value, sizeof value);
    return value;
}

static void* at(uint64_t address)
{
    return (void*)(uintptr_t)address;
}

// What a stub calls: tells what it got, and changes all that the ABI lets a function change, and the control word.
struct told {
    uint64_t calls, hit[16], frame[2], alignment;
};

static uint64_t has_sve;

static void wreck(void)
{
    __asm__ volatile("mov x0, #0xdead\n"
                     ".irp i, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18\n mov x\\i, x0\n .endr\n"
                     ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
                     " dup v\\i\\().2d, x0\n .endr\n"
                     "mov x0, #0x1f\n msr fpsr, x0\n mov x0, #0x1000000\n msr fpcr, x0\n"
                     "cmp x0, x0\n"
                     :
                     :
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                       "x15", "x16", "x17", "x18", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",
                       "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc");
    if (has_sve)
        __asm__ volatile(
            ".arch_extension sve\n"
            ".irp i, 0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n dup z\\i\\().d, x0\n .endr\n"
            ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n pfalse p\\i\\().b\n .endr\n"
            "wrffr p0.b\n"
            :
            :
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
              "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

static void called(uint64_t context, const uint64_t* hit)
{
    struct told* const told = (struct told*)(uintptr_t)context;
    const uint64_t* const own = __builtin_frame_address(0);
    ++told->calls;
    memcpy(told->hit, hit, sizeof told->hit);
    memcpy(told->frame, (const void*)(uintptr_t)own[0], sizeof told->frame);
    told->alignment = (uint64_t)(uintptr_t)own % 16;
    wreck();
}

// Whether the status and the control word stay what they are.
static int passes_with_status(struct state* state)
{
    const uint64_t before = 8;
    uint64_t status, control, control_before;
    __asm__ volatile("msr fpsr, %0" : : "r"(before));
    __asm__ volatile("mrs %0, fpcr" : "=r"(control_before));
    own_site_pass(state);
    __asm__ volatile("mrs %0, fpsr\n mrs %1, fpcr" : "=r"(status), "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control_before));
    return status == before && control == control_before;
}

static struct greeting greet(void)
{
    struct greeting hello = {0};
    hello.site = (uint64_t)(uintptr_t)own_site;
    hello.wide_site = (uint64_t)(uintptr_t)own_wide_site;
    hello.pid = (uint64_t)getpid();
    // glibc keeps a thread's id below the thread pointer.
    const char* const pointer = __builtin_thread_pointer();
    for (int offset = -4; offset > -4096 && !hello.tid_offset; offset -= 4) {
        int32_t word;
        memcpy(&word, pointer + offset, sizeof word);
        if (word == getpid())
            hello.tid_offset = (uint64_t)(int64_t)offset;
    }
    hello.atomics = getauxval(AT_HWCAP) >> 8 & 1;        // HWCAP_ATOMICS
    has_sve = hello.sve = getauxval(AT_HWCAP) >> 22 & 1; // HWCAP_SVE
    hello.function = (uint64_t)(uintptr_t)called;
    // qemu-user 7.2 does not know this system call.
    uint64_t from = 1, to = 0;
    const struct iovec local = {&to, 8}, remote = {&from, 8};
    hello.copies = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 8;
    return hello;
}

static uint64_t times;

static void* passes(void* id)
{
    struct state state = {0};
    for (uint64_t i = 0; i < times; ++i) {
        state.x[0] = i % 16;
        own_site_pass(&state);
    }
    *(uint64_t*)id = (uint64_t)syscall(SYS_gettid);
    return NULL;
}

static volatile uint64_t handled;

static void on_signal(int signal)
{
    (void)signal;
    struct state state = {0};
    state.x[0] = handled % 16;
    own_site_pass(&state);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED); /* another handler may come in between */
}

static void signals(uint64_t count)
{
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    sigaction(SIGALRM, &act, NULL);
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    handled = 0;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    struct state state = {0};
    for (uint64_t i = 0; i < count; ++i) {
        state.x[0] = i % 16;
        own_site_pass(&state);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    /* Under qemu a signal may still come that was sent before. */
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
}

int main(void)
{
    const struct greeting hello = greet();
    put(&hello, sizeof hello);
    for (;;) {
        char command;
        get(&command, 1);
        struct state state;
        switch (command) {
        case 'M': {
            const uint64_t address = number(), size = number();
            const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
            const int protection = PROT_READ | PROT_WRITE | PROT_EXEC;
            if (mmap(at(address), size, protection, flags, -1, 0) == MAP_FAILED)
                return 1;
            break;
        }
        case 'W': {
            const uint64_t address = number(), size = number();
            // The site's page is mapped already.
            mprotect(at(address & ~UINT64_C(65535)), 131072, PROT_READ | PROT_WRITE | PROT_EXEC);
            get(at(address), size);
            __builtin___clear_cache(at(address), at(address + size));
            break;
        }
        case 'R': {
            const uint64_t address = number(), size = number();
            put(at(address), size);
            break;
        }
        case 'P':
            get(&state, sizeof state);
            {
                const int same = passes_with_status(&state);
                state.unused = !same;
            }
            put(&state, sizeof state);
            break;
        case 'N': {
            const uint64_t count = number();
            get(&state, sizeof state);
            for (uint64_t i = 0; i < count; ++i)
                own_site_pass(&state);
            put(&state, sizeof state);
            break;
        }
        case 'T': {
            const uint64_t count = number();
            times = number();
            pthread_t thread[64];
            uint64_t ids[64];
            for (uint64_t i = 0; i < count; ++i)
                pthread_create(&thread[i], NULL, passes, &ids[i]);
            for (uint64_t i = 0; i < count; ++i)
                pthread_join(thread[i], NULL);
            put(ids, count * sizeof ids[0]);
            break;
        }
        case 'V': {
            const uint64_t changed = own_wide_pass("a text");
            put(&changed, sizeof changed);
            break;
        }
        case 'S':
            signals(number());
            {
                const uint64_t n = handled;
                put(&n, sizeof n);
            }
            break;
        default: return 1;
        }
    }
}
