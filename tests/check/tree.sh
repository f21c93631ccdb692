#!/bin/bash
# Directories: the files with probes below them, once each, and whose probes take two traps.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc python3 fastsdt-check
rm -rf tree && mkdir -p tree/a/b tree/empty
printf '#include <fastsdt.h>\nint main(int c, char **v) { FASTSDT(p, one, c); FASTSDT(p, two, v); return 0; }\n' >fast.c
printf '#define USDT_NOP nopl 8(%%%%rax)\n#include <usdt.h>\nint main(int c, char **v) { USDT(q, slow, c); (void)v; return 0; }\n' >slow.c
printf 'int main(void) { return 0; }\n' >plain.c
gcc -I"$INCLUDE" fast.c -o tree/a/fast
gcc -I"$INCLUDE" slow.c -o tree/a/b/slow
gcc plain.c -o tree/plain
gcc -c -I"$INCLUDE" fast.c -o fast.o && rm -f tree/lib.a && ar rc tree/lib.a fast.o
ln tree/a/fast tree/a/hard
ln -s a/fast tree/soft
ln -s .. tree/a/loop
echo text >tree/text
mkfifo tree/fifo
run() { local s=0; "$@" >out 2>err </dev/null || s=$?; echo $s; }

expect "status" "$(run fastsdt-check -k 6.1,6.19 tree)" 0
expect "what was looked at" "$(sed -n 1p out)" "4 ELF files and archives looked at, 3 with probes"
expect "the files" "$(sed -n 's/^\(tree[^:]*\): .*/\1/p' out)" $'tree/a/b/slow\ntree/a/fast\ntree/lib.a(fast.o)'
# A nop with a displacement is single-stepped up to 6.18 and emulated from 6.19 on.
expect "two traps" "$(grep -A1 '^two traps' out | grep -v ' files, ')" \
    $'two traps on Linux 6.1: 1 of 5 sites\n       1  tree/a/b/slow\ntwo traps on Linux 6.19: 0 of 5 sites'
expect "errors" "$(cat err)" ""
for jobs in 1 2 7; do
    cp out before
    run fastsdt-check -J $jobs -k 6.1,6.19 tree >status
    cmp out before || fail "--jobs $jobs prints something else"
done
expect "JSON" "$(fastsdt-check --json tree | python3 -c 'import json, sys; print([f["path"] for f in json.load(sys.stdin)["files"]])')" \
    "['tree/a/b/slow', 'tree/a/fast', 'tree/lib.a']"
expect "single probes" "$(fastsdt-check -v tree/a | grep -c '^  p:\(one\|two\) ')" 2
expect "files and directories" "$(fastsdt-check tree/plain tree/a/b | grep -c '^tree/.*: ')" 2
expect "an empty directory" "$(run fastsdt-check tree/empty) $(sed -n 1p out)" "0 0 ELF files and archives looked at, 0 with probes"
expect "--diff" "$(run fastsdt-check --diff tree tree)" 2

# Files that cannot be read are named; the rest is done.
head -c 3000 tree/plain >tree/cut
expect "status with a damaged file" "$(run fastsdt-check tree)" 2
grep -q '^fastsdt-check: tree/cut: ' err || fail "not named: $(cat err)"
expect "the rest" "$(grep -c '^tree/.*: ' out)" 3
if [ "$(id -u)" = 0 ] && have setpriv; then
    chmod 700 tree/a && chmod 755 . tree
    expect "status without permission" "$(run setpriv --reuid=65534 --clear-groups "$(command -v fastsdt-check)" "$PWD/tree")" 2
    matches -E 'tree/a: Permission denied|fastsdt-check: .*: Permission denied' <err || fail "not named: $(cat err)"
fi
