#!/bin/bash
# A process whose user traces it takes that right away (PR_SET_DUMPABLE 0): what was counted is reported, and it is said that sites stay armed.
# Root undoes them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
[ "$(id -u)" = 0 ] || skip "looking at such a process needs root"
user_folder
cat >main.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
#include <sys/prctl.h>
int main(void)
{
    char line[16];
    for (int n = 0; fgets(line, sizeof line, stdin);) {
        if (line[0] == 'u' && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
            return 2;
        FASTSDT(app, hit, ++n);
        puts("did");
        fflush(stdout);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" main.c -o main
driven ./main
did
text >text.before
attach 'usdt:./main:app:hit { @ = count(); }'
did
echo u >&3 && read -r line <&4 && expect "the program" "$line" did
did
kill -INT $tracer
report
expect "status" "$status" 1
grep -qx '@: 3' maps || fail "nothing is reported: $(cat maps err)"
grep -q 'the sites stay armed, and nobody reads their counts' err || fail "nothing is said: $(cat err)"
did
fastsdt-trace --engine user -t 0.01 -p "$pid" -e 'usdt:./main:app:hit { @ = count(); }' >out 2>err 3>&- 4<&- 5<&- || fail "root: $(cat out err)"
text | cmp - text.before || fail "root leaves something"
exec 3>&- 5<&-
wait $pid || fail "the program failed"
