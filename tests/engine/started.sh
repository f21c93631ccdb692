#!/bin/bash
# A COMMAND ends as it does by itself, whatever becomes of the tool: its output is closed or full, or it is killed. And a process that was
# attached to has then what it had before.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
gcc -O2 "$FASTSDT_SOURCE/tests/engine/started.c" -o started
chmod 777 .
cp "$(command -v fastsdt-trace)" . # the folder of the build may be nobody else's
PATH=$PWD:$PATH
trap : PIPE # it is the COMMAND's again
seq 5 >lines
./started expected <lines

# lives: the tool has not ended, or the program is there without it.
lives() { [ ! -s status ] || { [ -s pid ] && kill -0 "$(cat pid)" 2>/dev/null; }; }
# run HOW COMMAND [WORK]: lines go to the tool's COMMAND one after the other, until the tool has ended, which leaves its status in a file; then the
# rest. WORK is done behind the second line.
run() {
    local how=$1 n
    rm -f log status in tool pid gone
    mkfifo in
    chown 65534:65534 in 2>/dev/null || true
    "${as_user[@]}" bash -c "$2" <in >out 2>err &
    exec 3>in
    for n in $(seq 4); do
        echo "$n" >&3 || fail "$how: the program has ended: $(cat out err)"
        until [ "$(wc -l 2>/dev/null <log)" = "$n" ]; do lives || [ "$(wc -l 2>/dev/null <log)" = "$n" ] || fail "$how: $(cat out err)"; done
        [ $n != 2 ] || "${3:-true}"
    done
    until [ -s status ]; do kill -0 $! 2>/dev/null || [ -s status ] || fail "$how: the tool's status: $(cat out err)"; done
    echo 5 >&3
    exec 3>&-
    until grep -qx finished log; do lives || grep -qx finished log || fail "$how: the program has ended: $(cat log out err)"; done
    wait $! || true
    cmp log expected || fail "$how: the program's log: $(cat log)"
}
every='uprobe:./started:work { printf("%d\n", arg1); }'
# Nobody reads any more before the third line comes: the tool may write several at once.
reader='{ read -r line; exec <&-; echo gone >gone; }'
gone() { until [ -s gone ]; do kill -0 $! || fail "the reader: $(cat out err)"; done; }
run "output closed" "fastsdt-trace --engine user -e '$every' -- ./started | $reader; echo \${PIPESTATUS[0]} >status" gone
expect "output closed" "$(cat status)" 2
run "output and errors closed" "(fastsdt-trace --engine user -e '$every' -- ./started 2>&1; echo \$? >status) | $reader" gone
run "no output at all" "fastsdt-trace --engine user -e '$every' -- ./started >&- 2>&-; echo \$? >status"
if [ -e /dev/full ]; then
    run "a full disk" "fastsdt-trace --engine user -e '$every' -- ./started >/dev/full; echo \$? >status"
    expect "a full disk" "$(cat status)" 2
fi
killed() { kill -KILL "$(cat tool)" && echo killed >status; }
run "killed" "sh -c 'echo \$\$ >tool; exec fastsdt-trace --engine user -e \"uprobe:./started:work { @ = count(); }\" -- ./started'; true" killed

# A process that was attached to, with the tool's output closed, full, and its files limited: the same mappings, and its own code.
rm -f in log
driven ./started
echo 1 >&3
until [ "$(wc -l <log)" = 1 ]; do kill -0 $pid || fail "the program has ended"; done
before=$(sed 's/^[^ ]* \([^ ]*\) .* /\1 /; s/  */ /g' "/proc/$pid/maps")
now() { sed 's/^[^ ]* \([^ ]*\) .* /\1 /; s/  */ /g' "/proc/$pid/maps"; }
text >text.before
for how in '>/dev/full' '| read -r line' '2>&1 | read -r line' '>&- 2>&-' '--buffer 16M >limited'; do
    limit=unlimited
    [[ $how != *limited ]] || limit=200
    "${as_user[@]}" bash -c "ulimit -f $limit; fastsdt-trace --engine user -p $pid -e 'interval:ms:1 { printf(\"a line\\n\"); } uprobe:./started:work { printf(\"%d\n\", arg1); }' $how" \
        >out 2>err 3>&- 4<&- && [[ $how == *read* ]] || true
    diff <(echo "$before") <(now) >difference || fail "$how: the process has other mappings: $(cat difference err)"
    text | cmp - text.before || fail "$how: its code"
done
grep -q 'ulimit -f' err || fail "a limit: $(cat err)"
exec 3>&-
wait $pid || fail "the program failed"
