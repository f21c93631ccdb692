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
error -e 'usdt:./app:shop:order { @ = xyz; }' -- ./app
expect "a caret" "$(cat err)" \
    '-e:1:29: error: "xyz" is no value: arg0 to arg11, sarg0 to sarg9, args.NAME, str(), retval, tid, pid, comm, nsecs, elapsed, probe, func, ustack, cpu, uid, gid and rand are
usdt:./app:shop:order { @ = xyz; }
                            ^~~'
error --engine user -e 'usdt:./app:shop:order { @[kstack] = count(); }' -- ./app 3
expect "kernel only" "$(cat err)" \
    '-e:1:27: error: "kstack" is the kernel'\''s stack, which no program can tell: only bpftrace can
usdt:./app:shop:order { @[kstack] = count(); }
                          ^~~~~~
fastsdt-trace: bpftrace does it, as root: bpftrace -c '\''./app 3'\'' -e '\''usdt:./app:shop:order /pid == cpid/ { @[kstack] = count(); }'\'''
cp err kernel.err
error --engine user -I own --include errno.h -e '#include <stdio.h>
usdt:./app:shop:order /EOF/ { @[kstack] = count(); }' -- ./app 3
expect "with headers" "$(sed -n 's/^fastsdt-trace: bpftrace does it, as root: //p' err)" \
    "bpftrace -c './app 3' -I own --include errno.h -e \$'#include <stdio.h>\\nusdt:./app:shop:order /pid == cpid && (EOF)/ { @[kstack] = count(); }'"
mv kernel.err err
if have bpftrace && [ "$(id -u)" = 0 ]; then # that command works
    eval "$(sed -n 's/^fastsdt-trace: bpftrace does it, as root: //p' err)" >kernel.out 2>/dev/null
    grep -q '^@\[[0-9]*\]: 3$' kernel.out || fail "the command: $(cat kernel.out)"
    if [ -e /sys/bus/event_source/devices/uprobe/type ]; then # and auto runs it itself
        fastsdt-trace -e 'usdt:./app:shop:order { @[kstack] = count(); }' -- ./app 3 >auto.out 2>err </dev/null || fail "auto: $(cat err)"
        grep -q '^@\[[0-9]*\]: 3$' auto.out || fail "auto: $(cat auto.out err)"
        grep -q "^fastsdt-trace: engine bpftrace: -e:1:27: \"kstack\" is the kernel's stack" err || fail "auto: $(cat err)"
    fi
fi
printf 'usdt:./app:shop:order\n{ @x = count( }\n' >script.bt
error script.bt -- ./app
expect "a file" "$(head -1 err)" 'script.bt:2:15: error: a value is wanted, and not "}"'

error -e 'shop:order { @ = count(); }' -- ./app
grep -q '^-e:1:1: error: "shop" is no kind of probe: .*; a program.s probe is usdt:FILE:PROVIDER:NAME, here usdt:\*:shop:order$' err ||
    fail "$(cat err)"
error -e 'uprob:./app:main { @ = count(); }' -- ./app
grep -q '"uprob" is no kind of probe: .*; did you mean "uprobe"?$' err || fail "$(cat err)"
error -e 'kprobee:vfs_read { @ = count(); }' -- ./app
grep -q '; did you mean "kprobe"?$' err || fail "$(cat err)"
error -e './app:main { @ = count(); }' -- ./app
grep -q '; a function is uprobe:./app:main, and a probe usdt:./app:PROVIDER:NAME$' err || fail "$(cat err)"
error -e 'usdt:*:shop:order { exit() }'
grep -q '^fastsdt-trace: name a process with --pid, all that have a file with --exe, or a command after --: usdt:\*:shop:order is a probe of a program$' err || fail "$(cat err)"
error -e 'BEGIN { exit() }' -p 1 -- ./app
for pid in x 0 -1 99999999999; do
    error -e 'BEGIN { exit() }' -p $pid
    grep -q "^fastsdt-trace: --pid: \"$pid\" is not the number of a process: --exe FILE and --comm NAME choose them by name" err ||
        fail "-p $pid: $(cat err)"
done
say() { # MESSAGE OPTIONS...: the whole of what it says
    local message=$1
    shift
    error "$@"
    expect "$*" "$(cat err)" "fastsdt-trace: $message"
}
todo='say what to do: -e SCRIPT, a script'\''s FILE, or latency, top, functions, record, report, serve; see fastsdt-trace --help'
say "$todo"
say "$todo" -- ./app
files="FILE.json (Chrome's trace events), FILE.otlp.json (OpenTelemetry's spans), FILE.pftrace (Perfetto's protobuf), FILE.html (the page of report)"
say "where shall the trace go? -o DIR, $files" record -- ./app
say "-o a and -o b: one folder is enough, and a file says by its name what it is: $files" record -o a -o b -- ./app
say "where shall it go? -o $files, or --otlp URL" export nodir
say 'which trace? export DIR, as record -o DIR has written it' export -o trace.json
say 'nodir is no trace: there is no nodir/metadata' export nodir -o trace.json
say 'app is no trace: there is no app/metadata' export app -o trace.json # it is no folder
[ ! -e trace.json ] || fail "export has left a file"
for words in -d "-d asm" "-d -e script.bt"; do
    read -ra options <<<"$words"
    say '-d wants ast, ir or code (the sites alone: --dry-run)' "${options[@]}" -- ./app
