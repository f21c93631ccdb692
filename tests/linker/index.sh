#!/bin/bash
# fastsdt-index on real links: what it removes, what it keeps, and how it writes. Readers that are not ours judge.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc ld.bfd readelf objcopy cmp

# A probe as in systemtap's header, without link order: with --gc-sections mold leaves its note behind.
cat > probe.h <<'E'
#define PROBE(name) __asm__ volatile( \
    "990: .byte 0x90,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\n.reloc 990b, BFD_RELOC_NONE, _.stapsdt.base\n" \
    ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8,994f-993f,3\n.asciz \"stapsdt\"\n" \
    "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n.asciz \"test\"\n.asciz \"" name "\"\n.asciz \"\"\n994: .balign 4\n.popsection\n" \
    ".pushsection .note.fastsdt,\"\",\"note\"\n.balign 4\n.4byte 8,24,0x53\n.asciz \"fastsdt\"\n" \
    ".byte 1,6,1,10,0,0\n.2byte 1\n.8byte 990b\n.8byte 0\n.popsection\n" \
    ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base,1\n.popsection\n.endif\n" : :)
E
cat > app.c <<'E'
#include <stdio.h>
#include "probe.h"
int nobody_calls(void) { PROBE("dead"); PROBE("half"); return 1; }
__attribute__((noinline)) int called(void) { PROBE("live"); PROBE("half"); return 2; }
int main(void) { printf("%d\n", called()); return 0; }
E
names() { readelf -nW "$1" | sed -n 's/^ *Name: //p' | sort | tr '\n' ' '; }
sections_but_notes() { # name and hash of every other section, address and flags of each, program headers
    objcopy -R .note.stapsdt -R .note.fastsdt "$1" stripped.tmp
    readelf -lW "$1" | sed '/Section to Segment/,$d'
    local s
    readelf -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] \(\.[^ ]*\) .*/\1/p' | grep -v '^.note.\(stapsdt\|fastsdt\)$' | while read -r s; do
        objcopy -O binary --only-section="$s" --set-section-flags "$s=alloc" "$1" section.tmp 2>/dev/null || : > section.tmp
        echo "$s $(sha256sum < section.tmp)"
    done
}

linkers=bfd
have mold && linkers="$linkers mold"
for linker in $linkers; do
    gc=; [ $linker = bfd ] || gc=-Wl,--gc-sections
    gcc -g -O2 -ffunction-sections -fuse-ld=$linker $gc -Wl,--build-id app.c -o app.$linker
    objcopy --only-keep-debug app.$linker app.debug
    objcopy --add-gnu-debuglink=app.debug app.$linker
    sections_but_notes app.$linker > before
    cp app.$linker copy
    fastsdt-index -q copy -o out
    cmp copy app.$linker || fail "-o changed the input"
    fastsdt-index -v app.$linker > report
    cmp out app.$linker || fail "-o and in place differ"
    sections_but_notes app.$linker > after
    cmp before after || fail "$linker: something else than the notes changed"
    expect "the program still runs" "$(./app.$linker)" 2
    if [ $linker = mold ]; then
        expect "dangling probes are gone" "$(names app.mold)" "half live "
        grep -q 'removed: probe test:dead' report || fail "the report does not name test:dead"
    else
        expect "no probe is lost" "$(names app.bfd)" "dead half half live "
    fi
    # Every stapsdt note's pc has an INDEX record: the offsets in the note, read by hand, against readelf's locations.
    readelf -nW app.$linker | sed -n 's/.*Location: 0x0*\([0-9a-f]*\),.*/\1/p' | sort > locations
    objcopy -O binary --only-section=.note.fastsdt --set-section-flags .note.fastsdt=alloc app.$linker note.bin
    n=$(od -An -tu4 -j28 -N4 note.bin); kinds=$(od -An -tu4 -j32 -N4 note.bin); base=$(od -An -tu8 -j36 -N8 note.bin)
    expect "one kind" "$((kinds))" 1
    for offset in $(od -An -v -tu4 -j$((20 + 24 + 16)) -N$((4 * n)) note.bin); do printf '%x\n' $((base + offset)); done > indexed
    expect "indexed addresses" "$(cat indexed)" "$(cat locations)"
    # Again: nothing to do, the file is not even written.
    inode=$(stat -c '%i %Y' app.$linker)
    fastsdt-index app.$linker | matches 'nothing to do' || fail "the second run did something"
    expect "second run leaves the file" "$(stat -c '%i %Y' app.$linker)" "$inode"
    ! have gdb || expect "gdb lists the probes" \
        "$(gdb -nx -batch -ex 'info probes stap' app.$linker 2>&1 | awk '$1 == "stap" {print $3}' | sort | tr '\n' ' ')" "$(names app.$linker)"
    ! have strip || { strip -o stripped app.$linker; expect "strip keeps the result" "$(names stripped)" "$(names app.$linker)"; }
