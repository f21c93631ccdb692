#!/bin/bash
# What a user may name as FILE: each kind gives probes, or one clear line and status 2.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc ar objcopy strip

cat > a.c <<'END'
#include <usdt.h>
__attribute__((noinline)) int used(int a) { USDT(t, first, a); return a; }
int main(void) { USDT(t, second); return used(0); }
END
gcc -O1 -g -I"$INCLUDE" a.c -o program
gcc -O1 -g -I"$INCLUDE" -c a.c -o a.o
gcc -O1 -g -I"$INCLUDE" -shared -fPIC a.c -o library.so

status() { local s=0; fastsdt-check "$@" > out 2> err || s=$?; echo $s; }
# refused FILE "MESSAGE": status 2, one line on stderr, nothing found.
refused() {
    expect "status for $1" "$(status "$1")" 2
    expect "message for $1" "$(cat err)" "fastsdt-check: $1: $2"
    expect "output for $1" "$(cat out)" ""
}
echo hello > text
: > empty
mkfifo -m 600 fifo 2> /dev/null || true
head -c 40 program > header
head -c 3 program > three
refused text "not an ELF file or an ar archive"
printf 'BC\300\336\065\024' > bitcode
refused bitcode "LLVM bitcode (clang -flto), which has no machine code and no notes yet; read the linked file"
refused three "not an ELF file or an ar archive"
refused empty "empty file"
refused fifo "not a regular file"
refused /dev/null "not a regular file"
refused missing "No such file or directory"
refused header "truncated: the file ends inside its ELF header"
head -c 9000 program > truncated
refused truncated "truncated: the section headers lie past the end of the file"
size=$(stat -c %s program)
for ((i = 1; i < 60; i++)); do
    head -c $((size * i / 60)) program > cut
    s=$(status cut)
    [ "$s" = 2 ] || fail "a program cut to $((size * i / 60)) of $size bytes gives status $s"
    [ "$(wc -l < err)" = 1 ] || fail "more than one line about a cut file: $(cat err)"
done
expect "status for /bin/ls" "$(status /bin/ls)" 0
grep -q 'no USDT probes$' out || fail "/bin/ls: $(cat out)"
expect "one bad file among good ones" "$(status program text /bin/ls)" 2
expect "the good ones are there" "$(grep -c '^program: \|^/bin/ls: ' out)" 2

# Usage
expect "no file" "$(status)" 2
expect "an option that does not exist" "$(status --nonsense program)" 2
expect "one line about it" "$(wc -l < err)" 1
expect "no kernel" "$(status --kernel 6 program)" 2
expect "a backward range" "$(status --kernel 7.2-6.1 program)" 2
expect "help" "$(status --help)" 0
expect "version" "$(fastsdt-check --version | cut -d' ' -f1)" fastsdt-check
expect "colour to a file" "$(fastsdt-check program | grep -c $'\033')" 0
[ "$(fastsdt-check --color always program | grep -c $'\033')" != 0 ] || fail "no colour with --color always"
s=0; fastsdt-check program > /dev/full 2> err || s=$?
expect "status when the output cannot be written" "$s" 2

# names FILES...: provider:name of what is listed
names() { fastsdt-check "$@" | sed -n 's/^  \([a-z]*:[a-z_]*\) .*/\1/p' | sort | paste -sd' '; }
for file in program a.o library.so; do
    expect "probes of $file" "$(names $file)" "t:first t:second"
done
expect "a filter by name" "$(names -P 'f*' program)" t:first
expect "how many that is" "$(fastsdt-check -P 'f*' program | sed -n 1p)" "program: x86_64 pie, 1 of 2 sites"
expect "filters by provider" "$(names -P 't:s*' -P 'x:*' program)" t:second
expect "a filter that no probe matches" "$(status -P 'f*' -P 'x:*' program)" 2
for how in "" --json --summary --plan --armable; do
    s=0; fastsdt-check $how -P nosuch program library.so >out 2>err || s=$?
    expect "$how: a filter that no probe matches" "$s $(cat err)" \
        '2 fastsdt-check: no probe of the files that were read matches "nosuch" (PROVIDER:NAME or NAME; without --probe all are shown)'
done
expect "no source file is taken for a pattern" "$(names -P first program library.so)" "t:first t:first"

# Kinds of file
gcc -O1 -I"$INCLUDE" -no-pie a.c -o fixed
gcc -O1 -I"$INCLUDE" -static-pie a.c -o static_pie
for pair in "program pie" "static_pie pie" "fixed executable" "library.so shared" "a.o relocatable" "/lib/x86_64-linux-gnu/libc.so.6 shared"; do
    [ ! -e "${pair% *}" ] || expect "kind of ${pair% *}" "$(fastsdt-check -s "${pair% *}" | sed -n '1s/.*: x86_64 \([a-z]*\),.*/\1/p')" "${pair#* }"
done

# Archives: ordinary, long names, thin, thin from elsewhere, with members that are no ELF file
cp a.o a_name_that_is_longer_than_fifteen_characters.o
ar rc ordinary.a a.o a_name_that_is_longer_than_fifteen_characters.o text
expect "an archive" "$(names ordinary.a)" "t:first t:first t:second t:second"
fastsdt-check ordinary.a | matches '^ordinary.a(a_name_that_is_longer_than_fifteen_characters.o): ' || fail "long member name"
mkdir -p sub
(cd sub && ar rcT thin.a ../a.o ../a_name_that_is_longer_than_fifteen_characters.o)
expect "a thin archive" "$(names --outside sub/thin.a)" "t:first t:first t:second t:second"
# An archive that somebody sent: names that lead elsewhere are not followed, devices and FIFOs not opened, files read once.
expect "a thin archive of the outside" "$(status sub/thin.a)" 2
expect "what it says" "$(cat err)" \
    "fastsdt-check: sub/thin.a: 2 members outside the archive's directory are left out (../a.o, ...); --outside reads them"
