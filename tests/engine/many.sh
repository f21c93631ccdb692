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
    printf '#include <fastsdt.h>\n#include <stdio.h>\n'
    for ((i = 0; i < sites; ++i)); do printf 'static void f%d(void) { FASTSDT(many, hit, %d); }\n' $i $i; done
    printf 'int main(void) /* passes all sites for each line */\n{\nfor (char line[8]; fgets(line, sizeof line, stdin);) {\n'
    for ((i = 0; i < sites; ++i)); do printf 'f%d();\n' $i; done
    printf 'puts("passed"); fflush(stdout); }\nreturn 0;\n}\n'
} >main.c
gcc -O1 -fno-inline -I"$INCLUDE" main.c -o main
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
exec 3>&-
wait "$pid" || fail "the program ended with $?"
