#!/bin/bash
# More sites than are armed at one stop of the process: each counts once a pass, each has its own argument, and all have the file's
# bytes again afterwards.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
sites=2500
{
    printf '#include <fastsdt.h>\n#include <stdio.h>\nstatic volatile int sum;\n'
    for ((i = 0; i < sites; ++i)); do
        printf 'static void f%d(void) { FASTSDT(many, hit, %d); }\n' $i $i
        printf 'static int g%d(int a) { return a / %d + a; }\n' $i $((i + 3))
    done
    printf 'int main(void) /* passes all sites for each line */\n{\nfor (char line[8]; fgets(line, sizeof line, stdin);) {\n'
    for ((i = 0; i < sites; ++i)); do printf 'f%d(); sum += g%d(%d + sum);\n' $i $i $i; done
    printf 'puts("passed"); fflush(stdout); }\nreturn 0;\n}\n'
} >main.c
gcc -O1 -fno-inline -falign-functions=16 -I"$INCLUDE" main.c -o main
chown -R 65534:65534 . 2>/dev/null || true
mkfifo in out report
"${as_user[@]}" ./main <in >out &
pid=$!
exec 3>in 4<out
pass() { echo >&3; read -r line <&4; }
pass # it runs, and is mapped
for run in 1 2; do
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
        -e 'interval:ms:10 { printf("armed\n"); } usdt:./main:many:hit { @n = count(); @sum = sum(arg0); }'
    # As the kernel has it: 16 is SIGCHLD, one of which comes for each stop, and would wake the thread that waits for us.
    ((16#$(sed -n 's/^SigBlk:[[:space:]]*//p' /proc/$tracer/status) >> 16 & 1)) || fail "each stop of a process wakes the tracer twice"
    pass
    pass
    kill -INT $tracer
    grep -v '^armed$' <&5 >maps || true
    wait $tracer || fail "the status: $(cat maps err)"
    expect "run $run" "$(grep . maps)" "@n: $((2 * sites))
@sum: $((sites * (sites - 1)))
sites $sites of $sites armed; dropped 0"
    fastsdt-check --pid "$pid" --json >check.json 2>check.err || true # findings do not matter here
    expect "untouched afterwards" "$(grep -c '"change": "untouched"' check.json)" $sites
done
# So many functions share what is called at each, and are told apart by a number. Entries keep their arguments, exits their results.
pass # a thread that begins now has no hit yet
start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" -e 'interval:ms:10 { printf("armed\n"); }
    uprobe:./main:g[0-9]* { @calls[func] = count(); @places[probe] = count(); @at = nsecs; @texts[func, probe] = count(); }
    uretprobe:./main:g[0-9]* /@at/ { @returns[func] = count(); }'
pass
pass
kill -INT $tracer
grep -v '^armed$' <&5 >maps || true
wait $tracer || fail "the status: $(cat maps err)"
for map in calls returns; do
    expect "@$map" "$(sed -nE "s/^@$map\[g([0-9]+)\]: 2\$/\1/p" maps | sort -n | sha1sum)" "$(seq 0 $((sites - 1)) | sha1sum)"
done
expect "@places" "$(sed -nE 's/^@places\[uprobe:\.\/main:g([0-9]+)\]: 2$/\1/p' maps | sort -n | sha1sum)" "$(seq 0 $((sites - 1)) | sha1sum)"
expect "@texts" "$(sed -nE 's/^@texts\[g([0-9]+), uprobe:\.\/main:g\1\]: 2$/\1/p' maps | sort -n | sha1sum)" "$(seq 0 $((sites - 1)) | sha1sum)"
"${as_user[@]}" fastsdt-trace --engine user --dry-run -d code -p "$pid" -e 'uprobe:./main:g[0-9]* { @[func] = count(); }' >code 2>err ||
    fail "$(cat err)"
expect "one copy of the clause" "$(grep -c 'called by the stubs of many sites' code)" 1
expect "called by all" "$(grep -c "call 0x0*$(sed -n 's/^0x\([0-9a-f]*\)  called by.*/\1/p' code)\$" <(tr A-F a-f <code | sed 's/0X/0x/'))" $sites
exec 3>&-
wait "$pid" || fail "the program ended with $?"
