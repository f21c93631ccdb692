#!/bin/bash
# Options do what they say wherever they are accepted, and are refused where they would mean nothing.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc python3 fastsdt-check
cat > prog.c <<'E'
#include <fastsdt.h>
int main(int argc, char** argv) { FASTSDT(a, good, argc); FASTSDT(a, other, argc); return argv == 0; }
E
gcc -g -O2 -I"$INCLUDE" prog.c -o prog
# Kernels: a whole release name; and what lies outside of what was measured is said.
for release in 6.12 6.12.43 6.1.0-44-amd64 6.18.5-cloud-amd64 4.18.0-553.5.1.el8_10.x86_64 "$(uname -r)"; do
    fastsdt-check -k "$release" prog > out 2> err || fail "-k $release: $(cat err)"
    grep -qE " kernels    (${release%%.*}\.|ubuntu-${release%%.*}\.|rhel-)" out || fail "-k $release: $(cat out)"
done
fastsdt-check -k 6.1.176,ubuntu-7.0.0-30-7.0.0-43 prog | matches 'kernels    6.1.176, ubuntu-7.0.0-30, ubuntu-7.0.0-40: ' ||
    fail "a range of Ubuntu's"
fastsdt-check -k rhel-9.6 prog > out 2> err
grep -q "Linux rhel-9.6 was not measured" err || fail "rhel-9.6 without a word: $(cat err)"
# The running kernel is one kernel.
fastsdt-check -k this,this prog | matches 'kernels    [^,|]*: ' || fail "this"
fastsdt-check -k 6.1-6.3 prog | matches 'kernels    6.1-6.3: ' || fail "a range"
for unknown in 2.6:older 5.3:older 99.9:newer; do
    fastsdt-check -k ${unknown%:*} prog > out 2> err || fail "-k $unknown"
    grep -q "Linux ${unknown%:*} is ${unknown#*:} than" err || fail "-k $unknown without a word: $(cat err)"
done
fastsdt-check -k 5.4,6.1,7.2 prog > out 2> err
expect "known kernels need no words" "$(cat err)" ""
for bad in 6 6.x six 6.1- 6.1..2 6.1-6.2-6.3 ""; do
    status=0; fastsdt-check -k "$bad" prog > out 2> err || status=$?
    [ -z "$bad" ] || expect "status of -k '$bad'" $status 2
done
# --only: the same probes as text and as JSON.
objdump -d prog > /dev/null
python3 "$FASTSDT_SOURCE/tests/check/damage.py" prog damaged
fastsdt-check --only error damaged > out || true
grep -q 'a:other' out && ! grep -q 'a:good' out || fail "--only as text: $(cat out)"
fastsdt-check --only error --json damaged > out || true
expect "--only as JSON" "$(python3 -c 'import json; print([p["name"] for p in json.load(open("out"))["files"][0]["probes"]])')" "['other']"
fastsdt-check --json damaged > out || true
expect "all as JSON" "$(python3 -c 'import json; print([p["name"] for p in json.load(open("out"))["files"][0]["probes"]])')" "['good', 'other']"
fastsdt-check --only error --pid $$ > out || fail "--only with --pid: $(cat out)"
! grep -q ' untouched' out || fail "--only shows sites without a finding: $(cat out)"
for meaningless in "--plan --only error" "--plan --functions"; do
    status=0
    fastsdt-check -k 6.12 $meaningless prog > out 2> err || status=$?
    expect "status of $meaningless" $status 2
done
# Source lines of every clang, whose programs have no .debug_aranges, at -O0 too; and compressed.
for compiler in gcc clang $(find /usr/bin -maxdepth 1 -name 'clang-[0-9]*' -printf '%f '); do
    have "$compiler" || continue
    for flags in -g "-g -gz" "-gdwarf-4 -O1" "-g -c"; do
        $compiler $flags -I"$INCLUDE" prog.c -o lines 2> /dev/null || continue
        fastsdt-check lines > out || fail "$compiler $flags: $(cat out)"
        expect "$compiler $flags: lines" "$(grep -c 'prog\.c:2 ' out)" 2
    done
done
# An empty PT_LOAD does not hide the segment around it; a misaligned arm64 word does not judge the sound one.
PYTHONPATH=$FASTSDT_SOURCE/bench python3 - <<'E'
from scale import *
pc = TEXT + 16
base = BASE + 0xF00
open("empty-segment", "wb").write(program([probe(pc, b"n", base=base)], [site(pc)], 4096, segments=[(0x1008, TEXT + 8, 0, 6, 1)]))
nop = bytes.fromhex("1f2003d5")
text = b"\0\0" + nop + b"\0\0" + nop + bytes(20)
for order in 1, -1:
    notes = [probe(TEXT + 2, b"odd", base=base), probe(TEXT + 8, b"even", base=base)][::order]
    sections = [(".text", 1, 6, TEXT, text, 0, 0, 0), (".stapsdt.base", 1, 2, base, b"\0", 0, 0, 0), (".note.stapsdt", 7, 0, 0, b"".join(notes), 0, 0, 0)]
    open("arm64-%d" % order, "wb").write(elf(sections, [(0, BASE, 0x1000 + len(text), 5, 1)], 183))
E
fastsdt-check empty-segment > out || fail "empty PT_LOAD: $(cat out)"
grep -q 'p:n  0x401010  nop1+nop10' out || fail "empty PT_LOAD: $(cat out)"
for order in 1 -1; do
    fastsdt-check -k 6.18 "arm64-$order" > out || true
    grep -A1 'p:odd' out | matches 'reject' || fail "misaligned: $(cat out)"
    grep -A1 'p:even' out | matches '6.18: emulate' || fail "aligned: $(cat out)"
done
