#!/bin/bash
# Whatever cannot be done gives one clear error, with a caret under the word, and with the bpftrace command if bpftrace can do it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app

# error OPTIONS...: checks that fastsdt-trace ends with 2 and runs nothing. Its message is in err.
error() {
    local status=0
    fastsdt-trace "$@" >out 2>err </dev/null || status=$?
    expect "$*: status" "$status" 2
    [ ! -s out ] || fail "$*: $(cat out)"
}
error -e 'usdt:./app:shop:order { @ = cmm; }' -- ./app
expect "a caret" "$(cat err)" \
    '-e:1:29: error: "cmm" is no value: arg0 to arg11, sarg0 to sarg9, args.NAME, str(), retval, tid, pid, comm, nsecs, elapsed, probe, func, ustack, cpu, uid, gid and rand are
usdt:./app:shop:order { @ = cmm; }
                            ^~~'
error --engine user -e 'usdt:./app:shop:order { @[cgroup] = count(); }' -- ./app 3
expect "kernel only" "$(cat err)" \
    '-e:1:27: error: "cgroup" is the number of the kernel'\''s control group, which no program can tell: only bpftrace can
usdt:./app:shop:order { @[cgroup] = count(); }
                          ^~~~~~
fastsdt-trace: bpftrace does it, as root: bpftrace -c '\''./app 3'\'' -e '\''usdt:./app:shop:order /pid == cpid/ { @[cgroup] = count(); }'\'''
if have bpftrace && [ "$(id -u)" = 0 ]; then # that command works
    eval "$(sed -n 's/^fastsdt-trace: bpftrace does it, as root: //p' err)" >kernel.out 2>/dev/null
    grep -q '^@\[[0-9]*\]: 3$' kernel.out || fail "the command: $(cat kernel.out)"
    if [ -e /sys/bus/event_source/devices/uprobe/type ]; then # and auto runs it itself
        fastsdt-trace -e 'usdt:./app:shop:order { @[cgroup] = count(); }' -- ./app 3 >auto.out 2>err </dev/null || fail "auto: $(cat err)"
        grep -q '^@\[[0-9]*\]: 3$' auto.out || fail "auto: $(cat auto.out err)"
        grep -q "^fastsdt-trace: engine bpftrace: -e:1:27: \"cgroup\" is the number of the kernel" err || fail "auto: $(cat err)"
    fi
fi
printf 'usdt:./app:shop:order\n{ @x = count( }\n' >script.bt
error script.bt -- ./app
expect "a file" "$(head -1 err)" 'script.bt:2:15: error: a value is wanted, and not "}"'

error -e 'usdt:./app:shop:order { exit() }'
grep -q '^fastsdt-trace: name a process with --pid, all that have a file with --exe, or a command after --: usdt:./app:shop:order is a probe of a program$' err || fail "$(cat err)"
error -e 'BEGIN { exit() }' -p 1 -- ./app
for pid in x 0 -1 99999999999; do
    error -e 'BEGIN { exit() }' -p $pid
    grep -q "^fastsdt-trace: --pid: \"$pid\" is not the number of a process" err || fail "-p $pid: $(cat err)"
done
error -- ./app
error absent.bt -- ./app
grep -q '^fastsdt-trace: absent.bt: No such file or directory$' err || fail "$(cat err)"
error recrod -o trace -- ./app
expect "a subcommand that is none" "$(cat err)" 'fastsdt-trace: recrod: No such file or directory, and no subcommand; did you mean "record"?'
error . -- ./app
grep -q '^fastsdt-trace: .: Is a directory$' err || fail "$(cat err)"
error /dev/zero -- ./app
grep -q 'more than [0-9]* bytes are no script' err || fail "$(cat err)"
error -e 'BEGIN { exit() }' script.bt -- ./app
# A user who forgets the dashes is told about them.
for command in "./app" "./app 10"; do
    error -e 'usdt:./app:shop:order { @ = count() }' $command
    grep -q 'a command to be traced goes behind --' err || fail "$(cat err)"
done
error -e 'usdt:./app:shop:order { @ = count() }' -- ./absent
grep -q '^fastsdt-trace: .*absent.*No such file' err || fail "$(cat err)"
error -e 'usdt:./app:shop:order { @ = count() }' -p 999999999
# bpftrace cannot do it either, so it is not asked.
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
    error -e 'usdt:./app:shop:order { @ = count() }' -p 2
    case $(cat err) in *"process 2: "*"kernel thread"* | *"process 2: not allowed"*) ;; *) fail "a kernel thread: $(cat err)" ;; esac
fi
error -e 'usdt:./app:shop:order { @ = count() }' -p $$
grep -q 'nothing in it matches usdt:./app:shop:order' err || fail "$(cat err)"
status=0; fastsdt-trace --engine USER --dry-run -e 'usdt:./app:shop:order { @ = count(); }' -- ./app >out 2>err </dev/null || status=$?
expect "an engine in capitals: status" "$status" 0
error --engine nonsense -e 'BEGIN { exit() }' -- ./app
grep -q '^fastsdt-trace: --engine: nonsense not in {auto,user,kernel,bpftrace}' err || fail "$(cat err)"
error --duration 0 -e 'BEGIN { exit() }' -- ./app
for option in --interval --duration; do error $option x -e 'BEGIN { exit() }' -- ./app; done

# A probe without a match: the message says what is there instead. It names the kernel's engine for functions only, since that finds the
# same probes.
missing() { # PROBE MESSAGE [OPTION...]
    local status=0
    fastsdt-trace --engine user "${@:3}" -e "$1 { @ = count(); }" -- ./app >out 2>err </dev/null || status=$?
    expect "$1: status" "$status" 1
    # The message comes early if the program is still there by then.
    expect "$1: messages" "$(grep -v "engine kernel may" err | sed 's/nothing matches \(.*\) so far: /nothing matched \1: /;2d')" \
        "fastsdt-trace: nothing matched $1: $2"
}
missing usdt:./app:shop:oder "the probes of shop are shop:closed, shop:order"
! grep -q "engine kernel" err || fail "$(cat err)"
missing 'usdt:*:shop:oder' "the probes of shop are shop:closed, shop:order"
missing usdt:./ap:shop:order "there is no file ./ap"
missing usdt:./script.bt:shop:order "no mapped file of that name has probes"
missing 'usdt:*.so:shop:order' "no file of the process that fits has probes"
missing uprobe:./app:mian 'no mapped file of that name has such functions; did you mean "main"?'
! grep -q "engine kernel" err || fail "$(cat err)"
missing uprobe:./app:main "no mapped file of that name has functions that fastprobe recorded; without --no-move others are armed" --no-move
grep -qx 'fastsdt-trace: --engine kernel may do all of it, as root' err || fail "$(cat err)"

missing 'uprobe:*:main' "no file of the process that fits has functions that fastprobe recorded; without --no-move others are armed" --no-move
grep -qx 'fastsdt-trace: --engine kernel may do all of it, as root' err || fail "$(cat err)"

# A script of several lines is one word of the command that is shown.
printf '// orders\nusdt:./app:shop:order { printf("'"it's"'\\n"); @ = curtask; }\n' >lines.bt
error --engine user lines.bt -- ./app
bash -c "set -- $(sed -n 's/^fastsdt-trace: bpftrace does it, as root: bpftrace -c .\/app -e //p' err)"' && printf %s "$1"' >word
sed -i 's|:order {|:order /pid == cpid/ {|' lines.bt
cmp -s word lines.bt || fail "the command has another script: $(cat word err)"