done

# Files: modes are kept, symbolic links stay links, a failing run leaves no trace.
gcc -O2 -ffunction-sections app.c -o app && chmod 751 app && ln -sf app link
fastsdt-index -q link
[ -L link ] || fail "a symbolic link was replaced"
expect mode "$(stat -c %a app)" 751
gcc -c app.c -o app.o && cp app.o keep.o
status=0; fastsdt-index app.o 2> err || status=$?
expect "status for an object" $status 2
grep -q 'app.o: a relocatable object' err || fail "unclear: $(cat err)"
cmp app.o keep.o || fail "a refused file changed"
objcopy --only-keep-debug app app.debug
! fastsdt-index app.debug 2> err || fail "a debug file was accepted"
grep -q 'separate debug' err || fail "unclear: $(cat err)"
gcc -O2 -Wl,--emit-relocs app.c -o relocs
! fastsdt-index relocs 2> err || fail "relocations for the notes were accepted"
grep -q 'remove-relocations' err || fail "unclear: $(cat err)"
objcopy --remove-relocations=.note.stapsdt --remove-relocations=.note.fastsdt relocs
fastsdt-index -q relocs || fail "the advice in the message did not help"
cp app appended && fastsdt-index -q appended && gcc -O2 app.c -o appended && echo payload >> appended
! fastsdt-index appended 2> err || fail "appended data was accepted"
! fastsdt-index absent 2> err || fail "a missing file was accepted"
grep -q 'absent: No such file' err || fail "unclear: $(cat err)"
cp app indexed && fastsdt-index -q indexed
mkdir -p readonly && gcc app.c -o readonly/app && cp indexed readonly/
status=0; fastsdt-index -q -o /proc/nowhere readonly/app 2> err || status=$?
expect "status when the output cannot be written" $status 2
status=0; fastsdt-index > out 2>&1 || status=$?
expect "status for wrong usage" $status 2
status=0; fastsdt-index -o x app app > out 2>&1 || status=$?
expect "status for -o with two files" $status 2
ls ./*.?????? 2>/dev/null | grep -E '\.[A-Za-z0-9]{6}$' | grep -v -E '\.(fastsdt|stripped)$' && fail "a temporary file was left"
gcc app.c -o fresh && cp fresh keep
fastsdt-index -n fresh | matches sites || fail "--dry-run says nothing"
cmp fresh keep || fail "--dry-run wrote"
fastsdt-index --json fresh | python3 -c 'import json,sys; r=json.load(sys.stdin)[0]; assert r["changed"] and r["sites"] == 4 and r["probes"] == 4, r'

gcc app.c -o fresh # not indexed yet
# Other kinds of files than regular ones are not replaced, and nothing is read before the magic.
status=0; fastsdt-index -q -o /dev/null fresh 2> err || status=$?
expect "status for -o /dev/null" $status 2
[ -c /dev/null ] || fail "/dev/null was replaced"
grep -q '/dev/null: not a regular file' err || fail "unclear: $(cat err)"
rm -f fifo && mkfifo fifo
! fastsdt-index fifo 2> err || fail "a FIFO was accepted"
! fastsdt-index -o fifo fresh 2> err || fail "a FIFO was written"
[ -p fifo ] || fail "a FIFO was replaced"
rm -f sparse && truncate -s 1T sparse 2> err || truncate -s 6G sparse
status=0; (ulimit -t 20; fastsdt-index sparse 2> err) || status=$?
expect "a large sparse file" "$status $(cat err)" "2 fastsdt-index: sparse: not an ELF file"
rm sparse
cp fresh escape$'\e'"[31m" && ! fastsdt-index -o x/y escape$'\e'"[31m" 2> err || fail "a missing directory was accepted"
fastsdt-index escape$'\e'"[31m" > out
! grep -q $'\e' out err || fail "a name reached the terminal raw"
cp fresh linked && ln -f linked other
fastsdt-index -q linked 2> err
grep -q 'linked: has 1 other names (hard links), which keep the old contents' err || fail "hard links: $(cat err)"
cmp other fresh || fail "the other name was changed"
# Attributes of all kinds: the kernel has the same afterwards, in place and for -o.
if [ "$(id -u)" = 0 ]; then
    mine=$(mktemp -d /var/tmp/index_attributes.XXXXXX) && cp fresh "$mine/app"
    python3 - "$mine/app" "$mine/out" <<'E'
import os, struct, subprocess, sys
app, out = sys.argv[1:]
all_of = lambda path: {name: os.getxattr(path, name) for name in os.listxattr(path)}
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in [(1, 7, 0xFFFFFFFF), (2, 5, 1500), (4, 5, 0xFFFFFFFF), (16, 5, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF)])
net_raw = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)  # VFS_CAP_REVISION_2, effective
tried = 0
for name, value in ("user.note", b"kept\0whole"), ("system.posix_acl_access", acl), ("security.capability", net_raw), ("trusted.note", b"t"):
    try:
        os.setxattr(app, name, value)
        tried += 1
    except OSError as error:
        print("not here:", name, error)
before, mode = all_of(app), os.stat(app).st_mode
assert len(before) >= tried > 0, before
subprocess.run(["fastsdt-index", "-q", "-o", out, app], check=True)
subprocess.run(["fastsdt-index", "-q", app], check=True)
for result in out, app:
    assert all_of(result) == before, (result, all_of(result), before)
    assert os.stat(result).st_mode == mode, result
E
    rm -r "$mine"
fi
# Somebody else's set-user-id program does not become one of ours.
if [ "$(id -u)" = 0 ] && have setpriv && setpriv --reuid 2500 --clear-groups test -x "$(command -v fastsdt-index)"; then
    user=$(mktemp -d) && cp fresh "$user/theirs" && chown 1500 "$user/theirs" && chmod 4755 "$user/theirs" && chmod 777 "$user"
    setpriv --reuid 2500 --regid 2500 --clear-groups fastsdt-index -q -o "$user/ours" "$user/theirs" || fail "-o as another user"
    expect "mode and owner of the copy" "$(stat -c '%a %u' "$user/ours")" "755 2500"
    rm -r "$user"
fi

# Notes between segments. patchelf puts a segment behind them, RISC-V a program header that is not loaded.
printf '#include <fastsdt.h>\nint f(int x) { FASTSDT(a, b, x); FASTSDT(a, c, x); FASTSDT(a, d); return x; }\n' > shared.c
between() { # FILE: indexes it; the notes stay the same for readelf, everything loaded for cmp
    cp "$1" before.so
    fastsdt-index "$1" > out || fail "$1: refused"
    grep -q '3 sites and 0 entries indexed' out || fail "$1: $(cat out)"
    expect "$1: probes" "$(names "$1")" "b c d "
    expect "$1: program headers" "$(readelf -lW "$1")" "$(readelf -lW before.so)"
    fastsdt-check "$1" > out || fail "$1: $(cat out)"
    fastsdt-index "$1" | matches 'nothing to do' || fail "$1: the second run did something"
}
if have patchelf; then
    gcc -O2 -g -shared -fPIC -I"$INCLUDE" shared.c -o grown.so
    patchelf --set-rpath "/$(printf 'long%.0s' $(seq 100))" grown.so
    between grown.so
    expect "its search path" "$(patchelf --print-rpath grown.so)" "/$(printf 'long%.0s' $(seq 100))"
    # One note only: the index is larger than it and goes to the end of the file.
    printf '#include <fastsdt.h>\n__attribute__((noinline)) int f(int x) { FASTSDT(a, b, x); return x; }\nint main(void) { return f(0); }\n' > one.c
    gcc -O2 -I"$INCLUDE" one.c -o one && patchelf --set-rpath "/$(printf 'long%.0s' $(seq 100))" one
    printf '\0' >>one # which patchelf 0.18 leaves there
    fastsdt-index -q one || fail "one note"
    ./one || fail "the program does not run"
    expect "one probe" "$(names one)" "b "
    fastsdt-check one > out || fail "one note: $(cat out)"
fi
if have riscv64-linux-gnu-gcc; then
    riscv64-linux-gnu-gcc -O2 -g -shared -fPIC -nostdlib -I"$INCLUDE" shared.c -o riscv.so
    readelf -lW riscv.so | matches RISCV_ATTRIBUT || fail "no PT_RISCV_ATTRIBUTES to test with"
    between riscv.so
    expect "its attributes" "$(readelf -AW riscv.so)" "$(readelf -AW before.so)"
fi

# Base: a note whose base was lost is repaired if the section is there, and gdb shows the right place again.
gcc -O2 app.c -o based
objcopy -O binary --only-section=.note.stapsdt --set-section-flags .note.stapsdt=alloc based notes.bin
pc=$(readelf -nW based | sed -n 's/.*Location: \(0x[0-9a-f]*\),.*/\1/p' | sed -n 1p)
printf '\0\0\0\0\0\0\0\0' | dd of=notes.bin bs=1 seek=28 conv=notrunc status=none
objcopy --update-section .note.stapsdt=notes.bin based
fastsdt-index based | matches 'the base of 1 probe corrected' || fail "the base was not corrected"
expect "all bases agree" "$(readelf -nW based | sed -n 's/.*Base: \([^,]*\),.*/\1/p' | sort -u | wc -l)" 1
expect "pc unchanged" "$(readelf -nW based | sed -n 's/.*Location: \(0x[0-9a-f]*\),.*/\1/p' | sed -n 1p)" "$pc"

