#!/bin/bash
# A program that is traced and dumps core: the kernel leaves the tables out. Of text that has jumps it writes all, as behind a debugger's breakpoints.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable
case $(cat /proc/sys/kernel/core_pattern) in *[/\|]* | '') skip "this machine's core dumps go elsewhere" ;; esac
user_folder
chmod 777 .
cat >main.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        FASTSDT(app, hit, line[0]);
        puts("did");
        fflush(stdout);
    }
    abort();
}
END
gcc -O2 -I"$INCLUDE" main.c -o main
ulimit -c unlimited
# core TRACED: leaves the size of its core dump, and of its text, in `size` and `text`.
core() {
    rm -f core* in answers report out
    driven ./main
    if [ "$1" = yes ]; then
        "${as_user[@]}" fastsdt-trace --engine user --interval 0.02 -p $pid \
            -e 'usdt:*:app:hit { @[arg0, ustack] = count(); printf("%d\n", arg0); }' >out 2>err 3>&- 4<&- &
        tracer=$!
        until grep -qx 'sites 1 of 1 armed; dropped 0' out; do kill -0 $tracer || fail "$(cat out err)"; done
    fi
    did
    read -r text tables < <(python3 -c "import sys
sizes = [0, 0]
for line in open(f'/proc/{sys.argv[1]}/maps'):
    start, end = (int(address, 16) for address in line.split()[0].split('-'))
    sizes[0] += (end - start) * ('x' in line.split()[1])
    sizes[1] += (end - start) * ('/memfd:fastsdt' in line)
print(*sizes)" $pid)
    exec 3>&-
    wait $pid || true
    size=$(stat -c %s core*)
    [ "$1" = no ] || wait $tracer || true
}
core no
expect "no tables" "$tables" 0
alone=$size
core yes
[ "$tables" -gt $((alone + text)) ] || fail "its tables have only $tables bytes"
[ "$size" -le $((alone + text)) ] || fail "its core dump has $size bytes; alone it has $alone, and $text of text"
