// SPDX-License-Identifier: BSD-2-Clause
// Asks the running kernel what it does with a uprobe at each of many instruction patterns, and writes what it saw.
//
//   oracle ARCH [FILE] <patterns >lines    ARCH picks the pattern lines that this build can execute; FILE will hold them
//
// One pattern per line: `ARCH HEX [PAGE_OFFSET]`, HEX being bytes in memory; where instructions are
// words (arm64, arm, riscv, powerpc, loongarch) the word, which is then written in the byte order of memory. The answer repeats the name and adds the verdict:
//   `0f1f00=emulate`, `662e0f1f840000000000@4087=reject`. An errno other than ENOTSUPP is named: `reject:8`.
//   `accepted`: one of the few that are attached but not run. `emulate:loops`: the process then hangs.
//
// Every pattern gets two pages of a file of its own, filled with breakpoint instructions. The file is mapped
// executable before the probes are attached, because a uprobe on a file that nobody has mapped is accepted whatever
// the instruction is. A child per pattern, stopped by ptrace, starts at the pattern with every register pointing into
// writable memory and runs until the first signal: the breakpoint behind the pattern, or whatever the pattern itself
// causes. So no pattern has to be well-behaved. Then its memory map tells what the kernel did:
//   [uprobes-trampoline] is there: optimized; [uprobes] is there: single-stepped out of line; neither: emulated.
// A last line `#done=N` says that all N patterns were asked about.
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
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__riscv) || defined(__s390x__) || defined(__powerpc64__) || defined(__loongarch__)
#include <asm/ptrace.h>
#endif

#define ENOTSUPP 524 // the kernel's own, include/linux/errno.h
enum { Page = 4096, Slot = 2 * Page, Default_offset = 256, Scratch = 1 << 20, Max_patterns = 8192 };

struct Pattern {
    char name[64];
    uint8_t bytes[16];
    unsigned length, offset;
    int fd;  // perf event, or -1
    int err; // errno of the attach
};
static struct Pattern patterns[Max_patterns];
static unsigned count;

static void die(const char* what)
{
    perror(what);
    exit(1);
}

static void read_patterns(const char* arch)
{
    char line[256], name[32], hex[64];
    while (fgets(line, sizeof line, stdin)) {
        unsigned offset = Default_offset;
        int fields = sscanf(line, "%31s %63s %u", name, hex, &offset);
        if (fields < 2 || line[0] == '#' || strcmp(name, arch) != 0)
            continue;
        if (count == Max_patterns || strlen(hex) > 32 || offset >= Page) {
            fprintf(stderr, "oracle: bad pattern: %s", line);
            exit(2);
        }
        struct Pattern* p = &patterns[count++];
        p->offset = offset;
        p->length = strlen(hex) / 2;
        for (unsigned i = 0; i < p->length; i++) {
            unsigned byte;
            sscanf(hex + 2 * i, "%2x", &byte);
#if defined(__aarch64__) || defined(__arm__) || defined(__riscv) || defined(__powerpc64__) || defined(__loongarch__)
            p->bytes[p->length - 1 - i] = byte; // an instruction word
#else
            p->bytes[i] = byte;
#endif
        }
        if (fields == 3)
            snprintf(p->name, sizeof p->name, "%s@%u", hex, offset);
        else
            snprintf(p->name, sizeof p->name, "%s", hex);
    }
}

static void fill_with_breakpoints(uint8_t* page)
{
#if defined(__aarch64__)
    const uint32_t breakpoint = 0xd4200000; // brk #0
#elif defined(__arm__)
    const uint32_t breakpoint = 0xe7f001f0; // arch/arm/kernel/ptrace.c, arm_break_hook
#elif defined(__powerpc64__)
    const uint32_t breakpoint = 0x7fe00008; // trap
#elif defined(__loongarch__)
    const uint32_t breakpoint = 0x002a0000; // break 0
#elif defined(__riscv)
    const uint16_t breakpoint = 0x9002; // c.ebreak
#elif defined(__s390x__)
    const uint16_t breakpoint = 0x0001; // S390_BREAKPOINT_U16
#else
    const uint8_t breakpoint = 0xcc;
#endif
    for (unsigned i = 0; i < Page; i += sizeof breakpoint)
        memcpy(page + i, &breakpoint, sizeof breakpoint);
}

