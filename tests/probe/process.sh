#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who is counted, and that nobody is disturbed: threads and processes that come and go, exec, zombies, daemons, signals,
# other tracers. The programs themselves count what is expected.
. "$FASTSDT_SOURCE/tests/common.sh"
need fastsdt-probe cc python3
need_uprobes
get() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
hits() { get "$1" 'd["targets"][0]["hits"]'; }
pids=""
trap 'kill -KILL $pids 2>/dev/null || true' EXIT
rm -f ready go said && mkfifo ready go said
exec 7<>go 8<>ready 9<>said # both ways, so that opening them does not wait
# started COMMAND...: runs it and waits until it says "ready"; its number is in $pid.
started() { "$@" <&7 >ready & pid=$!; pids="$pids $pid"; read -r line <&8; expect "$1 says" "$line" ready; }
# attach OPTIONS...: starts a fastsdt-probe of $pid and waits until it says "attached"; its number is in $prober.
attach() { fastsdt-probe --json --output report.json --pid "$pid" "$@" 2>said >out & prober=$!; pids="$pids $prober"
    read -r line <&9; case $line in *attached*) ;; *) fail "the prober says: $line" ;; esac; }
detach() { kill -INT "$prober"; wait "$prober"; }

cat >program.c <<'END'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void work(int n) { FASTSDT(app, work, n); }
static void repeat(int n) { for (int i = 0; i < n; i++) work(i); }
static void ready(void) { puts("ready"); fflush(stdout); }
static void until_told(void) { char c; if (read(0, &c, 1) != 1) exit(9); }
static char **arguments;
static void *some(void *p) { repeat(10); return p; }
static void *exec_again(void *p) { repeat(6); execl("/proc/self/exe", arguments[0], "hits", "110", (char *)0); return p; }
static void *in_zombie(void *p) { until_told(); repeat(50); exit(0); return p; }
static volatile sig_atomic_t interrupts;
static void on_interrupt(int s) { interrupts++; (void)s; }
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    arguments = argv;
    if (!strcmp(how, "hits")) repeat(atoi(argv[2]));
    if (!strcmp(how, "exec")) { pthread_create(&thread, 0, exec_again, 0); pause(); }
    if (!strcmp(how, "zombie")) { ready(); pthread_create(&thread, 0, in_zombie, 0); pthread_exit(0); }
    if (!strcmp(how, "daemon")) { if (fork()) { repeat(1); _exit(3); } setsid(); if (fork()) _exit(0); repeat(20); }
    if (!strcmp(how, "forever")) { if (fork()) _exit(3); ready(); for (;;) pause(); }
    if (!strcmp(how, "churn")) { /* threads all the time */
        ready();
        for (;;) {
            if (pthread_create(&thread, 0, some, 0) == 0) pthread_join(thread, 0);
        }
    }
    if (!strcmp(how, "told")) { /* 10 threads with 10 hits, a child with 7, then waits to be told again */
        ready(); until_told();
        for (int i = 0; i < 10; i++) { pthread_create(&thread, 0, some, 0); pthread_join(thread, 0); }
        if (fork() == 0) { repeat(7); _exit(0); }
        wait(0); ready(); until_told();
    }
    if (!strcmp(how, "interrupt")) {
        sigset_t all; sigfillset(&all);
        signal(SIGINT, on_interrupt); ready(); until_told(); until_told();
        printf("%d\n", (int)interrupts); fflush(stdout);
    }
    return 7;
}
END
cc -O2 -I"$INCLUDE" program.c -o program -lpthread

# ---- launched: exec from another thread than the first; a program that daemonizes: exact, and its own status ----
fastsdt-probe --json --output report.json ./program -- ./program exec
expect "hits over exec from a thread" "$(hits report.json)" 116
expect "status after exec from a thread" "$(get report.json 'd["exit_status"]')" 7
fastsdt-probe --json --output report.json ./program -- ./program daemon
expect "hits of a program that daemonizes" "$(hits report.json)" 21
expect "status of a program that daemonizes" "$(get report.json 'd["exit_status"]')" 3
expect scope "$(get report.json 'd["scope"]')" tree
# A program whose daemon does not end: an interrupt ends the counting and leaves the daemon alone.
cp program forever.$$
fastsdt-probe --json --output report.json ./forever.$$ -- ./forever.$$ forever >ready 2>said & prober=$!
read -r line <&8
read -r line <&9 # a second after the program has ended
case $line in *"runs on"*) ;; *) fail "the daemon is not spoken of: $line" ;; esac
kill -INT $prober
wait $prober
daemon=$(pgrep -f "^./forever.$$ forever\$")
expect "the daemon lives" "$(wc -w <<<"$daemon")" 1
kill "$daemon"