done
no_process='name a process with --pid, all that have a file with --exe, or a command after --'
say "$no_process" top
say "$no_process" functions
say "$no_process" latency main
say 'latency wants a function, or two probes' latency
say 'latency takes a function, or two probes: "c" is one too many' latency a b c -- ./app
# Probes for functions, and the other way round.
say 'shop:order is a probe: latency wants two places, latency shop:order shop:order' latency shop:order -- ./app
say './app:order is a probe: latency wants two places, latency ./app:order ./app:order' latency ./app:order -- ./app
say './app:main is a function: latency takes it alone, latency ./app:main' latency ./app:main shop:order -- ./app
say 'shop:order is a probe: --probes shop:order' top --functions main,shop:order --exe ./app
say 'shop:order is a probe, and no function' functions --functions shop:order -- ./app
say './app:main is a function: --functions ./app:main' record -o trace --probes ./app:main -- ./app
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
behind='"./app": a command goes behind --: fastsdt-trace ... -- ./app 20'
say "$behind" -e 'usdt:./app:shop:order { @ = count() }' ./app 20
say "$behind" ./app 20
say "$behind" functions ./app 20
say "$behind" record -o trace ./app 20
say "$behind" top ./app 20
say "$behind" latency shop:order shop:closed ./app 20
say "there is no file of that name; a script's text goes behind -e" 'usdt:./app:shop:order { @ = count() }' -- ./app
say '"ls": a command goes behind --: fastsdt-trace ... -- ls /' functions ls /
error -e 'usdt:./app:shop:order { @ = count() }' './app 10' # one word, which is no program
grep -q 'a command to be traced goes behind --' err || fail "$(cat err)"
say 'app is a program, and no script' -p $$ app
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
grep -q '^fastsdt-trace: --engine: "nonsense" is none of auto, user, kernel, bpftrace' err || fail "$(cat err)"
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
# Nobody can have what a FILE has not: nothing is run then.
refused() { # PROBE MESSAGE
    error -e "$1 { @ = count(); }" -- ./app
    expect "$1: messages" "$(cat err)" "fastsdt-trace: nothing matches $1: $2
fastsdt-trace: the COMMAND is not run; with config = { missing_probes = warn } it is"
}
refused usdt:./app:shop:oder "the probes of shop are shop:closed, shop:order"
! grep -q "engine kernel" err || fail "$(cat err)"
missing 'usdt:*:shop:oder' "the probes of shop are shop:closed, shop:order"
refused usdt:./ap:shop:order 'there is no file ./ap; did you mean "./app"?'
cp script.bt ./scripts.bt # no program, as a folder is none
mkdir -p script.b
refused usdt:./scripst.bt:shop:order 'there is no file ./scripst.bt'
refused usdt:shop:order 'it is read as usdt:FILE:NAME, and no file shop is mapped; with a provider it is usdt:FILE:PROVIDER:NAME, as in usdt:*:shop:order'
missing usdt:libshop.so:order 'it is read as usdt:FILE:NAME, and no file libshop.so is mapped; with a provider it is usdt:FILE:PROVIDER:NAME, as in usdt:*:libshop.so:order'
missing uprobe:libshop.so:order 'the process has not mapped libshop.so'
fastsdt-trace --engine user -e 'config = { missing_probes = warn } usdt:./absent:shop:order { @ = count(); } usdt:./app:shop:oder { @ = count(); }' \
    -- ./app >out 2>err </dev/null ||
    fail "missing_probes = warn: $(cat out err)"
expect "missing_probes = warn: the program" "$(sed -n 1p out)" open
# What the COMMAND executes may have it.
fastsdt-trace --engine user -e 'usdt:./app:shop:order { @ = count(); }' -- env ./app 2 >out 2>err </dev/null || fail "env: $(cat out err)"
fastsdt-trace --engine user -e 'usdt:*:*:* { @ = count(); }' -- true >out 2>err </dev/null && fail "no probe at all: status 0"
grep -qx 'fastsdt-trace: nothing match.* usdt:\*:\*:\*.*: no file of the process has probes' err || fail "$(cat err)"
refused uprobe:./app:order 'order is a probe and no function: usdt:./app:shop:order'
refused usdt:./script.bt:shop:order "./script.bt is no ELF file"
missing 'usdt:*.so:shop:order' "no file of the process that fits has probes"
refused uprobe:./app:mian './app has no such function; did you mean "main"?'
! grep -q "engine kernel" err || fail "$(cat err)"
missing uprobe:./app:main "./app has no functions that fastprobe recorded; without --no-move others are armed" --no-move
grep -qx 'fastsdt-trace: --engine kernel may do all of it, as root' err || fail "$(cat err)"