static int make_file(const char* path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
    uint8_t slot[Slot];
    if (fd < 0)
        die(path);
    for (unsigned i = 0; i < count; i++) {
        fill_with_breakpoints(slot);
        fill_with_breakpoints(slot + Page);
        memcpy(slot + patterns[i].offset, patterns[i].bytes, patterns[i].length);
        if (write(fd, slot, Slot) != Slot)
            die(path);
    }
    return fd;
}

#if defined(__s390x__)
typedef s390_regs Registers;
#elif defined(__powerpc64__)
typedef struct pt_regs Registers;
#elif defined(__arm__)
typedef struct user_regs Registers;
#elif defined(__loongarch__)
typedef struct user_pt_regs Registers;
#else
typedef struct user_regs_struct Registers;
#endif

static void start_at(pid_t child, uintptr_t pc, uintptr_t pointer)
{
    Registers regs;
    struct iovec io = {&regs, sizeof regs};
    if (ptrace(PTRACE_GETREGSET, child, (void*)NT_PRSTATUS, &io) < 0)
        die("PTRACE_GETREGSET");
#if defined(__x86_64__)
    regs.rax = regs.rbx = regs.rdx = regs.rsi = regs.rdi = regs.rbp = regs.rsp = pointer;
    regs.r8 = regs.r9 = regs.r10 = regs.r11 = regs.r12 = regs.r13 = regs.r14 = regs.r15 = pointer;
    regs.rcx = 1; // so that a repeated string instruction ends
    regs.orig_rax = -1;
    regs.rip = pc;
#elif defined(__i386__)
    regs.eax = regs.ebx = regs.edx = regs.esi = regs.edi = regs.ebp = regs.esp = pointer;
    regs.ecx = 1;
    regs.orig_eax = -1;
    regs.eip = pc;
#elif defined(__aarch64__)
    for (int i = 0; i < 31; i++)
        regs.regs[i] = pointer;
    regs.sp = pointer;
    regs.pc = pc;
#elif defined(__riscv)
    unsigned long* const words = (unsigned long*)&regs; // pc, then x1 to x31
    for (int i = 1; i < 32; i++)
        words[i] = pointer;
    words[0] = pc;
#elif defined(__loongarch__)
    for (int i = 1; i < 32; i++)
        regs.regs[i] = pointer;
    regs.csr_era = pc;
#elif defined(__s390x__)
    for (int i = 0; i < 16; i++)
        regs.gprs[i] = pointer;
    regs.gprs[0] = 1; // a length or a function code: QEMU 7.2 ends on an assertion at mvcrl with others
    regs.psw.addr = pc;
#elif defined(__powerpc64__)
    for (int i = 0; i < 32; i++)
        regs.gpr[i] = pointer;
    regs.ctr = regs.link = pointer;
    regs.nip = pc;
#elif defined(__arm__)
    for (int i = 0; i < 15; i++)
        regs.uregs[i] = pointer;
    regs.uregs[15] = pc;
    regs.uregs[16] = 0x10; // user mode, ARM and not Thumb, no flag set
#endif
    if (ptrace(PTRACE_SETREGSET, child, (void*)NT_PRSTATUS, &io) < 0)
        die("PTRACE_SETREGSET");
}

static const char* mode_of(pid_t child)
{
    char path[64], line[512];
    const char* mode = "emulate";
    snprintf(path, sizeof path, "/proc/%d/maps", child);
    FILE* maps = fopen(path, "r");
    if (!maps)
        die(path);
    while (fgets(line, sizeof line, maps)) {
        if (strstr(line, "[uprobes-trampoline]"))
            mode = "optimize";
        else if (strstr(line, "[uprobes]") && strcmp(mode, "emulate") == 0)
            mode = "xol";
    }
    fclose(maps);
    return mode;
}

