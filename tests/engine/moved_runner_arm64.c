// SPDX-License-Identifier: BSD-2-Clause
// Executes single instructions of arm64, with chosen registers and memory; on another machine under qemu-user. moved_arm64.cpp is the
// other end. Requests come on standard input, results go to standard output, both in binary.
//
// Each instruction is executed by returning to it from a signal handler, and ends by a brk or by its own fault: another signal.
#define _GNU_SOURCE
#include "runner_io.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

struct registers {
    uint64_t x[31], sp, flags, pc;
    unsigned char v[32][16];
};
struct request {
    uint64_t seed;           // of the memory
    uint64_t below_sp;       // bytes below sp that do not count
    uint64_t sizes[2];       // bytes of the words
    uint32_t words[2][64];   // for the two pages of code
    struct registers before; // pc: where to begin
};
struct result {
    uint64_t signal, fault, memory; // memory: a sum of what it has
    struct registers after;
};

static unsigned char* const code = (unsigned char*)0x4000000;
static unsigned char* const memory = (unsigned char*)0x4080000;
enum { page = 65536, memory_size = 16384 };

static struct request now;
static struct result done;
static volatile int began;
static mcontext_t own;

static struct fpsimd_context* vectors(mcontext_t* context)
{
    struct _aarch64_ctx* at = (struct _aarch64_ctx*)context->__reserved;
    while (at->magic != FPSIMD_MAGIC) {
        if (at->magic == 0)
            _exit(3);
        at = (struct _aarch64_ctx*)((char*)at + at->size);
    }
    return (struct fpsimd_context*)at;
}

static void on_signal(int signal, siginfo_t* info, void* context)
{
    mcontext_t* const registers = &((ucontext_t*)context)->uc_mcontext;
    const uint64_t of_flags = UINT64_C(0xf0000000);
    if (!began) {
        began = 1;
        own = *registers;
        memcpy(registers->regs, now.before.x, sizeof now.before.x);
        registers->sp = now.before.sp;
        registers->pc = now.before.pc;
        registers->pstate = (registers->pstate & ~of_flags) | now.before.flags;
        memcpy(vectors(registers)->vregs, now.before.v, sizeof now.before.v);
        return;
    }
    done.signal = (uint64_t)signal;
    done.fault = signal == SIGSEGV || signal == SIGBUS ? (uint64_t)info->si_addr : 0;
    memcpy(done.after.x, registers->regs, sizeof done.after.x);
    done.after.sp = registers->sp;
    done.after.pc = registers->pc;
    done.after.flags = registers->pstate & of_flags;
    memcpy(done.after.v, vectors(registers)->vregs, sizeof done.after.v);
    *registers = own;
    registers->pc += 4; // behind the brk
}

int main(void)
{
    static unsigned char stack[65536];
    const stack_t own_stack = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&own_stack, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i)
        sigaction(signals[i], &action, NULL);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(code, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0) == MAP_FAILED
        || mmap(memory, page, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
        return 1;
    for (;;) {
        get(&now, sizeof now);
        for (int i = 0; i < 2; ++i) {
            memcpy(code + i * page, now.words[i], now.sizes[i]);
            __builtin___clear_cache((char*)code + i * page, (char*)code + i * page + now.sizes[i]);
        }
        uint64_t value = now.seed;
        for (size_t i = 0; i < memory_size; i += 8) {
            value = value * UINT64_C(6364136223846793005) + 1;
            memcpy(memory + i, &value, 8);
        }
        memset(&done, 0, sizeof done);
        began = 0;
        __asm__ volatile("brk #0" : : : "memory");
        memset((unsigned char*)now.before.sp - now.below_sp, 0, now.below_sp);
        for (size_t i = 0; i < memory_size; i += 8) {
            uint64_t word;
            memcpy(&word, memory + i, 8);
            done.memory = (done.memory ^ word) * UINT64_C(0x100000001b3);
        }
        put(&done, sizeof done);
    }
}
