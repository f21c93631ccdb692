#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Probes and return probes of this kernel on the recorded entries of a shared library, and probes on the exits: every
# call is one hit, and arguments, stack arguments and return values are right. Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
plugin=$3 cc=$4
exit=-fplugin-arg-fastprobe-exit
need_uprobes
need "${cc%% *}" readelf python3
[ -e "$plugin" ] || skip "$plugin was not built"
tracing=/sys/kernel/tracing
[ -e $tracing/uprobe_events ] || mount -t tracefs tracefs $tracing 2>/dev/null || true
[ -e $tracing/uprobe_events ] || skip "no tracefs with uprobe_events"

cat >lib.c <<'E2'
#define NOINLINE __attribute__((noinline, noipa))
NOINLINE long leaf(long a, long b, long c) { return a * 3 + b + c; }
NOINLINE long caller(long a, long b, long c) { long r = leaf(a, b, c); return r + leaf(r, a, b); }
NOINLINE long tail(long a, long b, long c) { return leaf(c, b, a); }
NOINLINE long empty(long a, long b, long c) { return a; }
NOINLINE long stacked(long a, long b, long c, long d, long e, long f, long g) { return a + g; }
NOINLINE long loop(long a, long b, long c) { volatile long sum = 0; do sum += b; while (--a > 0); return sum + c; }
NOINLINE long recursive(long a, long b, long c) { if (a == 0) return b; long r = recursive(a - 1, b, c); __asm__("" : "+r"(r)); return r + c; }
E2
cat >main.c <<'E2'
#include <stdio.h>
long leaf(long, long, long), caller(long, long, long), tail(long, long, long), empty(long, long, long), loop(long, long, long);
long recursive(long, long, long), stacked(long, long, long, long, long, long, long);
int main(void) {
    for (long i = 1; i <= 5; i++) {
        leaf(i, 20 + i, 30 + i), caller(i, 40, 50), tail(i, 60, 70), empty(i, 80, 90), loop(i, 7, 8), recursive(i, 9, 10);
        stacked(i, 2, 3, 4, 5, 6, 70 + i);
    }
    return 0;
}
E2
# What the calls of main() do, worked out here: (function, a, b, c) at entry, and the return value.
cat >expected.py <<'E2'
hits = []
def enter(name, a, b, c, seventh=None): hits.append(f"{name} {a} {b} {c}" + (f" {seventh}" if seventh is not None else ""))
def leave(name, value): hits.extend([f"{name} -> {value}", f"{name} => {value}"]); return value
def leaf(a, b, c): enter("leaf", a, b, c); return leave("leaf", a * 3 + b + c)
def caller(a, b, c): enter("caller", a, b, c); r = leaf(a, b, c); return leave("caller", r + leaf(r, a, b))
def tail(a, b, c): enter("tail", a, b, c); return leave("tail", leaf(c, b, a))
def empty(a, b, c): enter("empty", a, b, c); return leave("empty", a)
def loop(a, b, c): enter("loop", a, b, c); return leave("loop", b * max(a, 1) + c)
def recursive(a, b, c): enter("recursive", a, b, c); return leave("recursive", b if a == 0 else recursive(a - 1, b, c) + c)
def stacked(a, b, c, seventh): enter("stacked", a, b, c, seventh); return leave("stacked", a + seventh)
for i in range(1, 6):
    leaf(i, 20 + i, 30 + i), caller(i, 40, 50), tail(i, 60, 70), empty(i, 80, 90), loop(i, 7, 8), recursive(i, 9, 10), stacked(i, 2, 3, 70 + i)
print("\n".join(sorted(hits)))
E2
python3 expected.py >expected

group=fastprobe_$$
instance=$tracing/instances/$group
cleanup() {
    echo 0 >"$instance/events/$group/enable" || true
    rmdir "$instance" || true
    sed -n "s,^[pr][^:]*:\($group/[^ ]*\) .*,-:\1,p" $tracing/uprobe_events | while read -r line; do echo "$line" >>$tracing/uprobe_events; done
} 2>/dev/null
trap cleanup EXIT

