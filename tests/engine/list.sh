#!/bin/bash
# What --list prints can be given to a script as it stands, and is what readelf and the sources have. -c, --exit-status, and parameters.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3 readelf
need_attachable
cat >app.c <<'END'
#include <fastsdt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) /* app END [HITS]: ends with the number END, or by the signal -END */
{
    const int end = argc > 1 ? atoi(argv[1]) : 0, hits = argc > 2 ? atoi(argv[2]) : 3;
    for (int i = 0; i < hits; ++i) {
        FASTSDT_NAMED(shop, order, (int, id, i), (const char*, item, "tea"), (unsigned long, cents, 250ul));
        FASTSDT(shop, closed, (short)-i, (unsigned char)i);
        FASTSDT(depot, empty);
    }
    if (end < 0)
        raise(-end);
    if (end == 99)
        getchar();
    return end;
}
END
gcc -O2 -I"$INCLUDE" app.c -o app

# Of a file: every probe that readelf shows, once. The types are those of the source.
fastsdt-trace -l ./app >all || fail "a file: $?"
grep '^usdt:' all >out
expect "names" "$(sed 's/  (.*//' out)" "$(readelf -n app | awk '/Provider:/ { p = $2 } /Name:/ { print "usdt:./app:" p ":" $2 }' | LC_ALL=C sort -u)"
grep -q '^usdt:./app:shop:order  (int32 id, uint64 item, uint64 cents)$' out || fail "named arguments: $(cat out)"
grep -q '^usdt:./app:shop:closed  (int16 arg0, uint8 arg1)$' out || fail "arguments: $(cat out)"
grep -qx 'usdt:./app:depot:empty' out || fail "no arguments: $(cat out)"
fastsdt-trace -l 'usdt:./app:shop:c*' >some
expect "a pattern" "$(cat some)" "$(grep closed out)"
cp app appendix
fastsdt-trace -l 'usdt:./app*:depot:*' >some 2>err || fail "files by a pattern: $(cat err)"
expect "files by a pattern" "$(cat some)" "usdt:./app:depot:empty
usdt:./appendix:depot:empty"
rm appendix
echo 'BEGIN { } interval:ms:100 { } usdt:./app:shop:c* { @ = count(); }' >script.bt
fastsdt-trace -l script.bt >some 2>err || fail "of a script: $(cat err)"
expect "of a script" "$(cat some)" "interval:ms:
$(grep closed out)"
expect "of -e" "$(fastsdt-trace -l -e 'usdt:./app:shop:c* { }')" "$(grep closed out)"
expect "timers" "$(fastsdt-trace -l 'interval:*' | xargs) $(fastsdt-trace -l 'profile:h*')" \
    "interval:hz: interval:ms: interval:s: interval:us: profile:hz:"
here=$PWD
(cd / && PATH=$here:$PATH fastsdt-trace --list usdt:app:depot:empty) >some
expect "in PATH" "$(cat some)" "usdt:$PWD/app:depot:empty"
fastsdt-trace --list usdt:app:depot:empty >some # what a script means by that: the file that is here
expect "here" "$(cat some)" "usdt:app:depot:empty"
fastsdt-trace --json -l 'usdt:./app:shop:order' | python3 -c 'import json, sys
one = json.loads(sys.stdin.read())
assert one == {"type": "probe", "data": {"probe": "usdt:./app:shop:order", "arguments": [{"type": "int32", "name": "id"}, {"type": "uint64", "name": "item"}, {"type": "uint64", "name": "cents"}]}}, one'
status=0; fastsdt-trace -l 'usdt:./app:shop:absent' >some 2>err || status=$?
expect "nothing" "$status$(cat some err)" "1fastsdt-trace: nothing matches usdt:./app:shop:absent; --list ./app shows all that there is"
status=0; fastsdt-trace -l 'usdt:*:shop:*' >some 2>err || status=$?
expect "no file" "$status$(cat some)" 2
grep -q -- '--list wants a FILE' err || fail "$(cat err)"
status=0; fastsdt-trace -l ./app.c >some 2>err || status=$?
expect "no ELF file" "$status$(cat some)" 2
status=0; fastsdt-trace -l ./app -e 'BEGIN {}' >some 2>err || status=$?
expect "a script too" "$status$(cat some)" 2

# Functions that were not recorded, if they can be armed, as scripts can name them.
status=0; fastsdt-trace --no-move -l 'uprobe:./app:*' >some 2>err || status=$?
expect "functions: status" "$status" 1
for kind in uprobe uretprobe; do fastsdt-trace -l "$kind:./app:mai*"; done >some
expect "functions" "$(cat some)" "uprobe:./app:main
uretprobe:./app:main"
cp app without && objcopy -R .note.stapsdt without && strip without
status=0; fastsdt-trace -l ./without >some 2>err || status=$?
expect "nothing in a file" "$status$(cat some err)" \
    "1fastsdt-trace: there are no probes and no functions that can be armed; fastsdt-check --armable FILE says why"
fastsdt-trace -l 'uprobe:./app:_start' >some 2>err && fail "_start is listed, which cannot be armed"
fastsdt-trace --engine user -e 'uprobe:./app:main { @ = count(); } uretprobe:./app:main { @ = count(); }' -- ./app >some 2>err ||
    fail "main: $(cat some err)"
expect "main" "$(grep ^@ some)" "@: 2"

