#!/bin/bash
# Files made to cost much more than their size: each is read in bounded memory and time, with a sentence where something was
# left out. The limits are far above what is needed (bench/scale.py measures that) and far below what it took once.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3 fastsdt-check fastsdt-index gcc objcopy
make_file() { python3 "$FASTSDT_SOURCE/bench/scale.py" "$1" "$2" "$1"; }
limited() { # COMMAND...: 20 seconds of CPU, 1 GB; output in out, status in $status
    status=0
    (ulimit -t 20; ulimit -v 1000000; exec "$@") > out 2>&1 || status=$?
    [ $status -le 2 ] || fail "$*: status $status: $(tail -3 out)"
    ! grep -q 'bad_alloc\|not enough memory' out || fail "$*: $(tail -3 out)"
}
# A line table of 100 MB in a file of 100 KB: took 10 GB and 34 s.
make_file lines 100000000
[ "$(stat -c %s lines)" -lt 200000 ] || fail "not a small file"
limited fastsdt-check lines
grep -q 'lines-left-out' out || fail "no word about the lines: $(cat out)"
grep -q 'p:n  0x401000  nop1+nop10' out || fail "the rest of the report is missing: $(cat out)"
make_file lines 1000
limited fastsdt-check lines
grep -q 'p:n  .*a.c:.*0x401000' out || fail "no line: $(cat out)"
# 1000 sections share one relocation table: libelf converted each, 4 GB.
make_file relocations 100000
limited fastsdt-check relocations
grep -q 'the relocation sections overlap' out || fail "no word about the relocations: $(head -5 out)"
make_file one-name 20000 # events were numbered from 1 for each: 32 s
limited fastsdt-check --plan -k 6.12 one-name
expect "planned probes" "$(grep -c 'bpftrace -e' out)" 20000
make_file one-pc 100000 # 33 s for 40,000
limited fastsdt-index -n one-pc
grep -q 'sites and 0 entries indexed' out || fail "index: $(tail -3 out)"
for kind in record-sections note-sections; do
    make_file $kind 60000
    limited fastsdt-check -s $kind
    limited fastsdt-index -n $kind
done
make_file semaphores 100000
limited fastsdt-check -s semaphores
grep -q 'semaphore-shared-page' out || fail "semaphores: $(cat out)"
for kind in archive thin; do # 19 s and 64 s for 200,000 members
    make_file $kind 200000
    limited fastsdt-check $kind
    grep -q 'member name /0 has no end' out || fail "$kind: $(head -3 out)"
done
# The separate debug file's name leads to a FIFO or a device.
rm -rf .debug linked.debug
printf '#include <fastsdt.h>\nint main(void) { FASTSDT(a, b); return 0; }\n' > linked.c
gcc -g -O2 -I"$INCLUDE" linked.c -o linked
objcopy --only-keep-debug linked linked.debug
objcopy -g --add-gnu-debuglink=linked.debug linked
objcopy --remove-section=.note.gnu.build-id linked
fastsdt-check linked | matches 'linked.c:2' || fail "no line from the separate file"
rm linked.debug && mkfifo linked.debug
status=0; timeout 60 fastsdt-check linked > out || status=$?
expect "status with a FIFO for the debug file" $status 0
! grep -q 'linked.c:2' out || fail "a line from nowhere"
mkdir -p .debug && rm linked.debug && ln -sf /dev/zero .debug/linked.debug
status=0; (ulimit -t 20; timeout 60 fastsdt-check linked > out) || status=$?
expect "status with a device for the debug file" $status 0
