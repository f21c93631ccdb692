// SPDX-License-Identifier: BSD-2-Clause
// Runs what functions begin with, without and with a uprobe on it, and says whether the program can tell the difference:
//
//   entry [FILE]    FILE will hold the code
//
// Each instruction runs on each kind of stack, once to the breakpoint behind it and once in a single step. Compared are all
// registers and flags, the stack, the signal and where it points. Then functions that begin with it are called under a uprobe
// and a return probe. What happens without a probe is what has to happen with one. A line per case: `ok CASE: what was
// seen`, or `FAIL CASE: with and without`; where a function is called, with what a hit takes.
#define _GNU_SOURCE
#include "uprobe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The first instruction, what undoes it, and the return.
struct Entry {
    const char* name;
    uint8_t bytes[16];
    unsigned length, total;
    int writes; // to the stack
    int pad;    // a landing pad: called in a guarded page
};
#if defined(__aarch64__)
#define WORD(w) (w) & 0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (w) >> 24
#define RET WORD(0xd65f03c0u)
#define FRAME(n) WORD(0xa9a07bfdu | (0x40u - (n) / 8) % 0x40u << 15), WORD(0xa8c07bfdu | (n) / 8u << 15), RET
static const struct Entry entries[] = {
    {"nop", {WORD(0xd503201fu), RET}, 4, 8, 0, 0},
    {"bti", {WORD(0xd503241fu), RET}, 4, 8, 0, 0},
    {"bti c", {WORD(0xd503245fu), RET}, 4, 8, 0, 1},
    {"bti j", {WORD(0xd503249fu), RET}, 4, 8, 0, 0},
    {"bti jc", {WORD(0xd50324dfu), RET}, 4, 8, 0, 1},
    {"stp -16", {FRAME(16)}, 4, 12, 1, 0},
    {"stp -48", {FRAME(48)}, 4, 12, 1, 0},
    {"stp -496", {FRAME(496)}, 4, 12, 1, 0},
};
#else
static const struct Entry entries[] = {
    {"nop", {0x90, 0xc3}, 1, 2, 0, 0},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa, 0xc3}, 4, 5, 0, 1},
    {"endbr32", {0xf3, 0x0f, 0x1e, 0xfb, 0xc3}, 4, 5, 0, 1},
    {"push %rbp", {0x55, 0x5d, 0xc3}, 1, 3, 1, 0},
#if defined(__x86_64__)
    {"push %r13", {0x41, 0x55, 0x41, 0x5d, 0xc3}, 2, 5, 1, 0},
#endif
};
#endif
enum { Entries = sizeof entries / sizeof *entries, Page = 4096, Slot = 2 * Page, Calls = 1000, Window = 2048 };

enum Stack { Writable, Untouched, Read_only, Unmapped, Guard, Beyond_file, Growing, Misaligned, Stacks };
static const char* const stack_names[] = {"",           "untouched page",  "read-only stack", "unmapped stack",
                                          "guard page", "end of the file", "growing stack",   "misaligned stack"};

struct Outcome {
    int signal, code;
    uintptr_t address;
    struct user_regs_struct regs;
    ssize_t stack_bytes;
    uint8_t stack[Window];
};

static void die(const char* what)
{
    perror(what);
    exit(1);
}

static uintptr_t pc_of(const struct user_regs_struct* regs)
{
#if defined(__x86_64__)
    return regs->rip;
#elif defined(__i386__)
    return regs->eip;
#else
    return regs->pc;
#endif
}

static uintptr_t sp_of(const struct user_regs_struct* regs)
{
#if defined(__x86_64__)
    return regs->rsp;
#elif defined(__i386__)
    return regs->esp;
#else
    return regs->sp;
#endif
}

// Every register has a value of its own.
static void start_at(pid_t child, uintptr_t pc, uintptr_t sp)
{
    struct user_regs_struct regs;
    struct iovec io = {&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, child, (void*)NT_PRSTATUS, &io) < 0)
        die("PTRACE_GETREGSET");
#if defined(__aarch64__)
    for (int i = 0; i < 31; i++)
        regs.regs[i] = 0x0101010101010101ul * (i + 1);
    regs.sp = sp;
    regs.pc = pc;
    regs.pstate = (regs.pstate & 0x0ffffffful) | 0xa0000000ul; // N and C
#elif defined(__x86_64__)
    unsigned long long* const general[] = {&regs.rax, &regs.rbx, &regs.rcx, &regs.rdx, &regs.rsi,
                                           &regs.rdi, &regs.rbp, &regs.r8,  &regs.r9,  &regs.r10,
                                           &regs.r11, &regs.r12, &regs.r13, &regs.r14, &regs.r15};
    for (int i = 0; i < 15; i++)
        *general[i] = 0x0101010101010101ul * (i + 1);
    regs.rsp = sp, regs.rip = pc, regs.orig_rax = -1;
    regs.eflags |= 0x8d5; // OF SF ZF AF PF CF
