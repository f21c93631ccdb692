// Sets the rights of its code, or a filter, for each line that it reads.
//     w   calls work()
//     r   makes the page with work() read-only code again
//     f   sets a filter that kills for mprotect()
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

long work(long a, long b);
__asm__(".balign 4096\n"
        ".globl work\n"
        ".type work, @function\n"
        "work:\n"
        ".cfi_startproc\n"
        "lea (%rdi,%rdi,2), %rax\n"
        "add %rsi, %rax\n"
        "xor %rsi, %rax\n"
        "add $7, %rax\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size work, . - work\n"
        ".balign 4096\n");

int main(void)
{
    char line[2]; // and its end
    struct sock_filter no_mprotect[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {4, no_mprotect};
    while (read(0, line, 2) == 2) {
        long result = 0;
        if (line[0] == 'w')
            result = work(5, 9);
        else if (line[0] == 'r')
            result = mprotect((void*)((uintptr_t)work & ~(uintptr_t)4095), 4096, PROT_READ | PROT_EXEC);
        else
            result = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
        printf("%c %ld\n", line[0], result);
        fflush(stdout);
    }
    return 0;
}