# A lost .stapsdt.base: there is one again, where the notes say, and gdb shows the probes. No header lies over bytes of another
# section: strip would move that section, and the program would not run.
cat >loaded.py <<'E'
import struct, sys
seen = {}
for path in sys.argv[1:]: # addresses and bytes of what is loaded, without the headers, which say where the sections are
    data = open(path, "rb").read()
    at, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    loaded = []
    for i in range(count):
        kind, flags, offset, address, _, size, memory, _ = struct.unpack_from("<IIQQQQQQ", data, at + 56 * i)
        headers = 0 if offset else min(size, 64 + 56 * count)
        if kind == 1: # PT_LOAD
            loaded.append((address, size, memory, flags, data[offset + headers:offset + size]))
    seen[path] = loaded
first = sys.argv[1]
print(*(path for path in seen if not seen[path] or seen[path] != seen[first]))
E
probes_at() { readelf -SnW "$1" |
    sed -n 's/.*\(Location: .* Base: .*\),.*/\1/p; /Name: [a-z]/p; s/.*\( \.stapsdt\.base \+[A-Z]* *[0-9a-f]*\).*/\1/p'; }
stripped() { # FILE WHAT: what is loaded stays as it is, and the probes
    local tool copies="" n=0
    probes_at "$1" >probes
    for tool in strip "strip -g" objcopy "llvm-strip -g" llvm-objcopy eu-strip; do
        have "${tool%% *}" || continue
        n=$((n + 1)) && cp "$1" thin.$n && copies="$copies thin.$n"
        $tool thin.$n >thin.log 2>&1 || fail "$2: $tool: $(cat thin.log)"
        expect "$2: $tool says" "$(cat thin.log)" ""
        probes_at thin.$n | cmp - probes || fail "$2: $tool changes the probes"
        ./thin.$n || fail "$2: does not run after $tool"
    done
    expect "$2: other bytes are loaded after strip or objcopy" "$(python3 loaded.py "$1" $copies)" ""
}
lost() { # FILE WHAT: repaired; gdb lists as many probes as readelf
    fastsdt-index "$1" >out || fail "$2: $(cat out)"
    grep -q '.stapsdt.base restored' out || fail "$2: not restored: $(cat out)"
    expect "$2: a section" "$(readelf -SW "$1" | grep -c ' \.stapsdt\.base ')" 1
    expect "$2: bases" "$(readelf -nW "$1" | sed -n 's/.*Base: 0x\([^,]*\),.*/\1/p' | sort -u)" \
        "$(readelf -SW "$1" | awk '{ sub(/^ *\[ *[0-9]*\] */, "") } $1 == ".stapsdt.base" { print $3 }')"
    ! have gdb || expect "$2: gdb" "$(gdb -nx -batch -ex 'info probes stap' "$1" 2>/dev/null | grep -c '^stap ')" \
        "$(readelf -nW "$1" | grep -c 'Provider: ')"
    fastsdt-check --fail-on error "$1" >out || fail "$2: $(cat out)"
    "./$1" || fail "$2: does not run"
    stripped "$1" "$2"
    cp "$1" again && fastsdt-index again | matches 'nothing to do' || fail "$2: a second run changes something"
}
gcc -O2 app.c -o whole
objcopy -R .stapsdt.base whole removed
! have gdb || expect "gdb before" "$(gdb -nx -batch -ex 'info probes stap' removed 2>/dev/null | grep -c '^stap ')" 0
lost removed "section removed"
readelf -nW whole | sed -n 's/.*\(Location: [^,]*\),.*/\1/p' | sort >before
readelf -nW removed | sed -n 's/.*\(Location: [^,]*\),.*/\1/p' | sort >after
cmp before after || fail "other places than before"
# As a linker leaves it that drops the section: the notes' base is 0 as well.
gcc -O2 app.c -o zero
objcopy -O binary --only-section=.note.stapsdt --set-section-flags .note.stapsdt=alloc zero notes.bin
python3 - <<'E'
import struct
data, at = bytearray(open("notes.bin", "rb").read()), 0
while at < len(data):
    owner, size, _ = struct.unpack_from("<III", data, at)
    struct.pack_into("<Q", data, at + 12 + owner + 8, 0)
    at += 12 + owner + (size + 3 & ~3)
