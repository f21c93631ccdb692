#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where tracers of this system put their probe at a nop1+nop10 site: the table of docs/tracers.md. Each attaches to a running
# process; then the bytes in its memory tell. Debian 12's bpftrace and perf stay at the note's address, on the nop1.
. "$FASTSDT_SOURCE/tests/common.sh"
need cc fastsdt-check python3
need_uprobes
cat >program.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void work(int n) { FASTSDT(app, work, n); }
int main(void) { puts("ready"); fflush(stdout); for (;;) { work(1); usleep(1000); } }
END
cc -O2 -no-pie -I"$INCLUDE" program.c -o program
address=$(readelf -n program | sed -n 's/.*Location: \(0x[0-9a-f]*\),.*/\1/p')
./program >ready & pid=$!
tracer=
trap 'kill $pid $tracer 2>/dev/null || true; perf probe -d "sdt_app:*" -d "sdt_twice:*" >/dev/null 2>&1 || true' EXIT
until grep -q ready ready; do :; done
# The site's eleven bytes as the process has them.
live() { python3 -c 'import sys; f = open(f"/proc/{sys.argv[1]}/mem", "rb"); f.seek(int(sys.argv[2], 16)); print(f.read(11).hex())' $pid "$address"; }
pristine=90662e0f1f840000000000
expect "before" "$(live)" $pristine

rounds() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/$pid/status; } # the program sleeps once in each

# attached NAME: waits until the tracer has changed the site, then says where.
attached() {
    local bytes
    until
        bytes=$(live)
        [ "$bytes" != $pristine ]
    do
        kill -0 $tracer || fail "$1 ended: $(cat tracer.err)"
    done
    expect "$1 attaches at the nop1" "$bytes" "cc${pristine#90}"
    local from
    from=$(rounds)
    until [ $(($(rounds) - from)) -gt 50 ]; do :; done # it has something to count
    # Once more while it lives: a tracer that has not set its handler yet ignores SIGINT, as bash's background jobs do.
    while kill -INT $tracer 2>/dev/null; do timeout 2 tail --pid=$tracer -s 0.1 -f /dev/null || true; done
    wait $tracer || true
    tracer=
    echo "$1: at the note's address"
}
measured=0
if have bpftrace; then
    bpftrace -p $pid -e "usdt:$PWD/program:app:work { @ = count(); }" >tracer.out 2>tracer.err & tracer=$!
    attached bpftrace
    grep -q '^@: [1-9]' tracer.out || fail "bpftrace counted nothing: $(cat tracer.out)"
    measured=$((measured + 1))
fi
if have perf && perf --buildid-dir "$PWD/cache" buildid-cache --add "$PWD/program" >probe.out 2>&1 &&
    perf --buildid-dir "$PWD/cache" probe -x "$PWD/program" sdt_app:work >probe.out 2>&1; then
    perf stat -x, -e sdt_app:work -p $pid >tracer.out 2>tracer.err & tracer=$!
    attached perf
    [ "$(sed -n 's/^\([0-9]*\),.*sdt_app:work.*/\1/p' tracer.err)" -gt 0 ] || fail "perf counted nothing: $(cat tracer.err)"
    measured=$((measured + 1))
fi
# By its name, perf 6.1 reaches the sites of a probe whose arguments have the types of the first one's.
if have perf && [[ $(perf --version) == "perf version 6.1."* ]]; then
    for second in "n 2" "7 1" "(long)n 1"; do # an argument, and how many events there are
        printf '#include <fastsdt.h>
            __attribute__((noinline)) void one(int n) { FASTSDT(twice, pair, n); }
            __attribute__((noinline)) void two(int n) { FASTSDT(twice, pair, %s); (void)n; }
            int main(void) { one(1); two(2); return 0; }\n' "${second% *}" | cc -O2 -no-pie -I"$INCLUDE" -x c - -o twice
        perf probe -d "sdt_twice:*" >/dev/null 2>&1 || true
        perf --buildid-dir "$PWD/cache" buildid-cache --add "$PWD/twice" >probe.out 2>&1
        status=0
        perf --buildid-dir "$PWD/cache" probe -x "$PWD/twice" sdt_twice:pair >probe.out 2>&1 || status=1
        expect "perf's status and events of a probe with the arguments n and ${second% *}" \
            "$status $(grep -c ':sdt_twice/' /sys/kernel/tracing/uprobe_events)" "$((2 - ${second##* })) ${second##* }"
    done
fi
[ $measured -gt 0 ] || skip "neither bpftrace nor perf is here"
