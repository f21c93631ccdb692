// A program that switches its threads by itself at a signal, as preemptive schedulers in user space do. A thread that is switched away stands
// anywhere in its code, and no thread of the kernel's has that on its stack. Steps to a place and switches there, for each line that it reads:
//     s   in the middle of work()'s first instructions; the handler switches stacks
//     c   the same; the handler copies what it has interrupted, and has the thread go on elsewhere
//     S   outside of the program's text, behind work()'s entry: in what has been put there; the handler switches stacks
//     h   as s, but the handler stays and answers lines until r; it returns by an instruction that the C library does not use
//     m   has the stacks in shared memory from now on
//     n   handles no signal any more
//     b   uses more than a GiB of memory, at lower addresses than all else
//     w   calls work()
//     r   goes on with what was switched away
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

extern char __executable_start[], etext[];
long work(long a, long b);
extern char work_end[];
__asm__(".globl work, work_end\n"
        ".type work, @function\n"
        "work:\n"
        ".cfi_startproc\n"
        "lea (%rdi,%rdi,2), %rax\n" // four bytes: a jump takes this one and the next
        "add %rsi, %rax\n"
        "xor %rsi, %rax\n"
        "add $7, %rax\n"
        "ret\n"
        "work_end:\n"
        ".cfi_endproc\n"
        ".size work, . - work\n");

void return_from_signal(void);
__asm__("return_from_signal:\n"
        "mov $15, %eax\n"
        "syscall\n");

enum { trap_flag = 0x100 };
static ucontext_t scheduler, thread, other;
enum { stack_size = 1 << 16, other_size = 1 << 14 };
static char own_stacks[stack_size + other_size], *stack = own_stacks, *other_stack = own_stacks + stack_size;
static greg_t kept[NGREG];
static volatile char how;
static volatile long result;
static int entered;

static void answer(const char* text, long number)
{
    printf("%s %ld\n", text, number);
    fflush(stdout);
}

static char next_line(void)
{
    char line[2]; // and its end
    return read(0, line, 2) == 2 ? line[0] : 0;
}

static void go_to_scheduler(void)
{
    setcontext(&scheduler);
}

static void stepped(int signal, siginfo_t* info, void* context)
{
    (void)signal, (void)info;
    greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    const greg_t at = registers[REG_RIP], first = (greg_t)work;
    const int inside = at > first && at < first + 5;
    const int outside = at < (greg_t)__executable_start || at >= (greg_t)etext;
    entered = entered || at == first;
    if (how == 'S' ? !(entered && outside) : !inside)
        return;
    registers[REG_EFL] &= ~trap_flag;
    entered = 0;
    if (how == 'h') {
        answer("stands", 0);
        for (char line; (line = next_line()) != 'r' && line;)
            answer("works", work(5, 9));
    } else if (how == 'c') {
        memcpy(kept, registers, sizeof kept);
        registers[REG_RIP] = (greg_t)go_to_scheduler;
        registers[REG_RSP] = (greg_t)(other_stack + other_size - 8);
    } else {
        swapcontext(&thread, &scheduler);
    }
}

static void go_on_with_kept(int signal, siginfo_t* info, void* context)
{
    (void)signal, (void)info;
    memcpy(((ucontext_t*)context)->uc_mcontext.gregs, kept, sizeof kept);
    memset(kept, 0, sizeof kept);
}

static void body(void)
{
    __asm__ volatile("pushf; orl %0, (%%rsp); popf" ::"i"(trap_flag) : "memory");
    result = work(5, 9);
    __asm__ volatile("pushf; andl %0, (%%rsp); popf" ::"i"(~trap_flag) : "memory");
}

static void go_on(void)
{
    raise(SIGUSR1);
}

static void begin(ucontext_t* context, char* on, size_t size, void (*function)(void))
{
    getcontext(context);
    context->uc_stack.ss_sp = on;
    context->uc_stack.ss_size = size;
    context->uc_link = &scheduler;
    makecontext(context, function, 0);
    swapcontext(&scheduler, context);
}

int main(void)
{
    struct {
        void (*handler)(int, siginfo_t*, void*);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } own = {stepped, SA_SIGINFO | SA_NODEFER | 0x04000000, return_from_signal, 0};
    struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction goes_on = {.sa_sigaction = go_on_with_kept, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &goes_on, NULL);
    for (char line; (line = next_line());) {
        if (line == 'w') {
            answer("works", work(5, 9));
        } else if (line == 'm') {
            stack = mmap(NULL, stack_size + other_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            if (stack == MAP_FAILED)
                return 1;
            memset(stack, 0, stack_size + other_size);
            other_stack = stack + stack_size;
            answer("is shared", 0);
        } else if (line == 'n') {
            const struct sigaction none = {.sa_handler = SIG_DFL};
            sigaction(SIGTRAP, &none, NULL);
            sigaction(SIGUSR1, &none, NULL);
            answer("handles", 0);
        } else if (line == 'b') {
            const size_t size = (size_t)1100 << 20;
            char* const block =
                mmap((void*)0x20000000, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (block == MAP_FAILED || block > __executable_start)
                return 1;
            for (size_t at = 0; at < size; at += 4096)
                block[at] = 1;
            answer("has more", 0);
        } else if (line == 'r') {
            if (how == 'c')
                begin(&other, other_stack, other_size, go_on);
            else
                swapcontext(&scheduler, &thread);
            memset(stack, 0, stack_size); // what is over looks no more as if it were not
            memset(other_stack, 0, other_size);
            answer("went on", result);
        } else {
            how = line;
            sigaction(SIGTRAP, &action, NULL);
            if (how == 'h')
                syscall(SYS_rt_sigaction, SIGTRAP, &own, NULL, 8);
            begin(&thread, stack, stack_size, body);
            answer(how == 'h' ? "went on" : "stands", how == 'h' ? result : 0);
            if (how == 'h')
                memset(stack, 0, stack_size);
        }
    }
    return 0;
}
