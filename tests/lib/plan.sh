# SPDX-License-Identifier: BSD-2-Clause
# The commands that a plan prints, run in bpftrace and perf on this kernel: every one counts each hit.
# Programs whose file offsets equal their addresses and others; probes with and without semaphore; entries at the
# function, and behind a landing pad.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc bpftrace perf
records=1
perf_records || records=
need_uprobes
[ "$(uname -m)" = x86_64 ] || skip "the program has x86-64 entries"
[ -w /sys/kernel/tracing/uprobe_events ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || skip "tracefs is not there"
ulimit -l unlimited 2>/dev/null || true
hits=7

cat >prog.c <<'EOF'
#include <fastsdt.h>
void padded(void);
void plain(void);
/* Two entries as fastprobe would leave them: nop1 behind endbr64, and nop1. */
#define ENTRY(name, lead, code)                                                                     \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ": " code "ret\n"             \
            ".size " name ", . - " name "\n"                                                        \
            ".pushsection .note.fastsdt,\"\",@note\n.balign 4\n.4byte 8, 24, 0x45\n.asciz \"fastsdt\"\n" \
            ".byte 1, 1, 0, 1, 0, " lead "\n.2byte 2\n.8byte " name ", 0\n.popsection");
ENTRY("padded", "4", "endbr64; nop;")
ENTRY("plain", "0", "nop;")
__attribute__((noinline)) static void site(int i) { FASTSDT_WITH(nop1_nop10, none, plan, site, i); }
__attribute__((noinline)) static void guarded(int i)
{
    if (FASTSDT_IS_ACTIVE(plan, guarded))
        FASTSDT_WITH(nop1_nop10, implicit, plan, guarded, i);
}
int main(void)
{
    int i;
    for (i = 0; i < HITS; i++) {
        site(i);
        guarded(i);
        padded();
        plain();
    }
    return 0;
}
EOF

cleanup() {
    local event
    while read -r event; do
        case $event in *"$PWD/"*) event=${event#p:}; echo "-:${event%% *}" >>/sys/kernel/tracing/uprobe_events ;; esac
    done </sys/kernel/tracing/uprobe_events 2>/dev/null || true
}
trap cleanup EXIT

run() { # PROGRAM
    local count=0 name verdict place bpftrace perf output event
    while IFS=$'\t' read -r name verdict place bpftrace perf; do
        case $name in '#'*) continue ;; esac
        count=$((count + 1))
        expect "$1 $name: verdict" "$verdict" emulate
        output=$(eval "$bpftrace -c $PWD/$1" 2>&1) || true
        case $output in
            *"]: $hits"*) ;;
            *"offset support"*) [ "$place" = "behind the landing pad" ] || fail "$1 $name: $bpftrace: $output"
                                echo "$1 $name: not this way: this bpftrace was built without offset support" ;;
            *) fail "$1 $name: $bpftrace: $output" ;;
        esac
        [ -n "$records" ] || continue
        echo "$perf -o $1.data $PWD/$1" >command
        timeout 100 bash command >perf.log 2>&1 || fail "$1 $name: $perf: status $?: $(cat perf.log)"
        event=${perf##* }
        perf script -i "$1.data" >script.out 2>>perf.log || fail "$1 $name: perf script: $(cat perf.log)"
        expect "$1 $name: $perf ($(xargs <perf.log))" "$(grep -c "$event" script.out)" $hits
        cleanup
    done < <(lib_plan_test "$1" this)
    expect "$1: planned places" $count 4
    echo "$1: 4 places, $hits hits each"
}

flags="-O2 -DHITS=$hits -I$INCLUDE"
gcc $flags -fcf-protection=none prog.c -o pie
run pie
lld=$(newest ld.lld)
if have "$lld"; then
    mkdir -p bin && ln -sf "$(command -v "$lld")" bin/ld.lld
    # By default lld lets RELRO and data share a page of the file. The kernel then raises the semaphore in the wrong one of
    # the two mappings, and the guarded probe never fires.
    gcc $flags -fcf-protection=none -Bbin -fuse-ld=lld prog.c -o shared
    ! bpftrace -e 'usdt:./shared:plan:guarded { @[probe] = count(); }' -c ./shared 2>&1 | grep "]: $hits" ||
        fail "shared: the kernel found the semaphore"
    expect "shared: findings" "$(fastsdt-check shared | grep -o 'semaphore-shared-page')" semaphore-shared-page
    gcc $flags -fcf-protection=none -Bbin -fuse-ld=lld -no-pie -Wl,-z,norelro prog.c -o lld
    run lld
    expect "lld: findings" "$(fastsdt-check lld | grep -o 'semaphore-shared-page')" ""
fi
# Without symbols entries have no name, and bpftrace takes any address.
strip -o stripped pie
run stripped | tee stripped.log
! grep -q "offset support" stripped.log || fail "stripped: an address was refused"
