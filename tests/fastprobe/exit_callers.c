// SPDX-License-Identifier: BSD-2-Clause
// Preloaded into a program: single-steps it and has two unwinders say who the callers are at each exit site: libunwind, and libgcc's, which C++
// exceptions and thread cancellation use. In the environment: PLACES, a file with a line for each site, its address and its size
// in bytes, both in hexadecimal (the program is linked -no-pie); LD_BIND_NOW=1, to keep the dynamic linker out of the steps.
//
// What must come out is known from the steps: a `call` is an instruction that leaves the address behind itself on top of
// the stack. The calls whose stack slot is still in use are the callers; a return, a longjmp() or an exception has
// ended the others. At a site, and at every instruction of it up to the way out, both have to find all callers, up to
// _start(), each with its stack pointer.
//
// Writes to standard error "caller ADDRESS NAME" for each caller of an exit, with libunwind's name for it, and as the last line
// "RESULT N stops at M of K sites, W wrong". Exit status: the program's.
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#include <inttypes.h>
#include <libunwind.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { trap_flag = 0x100, most = 4096 };
static struct place {
    uint64_t at, size;
    int seen;
} places[most];
static int place_count;
static struct call {
    uint64_t slot, back; // where the return address is, and which
} calls[most];
static int depth;
static long wrong, stops;
static int stepping, ended;
static uint64_t last_pc, last_sp;

static void complain(uint64_t pc, const char* who, const char* what, uint64_t got, uint64_t expected)
{
    if (++wrong <= 20)
        dprintf(STDERR_FILENO, "WRONG %#" PRIx64 ": %s: %s %#" PRIx64 ", expected %#" PRIx64 "\n", pc, who, what, got,
                expected);
}

static int by_address(const void* a, const void* b)
{
    const struct place *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

// The site that ADDRESS is in, or right behind.
static struct place* place_of(uint64_t address)
{
    int low = 0, high = place_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (places[middle].at <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address - places[low - 1].at <= places[low - 1].size ? &places[low - 1] : NULL;
}

// One frame of an unwinder's: the Nth caller. False if there is nothing more to compare.
static int same(uint64_t pc, const char* who, int n, uint64_t ip, uint64_t sp)
{
    const struct call* call = &calls[depth - 1 - n];
    if (ip == call->back && sp == call->slot + 8)
        return n + 1 < depth;
    complain(pc, who, ip != call->back ? "caller" : "caller's sp", ip != call->back ? ip : sp,
             ip != call->back ? call->back : call->slot + 8);
    return 0;
}

static void ask_libunwind(ucontext_t* context, uint64_t pc)
{
    unw_cursor_t cursor;
    unw_word_t ip, sp, offset;
    if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) != 0) {
        complain(pc, "libunwind", "no cursor", 0, 0);
        return;
    }
    for (int n = 0;; ++n) {
        if (unw_step(&cursor) <= 0) {
            complain(pc, "libunwind", "ends before", calls[depth - 1 - n].back, calls[0].back);
            return;
        }
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        if (n == 0) {
            char name[256] = "?";
            unw_get_proc_name(&cursor, name, sizeof name, &offset);
            dprintf(STDERR_FILENO, "caller %" PRIx64 " %s\n", ip - 1, name);
        }
        if (!same(pc, "libunwind", n, ip, sp))
            return;
    }
}

struct search {
    uint64_t pc;
    int n; // the caller that comes next; -1: the interrupted frame has not come yet
    int more;
};

static _Unwind_Reason_Code frame(struct _Unwind_Context* context, void* argument)
{
    struct search* search = argument;
    int interrupted = 0;
    const uint64_t ip = _Unwind_GetIPInfo(context, &interrupted);
    if (search->n >= 0) // what GetCFA says of a frame is its stack pointer
        search->more = search->more && same(search->pc, "libgcc", search->n++, ip, _Unwind_GetCFA(context));
    else if (interrupted && ip == search->pc)
        search->n = 0, search->more = 1;
    return _URC_NO_REASON;
}

static void ask_libgcc(uint64_t pc)
{
    struct search search = {pc, -1, 1};
    _Unwind_Backtrace(frame, &search);
    if (search.more)
        complain(pc, "libgcc", "ends after so many callers:", (uint64_t)search.n, (uint64_t)depth);
}

static void push_call(uint64_t slot)
{
    if (depth == most) {
        dprintf(STDERR_FILENO, "exit_callers: more than %d calls\n", most);
        _exit(2);
    }
    calls[depth++] = (struct call){slot, *(uint64_t*)slot};
}

static void on_trap(int signal, siginfo_t* info, void* data)
{
    (void)signal, (void)info;
    ucontext_t* context = data;
    const uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP],
                   sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    if (ended) {
        context->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
        return;
    }
    context->uc_mcontext.gregs[REG_EFL] |= trap_flag;
    while (depth > 0 && calls[depth - 1].slot < sp)
        --depth;
    // A call has 2 to 7 bytes and goes elsewhere, or to the next instruction, whose address is on the stack then.
    if (stepping && sp == last_sp - 8) {
        const uint64_t top = *(uint64_t*)sp;
        if (top - last_pc >= 2 && top - last_pc <= 7 && (pc - last_pc > 7 || pc == top))
            push_call(sp);
    }
    stepping = 1, last_pc = pc, last_sp = sp;
    struct place* place = place_of(pc);
    if (place == NULL)
        return;
    place->seen |= pc == place->at;
    ++stops;
    if (depth == 0 || calls[depth - 1].slot != sp) {
        complain(pc, "the program", "return address not on top: sp", sp, depth ? calls[depth - 1].slot : 0);
        return;
    }
    ask_libunwind(context, pc);
    ask_libgcc(pc);
}

__attribute__((constructor)) static void begin(void)
{
    const char* name = getenv("PLACES");
    FILE* file = fopen(name ? name : "", "r");
    if (file == NULL) {
        perror("exit_callers: PLACES");
        _exit(2);
    }
    while (place_count < most
           && fscanf(file, "%" SCNx64 " %" SCNx64, &places[place_count].at, &places[place_count].size) == 2)
        ++place_count;
    fclose(file);
    qsort(places, (size_t)place_count, sizeof places[0], by_address);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    __asm__ volatile("int3"); // the handler sets the trap flag, and on it goes by single steps
}

__attribute__((destructor)) static void end(void)
{
    ended = 1;
    int seen = 0;
    for (int i = 0; i < place_count; ++i)
        seen += places[i].seen;
    dprintf(STDERR_FILENO, "RESULT %ld stops at %d of %d sites, %ld wrong\n", stops, seen, place_count, wrong);
}
