#!/bin/bash
# Probes of source lines: uprobe:FILE@SOURCE:LINE. Where each lies binutils say, and how often it is reached the program.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc readelf objcopy
need_attachable

mkdir -p src
cat >src/part.h <<'END'
static inline __attribute__((always_inline)) long inlined(volatile long* x)
{
    *x += 7;
    return *x * *x;
}
END
cat >src/app.c <<'END'
#include "part.h"
#include <stdio.h>
__attribute__((noinline)) long looped(volatile long n, long big)
{
    volatile long sum = 0;
    for (long i = 0; i < n; ++i)
        sum += i;

    return sum + inlined(&n) + (big ? inlined(&sum) : 0);
}
int main(void)
{
    long all = 0;
    for (long i = 1; i <= 10; ++i)
        all += looped(10 * i, i > 5);
    printf("%ld\n", all);
    return 0;
}
END
# trace WANTED-STATUS PLACE MORE...: of a line. Leaves hits, and the places.
trace() {
    local wanted=$1 place=$2 status=0
    shift 2
    timeout 60 fastsdt-trace --engine user -e "uprobe:$place { @ = count(); @at[reg(\"ip\")] = count(); @name[probe] = count(); }" "$@" -- \
        ./app >out 2>err </dev/null || status=$?
    expect "$place: status ($(cat err out))" "$status" "$wanted"
    hits=$(sed -n 's/^@: //p' out)
}
for options in "-O0 -g" "-O2 -g" "-O2 -gdwarf-4" "-O1 -g -gsplit-dwarf"; do
    read -ra words <<<"$options"
    gcc "${words[@]}" -fno-pie -no-pie src/app.c -o app
    readelf -wL app >lines.txt 2>/dev/null
    for line in 7:550 9:10 12:- 16:1; do
        trace 0 "./app@app.c:${line%:*}"
        [ "${line#*:}" = - ] || expect "$options: hits of line ${line%:*}" "$hits" "${line#*:}"
        grep -qF "@name[uprobe:./app@app.c:${line%:*}]" out || fail "$options: $(cat out)"
        sed -n 's/^@at\[\([0-9]*\)\]: .*/\1/p' out | while read -r at; do
            grep -qE "^app.c +${line%:*} +0x$(printf '%x' "$at") .*x" lines.txt || fail "$options: line ${line%:*}: 0x$(printf '%x' "$at")"
        done
    done
    # Inlined twice: ten times and five times.
    trace 0 ./app@src/part.h:3
    expect "$options: an inlined function" "$hits" 15
done

# The first line of a function is its entry. A column; another source's end of a path; the debug information in another file.
gcc -O2 -g -fno-pie -no-pie src/app.c -o app
timeout 60 fastsdt-trace -e 'uprobe:./app@app.c:4 { @line = reg("ip"); } uprobe:./app:looped { @function = reg("ip"); }' -- ./app \
    >out 2>err </dev/null || fail "an entry: $(cat err)"
expect "an entry" "$(sed -n 's/^@line: //p' out)" "$(sed -n 's/^@function: //p' out)"
trace 0 ./app@app.c:7:9
expect "a column" "$hits" 550
trace 2 ./app@app.c:7:99
grep -q "app.c:7:99 has no code of its own there$" err || fail "a column: $(cat err)"
trace 2 ./app@pp.c:7
grep -q "has no debug information that tells lines of pp.c" err || fail "another source: $(cat err)"
trace 2 ./app@app.c:8
grep -q "app.c:8 has no code of its own there; line 9 has" err || fail "an empty line: $(cat err)"
trace 2 ./app@app.c:1000
grep -q "app.c:1000 has no code of its own there$" err || fail "behind the end: $(cat err)"
objcopy --only-keep-debug app app.debug
objcopy --strip-debug --add-gnu-debuglink=app.debug app
trace 0 ./app@app.c:7
expect "a debug file" "$hits" 550
objcopy --strip-all app
rm app.debug
trace 2 ./app@app.c:7
grep -q "has no debug information that tells lines of app.c" err || fail "stripped: $(cat err)"
for wrong in 'uretprobe:./app@app.c:7' 'uprobe:@app.c:7' 'uprobe:./app@:7'; do
    ! timeout 20 fastsdt-trace -e "$wrong { @ = count(); }" -- ./app >out 2>err </dev/null || fail "$wrong"
    grep -q 'error: a line ' err || fail "$wrong: $(cat err)"
done
