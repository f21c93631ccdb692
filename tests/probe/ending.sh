#!/bin/bash
# A SIGINT comes when the process has just ended, while fastsdt-probe detaches: the report is there all the same.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc
need_uprobes
cat >prog.c <<'END'
#include <fastsdt.h>
int main(void)
{
    FASTSDT(p, hit, 1);
    return 0;
}
END
# The signal is sent at the latest possible moment: just before signals are unblocked.
cat >late.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
static pid_t tool; /* fastsdt-probe, not the process that it starts */
__attribute__((constructor)) static void begin(void) { tool = getpid(); }
int sigprocmask(int how, const sigset_t *set, sigset_t *former)
{
    int (*real)(int, const sigset_t *, sigset_t *) = (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT, "sigprocmask");
    if (how == SIG_SETMASK && getpid() == tool)
        raise(SIGINT);
    return real(how, set, former);
}
END
gcc -O2 -I"$INCLUDE" prog.c -o prog
gcc -shared -fPIC late.c -o late.so -ldl
status=0
LD_PRELOAD=$PWD/late.so fastsdt-probe --json prog -- env -u LD_PRELOAD ./prog >report || status=$?
[ $status = 130 ] || fail "status $status: the signal did not come"
matches '"hits": 1' <report || fail "no hit in the report: $(cat report)"