expect "nothing was read" "$(grep -c '^  t:' out || true)" 0
thin() { # FILE NAMES...: a thin archive, for names that ar would not take
    python3 - "$@" <<'E'
import sys
table = b"".join(name.encode() + b"/\n" for name in sys.argv[2:])
member = lambda name, size: b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name, 0, 0, 0, b"644", size)
out, at = b"!<thin>\n" + member(b"//", len(table)) + table + b"\n" * (len(table) % 2), 0
for name in sys.argv[2:]:
    out += member(b"/%d" % at, 4)
    at += len(name) + 2
open(sys.argv[1], "wb").write(out)
E
}
thin absolute.a "$PWD/a.o"
expect "an absolute name" "$(status absolute.a)" 2
expect "what it says" "$(cat err)" "fastsdt-check: absolute.a: 1 member outside the archive's directory is left out ($PWD/a.o); --outside reads them"
thin same.a a.o a.o ./a.o
expect "one file three times" "$(status same.a) $(cat err)" "2 fastsdt-check: same.a: files that it names more than once are read once (2 names)"
expect "read once" "$(grep -c '^  t:' out)" 2
mkdir -p sent && cp a.o sent/ && rm -f sent/fifo && mkfifo sent/fifo && thin sent/thin.a fifo a.o && thin fifo.a sent/fifo
opened() { # COMMAND...: what the kernel says was opened in sent/ meanwhile, by inotify
    python3 - "$@" <<'E'
import ctypes, os, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
assert libc.inotify_add_watch(fd, b"sent", 0x20) >= 0  # IN_OPEN
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
data, names = b"", set()
try:
    data = os.read(fd, 1 << 16)
except BlockingIOError:
    pass
while data:
    _, mask, _, length = struct.unpack_from("iIII", data)
    names.add(data[16 : 16 + length].rstrip(b"\0").decode())
    data = data[16 + length :]
print(*sorted(name for name in names if name))
E
}
expect "opened" "$(opened fastsdt-check sent/thin.a)" "a.o thin.a"
expect "opened in a directory" "$(opened fastsdt-check sent)" "a.o thin.a"
expect "opened by name" "$(opened fastsdt-check sent/fifo)" ""
cp a.o gone.o
ar rcT broken.a gone.o a.o
rm gone.o
expect "a thin archive without a member" "$(status broken.a)" 2
expect "what it says" "$(cat err)" "fastsdt-check: broken.a: gone.o: No such file or directory"
expect "the other member" "$(grep -c '^  t:' out)" 2
ar rc texts.a text
refused texts.a "an archive without ELF files"
head -c 2000 ordinary.a > cut.a
expect "a cut archive" "$(status cut.a)" 2
grep -q 'cut.a: truncated' err || fail "cut archive: $(cat err)"

# Source lines: in the file, in objects and members, in a separate debug file
lines() { fastsdt-check "$@" | sed -n 's/^  t:[a-z]*  .*a\.c:\([0-9]*\)  .*/\1/p' | sort | paste -sd' '; }
for file in program a.o library.so; do
    expect "lines of $file" "$(lines $file)" "2 3"
done
expect "lines in an archive" "$(lines ordinary.a)" "2 2 3 3"
expect "no lines asked for" "$(lines --no-lines program)" ""
mkdir -p .debug
objcopy --only-keep-debug program .debug/program.debug
strip program -o stripped
expect "lines of a stripped file" "$(lines stripped)" ""
objcopy --add-gnu-debuglink=.debug/program.debug stripped
expect "lines by .gnu_debuglink" "$(lines stripped)" "2 3"
expect "the separate file's own lines" "$(lines .debug/program.debug)" "2 3"
# A build-id directory; in a mount namespace, since it stands in /usr/lib.
gcc -O1 -g -Wl,--build-id -I"$INCLUDE" a.c -o by_id
id=$(fastsdt-check --json by_id | sed -n 's/^ "build_id": "\([0-9a-f]*\)".*/\1/p')
expect "the build-id" "$id" "$(readelf -n by_id | sed -n 's/^ *Build ID: //p')"
if [ -d /usr/lib/debug ] && unshare -m true 2> /dev/null; then
    unshare -m bash -c "mount -t tmpfs none /usr/lib/debug && mkdir -p /usr/lib/debug/.build-id/${id:0:2} &&
        objcopy --only-keep-debug by_id /usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug && strip by_id && fastsdt-check by_id > by_id.out"
    grep -q 'a\.c:2 ' by_id.out || fail "no lines by build-id: $(cat by_id.out)"
fi
# -ffunction-sections: each function at offset 0 of a section of its own
gcc -O1 -g -ffunction-sections -I"$INCLUDE" -c a.c -o sections.o
expect "lines with sections per function" "$(lines sections.o)" "2 3"

# Names from files may not drive the terminal
cat > evil.s <<'END'
.globl _start; _start: nop
.pushsection .note.stapsdt,"","note"; .4byte 8,993f-992f,3; .asciz "stapsdt"
992: .8byte _start,0,0; .asciz "\033[2Jx"; .asciz "y\377\302\233z"; .asciz "4@%eax\n\r"
993: .popsection
END
gcc -nostdlib -static evil.s -o evil
fastsdt-check evil > out || true
expect "control characters" "$(LC_ALL=C grep -c '[^[:print:]]' out)" 0
grep -qF 'evil' out && grep -qF '\x1b[2Jx:y\xff\xc2\x9bz' out || fail "escapes: $(cat out)"
