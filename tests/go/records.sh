#!/bin/bash
# Records in code (docs/format.md), made by gcc's assembler: notes of sound ones, in the sections where they belong, with and without such sections
# before; what is wrong with others is said, and nothing is made of them.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc readelf strip python3
[ "$(uname -m)" = x86_64 ] || skip "the records here are those of x86-64"
cat >make.py <<'END'
"""make.py NAME CHANGE: a program with the probe test:NAME, in whose record something is as CHANGE says."""
import sys
name, change = sys.argv[1:]
texts = f"test\\0{name}\\0-4@%edi\\0int\\0number\\0"
parts = {"magic": '.ascii "fastsdt in code\\0"', "size": ".2byte 9f - 1b", "distance": ".byte 1b - 0b", "arguments": ".byte 1", "version": ".byte 1",
         "layout": ".byte 6, 1, 10", "flags": ".2byte 3", "texts": f'.ascii "{texts}"'}
site = ".byte 0x90,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0"
load, semaphore = "lea 4+test_word(%rip), %rax", ".data\n.balign 8\ntest_word: .long 1, 0"
if change == "no-lea":
    load = "mov 4+test_word@GOTPCREL(%rip), %rax"
elif change == "bss":
    semaphore = ".bss\n.balign 8\ntest_word: .space 8"
elif change == "unaligned":
    load, semaphore = load.replace("4+", "5+"), semaphore + ", 0"
elif change == "unmarked":
    semaphore = semaphore.replace("1, 0", "2, 0")
elif change == "alone":
    semaphore = semaphore.replace(".data", '.section alone,"aw",@progbits')
elif change == "no-site":
    site = ".byte 0xc3," + site[len(".byte 0x90,"):]
elif change != "sound":
    part, _, text = change.partition("=")
    assert part in parts, part
    parts[part] = text
print(f""".text
.globl test_site
.type test_site, @function
test_site:
0: {site}
ret
{load}
1: {chr(10).join(parts.values())}
9:
.size test_site, . - test_site
{semaphore}
.globl test_word
.section .note.GNU-stack,"",@progbits""")
END
cat >main.c <<'END'
#include <stdio.h>
extern void test_site(int);
extern struct { int mark; volatile int active; } test_word;
#ifdef WITH
#include "fastsdt.h"
#endif
int main(void)
{
#ifdef WITH
    FASTSDT(test, other, 1);
#endif
    if (test_word.active)
        test_site(7);
    printf("%d\n", test_word.mark);
    return 0;
}
END
program() { # FILE CHANGE OPTIONS...
    local file=$1 change=$2
    shift 2
    python3 make.py "${file%%-*}" "$change" >"$file.s"
    gcc -O2 -I"$INCLUDE" "$@" main.c "$file.s" -o "$file" || fail "gcc: $file"
}
names() { readelf -nW "$1" | sed -n 's/^ *Name: //p' | sort | xargs; }
place() { readelf -sW "$1" | awk -v name="$2" '$8 == name { print $2; exit }'; }

