/* SPDX-License-Identifier: BSD-2-Clause */
/* box COMMAND...: executes it under a filter that refuses what https://docs.docker.com/engine/security/seccomp/ lists as blocked, with EPERM.
 * clone() is refused only with flags that make namespaces. MORE: more of them. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef MORE
#define MORE
#endif
#define REFUSE(number)                                                                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1)
int main(int argc, char** argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc000003e, 1, 0), /* AUDIT_ARCH_X86_64 */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        /* clang-format off */
        REFUSE(SYS_acct), REFUSE(SYS_add_key), REFUSE(SYS_bpf), REFUSE(SYS_clock_adjtime), REFUSE(SYS_clock_settime),
        REFUSE(SYS_create_module), REFUSE(SYS_delete_module), REFUSE(SYS_finit_module), REFUSE(SYS_get_kernel_syms),
        REFUSE(SYS_get_mempolicy), REFUSE(SYS_init_module), REFUSE(SYS_ioperm), REFUSE(SYS_iopl), REFUSE(SYS_kcmp),
        REFUSE(SYS_kexec_file_load), REFUSE(SYS_kexec_load), REFUSE(SYS_keyctl), REFUSE(SYS_lookup_dcookie), REFUSE(SYS_mbind),
        REFUSE(SYS_mount), REFUSE(SYS_move_pages), REFUSE(SYS_nfsservctl), REFUSE(SYS_open_by_handle_at), REFUSE(SYS_perf_event_open),
        REFUSE(SYS_pivot_root), REFUSE(SYS_process_vm_readv), REFUSE(SYS_process_vm_writev), REFUSE(SYS_query_module),
        REFUSE(SYS_quotactl), REFUSE(SYS_reboot), REFUSE(SYS_request_key), REFUSE(SYS_set_mempolicy), REFUSE(SYS_setns),
        REFUSE(SYS_settimeofday), REFUSE(SYS_swapon), REFUSE(SYS_swapoff), REFUSE(SYS_sysfs), REFUSE(SYS__sysctl), REFUSE(SYS_umount2),
        REFUSE(SYS_unshare), MORE REFUSE(SYS_uselib), REFUSE(SYS_userfaultfd), REFUSE(SYS_ustat),
        /* clang-format on */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                 CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L)
        || prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program))
        return 1;
    execvp(argv[1], argv + 1);
    return 127;
}