#else
    long* const general[] = {&regs.eax, &regs.ebx, &regs.ecx, &regs.edx, &regs.esi, &regs.edi, &regs.ebp};
    for (int i = 0; i < 7; i++)
        *general[i] = 0x01010101l * (i + 1);
    regs.esp = sp, regs.eip = pc, regs.orig_eax = -1;
    regs.eflags |= 0x8d5;
#endif
    if (ptrace(PTRACE_SETREGSET, child, (void*)NT_PRSTATUS, &io) < 0)
        die("PTRACE_SETREGSET");
}

// A stack of the kind, made in the child: 16-byte aligned, two writable pages above.
static uintptr_t make_stack(enum Stack kind)
{
    // Room that nobody else is near: the kernel keeps other mappings away from a stack that grows.
    const size_t room = 16 << 20;
    uint8_t* middle = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (middle == MAP_FAILED)
        die("mmap");
    munmap(middle, room);
    middle += room / 2;
    const int below = kind != Unmapped && kind != Growing;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (kind == Growing ? MAP_GROWSDOWN : 0);
    if (mmap(middle, 2 * Page, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
        die("mmap");
    memset(middle, 0x5a, 2 * Page);
    if (!below)
        return (uintptr_t)middle;
    uint8_t* page = middle - Page;
    if (kind == Beyond_file) {
        int fd = memfd_create("stack", 0);
        if (fd < 0 || mmap(page, Page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
            die("memfd");
        return (uintptr_t)middle;
    }
    if (mmap(page, Page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        die("mmap");
    if (kind != Untouched)
        memset(page, 0x5a, Page);
    if (kind == Read_only || kind == Guard)
        mprotect(page, Page, kind == Guard ? PROT_NONE : PROT_READ);
    return (uintptr_t)middle + (kind == Misaligned ? 8 : 0);
}

static struct Outcome run(const uint8_t* code, enum Stack kind, int step)
{
    struct Outcome outcome;
    int status, ends[2];
    uintptr_t sp;
    memset(&outcome, 0, sizeof outcome);
    if (pipe(ends) < 0)
        die("pipe");
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        alarm(60);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        sp = make_stack(kind);
        if (write(ends[1], &sp, sizeof sp) != sizeof sp)
            _exit(4);
        raise(SIGSTOP);
        _exit(3);
    }
    if (read(ends[0], &sp, sizeof sp) != sizeof sp || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        die("the child did not stop");
    close(ends[0]), close(ends[1]);
    start_at(child, (uintptr_t)code, sp);
    if (ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, child, 0, 0) < 0 || waitpid(child, &status, 0) < 0
        || !WIFSTOPPED(status))
        die("the child did not stop again");
    siginfo_t info;
    struct iovec io = {&outcome.regs, sizeof outcome.regs};
    if (ptrace(PTRACE_GETSIGINFO, child, 0, &info) < 0 || ptrace(PTRACE_GETREGSET, child, (void*)NT_PRSTATUS, &io) < 0)
        die("PTRACE_GETREGSET");
#if defined(__aarch64__)
    outcome.regs.pstate &= ~(1ul << 21); // PSTATE.SS, which is the kernel's own: it steps out of line by it
#endif
    outcome.signal = info.si_signo;
    if (!step || info.si_signo != SIGTRAP) { // kernels mark a step differently
        outcome.code = info.si_code;
        outcome.address = (uintptr_t)info.si_addr;
    }
    struct iovec local = {outcome.stack, Window}, remote = {(void*)(sp - Window / 2), Window};
    outcome.stack_bytes = process_vm_readv(child, &local, 1, &remote, 1, 0);
    if (outcome.stack_bytes < Window) { // stacks of all kinds have the bytes above
        remote.iov_base = (void*)sp;
        remote.iov_len = Window / 2;
        outcome.stack_bytes = process_vm_readv(child, &local, 1, &remote, 1, 0);
    }
    // Two children have their stacks in the same place: the mappings of their parent are the same.
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return outcome;
}

// The least of some rounds, in nanoseconds a call. A round is long, because a small kernel's clock has steps of 4 ms.
static double time_calls(void (*function)(void))
{
    double least = 1e18;
    for (int round = 0; round < 5; round++) {
        struct timespec start, end;
        double took, calls = 0;
        clock_gettime(CLOCK_MONOTONIC, &start);
        do {
            for (int n = 0; n < Calls; n++)
                function();
            calls += Calls;
            clock_gettime(CLOCK_MONOTONIC, &end);
            took = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
        } while (took < 100e6);
        least = took / calls < least ? took / calls : least;
    }
    return least;
}

static int probe(int type, const char* path, uint64_t offset, int on_return)
{
    int fd = open_uprobe(type, path, offset, on_return, -1, sched_getcpu());
    if (fd < 0)
        die("perf_event_open");
    return fd;
}

static uint64_t hits(int fd)
{
    uint64_t count = 0;
    if (read(fd, &count, sizeof count) != sizeof count)
        die("reading a counter");
    return count;
}

static void describe(char* text, size_t size, const struct Outcome* o, const uint8_t* code)
{
    snprintf(text, size, "signal %d code %d, pc +%ld, sp %lx, address %lx", o->signal, o->code,
             (long)(pc_of(&o->regs) - (uintptr_t)code), (long)sp_of(&o->regs), (long)o->address);
}

static int compare(const char* name, const char* how, const char* stack, const struct Outcome* without,
                   const struct Outcome* with, uint64_t count, const uint8_t* code)
{
    char a[160], b[160];
    describe(a, sizeof a, without, code);
    describe(b, sizeof b, with, code);
    const char* what = count != 1                                     ? "not one hit"
        : strcmp(a, b) != 0                                           ? "another end"
        : memcmp(&without->regs, &with->regs, sizeof with->regs) != 0 ? "other registers"
        : without->stack_bytes != with->stack_bytes || memcmp(without->stack, with->stack, Window) != 0
        ? "another stack"
        : NULL;
    if (what)
        printf("FAIL %s%s%s%s: %s: without: %s; with: %s\n", name, how, *stack ? ", " : "", stack, what, a, b);
    else
        printf("ok %s%s%s%s: %s\n", name, how, *stack ? ", " : "", stack, a);
    return what != NULL;
}

int main(int argc, char** argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const int type = uprobe_type();
    int failed = 0;
    if (type < 0)
        return printf("SKIP: this kernel has no uprobes\n"), 77;
    cpu_set_t cpu; // the counters are one processor's
    CPU_ZERO(&cpu);
    CPU_SET(sched_getcpu(), &cpu);
    if (sched_setaffinity(0, sizeof cpu, &cpu) < 0)
        die("sched_setaffinity");
    // Each entry has two pages: the instruction before breakpoints, and the function.
    const char* path = argc > 1 ? argv[1] : "/tmp/entry.code";
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
    if (fd < 0)
        die(path);
    for (int i = 0; i < Entries; i++) {
        uint8_t slot[Slot];
#if defined(__aarch64__)
        for (int at = 0; at < Slot; at += 4)
            memcpy(slot + at, &(uint32_t){0xd4200000}, 4); // brk #0
#else
        memset(slot, 0xcc, Slot);
#endif
        memcpy(slot, entries[i].bytes, entries[i].length);
        memcpy(slot + Page, entries[i].bytes, entries[i].total);
        if (write(fd, slot, Slot) != Slot)
            die(path);
    }
    uint8_t* code = mmap(NULL, Entries * Slot, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (code == MAP_FAILED)
        die("mmap");
    for (int i = 0; i < Entries; i++) {
        const struct Entry* entry = &entries[i];
        const uint8_t* at = code + i * Slot;
        struct Outcome without[Stacks][2];
        const int kinds = entry->writes ? Stacks : 1;
        for (int kind = 0; kind < kinds; kind++)
            for (int step = 0; step < 2; step++)
                without[kind][step] = run(at, kind, step);
#if defined(__aarch64__)
        if (entry->writes && without[Misaligned][0].signal == SIGTRAP)
            printf("SKIP %s, misaligned stack: this machine does not check the alignment of sp\n", entry->name);
#endif
        int counter = probe(type, path, i * Slot, 0);
        for (int kind = 0; kind < kinds; kind++)
            for (int step = 0; step < 2; step++) {
                uint64_t before = hits(counter);
                struct Outcome with = run(at, kind, step);
                failed |= compare(entry->name, step ? ", one step" : "", stack_names[kind], &without[kind][step], &with,
                                  hits(counter) - before, at);
            }
        close(counter);

#if defined(__aarch64__)
        if (entry->pad && mprotect((void*)(at + Page), Page, PROT_READ | PROT_EXEC | 0x10) < 0) // PROT_BTI
            printf("SKIP %s, called in a guarded page: %s\n", entry->name, strerror(errno));
#endif
        void (*function)(void) = (void (*)(void))(uintptr_t)(at + Page);
        counter = probe(type, path, i * Slot + Page, 0);
        double ns = time_calls(function);
        close(counter);
        int enter = probe(type, path, i * Slot + Page, 0), leave = probe(type, path, i * Slot + Page, 1);
        for (int n = 0; n < Calls; n++)
            function();
        uint64_t entered = hits(enter), left = hits(leave);
        failed |= entered != Calls || left != Calls;
        printf("%s %s, called: %d times, %d entries and %d returns counted; %.0f ns a hit\n",
               entered == Calls && left == Calls ? "ok" : "FAIL", entry->name, Calls, (int)entered, (int)left, ns);
        close(enter), close(leave);
    }
    unlink(path);
    return failed;
}