# Functions have the parameters that debug information gives them, in bpftrace's words; they are args.NAME of a script.
cat >parameters.c <<'END'
struct order { int id; char* name; };
enum kind { A, B };
typedef unsigned long cents;
__attribute__((noinline)) long place(struct order* order, const unsigned short n, enum kind kind, const char* const why, cents price, double rate, void* more)
{
    return order->id + n + (kind == A) + (long)why + (long)price + (long)rate + (long)more;
}
__attribute__((noinline)) int none(void) { __asm__ volatile(""); return 12345; }
int main(void) { struct order one = {1, "x"}; return place(&one, 2, A, "w", 3, 1.5, &one) + none() == 0; }
END
gcc -O1 -g parameters.c -o parameters
fastsdt-trace -l 'uprobe:./parameters:*' >some || fail "parameters: $?"
expect "parameters" "$(cat some)" "uprobe:./parameters:main
uprobe:./parameters:none
uprobe:./parameters:place  (struct order* order, const short unsigned int n, enum kind kind, const char* const why, cents price, double rate, void* more)"
if have bpftrace && [ "$(id -u)" = 0 ]; then
    expect "parameters, by bpftrace" "$(bpftrace -lv 'uprobe:./parameters:place' | sed -n 's/^    //p')" \
        "$(sed -n 's/.*place  (\(.*\))/\1/p' some | sed 's/, /\n/g')"
fi
fastsdt-trace --json -l 'uprobe:./parameters:place' | matches '{"name":"order","type":"struct order\*"}' || fail "parameters, JSON"
fastsdt-trace --engine user -e 'uprobe:./parameters:place { @[args.n] = count(); }' -- ./parameters >some 2>err ||
    fail "parameters in a script: $(cat some err)"
expect "parameters in a script" "$(grep ^@ some)" "@[2]: 1"

# Of a process: the same, with the path that it has mapped; each line is a probe that a script can name.
rm -f input
mkfifo input
./app 99 1 <input & pid=$!
exec 3>input
until grep -q 'app$' /proc/$pid/maps; do :; done
fastsdt-trace -p $pid --list >of_process
expect "of a process" "$(grep shop of_process)" "$(grep shop out | sed "s|:\./app:|:$PWD/app:|")"
while read -r probe _; do
    case $probe in *"$PWD/app"*) fastsdt-trace --engine user --dry-run -p $pid -e "$probe { @ = count(); }" >dry 2>err ||
        fail "$probe: $(cat err)" ;; esac
done <of_process
# What a script may call a file: by its path from here, by its name, alone.
for search in 'usdt:./app:shop:order' 'u*:app:shop:order' './app'; do
    fastsdt-trace -p $pid --list "$search" >some || fail "of a process: $search: $?"
    expect "of a process: $search" "$(grep shop:order some)" "$(grep shop:order of_process)"
done
exec 3>&-
wait $pid || true

# -c: words as sh has them.
fastsdt-trace --engine user -c "./app 0 '7'" -e 'usdt:./app:shop:order { @ = count(); }' >out 2>err </dev/null || fail "-c: $(cat err)"
grep -qx '@: 7' out || fail "-c: $(cat out)"
for command in 'a | b' '$(./app)' "'" ' '; do
    status=0; fastsdt-trace -c "$command" -e 'BEGIN {}' >out 2>err || status=$?
    expect "-c $command" "$status$(cat out)" 2
done

# --exit-status: the command's own, as a shell has it, whatever the report says.
ends() { # STATUS OPTIONS...
    local wanted=$1 status=0
    fastsdt-trace --engine user "${@:2}" >out 2>err </dev/null || status=$?
    expect "${*:2}: status" "$status" "$wanted"
}
count='usdt:./app:shop:order { @ = count(); }'
ends 0 -e "$count" -- ./app 7
ends 7 --exit-status -e "$count" -- ./app 7
ends 137 --exit-status -e "$count" -- ./app -9
ends 5 --exit-status -e 'usdt:*:shop:absent { @ = count(); }' -- ./app 5
ends 1 -e 'usdt:*:shop:absent { @ = count(); }' -- ./app 5
ends 2 -e 'usdt:./app:shop:absent { @ = count(); }' -- ./app 5
ends 2 --exit-status -e "$count" -- ./absent
ends 2 --exit-status -e "$count" -p 1

# Parameters: numbers, texts, and in a probe's name.
printf '#!/usr/bin/env fastsdt-trace\nBEGIN { printf("%%d of %%s\\n", $#, str($3)); } usdt:./app:$1:order /arg0 >= $2/ { @[str($3), $4] = count(); }\n' >some.bt
fastsdt-trace --engine user some.bt shop 0x1 tea -- ./app 0 4 >out 2>err || fail "parameters: $(cat err)"
expect "parameters" "$(grep -v sites out)" "3 of tea
@[tea, 0]: 3"
ends 2 some.bt shop x tea -- ./app
grep -q '^some.bt:2:.*parameter 2 is "x", and no number' err || fail "$(cat err)"
sed -i 's/\$#/0/' some.bt
ends 2 some.bt shop 1 tea 2 3 -- ./app # $# would take all of them
grep -q '"3" is one parameter more than the script has' err || fail "$(cat err)"
for engine in $(engines); do # it means the same to all
    fastsdt-trace --engine "$engine" some.bt shop 1 tea -- ./app 0 4 >out 2>err || fail "parameters, $engine: $(cat err)"
    expect "parameters, $engine" "$(grep -E '^[0-9]|^@' out)" "0 of tea
@[tea, 0]: 3"
done
