/* Instructions that raise signals, in the first bytes of functions; a handler that says where it is called. Reads lines: the name of a
   function to call, or "handle". Answers with what happened. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

__asm__(".text\n"
        ".macro FUNC name\n"
        ".globl \\name\n"
        ".type \\name, @function\n"
        "\\name: .cfi_startproc\n"
        ".endm\n"
        ".macro END name\n"
        ".cfi_endproc\n"
        ".size \\name, . - \\name\n"
        ".p2align 4\n"
        ".endm\n"
        "FUNC divides\n div %ecx\n xor %edx, %edx\n nop\n ret\n END divides\n"
        "FUNC adds\n divsd %xmm1, %xmm0\n nop\n ret\n END adds\n"
        /* andn: not every processor has it. The signal is raised by hand. */
        "FUNC newer\n andn %rcx, %rdx, %rax\n nop\n ret\n END newer\n"
        "FUNC loads\n mov (%rdi), %rax\n nopl 0(%rax)\n ret\n END loads\n"
        "FUNC plain\n lea 1(%rdi), %rax\n nopl 0(%rax)\n ret\n END plain\n");
void divides(void);
void adds(void);
void newer(void);
void loads(void);
void plain(void);

static const struct {
    const char* name;
    void (*function)(void);
} functions[] = {{"divides", divides}, {"adds", adds}, {"newer", newer}, {"loads", loads}, {"plain", plain}};

static sigjmp_buf back;
static volatile unsigned long at;

static void handler(int signal, siginfo_t* info, void* context)
{
    (void)signal, (void)info;
    at = (unsigned long)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
    siglongjmp(back, 1);
}

static void call(void (*function)(void))
{
    unsigned mxcsr = 0x1f80;
    if (function == adds)
        mxcsr &= ~0x200u; /* division by zero is not masked */
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    __asm__ volatile("sub $128, %%rsp\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%edi, %%edi\n\tmov $1, %%eax\n\t"
                     "cvtsi2sd %%eax, %%xmm0\n\txorps %%xmm1, %%xmm1\n\tcall *%0\n\tadd $128, %%rsp"
                     :
                     : "r"(function)
                     : "rax", "rcx", "rdx", "rdi", "xmm0", "xmm1", "cc", "memory");
    mxcsr = 0x1f80;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

int main(void)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        size_t i;
        line[strcspn(line, "\n")] = 0;
        if (strcmp(line, "handle") == 0) {
            const int signals[] = {SIGFPE, SIGILL, SIGSEGV};
            struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
            for (i = 0; i < 3; ++i)
                sigaction(signals[i], &action, NULL);
            puts("handles");
        }
        for (i = 0; i < sizeof functions / sizeof *functions; ++i)
            if (strcmp(line, functions[i].name) == 0) {
                at = 0;
                if (sigsetjmp(back, 1) == 0)
                    call(functions[i].function);
                if (at == 0)
                    printf("%s: no signal\n", line);
                else if (at - (unsigned long)functions[i].function < 16)
                    printf("%s: a signal at %lu\n", line, at - (unsigned long)functions[i].function);
                else
                    printf("%s: a signal elsewhere\n", line);
            }
        fflush(stdout);
    }
    return 0;
}
