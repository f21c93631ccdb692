#!/bin/bash
# One clear error for what cannot be done: with a caret under the word, and the command that does it where bpftrace can.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app

# error OPTIONS...: ends with 2, has run nothing, and leaves what it said in err.
error() {
    local status=0
    fastsdt-trace "$@" >out 2>err </dev/null || status=$?
    expect "$*: status" "$status" 2
    [ ! -s out ] || fail "$*: $(cat out)"
}
error -e 'usdt:./app:shop:order { @ = cmm; }' -- ./app
expect "a caret" "$(cat err)" '-e:1:29: error: "cmm" is no value: arg0 to arg9, str(argN), retval, tid, pid, nsecs and probe are
usdt:./app:shop:order { @ = cmm; }
                            ^~~'
error -e 'usdt:./app:shop:order { @[comm] = count(); }' -- ./app 3
expect "kernel only" "$(cat err)" '-e:1:27: error: "comm" is not in this subset
usdt:./app:shop:order { @[comm] = count(); }
                          ^~~~
fastsdt-trace: bpftrace does it, as root: bpftrace -c '\''./app 3'\'' -e '\''usdt:./app:shop:order { @[comm] = count(); }'\'''
if have bpftrace && [ "$(id -u)" = 0 ]; then # that command works
    eval "$(sed -n 's/^fastsdt-trace: bpftrace does it, as root: //p' err)" >kernel.out 2>/dev/null
    grep -qx '@\[app\]: 3' kernel.out || fail "the command: $(cat kernel.out)"
fi
printf 'usdt:./app:shop:order\n{ @x = count( }\n' >script.bt
error script.bt -- ./app
expect "a file" "$(head -1 err)" 'script.bt:2:15: error: a value is wanted, and not "}"'

error -e 'BEGIN { exit() }'
error -e 'BEGIN { exit() }' -p 1 -- ./app
error -- ./app
error absent.bt -- ./app
grep -q '^fastsdt-trace: absent.bt: No such file or directory$' err || fail "$(cat err)"
error -e 'BEGIN { exit() }' script.bt -- ./app
error -e 'usdt:./app:shop:order { @ = count() }' -- ./absent
grep -q '^fastsdt-trace: .*absent.*No such file' err || fail "$(cat err)"
error -e 'usdt:./app:shop:order { @ = count() }' -p 999999999
error -e 'usdt:./app:shop:order { @ = count() }' -p $$
grep -q 'nothing in it matches usdt:./app:shop:order' err || fail "$(cat err)"
error --engine nonsense -e 'BEGIN { exit() }' -- ./app
error --duration 0 -e 'BEGIN { exit() }' -- ./app
for option in --interval --duration; do error $option x -e 'BEGIN { exit() }' -- ./app; done