# ---- Sound ones: with no section of notes, with all of them, and position-independent or not.
for options in -no-pie -pie "-no-pie -DWITH" "-pie -DWITH"; do
    file=sound${options//[ =]/}
    program "$file" sound $options
    cp "$file" before
    [[ $options = *WITH* ]] && probes="other sound" || probes=sound
    said=$(fastsdt-index "$file")
    matches '1 probe noted that the code has' <<<"$said" || fail "$file: $said"
    expect "$file: probes" "$(names "$file")" "$probes"
    readelf -nW "$file" | grep -A2 'Name: sound' >note
    site=$(place "$file" test_site) semaphore=$(printf '%016x' $((0x$(place "$file" test_word) + 4)))
    grep -q "Location: 0x$site, .*Semaphore: 0x$semaphore" note || fail "$file, site $site, semaphore $semaphore: $(cat note)"
    grep -q 'Arguments: -4@%edi' note || fail "$file: $(cat note)"
    fastsdt-check --fail-on warning "$file" >check.log || fail "$file: $(cat check.log)"
    grep -q 'test:sound(int number)' check.log || fail "$file: $(cat check.log)"
    expect "$file: runs" "$(./"$file")" 1
    cp "$file" once
    fastsdt-index -q "$file"
    cmp once "$file" || fail "$file: a second run changes it"
    # What is loaded is as it was.
    python3 - before "$file" <<'END' || fail "$file: see above"
import subprocess
import sys
def loaded(file):
    data = bytearray(open(file, "rb").read())
    data[40:48], data[60:64] = bytes(8), bytes(4) # where the section headers are, and how many
    lines = subprocess.run(["readelf", "-lW", file], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in lines if line.startswith("  LOAD")]
    return [bytes(data[int(row[1], 16):int(row[1], 16) + int(row[4], 16)]) for row in rows]
if loaded(sys.argv[1]) != loaded(sys.argv[2]):
    sys.exit("loaded bytes differ")
END
    # Each byte of it is in one section, so that strip moves none.
    strip "$file" 2>strip.log || fail "strip: $(cat strip.log)"
    expect "$file: what strip says" "$(cat strip.log)" ""
    expect "$file: stripped" "$(names "$file") $(./"$file")" "$probes 1"
    fastsdt-check --fail-on error "$file" >check.log || fail "$file, stripped: $(cat check.log)"
    # From a stripped program, too.
    strip before -o late
    fastsdt-index -q late
    expect "$file: indexed after strip" "$(names late)" "$probes"
done

# ---- Others: CHANGE, what is said.
while IFS='|' read -r change what; do
    program wrong "$change" -no-pie
    cp wrong before
    fastsdt-index wrong >out 2>err || fail "$change: status $? $(cat err)"
    grep -q "$what" err || fail "$change: no '$what': $(cat out err)"
    cmp before wrong || fail "$change: something was written"
    fastsdt-index --json -n wrong | python3 -c 'import json, sys; sys.exit(len(json.load(sys.stdin)[0]["left_out"]) != 1)' || fail "$change: --json"
done <<'END'
size=.2byte 5|sizes lead out
size=.2byte 65535|sizes lead out
distance=.byte 255|does not have its layout
distance=.byte 12|does not have its layout
version=.byte 2|of a version that
texts=.ascii "test"|texts are damaged
texts=.ascii "\0name\0\0int\0x\0"|texts are damaged
arguments=.byte 200|texts are damaged
no-lea|plugins do not
bss|in no data of the file
no-site|does not have its layout
END
# Semaphores that cannot have a section of their own: notes are made, and the data stays in one piece.
for change in unaligned unmarked alone; do
    program $change $change -no-pie
    cp $change before
    fastsdt-index -q $change || fail "$change: status $?"
    expect "$change: probes" "$(names $change)" $change
    ! readelf -SW $change | matches -E '\.probes|\.data\.behind' || fail "$change: $(readelf -SW $change)"
    fastsdt-check --fail-on error $change >check.log || fail "$change: $(cat check.log)"
    expect "$change: runs" "$(./$change)" "$(./before)"
done
# Code that is not loaded, by its header.
program hidden sound -no-pie
python3 - <<'END'
import struct
data = bytearray(open("hidden", "rb").read())
headers, = struct.unpack_from("<Q", data, 40)
count, = struct.unpack_from("<H", data, 60)
for i in range(count):
    flags, = struct.unpack_from("<Q", data, headers + 64 * i + 8)
    if flags & 4: # SHF_EXECINSTR
        struct.pack_into("<Q", data, headers + 64 * i + 8, 4)
open("hidden", "wb").write(data)
END
cp hidden before
fastsdt-index hidden >out 2>err || fail "code that is not loaded: status $? $(cat out err)"
cmp before hidden || fail "code that is not loaded: something was written"
# The magic alone, where the section ends.
cat >end.s <<'END'
.globl test_site, test_word
.data
test_word: .long 1, 0
.text
test_site: ret
.section last, "ax", @progbits
.ascii "fastsdt in code\0"
.section .note.GNU-stack,"",@progbits
END
gcc -no-pie main.c end.s -o end
fastsdt-index end 2>err >out || fail "at the end: $(cat err)"
grep -q 'runs over the end of its section' err || fail "at the end: $(cat out err)"

# ---- --toolexec: runs the command, keeps its status, and indexes only what a program called link has written.
mkdir -p bin
cat >bin/link <<'END'
#!/bin/sh
[ "$1" != -V=full ] || { echo "link version go1.99"; exit 0; }
while [ "$1" != -o ]; do shift; done
cp "$3" "$2"
END
cp bin/link bin/compile
chmod +x bin/link bin/compile
program linked sound -no-pie
cp linked plain
fastsdt-index --toolexec bin/compile -o out.compile plain
cmp plain out.compile || fail "what a compiler wrote was changed"
fastsdt-index --toolexec bin/link -x -o out.link plain
expect "what the linker wrote" "$(names out.link)" linked
expect "the linker's version" "$(fastsdt-index --toolexec bin/link -V=full)" \
    "link version go1.99 fastsdt-index/$(fastsdt-index --version | sed 's/.* //')"
expect "a compiler's version" "$(fastsdt-index --toolexec /bin/echo compile version go1.99)" "compile version go1.99"
printf 'int main(void) { return 0; }\n' | gcc -x c - -o none
fastsdt-index --toolexec bin/link -o out.none none
cmp none out.none || fail "a program without records was changed"
echo "an archive" >archive
# What a record begins with, in data as fastsdt-gen has it: no reason to look whether the file can be indexed.
printf '#include "fastsdt.h"\nchar magic[] = "fastsdt in code"; int main(void) { FASTSDT(test, one); return magic[0] == 0; }\n' |
    gcc -I"$INCLUDE" -x c - -o generator
cat archive >>generator
status=0
fastsdt-index -n generator >out 2>&1 || status=$?
expect "it cannot be indexed ($(cat out))" $status 2
fastsdt-index --toolexec bin/link -o out.generator generator || fail "a program with a record's first bytes in its data: status $?"
cmp generator out.generator || fail "a program without records in its code was changed"
fastsdt-index --toolexec bin/link -o out.archive archive
status=0
fastsdt-index --toolexec /bin/sh -c 'exit 7' || status=$?
expect "the command's status" $status 7
status=0
fastsdt-index --toolexec ./nothing 2>err || status=$?
expect "a command that is not there" "$status $(cat err)" "2 fastsdt-index: ./nothing: cannot be run: No such file or directory"
cat plain archive >appended
status=0
fastsdt-index --toolexec bin/link -o out.appended appended 2>err || status=$?
expect "a file that cannot be indexed ($(cat err))" $status 2
grep -q 'data follows the end' err || fail "$(cat err)"