open("notes.bin", "wb").write(data)
E
objcopy --update-section .note.stapsdt=notes.bin -R .stapsdt.base zero
lost zero "section removed and bases 0"
# The segment ended with it, and objcopy made the segment shorter: the notes' base is in no segment any more (mold, lld).
bases() { readelf -nW "$1" | grep -o 'Base: [^,]*' | sort -u; }
shorter=0
mkdir -p with-lld # gcc knows no -fuse-ld=lld-19
lld=$(newest ld.lld)
! have "$lld" || ln -sf "$(command -v "$lld")" with-lld/ld.lld
for linker in bfd gold lld mold; do
    for kind in -pie -no-pie; do
        gcc -O2 $kind -fPIE -B"$PWD/with-lld/" -fuse-ld=$linker app.c -o "whole.$linker$kind" 2>errors || continue
        objcopy -R .stapsdt.base "whole.$linker$kind" "short.$linker$kind"
        lost "short.$linker$kind" "$linker $kind, section removed"
        readelf -nW "whole.$linker$kind" | sed -n 's/.*\(Location: [^,]*\),.*/\1/p' | sort >before
        readelf -nW "short.$linker$kind" | sed -n 's/.*\(Location: [^,]*\),.*/\1/p' | sort >after
        cmp before after || fail "$linker $kind: other places than before"
        [ "$(bases "whole.$linker$kind")" = "$(bases "short.$linker$kind")" ] || shorter=$((shorter + 1))
    done
