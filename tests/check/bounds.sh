#!/bin/bash
# Files made to cost much more than their size: each is read in bounded memory and time, with a sentence where something was
# left out. The limits are far above what is needed (bench/scale.py measures that) and far below what it took once.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3 fastsdt-check fastsdt-index gcc objcopy readelf
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
# Not compressed: each byte is a row, for which libdw takes a hundred. 2 MB took 210 MB.
make_file plain-lines 2000000
(ulimit -t 20; ulimit -v 150000; exec fastsdt-check plain-lines) >out 2>&1 || fail "plain lines: $(tail -3 out)"
grep -q 'lines-left-out' out || fail "plain lines: $(cat out)"
make_file plain-lines 200000 # in proportion, they are read
limited fastsdt-check plain-lines
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
# Note sections that share their bytes: 2 MB took 3 GB and half a minute in fastsdt-index.
make_file shared-notes 40000
limited fastsdt-check -s shared-notes
grep -q 'malformed-note' out || fail "no word about the notes: $(cat out)"
limited fastsdt-index -n shared-notes
expect "shared notes: status" $status 2
grep -q "fastsdt-index: shared-notes: .*sections overlap" out || fail "shared notes: $(cat out)"
# Alignments that nobody needs: 60 sections of one byte made a file of 1 GB, in place.
make_file alignments 60
size=$(stat -c %s alignments)
limited fastsdt-index alignments
expect "alignments: status" $status 0
[ "$(stat -c %s alignments)" -le "$size" ] || fail "alignments: $size bytes have become $(stat -c %s alignments)"
limited fastsdt-check -s alignments
expect "alignments: sites" "$(grep -o '50 sites' out)" "50 sites"
expect "alignments: sections" "$(readelf -SW alignments | grep -c ' \.x[0-9]')" 60
make_file semaphores 100000
limited fastsdt-check -s semaphores
grep -q 'semaphore-shared-page' out || fail "semaphores: $(cat out)"
for kind in archive thin; do # 19 s and 64 s for 200,000 members
    make_file $kind 200000
    limited fastsdt-check $kind
    grep -q 'member name /0 has no end' out || fail "$kind: $(head -3 out)"
done
# Texts that many things share: 40,000 names of a function with the same bytes (1.2 GB and 328 MB of output), a type of 200 KB
# for the arguments of 5,000 probes (1 GB of output), and notes of names that never fit (quadratic).
within() { # FILE COMMAND...: 300 MB, 20 seconds of CPU, and no more output than 20 times the file and 1 MB
    local file=$1
    shift
    status=0
    (ulimit -t 20; ulimit -v 300000; exec "$@" "$file") >out 2>err || status=$?
    [ $status -le 1 ] || fail "$*: status $status: $(tail -3 err)"
    [ "$(stat -c %s out)" -le $((20 * $(stat -c %s "$file") + 1000000)) ] || fail "$* $file: $(stat -c %s out) bytes of output"
}
make_file aliases 40000
make_file one-names-note 5000
for kind in aliases one-names-note; do
    for options in -f "-f -v" "-f -j" "--sarif -f -v" "--plan -k 6.12" "--plan -j -k 6.12"; do
        within $kind fastsdt-check $options
    done
    within $kind fastsdt-check -f -v
    matches names-left-out <out || fail "$kind: no word about the names: $(tail -n 3 out | cut -c 1-200)"
done
make_file names-that-never-fit 80000 # half a minute
limited fastsdt-check -s --no-lines names-that-never-fit
limited fastsdt-check --plan -k 6.12 names-that-never-fit
expect "planned probes" "$(grep -c 'bpftrace -e' out)" 80000
# The report of an image has a limit of its own: not even sites in sections with names of 8 KB each are worth more.
make_file long-places 6000
status=0
(ulimit -t 20; ulimit -v 1000000; exec fastsdt-check -j long-places) >out 2>err || status=$?
expect "a long report: status and words" "$status $(cat err)" \
    "2 fastsdt-check: long-places: the report is longer than that of any sound file of this size, the rest is left out"
python3 -c 'import json, sys; assert len(json.load(open("out"))["files"][0]["probes"]) > 1000'
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
