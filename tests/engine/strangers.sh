#!/bin/bash
# Uprobes are of files: the kernel's engine counts one process all the same, and what bpftrace is given means the same for one process only
# (0.17 counts every process of a file, whatever --pid says).
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc bpftrace unshare
need_uprobes
cat >work.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
__attribute__((noinline)) int work(int i)
{
    FASTSDT(t, work, i);
    return i;
}
int main(void) /* ten calls for each line; then it answers */
{
    int n = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (char line[8]; fgets(line, sizeof line, stdin);) {
        for (int i = 1; i <= 10; ++i)
            n += work(i);
        puts("did");
    }
    return n < 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" work.c -o work
rm -f in1 in2 out1 out2 report && mkfifo in1 in2 out1 out2 report
did() { # did IN OUT N: has a process do N lines
    local i line
    for ((i = 0; i < $3; ++i)); do echo >&"$1" && read -r line <&"$2"; done
}

# run SCRIPT: traces one process until it ends, while another works three times as much. Leaves what was printed in maps.
run() {
    ./work <in1 >out1 &
    traced=$!
    exec 3>in1 4<out1
    ./work <in2 >out2 3>&- 4<&- &
    local other=$! tracer line
    exec 6>in2 7<out2
    fastsdt-trace --engine "$engine" $uretprobe -p $traced -e "$1 interval:ms:20 { printf(\"armed\\n\"); }" >report 2>err 3>&- 4<&- 6>&- 7<&- &
    tracer=$!
    exec 5<report
    until read -r line <&5 && [[ $line == *armed* ]]; do [ -n "$line" ] || kill -0 $tracer 2>/dev/null || fail "$1: $(cat err)"; done
    did 6 7 3
    did 3 4 1
    exec 3>&-
    grep '^@' <&5 | sort >maps || true
    status=0
    wait $tracer || status=$?
    expect "$1: status" "$status" 0
    exec 6>&-
    wait $traced && wait $other
}
for engine in kernel bpftrace; do
    uretprobe=$([ $engine = kernel ] || echo --uretprobe)
    run 'usdt:./work:t:work { @usdt = count(); }
uprobe:./work:work { @entry = count(); }
uretprobe:./work:work { @exit = count(); }
uprobe:./work:work /arg0 > 5 || arg0 == 1/ { @some = count(); }'
    expect "$engine: four clauses" "$(cat maps)" '@entry: 10
@exit: 10
@some: 6
@usdt: 10'
done
# Structures without a name, comments; braces and slashes where they mean nothing.
run 'struct two { int a; struct { int b; } c; }; /* } { */
uprobe:./work:work, // every call {
uprobe:./work:main
/ arg0 / 2 == 2 /* 4 and 5 */ || comm == "}/ {" / { $x = arg0; @half[comm] = count(); printf("%s", ""); }
ur:./work:work{@short[pid] = count();}'
expect "bpftrace's own language" "$(cat maps)" "@half[work]: 2
@short[$traced]: 10"

# A command's text: each clause of a program has the filter, as bpftrace itself understands it. What it is compared with is cpid.
parsed() { # parsed SCRIPT: what bpftrace makes of the text that it would be given
    fastsdt-trace --engine user -e "$1" -- ./work >out 2>err </dev/null || true
    grep -q '^fastsdt-trace: bpftrace does it' err || fail "$1: $(cat err)"
    eval "set -- $(sed -n 's/^fastsdt-trace: bpftrace does it, as root: //p' err)"
    "$@" -d 2>&1 </dev/null || true
}
if [[ $(bpftrace --version) == *v0.17.* ]]; then # others print it in another way
    parsed 'BEGIN { @b[kstack] = count(); } usdt:./work:t:work { @ = count(); }  uprobe:"./work":work / 1 / { @ = count(); } END {}' >ast
    sed -n '/^AST after: parser/,/^AST after: [^p]/p' ast | awk '/^ [A-Za-z]/ { probe = $1 } /builtin: cpid/ { print probe }' >filtered
    expect "clauses that are filtered" "$(cat filtered)" 'usdt:./work:t:work
uprobe:./work:work'
fi

# What cannot be kept to one process is refused, with the line.
refused() { # refused SCRIPT MESSAGE
    local status=0
    fastsdt-trace --engine bpftrace --uretprobe -e "$1" -- ./work >out 2>err </dev/null || status=$?
    expect "$1: status" "$status" 2
    expect "$1" "$(tail -1 err)" "fastsdt-trace: line ${2/:/ of the script:}; so the script cannot be kept to one process"
}
refused 'uprobe:./work:work, kprobe:do_nothing { @[comm] = count(); }' "1: probes of programs and others are in one clause, and want one each"
refused 'BEGIN { @[comm] = count(); }
let @a = lruhash(10);' '2: "let" is no kind of probe that is known here'
refused 'uprobe:./work:work { @[kstack] = count(); ' "1: a brace is not closed"

# From within another pid namespace the number that bpftrace compares cannot be known. The kernel's engine asks the kernel.
cat >inside.sh <<'END_OF_SH'
status=0
fastsdt-trace --engine bpftrace -e 'usdt:./work:t:work { @ = count(); }' -- ./work >out 2>err </dev/null || status=$?
echo "$status $(tail -1 err)"
echo | fastsdt-trace --engine kernel -e 'usdt:./work:t:work { @[pid == cpid, tid == pid] = count(); }' -- ./work >out 2>err || status=$?
grep '^@' out
END_OF_SH
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    unshare --pid --fork --mount-proc bash inside.sh >inside
    expect "another pid namespace" "$(sed 's/\. The command is.*//' inside)" \
        "2 fastsdt-trace: --engine bpftrace: bpftrace knows processes by their numbers in the machine's first pid namespace, which cannot be learned from within another: it would count other processes too
@[1, 1]: 10"
else
    echo "no pid namespace can be made here: that is not tried"
fi