missing 'uprobe:*:main' "no file of the process has functions that fastprobe recorded; without --no-move others are armed" --no-move
grep -qx 'fastsdt-trace: --engine kernel may do all of it, as root' err || fail "$(cat err)"

# What a site has instead of the argument that is wanted; of several probes it is not said.
sites() { # SCRIPT LINE
    local status=0
    fastsdt-trace --engine user -e "$1" -- ./app >out 2>err </dev/null || status=$?
    expect "$1: status" "$status" 1
    expect "$1" "$(grep ^sites out)" "sites $2; dropped 0"
}
places=$(readelf -n app | grep -A2 'Provider: shop' | grep -c 'Name: order')
sites 'usdt:./app:shop:order { @ = hist(arg7); }' "0 of $places armed ($places have no arg7 (only arg0 to arg2))"
sites 'usdt:*:shop:order { @[args.item] = count(); }' "0 of $places armed ($places have no argument named item (only arg0 to arg2))"
sites 'usdt:./app:shop:closed { @ = hist(arg0); }' '0 of 1 armed (1 has no arg0)'
sites 'usdt:./app:shop:* { @ = hist(arg7); }' "0 of $((places + 1)) armed ($((places + 1)) have no arg7)"
cat >named.c <<'END_OF_C'
#include <fastsdt.h>
int main(int argc, char** argv)
{
    FASTSDT_NAMED(shop, sold, (int, id, argc), (char**, items, argv));
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" named.c -o named
fastsdt-trace --engine user -e 'usdt:*:shop:sold { @[args.item] = count(); }' -- ./named >out 2>err </dev/null || true
expect "names" "$(grep ^sites out)" 'sites 0 of 1 armed (1 has no argument named item (only id, items)); dropped 0'
error -e 'usdt:./named:shop:sold { @[args.item] = count(); }' -- ./named
expect "names of a FILE" "$(cat err)" 'fastsdt-trace: args.item: usdt:./named:shop:sold has no argument of that name; it has id, items'

# A function of the same name in the FILE that is meant: no probe for a function.
mkdir -p deep
sed 's/^int main/static __attribute__((noinline)) void sold/; s/return 0;//; $a int main(int argc, char** argv) { sold(argc, argv); return 0; }' \
    named.c >both.c
gcc -O2 -I"$INCLUDE" both.c -o deep/shop
readelf -sW deep/shop | matches ' FUNC .* sold' || fail "the compiler has inlined sold()"
fastsdt-trace -d ast latency shop:sold -- deep/shop >out 2>err </dev/null || fail "latency shop:sold: $(cat err)"
grep -qx '  probe uprobe:shop:sold' out || fail "latency shop:sold: $(cat out)"

# What bpftrace has only since a version that is not the installed one is not given to it.
mkdir -p fake
cat >fake/bpftrace <<'END_OF_SHELL'
#!/bin/sh
[ "$1" = --version ] || exec echo ran
cat version
END_OF_SHELL
chmod +x fake/bpftrace
loop='usdt:./app:shop:order { @[arg0] = count(); for ($kv : @) { print($kv.0); } }'
read_one='usdt:./app:shop:order { @[arg0] = count(); print(@[1]); }'
given() { PATH=$PWD/fake:$PATH fastsdt-trace "$@" -- ./app >out 2>err </dev/null || true; }
echo 'bpftrace v0.20.4' >version
for engine in auto user kernel; do
    given --engine $engine -e "$loop"
    expect "an old bpftrace, $engine" "$(sed 2,3d err; cat out)" '-e:1:44: error: a probe cannot loop over a map; BEGIN, END and interval can
fastsdt-trace: bpftrace has that since 0.21, and 0.20 is installed here'
    given --engine $engine -e "$read_one"
    expect "an old bpftrace, $engine" "$(sed 2,3d err; cat out)" \
        '-e:1:50: error: @ is a count() of all threads, which a probe cannot read; BEGIN, END and interval can
fastsdt-trace: bpftrace has that since 0.21, and 0.20 is installed here'
done
echo 'bpftrace v0.21.0' >version
given --engine user -e "$loop"
grep -q '^fastsdt-trace: bpftrace does it since 0.21, as root: bpftrace -c ./app -e ' err || fail "a newer bpftrace: $(cat err)"
if [ "$(id -u)" = 0 ] && [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
    for version in 'bpftrace v0.21.0' 'bpftrace v0.27.1-dirty' 'bpftrace v1.0.0' 'of a distribution'; do
        echo "$version" >version
        given --engine kernel -e "$loop"
        expect "$version" "$(cat out)" ran
    done
fi

# A script of several lines is one word of the command that is shown.
printf '// orders\nusdt:./app:shop:order { printf("'"it's"'\\n"); @ = curtask; }\n' >lines.bt
error --engine user lines.bt -- ./app
bash -c "set -- $(sed -n 's/^fastsdt-trace: bpftrace does it, as root: bpftrace -c .\/app -e //p' err)"' && printf %s "$1"' >word
sed -i 's|:order {|:order /pid == cpid/ {|' lines.bt
cmp -s word lines.bt || fail "the command has another script: $(cat word err)"