done
! have mold || [ $shorter -gt 0 ] || fail "no linker's segment ended with .stapsdt.base"
# lld drops it because a script says so, and writes base 0.
echo 'SECTIONS { /DISCARD/ : { *(.stapsdt.base) } } INSERT AFTER .text;' >drop.ld
for kind in -pie -no-pie; do
    gcc -O2 $kind -fPIE -B"$PWD/with-lld/" -fuse-ld=lld -Wl,-T,drop.ld app.c -o "dropped$kind" 2>errors || continue
    lost "dropped$kind" "lld $kind, dropped by a script"
done
# Beside a note of another base whose code is gone: all in one run, lost() tries a second one.
gcc -O2 app.c -o beside
objcopy -O binary --only-section=.note.stapsdt --set-section-flags .note.stapsdt=alloc beside notes.bin
python3 - <<'E'
import struct
data = bytearray(open("notes.bin", "rb").read())
owner, size, _ = struct.unpack_from("<III", data, 0)
struct.pack_into("<QQ", data, 12 + owner, 8, struct.unpack_from("<Q", data, 12 + owner + 8)[0] + 64) # pc and base of the first
open("notes.bin", "wb").write(data)
E
objcopy --update-section .note.stapsdt=notes.bin -R .stapsdt.base beside
lost beside "a dangling note of another base"
expect "what is left beside it" "$(readelf -nW beside | grep -c 'Provider: ')" 3
# Nothing is loaded but the text: the name is given to its begin, without a byte, and the probes stand in an executable section.
cat >bare.c <<'E'
#include "probe.h"
void _start(void) { PROBE("one"); PROBE("two"); __asm__ volatile("syscall" : : "a"(60), "D"(0)); }
E
gcc -O2 -fno-asynchronous-unwind-tables -fno-ident -fcf-protection=none -nostdlib -static -Wl,--build-id=none bare.c -o bare
objcopy -R .stapsdt.base bare
lost bare "only text is loaded"
expect "what is left of it" "$(readelf -nW bare | grep -c 'Provider: ')" 2
expect "begin of the text" "$(readelf -SW bare | sed -n 's/.* \.\(text\|stapsdt\.base\) *PROGBITS *\([0-9a-f]*\) .*/\2/p' | uniq | wc -l)" 1
# A note that is there twice but for its base, which is wrong in one: they are the same once that is corrected.
cat >almost.c <<'E'
#include "probe.h"
#define NOTE(base) ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8,994f-993f,3\n.asciz \"stapsdt\"\n" \
    "993: .8byte 995b, " base ", 0\n.asciz \"test\"\n.asciz \"twice\"\n.asciz \"\"\n994: .balign 4\n.popsection\n"
