#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What people type when they do not know the tools yet: each is answered by one error, with the words that help, and a status that is not 0.
# Where nothing can be traced the program is not run. errors.sh and others have the whole of some sentences.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
strip -o stripped app
echo '__attribute__((noinline)) int read_command(int x) { __asm__(""); return x; } int main(int c, char **v) { (void)v; return read_command(c) - c; }' >other.c
gcc -O2 other.c -o other
echo 'int x;' >app.c
: >empty
ulimit -c 0
count='{ @ = count(); }'
order='usdt:./app:shop:order { @ = count(); }'
tried=0

# wrong STATUS WORDS COMMAND...: the command ends so, and its message has these words, which may have ... between them.
wrong() {
    local status=0 words=$2 part rest
    timeout 100 "${@:3}" >out 2>err </dev/null || status=$?
    expect "${*:3}: status" "$status $(cat err)" "$1 $(cat err)"
    rest=$(cat err out) # a report says of its sites what they lack
    while part=${words%%...*}; do
        case $rest in *"$part"*) rest=${rest#*"$part"} ;; *) fail "${*:3}: $(cat err), and not $2" ;; esac
        [ "$part" != "$words" ] || break
        words=${words#*...}
    done
    # A script's error has its line and a caret below it; and bpftrace's command may follow.
    [ "$1" != 2 ] || { [ ! -s out ] && [ "$(grep -c '^fastsdt-[a-z]*: \|: error: ' err)" -le 2 ] && [ "$(wc -l <err)" -le 4 ]; } ||
        fail "${*:3}: more than one error, or it has run something: $(cat out err)"
    tried=$((tried + 1))
}
trace() { wrong "$1" "$2" fastsdt-trace "${@:3}" -- ./app 3; }  # of the program
script() { wrong 2 "$1" fastsdt-trace -e "$2" -- ./app 3; }     # WORDS SCRIPT
plain() { wrong "$1" "$2" fastsdt-trace "${@:3}"; }

# What to do at all, and to whom.
plain 2 "say what to do: -e SCRIPT, a script's FILE, or latency, top"
trace 2 "say what to do: -e SCRIPT"
plain 2 'what stands behind -- is the command'\''s: -e TEXT and other options come before it' -- ./app 3 -e "$order"
plain 2 '"./app": a command goes behind --: fastsdt-trace ... -- ./app 3' ./app 3
plain 2 '"./app": a command goes behind --' functions ./app
plain 2 '"./app": a command goes behind --' -e "$order" ./app
plain 2 'name a process with --pid, all that have a file with --exe, or a command after --' -e 'usdt:*:shop:order { @ = count(); }'
plain 2 'a command after --: ustack(dwarf) needs to know what a process has mapped' -e 'uprobe:./app:main { @[ustack(dwarf)] = count(); }'
plain 2 'a command is wanted after --' -e "$order" --
plain 2 'absent: No such file or directory' -e "$order" -- absent
plain 2 'app: No such file or directory; did you mean "./app"?' -e "$order" -- app
plain 2 'app: No such file or directory; did you mean "./app"?' functions -- app
plain 2 './app.c: Permission denied' -e "$order" -- ./app.c
plain 2 '-c "./app | cat": that is no command' -e "$order" -c './app | cat'
trace 2 'one command is enough: -c CMD, or -- COMMAND' -e "$order" -c ./app
plain 2 '--pid: "app" is not the number of a process: --exe FILE and --comm NAME choose them by name' -p app -e "$order"
plain 2 "1: several processes are -p $$,1; --exe PROGRAM has all of a program" functions -p $$ 1
plain 2 "1: several processes are -p $$,1" report -p $$ 1
plain 2 "1: several processes are -p $$,1" latency main -p $$ 1
plain 2 'was there no such process?' functions -p
plain 2 "has no probes; --functions 'PATTERN' names functions" top -p $$
plain 2 "has no probes; --functions 'PATTERN' names functions" record -o m.json -p $$
plain 2 'process 4194305: there is no such process' -p 4194305 -e "$order"
plain 2 '--pid cannot be combined with --exe' -p $$ --exe ./app -e "$order"
plain 2 '--exe ./absent: No such file or directory' --exe ./absent -e "$order"
printf '#!/bin/sh\n' >starts_app
plain 2 '--exe ./starts_app is a script, which its interpreter runs: name its process with --pid, or with --comm starts_app' --exe ./starts_app \
    -e "$order"
plain 2 '--exe . is no regular file' --exe . functions
cp "$(command -v sleep)" sleeper_here
./sleeper_here 1000 & here=$!
until [ "/proc/$here/exe" -ef sleeper_here ]; do kill -0 "$here"; done
plain 1 'there is none for --comm sleper_here; did you mean "sleeper_here"?' --comm sleper_here -t 0.1 -e "$order"
kill "$here"
plain 2 '--user nobodyatall: there is no such user' --user nobodyatall -e "$order"
plain 2 '--cgroup: its value is empty; was a variable not set?' --cgroup "" -e "$order" # not the whole machine
plain 2 '--exe: its value is empty; was a variable not set?' --exe "" -e "$order"
plain 2 '--cgroup /tmp is no control group' --cgroup /tmp -e "$order"
plain 2 '--cgroup ./app is no control group' --cgroup ./app -e "$order"
plain 1 'there is none for --cgroup /x' --cgroup x/../x -t 0.1 -e "$order"
plain 2 '--container ab: at least 6 characters' --container ab -e "$order"
plain 2 'absent.bt: No such file or directory' absent.bt -p $$
plain 2 'list: No such file or directory, and no subcommand; did you mean "--list"?' list ./app
plain 2 '--functions: "-p" is an option, and a PATTERN is wanted' top --functions -p $$
plain 2 'laetncy: No such file or directory, and no subcommand; did you mean "latency"?' laetncy main -p $$
plain 2 "there is no file of that name; a script's text goes behind -e" "$order" -p $$

# Options.
plain 2 'not expected: --pidd; ...; did you mean "--pid"?' --pidd 3 -e "$order"
plain 2 '--execute: 1 required TEXT missing' -e
trace 2 'not expected: --functoins; did you mean "--functions", an option of record, functions, report, top?' --functoins main
trace 2 '--functions is an option of record, functions, report, top' --functions main
plain 2 'not expected: --functoins; did you mean "--functions"?' functions --functoins main -- ./app 3
trace 2 '--engine: "usr" is none of auto, user, kernel, bpftrace' --engine usr -e "$order"
trace 2 '--duration: "0" is not a number of seconds from 0.001 up' --duration 0 -e "$order"
trace 2 '--interval: "x" is not a number of seconds' --interval x -e "$order"
trace 2 '--buffer: "1" is no size from 4K to 1G' --buffer 1 -e "$order"
trace 2 '--buffer: "3X" is no size from 4K to 1G' --buffer 3X -e "$order"
trace 2 '--like: "0.20" is none of 0.17, 0.27' --like 0.20 -e "$order"
trace 2 '-d wants ast, ir or code' -d foo -e "$order"
trace 2 '--json and --folded are two ways to print the maps: one is enough' --json --folded -e "$order"
trace 2 '/absent/x: No such file or directory' -o /absent/x -e "$order"
trace 2 '--flight keeps events, and the script makes none' --flight -e "$order"
trace 2 '--unordered is for printf() and print() at a probe' --unordered -e "$order"
trace 2 '--probe-filter: "(" is no regular expression' --probe-filter '(' -e "$order"
trace 2 '--pprof is for counts and sums by stack, @[ustack] = count(), and the script has none' --pprof x.pb -e "$order"
plain 2 '--exit-status is that of a command' --exit-status -e 'BEGIN { exit(); }'

# Scripts: the probe.
script '"kprobee" is no kind of probe...; did you mean "kprobe"?' "kprobee:vfs_read $count"
script '"./app" is no kind of probe...; a function is uprobe:./app:main, and a probe usdt:./app:PROVIDER:NAME' "./app:main $count"
script '"./app" is no kind of probe...; did you mean "usdt:./app:shop:order"?' "./app:shop:order $count"
script '"probe" is no kind of probe...; did you mean "uprobe"?' "probe:./app:main $count"
script '"shop" is no kind of probe...here usdt:*:shop:order' "shop:order $count"
script '"main" is no kind of probe...; a function is uprobe:FILE:main' "main $count"
script '"begni" is no kind of probe...; did you mean "begin"?' "begni $count"
script 'a function is uprobe:FILE:FUNCTION' "uprobe:main $count"
script 'an interval is interval:s:N' "interval:5 $count"
script '"{", or a blank and a filter, is wanted after the probe' "usdt:./app:shop:order"
script '"{", or a blank and a filter, is wanted after the probe' "usdt:./app:shop:order @ = count();"
script 'the filter ends with "/" before "{", and not with "="' "usdt:./app:shop:order /arg0 = 1/ $count"
script 'a probe is wanted here, and not "}"' "$order }"
script 'the script is empty' '#!/usr/bin/bpftrace'

# Scripts: what is done there.
action() { script "$1" "usdt:./app:shop:order { $2 }"; }
script '";" or "}" is wanted after a statement, and not the end of the script' 'usdt:./app:shop:order { @ = count()'
action 'the result of count() belongs to a map: @ = count(...)' 'count();'
action '"cout" is no function; did you mean "count"?' '@ = cout();'
action '"system" is a statement, which has no value' '@ = system("ls");'
action '"printf" is a statement, which has no value' '$x = printf("a");'
action '"absent" is no function; fastsdt-trace(1), THE LANGUAGE, has all of them' '@ = absent(3);'
action '"cmm" is no value; did you mean "comm"?' '@ = cmm;'
action '"xyz" is no value; the map is @xyz' '@xyz[arg0] = 1; print(xyz);'
action '"xyz" is no value: arg0 to arg11' '@ = xyz;'
action 'arguments are arg0 to arg11' '@ = arg20;'
action '%s prints a string, and this is an integer; str(arg1) is the string it points to' 'printf("%s\n", arg1);'
action 'printf() wants 2 values for this text, and has 1' 'printf("%d %d\n", arg1);'
action 'the string has no end' 'printf("%d\n, arg1);'
action 'a string stands between two "' "printf('x');"
action '"]" is wanted after a key, and not "="' '@[ustack = count();'
action 'a map or a variable is assigned, and nothing else' 'x = 3;'
action '$x has no value here' '@ = $x;'
action '@ is a count() elsewhere, and cannot be a sum() too' '@ = count(); @ = sum(arg0);'
action 'this key of @ is a string elsewhere, and an integer here' '@["a"] = 1; @[1] = 2;'
action 'a sum() takes integers, and this is a string' '@ = sum(str(arg1));'
action 'hist() wants one value' '@ = hist();'
action 'lhist(VALUE, MIN, MAX, STEP) wants these four' '@ = lhist(arg0);'
action 'system() runs commands: it needs --unsafe' 'system("ls");'
action 'retval is the result at a uretprobe, and usdt:./app:shop:order is none' '@ = retval;'
action 'this is no structure' '@ = arg0.x;'
script 'arguments are those of a usdt probe or of a uprobe, and uretprobe:./app:main is none' 'uretprobe:./app:main { @ = arg0; }'

# Probes that are not there, and cannot come: the program is not run.
absent() { script "nothing matches $2: $1...the COMMAND is not run" "$2 $count"; } # WORDS PROBE
absent 'the probes of shop are shop:closed, shop:order' usdt:./app:shop:oder
absent 'there is no file ./ap; did you mean "./app"?' usdt:./ap:shop:order
absent 'there is no file ./nofile' usdt:./nofile:x:y
absent 'there is no file ./nofile' uprobe:./nofile:main
absent './app.c is no ELF file' uprobe:./app.c:main
absent './app has no such function; did you mean "main"?' uprobe:./app:mian
absent './app has no such function; did you mean "main*"?' 'uprobe:./app:mian*'
absent 'order is a probe and no function: usdt:./app:shop:order' uprobe:./app:order
absent 'it is read as usdt:FILE:NAME, and no file shop is mapped; with a provider it is usdt:FILE:PROVIDER:NAME, as in usdt:*:shop:order' \
    usdt:shop:order
absent "$PWD/stripped is stripped, and no debug file of it was found" uprobe:./stripped:main
plain 2 'nothing matches ./app:mian: ./app has no such function; did you mean "main"?...the COMMAND is not run' latency ./app:mian -- ./app 3
script 'args.item: usdt:./app:shop:order has no argument of that name; it has arg0 to arg2' 'usdt:./app:shop:order { @ = args.item; }'
trace 2 'args.item: usdt:./app:shop:order has no argument of that name; it has arg0 to arg2' --engine user \
    -e 'usdt:./app:shop:order { @ = args.item; }'
script 'args.item: usdt:./app:shop:closed has no argument of that name, and no other' 'usdt:./app:shop:closed { @ = args.item; }'
# Another file may have them: it runs, and says what was not found.
wrong 1 "nothing matche...usdt:*:shop:oder...the probes of shop are shop:closed, shop:order" fastsdt-trace -e "usdt:*:shop:oder $count" -- ./app 3
# Subcommands say it in the words that they were given, once for entry and exit.
rm -rf traces && mkdir traces
each_once() { # WORDS COMMAND...
    wrong 1 "nothing match...$1" fastsdt-trace "${@:2}" -- ./app 3
    ! grep -q 'uprobe:\|uretprobe:\|usdt:' err || fail "${*:2}: what nobody has written: $(cat err)"
    [ "$(grep -c "nothing match.*$1" err)" -le 2 ] || fail "${*:2}: $(cat err)" # so far, and at the end
}
each_once '--functions absent' functions --functions absent
each_once '--functions mian' functions --functions mian
grep -q 'did you mean "main"?' err || fail "no hint: $(cat err)"
each_once '--functions mai_*' functions --functions 'mai_*'
status=0; fastsdt-trace functions --functions '*_comand' -- ./other >out 2>err </dev/null || status=$?
expect "a pattern: status" "$status" 1
grep -qE 'nothing match(es|ed) --functions \*_comand( so far)?: .*; did you mean "\*_command"\?' err || fail "no hint: $(cat err)"
each_once '--functions absent' record -o traces/1 --functions absent
each_once '--probes absent' record -o traces/2 --probes absent
each_once '--functions absent' report -o page.html --functions absent
each_once '--functions absent' top -t 1 --functions absent
each_once 'absent' latency absent
each_once 'shop:oder' latency shop:oder shop:closed

# Subcommands.
plain 2 'latency wants a function, or two probes' latency
plain 2 'name a process with --pid' latency main
trace 2 'latency takes a function, or two probes: "c" is one too many' latency a b c
trace 2 'shop:order is a probe: latency wants two places' latency shop:order
trace 2 'where shall the trace go? -o DIR' record
trace 2 'one of a script and --functions or --probes is enough' record -o traces/3 -e "$order" --functions main
trace 2 'traces: it is there already; a trace is written to a folder of its own' record -o traces
plain 2 'which trace? export DIR, as record -o DIR has written it' export
plain 2 'where shall it go? -o FILE.json' export traces
plain 2 'x.txt: the name tells the format: FILE.json' export traces -o x.txt
plain 2 'traces is no trace: there is no traces/metadata' export traces -o x.json
plain 2 'where shall the page go? -o FILE.html' report
plain 2 'report page.html: there is no trace page.html; where the page goes is said by -o page.html' report page.html -- ./app
trace 2 '--sort: "foo" is none of rate, total, busy, p50, p99, name' top --sort foo
plain 2 '--list: there is no file foo:./app:shop:*; a search is FILE, or usdt:FILE:*' -l 'foo:./app:shop:*'
plain 1 'nothing matches usdt:./app:zz:*; --list ./app shows all that there is' -l 'usdt:./app:zz:*'
plain 1 'nothing matches usdt:./app:shp:*; did you mean "usdt:./app:shop:*"?' -l 'usdt:./app:shp:*'
plain 1 'nothing matches usdt:./app:shop:oder; did you mean "usdt:./app:shop:order"?' -l 'usdt:./app:shop:oder'
plain 2 '--list: there is no file ./app:shop:order; did you mean "usdt:./app:shop:order"?' -l ./app:shop:order
plain 2 '--list: there is no file ./app:main; did you mean "uprobe:./app:main"?' -l ./app:main
plain 2 '--list: there is no file shop:order; a search is FILE, or usdt:FILE:*' -l shop:order
plain 1 'nothing matches uprobe:./app:mian; did you mean "uprobe:./app:main"?' -l uprobe:./app:mian
plain 2 '--list wants a FILE to look into, or a process' -l
if fastsdt-trace serve 2>&1 | matches 'name a configuration'; then # it is built
    plain 2 'name a configuration with --config, or scripts and their processes' serve
    plain 2 'absent.json: No such file or directory' serve --config absent.json
    plain 2 '--listen: "foo" is no ADDRESS:PORT, as 127.0.0.1:9946 is' serve --listen foo --exe ./app -e "$order"
    plain 2 '-e: BEGIN has nothing to do here' serve --exe ./app -e 'BEGIN { @ = 1; }'
fi
plain 2 '--otlp: "foo": ' export traces --otlp foo
plain 2 '--otlp: "": ' export traces --otlp ''

# The other tools.
wrong 2 'no files; see fastsdt-check --help' fastsdt-check
wrong 2 'absent: No such file or directory' fastsdt-check absent
wrong 2 'app.c: not an ELF file or an ar archive' fastsdt-check app.c
wrong 2 'empty: empty file' fastsdt-check empty
wrong 2 '--pid: "app" is not the number of a process: pidof NAME tells it' fastsdt-check --pid app
wrong 2 '"99" is not a kernel version; write 6.12' fastsdt-check --kernel 99 app
wrong 2 'not expected: --frob; see fastsdt-check --help' fastsdt-check --frob app
wrong 2 '--only: "foo" is none of info, warning, error' fastsdt-check --only foo app
wrong 2 '/absent/x: ' fastsdt-check -o /absent/x app
wrong 2 'not expected: --jsno; did you mean "--json"?' fastsdt-check --jsno app
wrong 2 'there is no FILE shop:order; a probe is named by --probe shop:order' fastsdt-probe shop:order ./app
wrong 2 'name the FILE to probe, or a process with --pid' fastsdt-probe
wrong 2 '--pid: "app" is not the number of a process: pidof NAME tells it' fastsdt-probe -p app
wrong 2 '"3" is no program: a COMMAND begins with one, as in -- ./app 3' fastsdt-probe ./app 3
wrong 2 'no USDT probe matches "shop:oder"; `fastsdt-check --plan ./app` lists them' fastsdt-probe --probe shop:oder ./app
wrong 2 'FILE is required' fastsdt-index
wrong 2 'not expected: --bogus; see fastsdt-index --help' fastsdt-index --bogus
wrong 2 'app.c: not an ELF file' fastsdt-index app.c

# Where /sys is not mounted, as in a bare root, nobody knows what the kernel's clock is.
if [ "$(id -u)" = 0 ]; then
    wrong 2 'current_clocksource, which says...cannot be read (is /sys mounted?)' \
        unshare --mount --propagation private sh -c 'mount -t tmpfs none /sys && exec "$@"' sh fastsdt-trace functions -- ./app 3
fi

# Who may not.
if [ ${#as_user[@]} != 0 ]; then
    user_folder
    wrong 2 'no process is named, and only the kernel can count in all of them: not allowed to attach uprobes...run as root...Without such rights, name a process' \
        "${as_user[@]}" fastsdt-trace -e 'uprobe:/bin/sh:main { @ = count(); }'
    wrong 2 '--engine kernel: not allowed to attach uprobes' "${as_user[@]}" fastsdt-trace --engine kernel -e 'uprobe:/bin/sh:main { @ = count(); }'
    for what in functions top "latency main"; do
        read -ra what <<<"$what"
        wrong 2 "process $$: not allowed to read its memory; run as root, or as its user" "${as_user[@]}" fastsdt-trace "${what[@]}" -p $$
    done
    # Who has the right to attach uprobes, and not to read that process: said once, not for each engine.
    "${as_user[@]}" sleep 1000 & other=$!
    until [ "/proc/$other/exe" -ef "$(command -v sleep)" ]; do kill -0 "$other"; done
    wrong 2 "process $other: " \
        setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace fastsdt-trace -e 'uprobe:/bin/sleep:main { @ = count(); }' -p "$other"
    expect "one error" "$(wc -l <err)" 1
    kill "$other"
fi
echo "$tried wrong uses"
