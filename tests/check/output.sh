#!/bin/bash
# --json, --plan, --pid and --functions on a real program, in text and as JSON.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc python3
cat > a.c <<'END'
#include <fcntl.h>
#include <unistd.h>
#include <usdt.h>
int main(void)
{
    char c;
    USDT(t, ready, 1);
    write(1, "x", 1);
    return read(0, &c, 1) < 0;
}
END
gcc -O1 -g -I"$INCLUDE" a.c -o program

# json EXPRESSION ARGS...: of the tool's output
json() { local e=$1; shift; { fastsdt-check --json "$@" 2> /dev/null || true; } | python3 -c "import json,sys; d=json.load(sys.stdin); print($e)"; }
expect "schema" "$(json 'd["schema"]' program)" 1
expect "kernels by default" "$(json '" ".join(d["kernels"])' program)" "5.10 5.15 6.1 6.8 6.12 6.18 ubuntu-7.0.0-43 7.2"
expect "verdicts" "$(json '{k["verdict"] for k in d["files"][0]["probes"][0]["kernels"].values()}' program)" "{'emulate'}"
expect "where 7.2 optimizes" "$(json 'd["files"][0]["probes"][0]["kernels"]["7.2"]["at_patch"]["verdict"]' program)" optimize
expect "a range" "$(json 'len(d["kernels"])' -k 6.18-7.2 program)" 5
expect "a line" "$(json 'd["files"][0]["probes"][0]["line"]' program)" 7
expect "an argument" "$(json 'd["files"][0]["probes"][0]["arguments"][0]["tracers"]["libbpf"]["verdict"]' program)" reads
expect "/bin/ls" "$(json '(d["files"][0]["probes"], d["summary"]["probes"])' /bin/ls)" "([], 0)"
head -c 5000 program > cut
echo text > text
expect "unusable files" "$(json '["error" in f for f in d["files"]]' cut program text)" "[True, False, True]"
expect "functions" "$(json 'sorted(f["name"] for f in d["files"][0]["functions"] if f["name"] == "main")' --functions program)" "['main']"

# objdump knows how functions begin.
need objdump
expect "push first" "$(json 'sorted(f["name"] for f in d["files"][0]["functions"] if f["layout"] == "push" and not f["landing_pad"])' -f program)" \
    "$(objdump -d program | awk '/^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3); next } name != "" { if ($0 ~ /\tpush +%r/ && name !~ /[@+]/) print name; name = "" }' |
        sort | python3 -c 'import sys; print(sys.stdin.read().split())')"

# A separate debug file has functions and none of their code.
need objcopy
objcopy --only-keep-debug program program.debug
expect "no code" "$(json '[(f["layout"], f["landing_pad"], f["kernels"]) for f in d["files"][0]["functions"] if f["name"] == "main"]' -f program.debug)" "[(None, None, None)]"

# The plan's place is where the kernel optimizes, or the note's pc.
expect "plan for 6.12" "$(json '[(p["offset"], p["verdict"]) for p in d["files"][0]["plan"]]' --plan -k 6.12 program)" "[(0, 'emulate')]"
expect "plan for 7.2" "$(json '[(p["offset"], p["verdict"]) for p in d["files"][0]["plan"]]' --plan -k 7.2 program)" "[(1, 'optimize')]"
fastsdt-check --plan -k 7.2 program | matches "bpftrace .*program" || fail "no bpftrace line"
s=0; fastsdt-check --plan -k 6.1,7.2 program > /dev/null 2>&1 || s=$?
expect "a plan for two kernels" "$s" 2

# A running process
rm -f in out && mkfifo in out
./program < in > out &
pid=$!
trap 'kill $pid 2> /dev/null || true' EXIT
exec 3> in 4< out
read -rN1 -u 4 _
expect "a site in a process" \
    "$(json '[(s["name"], s["change"], s["live_bytes"]) for f in d["process"]["files"] for s in f["sites"] if s["provider"] == "t"]' --pid $pid)" \
    "[('ready', 'untouched', '90662e0f1f840000000000')]"
fastsdt-check --pid $pid | matches 't:ready .*untouched' || fail "text of a process"
echo >&3
wait $pid
s=0; fastsdt-check --pid $pid > /dev/null 2> err || s=$?
expect "a process that is gone" "$s $(wc -l < err)" "2 1"

# A zombie, and a process whose first thread has ended while another runs
python3 - > zombie <<'END'
import os, subprocess
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
done = subprocess.run(["fastsdt-check", "--pid", str(pid)], capture_output=True, text=True)
print(done.returncode, done.stderr.replace(str(pid), "PID"), end="")
END
expect "a zombie" "$(cat zombie)" "2 fastsdt-check: process PID: it has ended, and its parent has not waited for it yet (a zombie)"
cat > leader.c <<'END'
#include <pthread.h>
#include <unistd.h>
#include <usdt.h>
static void *rest(void *p) { USDT(t, late); write(1, "x", 1); pause(); return p; }
int main(void) { pthread_t thread; pthread_create(&thread, 0, rest, 0); pthread_exit(0); }
END
gcc -O1 -I"$INCLUDE" leader.c -o leader -pthread
rm -f out && mkfifo out
./leader > out &
pid=$!
exec 4< out
read -rN1 -u 4 _
until grep -q '^State:.Z' /proc/$pid/status; do :; done
expect "the first thread has ended" \
    "$(json '[(s["name"], s["change"]) for f in d["process"]["files"] for s in f["sites"] if s["provider"] == "t"]' --pid $pid)" \
    "[('late', 'untouched')]"
kill $pid
wait $pid || true

# Every name of an address, and what an ifunc's symbol stands for: nm knows them.
cat > names.c <<'END'
int original(int n) { return n + 1; }
int other(int) __attribute__((alias("original")));
static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));
int main(void) { return original(0) + chosen(); }
END
gcc -O1 names.c -o names
address=$(nm names | awk '$3 == "original" { print $1 }')
expect "every name" \
    "$(json 'sorted(sorted([f["name"]] + f["aliases"]) for f in d["files"][0]["functions"] if f["address"] == int("'"$address"'", 16))' -f names)" \
    "$(nm names | awk -v a="$address" '$1 == a { print $3 }' | sort | python3 -c 'import sys; print([sys.stdin.read().split()])')"
expect "the ifunc" "$(json '[f["name"] in ("chosen", "choose") for f in d["files"][0]["functions"] if f["ifunc"]]' -f names)" "[True]"
fastsdt-check -v -f names | matches -E '(original|other) +\(also (original|other)\)' || fail "no alias in the text"