int main(void) { PROBE("one"); __asm__ volatile("995: nop\n" NOTE("_.stapsdt.base") NOTE("_.stapsdt.base + 64")); return 0; }
E
gcc -O2 almost.c -o almost
fastsdt-index -v almost | matches 'removed: probe test:twice .* the same note twice' || fail "the same note with two bases"
expect "the note with two bases" "$(readelf -nW almost | grep -c 'Name: twice')" 1
fastsdt-index almost | matches 'nothing to do' || fail "the note with two bases: a second run changes something"

# Damage: one clear sentence, the file as it was.
refused() { # FILE WORDS
    cp "$1" before
    status=0
    fastsdt-index "$1" >out 2>err || status=$?
    expect "$1: status and words" "$status $(cat err)" "2 fastsdt-index: $1: $2"
    cmp "$1" before || fail "$1: changed"
}
cp whole indexed && fastsdt-index -q indexed
damaged() { # FILE OFFSET-IN-ELF-HEADER BYTE-IN-OCTAL: a file that lacks nothing but .stapsdt.base, with that byte
    objcopy -R .stapsdt.base indexed "$1"
    printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
for size in 0 40 200; do # e_shentsize is 64
    damaged entsize $((0x3a)) $size
    refused entsize "damaged ELF header: e_shentsize is not the size of a section header"
done
damaged phentsize $((0x37)) 377 # e_phentsize of 65,336
refused phentsize "the program headers run over the end of the file"
damaged ehsize $((0x35)) 377
refused ehsize "the program headers run over the end of the file"
damaged shoff $((0x2a)) 1
refused shoff "truncated: the section headers lie past the end of the file"
objcopy -R .stapsdt.base whole appended
printf x >>appended
refused appended "data follows the end of the ELF file: index the file first, then append"
objcopy -R .stapsdt.base whole padded
printf '\0' >>padded
lost padded "a byte of padding"

# Notes of another header beside ours: mold leaves two sections, of which libbpf and perf read the first only.
if have mold; then
    printf '#include <fastsdt.h>\nvoid ours(void) { FASTSDT(test, ours); }\n' >ours.c
    for order in "app.c ours.c" "ours.c app.c"; do
        gcc -O2 -I"$INCLUDE" -fuse-ld=mold $order -o two
        if [ "$(readelf -SW two | grep -c ' \.note\.stapsdt ')" = 1 ]; then
            echo "$(mold --version): joins them itself"
            expect "probes in all" "$(names two)" "dead half half live ours "
            continue
        fi
        expect "mold's note sections" "$(readelf -SW two | grep -c ' \.note\.stapsdt ')" 2
        status=0
        fastsdt-check two >check.txt || status=$?
        expect "two sections: status of fastsdt-check" $status 1
        grep -q 'split-notes' check.txt || fail "two sections: $(cat check.txt)"
        fastsdt-index two | matches ', 2 .note.stapsdt sections joined' || fail "the sections were not joined"
        # What libbpf does: the first section of the name, every note in it.
        first=$(readelf -SW two | sed -n 's/.* \.note\.stapsdt *NOTE *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/0x\1 0x\2/p' | sed -n 1p)
        dd if=two of=first.bin bs=1 skip=$((${first% *})) count=$((${first#* })) status=none
        expect "probes in the first section" "$(grep -ao 'dead\|half\|live\|ours' first.bin | sort | tr '\n' ' ')" "dead half half live ours "
        expect "probes in all" "$(names two)" "dead half half live ours "
        fastsdt-check two >check.txt || fail "joined, but: $(cat check.txt)"
        fastsdt-index two | matches 'nothing to do' || fail "joined sections are not left alone"
    done
fi

# Other class and byte order.
if have aarch64-linux-gnu-gcc; then
    sed 's/.byte 0x90[^\\]*\\n[^\\]*/nop/; s/1,6,1,10,0,0/1,1,0,4,0,0/' probe.h > a64.tmp && mkdir -p a64 && cp a64.tmp a64/probe.h && cp app.c a64/
    aarch64-linux-gnu-gcc -O2 -static a64/app.c -o app.a64
    fastsdt-index -v app.a64 | matches '4 sites and 0 entries indexed' || fail "arm64"
    expect "arm64 probes" "$(names app.a64)" "dead half half live "
fi
if have mips64el-linux-gnuabi64-gcc s390x-linux-gnu-gcc && have s390x-linux-gnu-gcc; then
    sed 's/.byte 0x90[^\\]*\\n[^\\]*/nopr %%r0/; s/1,6,1,10,0,0/1,1,0,2,0,0/' probe.h > s390.tmp && mkdir -p s390 && cp s390.tmp s390/probe.h &&
        cp app.c s390/
    s390x-linux-gnu-gcc -O2 -nostdlib -r s390/app.c -o app.s390.o
    s390x-linux-gnu-ld -e main --unresolved-symbols=ignore-all app.s390.o -o app.s390
    fastsdt-index -v app.s390 | matches '4 sites and 0 entries indexed' || fail "s390x, big endian"
fi
