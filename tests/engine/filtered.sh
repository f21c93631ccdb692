#!/bin/bash
# A process that has a seccomp filter already: where that lets pass what stubs call, they call it, as inside Docker's; where it does not, no stub
# does, and it is said.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
[ "$(id -u)" = 0 ] || skip "reading a filter needs root"
cat >filter.c <<'END_OF_C'
/* filter WHAT COMMAND...: a filter for the COMMAND. WHAT: all is allowed; or process_vm_readv() fails, or ends the process; twice: two filters */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char** argv)
{
    unsigned action = !strcmp(argv[1], "fail") ? SECCOMP_RET_ERRNO | 1 : !strcmp(argv[1], "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1), BPF_STMT(BPF_RET | BPF_K, action),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0
        || (!strcmp(argv[1], "twice") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0))
        return 2;
    execv(argv[2], argv + 2);
    return 3;
}
END_OF_C
cat >main.c <<'END_OF_C'
#include <fastsdt.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char* text;
static __attribute__((noinline, noclone)) void* hits(void* unused)
{
    for (int i = 0; i < 10; ++i)
        FASTSDT(app, hit, text);
    return unused;
}
int main(void) /* a letter for each line */
{
    char line[16];
    pthread_t thread;
    text = strdup("text of the heap");
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 'h')
            hits(NULL);
        if (line[0] == 't' && (pthread_create(&thread, NULL, hits, NULL) != 0 || pthread_join(thread, NULL) != 0))
            return 2;
        if (line[0] == 'f') {
            if (fork() == 0)
                _exit(hits(NULL) != NULL);
            wait(NULL);
        }
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 filter.c -o filter
gcc -O2 -I"$INCLUDE" main.c -o main -lpthread
tell() { echo "$1" >&3 && read -r line <&4 && expect "the program" "$line" did; }
run() { # run WHAT LETTERS SUMMARY
    local letter
    rm -f in answers report
    mkfifo in answers report
    ./filter "$1" ./main <in >answers &
    pid=$!
    exec 3>in 4<answers
    read -r line <&4
    [ "$1" = none ] || grep -qE '^Seccomp:\s2$' "/proc/$pid/status" || fail "$1: no filter"
    start_tracer fastsdt-trace --engine user -f -p $pid \
        -e 'usdt:./main:app:hit { @[str(arg0)] = count(); } interval:ms:10 { printf("armed\n"); }'
    for letter in $2; do tell "$letter"; done
    kill -INT $tracer
    status=0
    grep -v '^armed$' <&5 >maps || true
    wait $tracer || status=$?
    expect "$1: $2" "$status $(xargs <maps)" "$3"
    exec 3>&- 4<&- 5<&-
    wait $pid || fail "$1: the program ended with $?"
}
run allow "h t h" "0 @[text of the heap]: 30 sites 1 of 1 armed; dropped 0"
run twice "t" "0 @[text of the heap]: 10 sites 1 of 1 armed; dropped 0"
run allow "h f" "0 @[text of the heap]: 20 sites 1 of 1 armed; dropped 0; followed 1"
for what in fail kill; do
    run $what "h t" "1 sites 1 of 1 armed; dropped 0; unread 20"
    matches 'the process has a seccomp filter' <err || fail "$what: $(cat err)"
done