# ---- --pid: numbers that are no process ----
refuses() { # NUMBER WORDS
    local status=0
    fastsdt-probe --pid "$1" --seconds 1 >out 2>err || status=$?
    expect "--pid $1" "$status $(cat err)" "2 fastsdt-probe: $2"
}
refuses 0 "--pid: \"0\" is not the number of a process: pidof NAME tells it; see fastsdt-probe --help"
refuses x "--pid: \"x\" is not the number of a process: pidof NAME tells it; see fastsdt-probe --help"
started ./program zombie
thread=
until [ -n "$thread" ]; do for thread in "/proc/$pid/task/"*; do [ "${thread##*/}" = "$pid" ] && thread= || break; done; done
refuses "${thread##*/}" "process ${thread##*/}: that is a thread of process $pid; name the process"
echo >&7; wait $pid || true

# ---- --pid: threads that come are counted, children only on request; the process's own thread count is kept ----
started ./program told
attach
echo >&7; read -r line <&8
detach
expect "hits of new threads" "$(hits report.json)" 100
expect "scope of --pid" "$(get report.json 'd["scope"]')" process
echo >&7; wait $pid || true
started ./program told
attach --children
echo >&7; read -r line <&8
detach
expect "hits with --children" "$(hits report.json)" 107
echo >&7; wait $pid || true

# ---- thread churn while attaching, with two runs and a debugger on one process ----
started ./program churn
for _ in 1 2 3; do attach; detach; [ "$(hits report.json)" -ge 0 ]; done
attach
fastsdt-probe --json --pid $pid --seconds 0.2 --output second.json 2>/dev/null
detach
expect "two runs on one process" "$([ "$(hits report.json)" -gt 0 ] && [ "$(hits second.json)" -gt 0 ] && echo both)" both
if have gdb; then
    gdb -q -p $pid -batch -ex 'shell fastsdt-probe --pid '$pid' --seconds 0.1 --json --output third.json' >gdb.out 2>&1
    expect "beside a debugger" "$(get third.json 'd["targets"][0]["attach"]')" ok
fi
kill $pid; wait $pid 2>/dev/null || true

# ---- the first thread has ended, others run ----
started ./program zombie
until grep -q '^State:.Z' /proc/$pid/status; do :; done
attach ./program
echo >&7
wait $prober
expect "hits of a process whose first thread has ended" "$(hits report.json)" 50

# ---- an interrupt from the terminal reaches the program once; one sent to the prober is passed on ----
cat >terminal.py <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("fastsdt-probe", ["fastsdt-probe", "--json", "--output", "terminal.json", "./program", "--", "./program", "interrupt"])
text = b""
def until(word):
    global text
    while word not in text:
        text += os.read(fd, 1000)
until(b"ready")
os.write(fd, b"\x03")
until(b"^C")
os.write(fd, b"\n\n")
try:
    while True:
        text += os.read(fd, 1000)
except OSError:
    pass
os.waitpid(pid, 0)
print(text.decode().split()[-1])
END
expect "interrupts that the program got" "$(python3 terminal.py)" 1

# ---- troubles are reported ----
refuse() {
    local status=0 text=$1
    shift
    fastsdt-probe "$@" >out 2>err || status=$?
    expect "status of: $*" $status 2
    grep -q -- "$text" err || fail "$*: \"$text\" is not in: $(cat err)"
}
cp program upgraded
started ./upgraded told
refuse "has not mapped this file.*/proc/$pid/exe" --pid $pid ./program
refuse 'no USDT probe matches "nosuch"' --pid $pid --probe nosuch ./upgraded
cp program new && mv new upgraded
refuse "replaced.*/proc/$pid/exe" --pid $pid ./upgraded
attach
echo >&7; read -r line <&8
detach
expect "hits of a file that was replaced" "$(hits report.json)" 100
echo >&7; wait $pid || true
python3 -c '
import os, sys
pid = os.fork()
if pid == 0: os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
os.execvp("fastsdt-probe", ["fastsdt-probe", "--pid", str(pid), "./program"])' 2>err || true
grep -q zombie err || fail "a zombie is called: $(cat err)"
refuse "pid" --pid 0 ./program
refuse "kernel thread" --pid 2
for seconds in nan inf 1e18 0 -1 x; do refuse "seconds" --pid $$ --seconds=$seconds ./program; done
refuse "missing/report" --output missing/report ./program -- touch ran
expect "the program was not run before its report could not be written" "$(ls ran 2>/dev/null)" ""
echo ok