exits=nop
for flags in "-O2 -fplugin-arg-fastprobe-entry=auto" "-O2 -fplugin-arg-fastprobe-entry=nop -fcf-protection=full" \
    "-O2 -fplugin-arg-fastprobe-entry=nop10" "-Os -fcf-protection=full -fplugin-arg-fastprobe-entry=nop10" \
    "-O2 -fplugin-arg-fastprobe-entry=frame" "-O0 -fplugin-arg-fastprobe-entry=auto"; do
    $cc -w -fPIC -shared -Wl,-Bsymbolic -fplugin="$plugin" ${flags/-fplugin-arg/ -fplugin-arg} $exit=$exits lib.c -o liblive.so
    [ "$exits" = nop ] && exits=nop10 || exits=nop
    $cc -w main.c -o main -L. -llive -Wl,-rpath,"$PWD"
    # vaddr -> file offset of the executable segment; both from readelf.
    read -r segment_offset segment_vaddr < <(readelf -lW liblive.so | awk '$1 == "LOAD" && / E / {print $2, $3}')
    python3 "$FASTSDT_SOURCE/tests/fastprobe/entries.py" liblive.so >entries
    mkdir -p "$instance"
    probes=0
    while read -r address name; do
        lead=$(sed -n "s/^$name: [^ ]* lead=\([0-9]*\) .*/\1/p" entries)
        [ -n "$lead" ] || continue
        offset=$(printf '0x%x' $((0x$address - segment_vaddr + segment_offset + lead)))
        seventh=
        [ "$name" != stacked ] || seventh='g=+8(%sp):s64'
        echo "p:$group/$name $PWD/liblive.so:$offset a=%di:s64 b=%si:s64 c=%dx:s64 $seventh" >>$tracing/uprobe_events
        echo "r:$group/${name}_ret $PWD/liblive.so:$offset v=%ax:s64" >>$tracing/uprobe_events
        probes=$((probes + 1))
        # A return has the value; at a tail call it is not there yet.
        number=0
        while read -r kind at; do
            offset=$(printf '0x%x' $((at - segment_vaddr + segment_offset)))
            value=v=%ax:s64
            [ "$kind" = return ] || value=
            echo "p:$group/${name}_$kind$((number++)) $PWD/liblive.so:$offset $value" >>$tracing/uprobe_events
        done < <(sed -n "s/^$name exit: .* \(return\|tail-call\) .*at=\(0x[0-9a-f]*\) .*/\1 \2/p" entries | tr - _)
    done < <(nm liblive.so | awk '$2 == "T" {print $1, $3}')
    expect "$flags: entries" $probes 7
    echo 1 >"$instance/events/$group/enable"
    ./main || fail "$flags: the program fails under probes"
    sed -nE "s/^ *main-[0-9]+ .*: ([a-z]+): \(0x[0-9a-f]+\) a=(\S+) b=(\S+) c=(\S+)( g=(\S+))?.*/\1 \2 \3 \4 \6/p
             s/^ *main-[0-9]+ .*: ([a-z]+)_ret: .* v=(\S+).*/\1 -> \2/p
             s/^ *main-[0-9]+ .*: ([a-z]+)_tail_call[0-9]+: .*/\1 => (tail)/p
             s/^ *main-[0-9]+ .*: ([a-z]+)_return[0-9]+: .* v=(\S+).*/\1 => \2/p" "$instance/trace" | sed 's/ *$//' | sort >got
    cleanup
    grep -q '^tail exit: .* tail-call' entries && tails='s/^tail => .*/tail => (tail)/' || tails=
    LC_ALL=C sort got >a && sed "$tails" expected | LC_ALL=C sort >b
    cmp -s a b || { diff b a | sed -n 1,20p; fail "$flags: hits or values are wrong"; }
    echo "$flags: $(wc -l <got) hits right"
done
