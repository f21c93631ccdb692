#!/bin/bash
# --output, and SIGUSR1: what bpftrace makes of them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >app.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    setvbuf(stdout, 0, _IONBF, 0);
    for (int n = 1, c; (c = getchar()) != EOF; ++n)
        if (c == '\n') {
            FASTSDT(app, turn, n + 2);
            puts("did");
        }
    return 0;
}
END
gcc -O2 -I"$INCLUDE" app.c -o app
script='usdt:./app:app:turn { @turns = count(); @last = arg0; printf("turn\n"); }'

# The file has what would be printed; the command's output stays.
for engine in $(engines); do
    printf '\n\n\n' | fastsdt-trace --engine $engine -o file -e "$script" -- ./app >out 2>err || fail "$engine: $(cat err)"
    expect "$engine: the command's" "$(cat out)" "did
did
did"
    expect "$engine: the file" "$(grep -E '^(turn|@)' file)" "turn
turn
turn
@last: 5
@turns: 3"
done
printf '\n' | fastsdt-trace --engine user --json --output file -e "$script" -- ./app >out 2>err
grep -q '^{"type": "map", "data": {"@turns": 1}}$' file || fail "--json: $(cat file)"
fastsdt-trace -o file -l 'usdt:./app:*' >out
expect "--list" "$(cat out file)" "usdt:./app:app:turn  (int32 arg0)"

# Nothing runs if the file cannot be written, and a full disk ends the run.
status=0; printf '\n' | fastsdt-trace --engine user -o absent/file -e "$script" -- ./app >out 2>err || status=$?
expect "no folder" "$status$(cat out err)" "2fastsdt-trace: absent/file: No such file or directory"
status=0; printf '\n' | fastsdt-trace --engine user -o /dev/full -e "$script" -- ./app >out 2>err || status=$?
expect "a full disk" "$status" 2
grep -qx 'fastsdt-trace: /dev/full cannot be written' err || fail "a full disk: $(cat err)"

# SIGUSR1 prints the maps, and the run goes on. bpftrace writes its file in pieces of some thousand bytes, so much is printed.
driven ./app
for engine in $(engines); do
    rm -f file
    fastsdt-trace --engine $engine -o file -p $pid \
        -e "BEGIN { printf(\"begun\n\"); } interval:ms:5 { printf(\"armed %0200d\n\", 0); } usdt:./app:app:turn { @turns = count(); }" >out 2>err 3>&- 4<&- &
    tracer=$!
    until grep -qs armed file; do kill -0 $tracer || fail "$engine: $(cat err)"; done
    did
    kill -USR1 $tracer
    until grep -q '^@turns: 1$' file; do kill -0 $tracer || fail "$engine, SIGUSR1: $(cat err)"; done
    did
    kill -INT $tracer
    wait $tracer || fail "$engine, SIGUSR1: $(cat err)"
    expect "$engine, SIGUSR1: the end" "$(grep '^@' file | tail -1)" "@turns: 2"
done
exec 3>&-
wait $pid || fail "the program failed"
