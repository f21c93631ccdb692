#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that llvm-bolt has rewritten: which records still name code that is executed. The kernel is asked, and readelf.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc readelf fastsdt-check fastsdt-index
bolt=$(newest llvm-bolt)
need "$bolt"
cat >program.c <<'E'
#include <fastsdt.h>
#include <stdlib.h>
volatile int sink;
__attribute__((noinline)) int hot(int n) { for (int i = 0; i < n; i++) { FASTSDT(app, loop, i); sink += i; } return sink; }
__attribute__((noinline)) int entered(int n) { sink += n * 3; return sink + n; }
__attribute__((noinline)) int kept(int n) { FASTSDT(app, kept, n); sink += n; return sink; }
int main(int argc, char **argv) { int n = argc > 1 ? atoi(argv[1]) : 5; hot(n); for (int i = 0; i < n; i++) kept(entered(i)); return 0; }
/* What fastprobe records of a function that begins with a nop. */
#define ENTRY(function) __asm__(".pushsection .note.fastsdt,\"\",\"note\"\n.balign 4\n.4byte 8,24,0x45\n.asciz \"fastsdt\"\n" \
    ".byte 1,1,0,1,0,0\n.2byte 0\n.8byte " #function ",0\n.popsection")
ENTRY(hot);
ENTRY(entered);
ENTRY(kept);
E
gcc -O2 -fcf-protection=none -fpatchable-function-entry=1 -I"$INCLUDE" -Wl,--emit-relocs program.c -o program
count() { fastsdt-check --json --functions "$1" | python3 -c 'import json, sys
file = json.load(sys.stdin)["files"][0]
print(sum(p["layout_note"] is not None for p in file["probes"]), sum(f["selected"] and f["kernels"] is not None for f in file["functions"]))'; }
stale() { fastsdt-check "$1" 2>&1 | sed -n 's/.*error *\([0-9]* of [0-9]*\) layout records .*\[stale-record\].*/\1/p'; }
expect "before: sites with a record, selected functions" "$(count program)" "2 3"
expect "before: stale records" "$(stale program)" ""

# All functions moved. BOLT corrects the stapsdt notes (readelf), and our records name what is left in .bolt.org.text.
rewrite() { "$bolt" program -o "$1" "${@:2}" >bolt.log 2>&1 || fail "$bolt ${*:2}: $(tail -n 3 bolt.log)"; ./"$1" || fail "$1 does not run"; }
rewrite moved --keep-nops
expect "moved: stapsdt notes" "$(readelf -nW moved | grep -c 'Provider: app')" 2
expect "moved: stale records" "$(stale moved)" "5 of 5"
expect "moved: what is judged" "$(count moved)" "0 0"
status=0; fastsdt-check moved >out || status=$?
expect "moved: status" $status 1
expect "moved: layouts" "$(grep -o 'nop1+nop10' out | sort | uniq -c | awk '{print $1}')" 2
! grep -q 'other-header\|layout-without-probe' out || fail "moved: $(cat out)"
fastsdt-check --plan -k 6.12 moved >out
expect "moved: no plan for entries" "$(grep -c 'moved after the link' out)" 3
# The index drops what is stale.
cp moved indexed && fastsdt-index -v indexed >out
expect "dropped" "$(grep -c 'removed: .*its code was moved after the link' out)" 5
expect "indexed: stale records" "$(stale indexed)" ""
expect "indexed: probes" "$(readelf -nW indexed | grep -c 'Provider: app')" 2
./indexed || fail "the indexed file does not run"

# Functions that are left where they were keep their records.
rewrite partly --keep-nops --skip-funcs=kept
expect "partly: stale records" "$(stale partly)" "3 of 5"
expect "partly: what is judged" "$(count partly)" "1 1"
cp partly indexed && fastsdt-index -q indexed
expect "indexed: what is judged" "$(count indexed)" "1 1"

# Without --keep-nops the sites are nops of a byte.
rewrite short
expect "short: layouts" "$(fastsdt-check short | grep -o 'app:.* nop1$' | wc -l)" 2

if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] && have fastsdt-probe; then
    hits() { python3 -c 'import json, sys; print(*(t["hits"] for t in json.load(open("report.json"))["targets"]))'; }
    old=$(readelf -sW program | awk '$8 == "entered" { print "0x" $2 }')
    fastsdt-probe --json --output report.json -P 'app:*' -a "$old" moved -- ./moved 7
    expect "the kernel's hits: both probes, the entry's old place" "$(hits)" "7 7 0"
    fastsdt-probe --json --output report.json -e kept partly -- ./partly 7
    expect "the kernel's hits at the entry that was left" "$(hits)" 7
fi
