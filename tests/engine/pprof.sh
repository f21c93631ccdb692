#!/bin/bash
# --pprof: counts and sums by stack as a profile that pprof reads. What it says of it is compared with the program's own counts, readelf and
# the lines that are printed without the option.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc go readelf
go tool pprof -h >usage 2>&1 || [ "$(wc -l <usage)" -gt 20 ] || skip "this Go has no pprof: $(head -n 1 usage)"
export PPROF_TMPDIR=$PWD HOME=$PWD PPROF_BINARY_PATH=$PWD
cat >app.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#define OWN __attribute__((noinline, noclone))
/* Its first instruction has five bytes. */
OWN long leaf(long n) { __asm__ volatile("movl $7, %%eax" ::: "eax", "memory"); return n; }
static inline __attribute__((always_inline)) long inlined(long n) { long r = leaf(n); __asm__ volatile(""); return r + 1; }
OWN long left(long n) { long r = inlined(n); __asm__ volatile(""); return r; }
OWN long right(long n) { long r = leaf(n); __asm__ volatile(""); return r; }
OWN void spin(void) { for (volatile long i = 0; i < 2000000000; ++i) {} }
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 300; ++i)
        left(i % 3);
    for (int i = 0; i < 100; ++i)
        right(5);
    if (argc > 1)
        spin();
    return 0;
}
END
gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id app.c -o app
pprof() { go tool pprof "$@" 2>errors || fail "pprof $*: $(cat errors)"; }

run="uprobe:./app:leaf { @[ustack(3), arg0, comm] = count(); @sent_bytes[ustack(3), arg0, comm] = sum(arg0); @all = count(); }"
fastsdt-trace --pprof calls.pb -o out -e "$run" -- ./app 2>err || fail "$(cat err)"
expect "what is printed" "$(grep -c ustack out) $(grep '^@' out)" "0 @all: 400"
pprof -raw calls.pb >raw
expect "types" "$(sed -n '/^Samples:/{n;p}' raw)" "hits/count sent_bytes/bytes[dflt]"
expect "samples" "$(awk '/^Samples/ { on = 1 } /^Locations/ { exit } on && /: [0-9]/ { print $1, $2 }' raw | sort)" "100 0:
100 100:
100 200:
100 500:"
expect "labels" "$(grep -c 'comm:\[app\]' raw) $(sed -n 's/^ *arg0:\[\([0-9]*\).*/\1/p' raw | sort | xargs)" "4 0 1 2 5"
expect "build id" "$(sed -n "s|^[0-9]*: .* $PWD/app \\([0-9a-f]*\\) .*|\\1|p" raw)" "$(readelf -n app | sed -n 's/.*Build ID: //p')"
callers() { pprof -sample_index="$1" -peek '^leaf$' calls.pb | awk '/\| +[a-z]/ && !/leaf/ { print $1, $NF }' | sort; }
expect "callers" "$(callers hits)" "100 right
300 inlined"
around=$(pprof -sample_index=hits -peek '^inlined$' calls.pb | sed 's, (inline),,' | awk '/\| +[a-z]/ && !/inlined$/ { print $1, $NF }' | sort)
expect "where it is inlined" "$around" "300 leaf
300 left"
expect "bytes" "$(pprof -sample_index=sent_bytes -unit B -top calls.pb | awk '$NF == "leaf" { print $1 }')" 800B

# Samples have the time that they stand for.
fastsdt-trace --pprof cpu.pb -o out -e 'profile:hz:500 { @[ustack] = count(); }' -- ./app spin 2>err || fail "$(cat err)"
pprof -raw cpu.pb >raw
expect "types of samples" "$(sed -n '/^Samples:/{n;p}' raw) $(grep -A1 '^PeriodType' raw | xargs)" \
    "samples/count cpu/nanoseconds[dflt] PeriodType: cpu nanoseconds Period: 2000000"
awk '/^Samples/ { on = 1 } /^Locations/ { exit } on && /: [0-9]/ { wrong += $2 + 0 != 2000000 * $1; all += $1 }
    END { exit wrong > 0 || all < 50 }' raw || fail "samples: $(cat raw)"
expect "the longest" "$(pprof -top -nodecount 1 cpu.pb | awk '/%/ { name = $NF } END { print name }')" spin

# Whole or not at all, and only what it is for.
refused() { # WORDS OPTIONS...
    status=0
    fastsdt-trace "${@:2}" >out 2>err </dev/null || status=$?
    expect "${*:2}" "$status $(sed -n '1s/^fastsdt-trace: //p' err)" "2 $1"
}
refused '--pprof is for counts and sums by stack, @[ustack] = count(), and the script has none' --pprof no.pb \
    -e 'uprobe:./app:leaf { @ = count(); }' -- ./app
refused '--pprof is for the maps of a script'"'"'s report' --pprof no.pb --dry-run -e "$run" -- ./app
[ ! -e no.pb ] || fail "a refused run left a file"
status=0
fastsdt-trace --pprof none/no.pb -e "$run" -- ./app >out 2>err || status=$?
expect "a folder that is not there" "$status $(cat out) $(tail -n 1 err)" \
    "2  fastsdt-trace: none/no.pb: cannot make a file beside it: No such file or directory"
