#!/bin/bash
# Processes that are hard, under --engine kernel: what they print is what they print alone, each hit counts, and nothing of ours stays.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_uprobes
user_folder

cat >hard.c <<'END'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static long hits; /* of all threads; of children nobody counts here */
__attribute__((noinline)) long work(long n)
{
    FASTSDT(hard, hit, n);
    __atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
    return n + 1;
}
static void* some(void* n)
{
    for (long i = 0; i < (long)n; ++i)
        work(i);
    return NULL;
}
static void threads(long count, long at_once, long each)
{
    pthread_t all[1000];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (long done = 0; done < count; done += at_once) {
        for (long i = 0; i < at_once; ++i)
            if (pthread_create(&all[i], &small, some, (void*)each))
                abort();
        for (long i = 0; i < at_once; ++i)
            pthread_join(all[i], NULL);
    }
}
static void handler(int signal)
{
    work(signal);
}
static void signals(void)
{
    /* As small as a stack of a handler may be. */
    static stack_t stack;
    stack = (stack_t){.ss_size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048};
    struct sigaction action;
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    stack.ss_sp = malloc(stack.ss_size);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL))
        abort();
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < 20000; ++i)
        work(i);
    setitimer(ITIMER_REAL, &never, NULL);
}
static void forks(void)
{
    for (int i = 0; i < 200; ++i) {
        pid_t child = i % 2 ? fork() : vfork();
        if (child == 0) {
            work(i); /* in the parent's memory, after vfork() */
            _exit(0);
        }
        waitpid(child, NULL, 0);
        if (i % 2)
            ++hits;
    }
}
static void filtered(int strict)
{
    /* Nothing but write(), exit() and exit_group(): all else kills. */
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
        {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, SYS_write},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_exit},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_exit_group},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {6, code};
    char text[32];
    work(0);
    if (strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
               : (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
        abort();
    for (long i = 0; i < 1000; ++i)
        work(i);
    if (write(1, text, (size_t)snprintf(text, sizeof text, "%ld\n", hits)) < 0) {}
    syscall(SYS_exit, 0); /* strict mode has no exit_group() */
}
int main(int argc, char** argv)
{
    const char* const how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "threads") == 0)
        threads(1000, 1000, 20);
    else if (strcmp(how, "come and go") == 0)
        threads(2000, 4, 5);
    else if (strcmp(how, "signals") == 0)
        signals();
    else if (strcmp(how, "forks") == 0)
        forks();
    else if (strcmp(how, "strict") == 0 || strcmp(how, "filter") == 0)
        filtered(how[0] == 's');
    else if (strcmp(how, "locked") == 0) {
        struct rlimit all = {64 << 20, 64 << 20};
        if (setrlimit(RLIMIT_AS, &all))
            abort();
        if (mlockall(MCL_CURRENT | MCL_FUTURE)) {} /* as far as it may */
        some((void*)1000);
    } else if (strcmp(how, "poll") == 0) {
        struct pollfd none = {-1, 0, 0};
        for (int i = 0; i < 100; ++i)
            if (work(i) < 0 || poll(&none, 1, 1) != 0)
                abort();
    } else /* it is told when to work */
        for (char line[16]; fgets(line, sizeof line, stdin);) {
            some((void*)100);
            puts("did");
            fflush(stdout);
        }
    printf("%ld\n", hits);
    return 0;
}
END
gcc -O2 -pthread -I"$INCLUDE" hard.c -o hard
gcc -O2 -pthread -static -I"$INCLUDE" hard.c -o hard_static
programs=(./hard ./hard_static)
for sanitizer in address thread; do
    gcc -O1 -pthread -fsanitize=$sanitizer -I"$INCLUDE" hard.c -o "hard_$sanitizer" 2>/dev/null || continue
    ! "./hard_$sanitizer" poll >/dev/null 2>&1 || programs+=("./hard_$sanitizer")
done
for program in "${programs[@]}"; do
    for how in threads "come and go" signals forks strict filter locked poll; do
        case "$program $how" in
        *address\ locked | *thread\ locked | *address\ strict | *thread\ strict) continue ;; # they cannot do that alone
        *address\ filter | *thread\ filter) continue ;;
        *address\ threads | *thread\ threads | *thread\ forks) continue ;; # and that takes long
        esac
        status=0
        timeout 120 fastsdt-trace --engine kernel -e "usdt:$program:hard:hit { @probe = count(); } uprobe:$program:work { @in = count(); }
            uretprobe:$program:work { @out = count(); }" \
            -- "$program" "$how" >out 2>err </dev/null || status=$?
        hits=$(grep -x '[0-9]*' out || true)
        case $how in
        threads) expect "$program $how" "$hits" 20000 ;;
        "come and go") expect "$program $how" "$hits" 10000 ;;
        forks) expect "$program $how" "$hits" 200 ;;
        esac
        # A child that lives while somebody looks is a process with the same sites.
        armed=$(sed -nE 's/^sites ([0-9]+) of \1 armed \(\1 by the kernel\); dropped 0(; processes .*)?$/all armed/p' out)
        expect "$program $how ($(cat err))" "$status $(grep '^@' out | xargs -d '\n') $armed" \
            "0 @in: $hits @out: $hits @probe: $hits all armed"
    done
done

# Stopped; and traced by another. Then a tracer that is killed: the process goes on, with its own code, and so it is for the next one.
driven ./hard
own=$(text | md5sum)
kernel() { # OPTIONS...: leaves tracer
    start_tracer fastsdt-trace --engine kernel -p "$pid" -e "interval:ms:10 { printf(\"armed\\n\"); } usdt:./hard:hard:hit { @ = count(); }
        uprobe:./hard:work { @in = count(); }"
}
kill -STOP "$pid"
kernel
kill -CONT "$pid"
did
kill -INT $tracer
report
expect "stopped: $(cat err)" "$status $(grep '^@' maps | xargs -d '\n')" "0 @: 100 @in: 100"
expect "its code after that" "$(text | md5sum)" "$own"
if have strace; then
    strace -qq -o strace.out -p "$pid" 3>&- 4<&- &
    other=$!
    until [ "$(sed -n 's/^TracerPid:\t//p' "/proc/$pid/status")" = $other ]; do kill -0 $other || fail "strace: $(cat strace.out)"; done
    kernel
    did
    kill -INT $tracer
    report
    expect "traced by another: $(cat err)" "$status $(grep '^@' maps | xargs -d '\n')" "0 @: 100 @in: 100"
    kill -INT $other
    wait $other || true
fi
for _ in 1 2 3 4 5; do
    kernel
    did
    kill -KILL $tracer
    wait $tracer 2>/dev/null || true
    cat <&5 >/dev/null
    did
    # The kernel takes its probes back when the last descriptor goes, some of it later.
    until [ "$(text | md5sum)" = "$own" ]; do [ -d "/proc/$pid" ] || fail "killed: the process ended"; done
    did
done
kernel
did
kill -INT $tracer
report
expect "after the killed ones: $(cat err)" "$status $(grep '^@' maps | xargs -d '\n')" "0 @: 100 @in: 100"
exec 3>&-
expect "what it counted itself" "$(tail -n 1 <&4)" $((100 * (2 + 3 * 5) + $(have strace && echo 100 || echo 0)))
wait "$pid"