static const char* run(const struct Pattern* p, uint8_t* code, uint8_t* scratch)
{
    int status;
#if defined(__x86_64__) || defined(__i386__)
    // QEMU 7.2 reads the stack of a far return as the kernel would, and the guest's kernel dies of that.
    if (p->bytes[0] == 0xca || p->bytes[0] == 0xcb)
        return "accepted";
#elif defined(__s390x__)
    // csst: QEMU 7.2 ends on an assertion.
    if (p->bytes[0] == 0xc8 && (p->bytes[1] & 0xf) == 2)
        return "accepted";
#endif
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        // A pattern that loops or sleeps is reported, not waited for: 2 s of CPU time, 20 s of real time.
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = 2}, NULL);
        alarm(20);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit(3);
    }
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        die("child did not stop");
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL); // a pattern may be exit()
    start_at(child, (uintptr_t)code + (p - patterns) * (uintptr_t)Slot + p->offset, (uintptr_t)scratch + Scratch / 2);
    if (ptrace(PTRACE_CONT, child, 0, 0) < 0 || waitpid(child, &status, 0) < 0)
        die("PTRACE_CONT");
    static char mode[32];
    strcpy(mode, "ended"); // without a signal that ptrace could see: never expected
    if (WIFSTOPPED(status)) {
        uint64_t hits = 0;
        strcpy(mode, mode_of(child));
        if (read(p->fd, &hits, sizeof hits) != sizeof hits || hits == 0)
            strcpy(mode, "not-hit");
        else if (WSTOPSIG(status) == SIGALRM || WSTOPSIG(status) == SIGPROF)
            strcat(mode, ":loops");
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
            ptrace(PTRACE_CONT, child, 0, 0); // PTRACE_EVENT_EXIT
    }
    return mode;
}

int main(int argc, char** argv)
{
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: oracle ARCH [FILE] <PATTERNS\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); // if the guest dies, the last line tells of what
    const int type = uprobe_type();
    if (type < 0)
        die("/sys/bus/event_source/devices/uprobe/type");
    read_patterns(argv[1]);
    struct rlimit limit = {Max_patterns + 64, Max_patterns + 64};
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(0, &cpu);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || sched_setaffinity(0, sizeof cpu, &cpu) < 0)
        die("setting up");

    const char* path = argc == 3 ? argv[2] : "/tmp/oracle.code";
    int fd = make_file(path);
    uint8_t* code = mmap(NULL, (size_t)count * Slot, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    uint8_t* scratch = mmap(NULL, Scratch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#if defined(__powerpc64__)
    // The sum of two registers is an address too.
    scratch = mmap((void*)0x200000000, Scratch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (mmap(scratch + (uintptr_t)scratch, 2 * Scratch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0)
        == MAP_FAILED)
        die("mmap");
#endif
    if (code == MAP_FAILED || scratch == MAP_FAILED)
        die("mmap");
#if defined(__x86_64__)
    errno = 0;
    syscall(336); // uprobe: tells apart what the version does not, see the kernel model
    printf("#syscall336=%s\n",
           errno == ENOSYS       ? "ENOSYS"
               : errno == ENXIO  ? "ENXIO"
               : errno == EPROTO ? "EPROTO"
                                 : "other");
#endif
    for (unsigned i = 0; i < count; i++) {
        struct Pattern* p = &patterns[i];
        // Every process on CPU 0; this process and its children stay there.
        p->fd = open_uprobe(type, path, (uint64_t)i * Slot + p->offset, 0, -1, 0);
        p->err = p->fd < 0 ? errno : 0;
    }
    for (unsigned i = 0; i < count; i++) {
        struct Pattern* p = &patterns[i];
        if (p->err == ENOTSUPP)
            printf("%s=reject\n", p->name);
        else if (p->err)
            printf("%s=reject:%d\n", p->name, p->err);
        else
            printf("%s=%s\n", p->name, run(p, code, scratch));
    }
    printf("#done=%u\n", count);
    fflush(stdout);
    unlink(path);
    return 0;
}
