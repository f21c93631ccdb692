#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fastsdt-probe on the running kernel: exact hits over threads, fork, vfork and exec; refusals; clean-up; errors.
. "$FASTSDT_SOURCE/tests/common.sh"
need fastsdt-probe cc python3
get() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

cat >program.c <<'END'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* FASTSDT(app, work, n) 10 + 4*100 + 20 + 1 + 30 = 461 times */
__attribute__((noinline)) void work(int n) { FASTSDT(app, work, n); }
__asm__(".text\n.globl breakpoint_function\n.type breakpoint_function, @function\n"
        "breakpoint_function: int3\nret\n.size breakpoint_function, .-breakpoint_function\n");
static void repeat(int n) { for (int i = 0; i < n; i++) work(i); }
static void *thread(void *arg) { repeat(100); return arg; }
static void on_signal(int s) { repeat(1); (void)s; }
int main(int argc, char **argv) {
    pthread_t threads[4];
    if (argc > 1 && !strcmp(argv[1], "child")) { repeat(30); return 0; }
    if (argc > 1 && !strcmp(argv[1], "wait")) { puts("ready"); fflush(stdout); for (;;) { work(0); usleep(1000); } }
    repeat(10);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, thread, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    pid_t child = fork();
    if (child == 0) { repeat(20); _exit(0); }
    waitpid(child, 0, 0);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    child = vfork();
    if (child == 0) { execl(argv[0], argv[0], "child", (char *)0); _exit(1); }
    waitpid(child, 0, 0);
    return 7;
}
END
cc -O2 -I"$INCLUDE" program.c -o program -lpthread

# ---- what needs no permission ----
fastsdt-probe --help | matches -e --dry-run || fail "--help does not name --dry-run"
status=0; fastsdt-probe 2>err || status=$?
expect "no file: status" $status 2
if [ "$(id -u)" = 0 ] && have setpriv; then
    # an unprivileged user is told what is missing
    status=0; setpriv --reuid 65534 --regid 65534 --clear-groups fastsdt-probe /bin/true 2>err || status=$?
    expect "unprivileged: status" $status 2
    grep -q 'CAP_PERFMON' err || fail "the permission error does not say what to do: $(cat err)"
fi
need_uprobes

# ---- exact hits, the program's own status, bytes ----
fastsdt-probe --json --output report.json ./program
expect hits "$(get report.json 'd["targets"][0]["hits"]')" 461
expect "exit status" "$(get report.json 'd["exit_status"]')" 7
expect "mode and model" "$(get report.json 'd["targets"][0]["mode"] == d["targets"][0]["model"].split("-unsafe")[0]')" True
case $(get report.json 'd["targets"][0]["mode"]') in
xol | emulate) expect "breakpoint in the live bytes" "$(get report.json 'd["targets"][0]["live"][:2]')" cc ;;
esac

# ---- an instruction the kernel refuses: its errno, status 1; an offset and an address find the same place ----
status=0; fastsdt-probe --json --symbol breakpoint_function ./program >refused.json || status=$?
expect "refused: status" $status 1
expect "refused: errno" "$(get refused.json 'd["targets"][0]["attach"]')" ENOTSUPP
expect "refused: mode" "$(get refused.json 'd["targets"][0]["mode"]')" reject
offset=$(get report.json 'd["targets"][0]["file_offset"]')
fastsdt-probe --json --offset "$offset" --output offset.json -- ./program ./program child
expect "by offset, another command" "$(get offset.json 'd["targets"][0]["hits"]')" 30

# ---- return probes ----
fastsdt-probe --json --return --symbol work --output return.json ./program
expect "return hits" "$(get return.json '[t["hits"] for t in d["targets"]]')" "[461, 461]"

# ---- a 32-bit program: hits are exact, the mode is not to be seen from a 64-bit process ----
if cc -m32 -O2 -I"$INCLUDE" -idirafter "/usr/include/$(cc -print-multiarch)" program.c -o program32 -lpthread 2>/dev/null; then
    fastsdt-probe --json --output report32.json ./program32
    expect "32-bit: hits" "$(get report32.json 'd["targets"][0]["hits"]')" 461
    expect "32-bit: mode" "$(get report32.json 'd["targets"][0]["mode"]')" unknown
fi

# ---- a running process: hits, then it runs on without probes ----
./program wait >ready & pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
until grep -q ready ready; do :; done
fastsdt-probe --json --pid $pid --seconds 0.5 --output pid.json ./program
expect "hits in a process" "$(get pid.json 'd["targets"][0]["hits"] > 10')" True
kill -0 $pid || fail "the process did not survive"
live_byte() { python3 - "$pid" "$(readlink -f program)" "$offset" <<'END'
import sys
pid, path, offset = sys.argv[1], sys.argv[2], int(sys.argv[3])
for line in open(f"/proc/{pid}/maps"):
    f = line.split()
    start, end = (int(x, 16) for x in f[0].split("-"))
    if len(f) > 5 and f[5] == path and "x" in f[1] and int(f[2], 16) <= offset < int(f[2], 16) + end - start:
        mem = open(f"/proc/{pid}/mem", "rb"); mem.seek(start + offset - int(f[2], 16)); print(mem.read(1).hex())
END
}
expect "original byte after the end" "$(live_byte)" 90
# Killed outright, it leaves nothing either.
fastsdt-probe --pid $pid ./program >/dev/null & prober=$!
until [ "$(live_byte)" = cc ]; do kill -0 $prober || fail "the prober ended"; done
kill -KILL $prober
wait $prober 2>/dev/null || true
for _ in $(seq 1000); do [ "$(live_byte)" = cc ] || break; done
expect "original byte after SIGKILL" "$(live_byte)" 90
kill -0 $pid || fail "the process died with its prober"
# A program it started goes on without it.
fastsdt-probe ./program -- ./program wait >started & prober=$!
until grep -q ready started; do kill -0 $prober || fail "the prober ended"; done
child=$(pgrep -P $prober -x program)
kill -KILL $prober
wait $prober 2>/dev/null || true
kill -0 "$child" || fail "the started program died with its prober"
kill -KILL "$child"

# ---- errors: one line, status 2 ----
refuse() {
    local status=0 text=$1
    shift
    fastsdt-probe "$@" >out 2>err || status=$?
    expect "status of: $*" $status 2
    expect "lines of: $*" "$(wc -l <err)" 1
    grep -q -- "$text" err || fail "$*: \"$text\" is not in: $(cat err)"
}
refuse "no USDT probe matches" --probe nothing ./program
refuse "no function" --symbol nothing ./program
refuse "not a number" --offset 12x ./program
refuse "no executable segment" --offset 99999999 ./program
refuse "No such file" ./missing
refuse "No such file" ./program -- ./missing
refuse "no such process" --pid 4194304 ./program
echo text >text
refuse "text" ./text
expect "no report was left half-written" "$(ls ./*.part 2>/dev/null)" ""
echo ok
