#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What libfastsdt tells is what fastsdt-check --json and readelf -n tell: of the files of the fuzzer's corpus (every architecture, archives,
# objects, damaged ones), of programs with entries, exits, names and semaphores, of the system's libraries, and of a process.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc g++ readelf python3
library=$FASTSDT_BUILD/lib
[ -e "$library/libfastsdt.so" ] || skip "the tools are not built"
# The header is C89 and C++98.
for compiler in "clang-19 -std=c89" "g++ -std=c++20 -x c++" "g++ -std=c++98 -x c++" "gcc -std=c89"; do
    have "${compiler%% *}" || continue
    $compiler -pedantic -O1 -g -Wall -Wextra -Werror -I"$INCLUDE" "$FASTSDT_SOURCE/tests/reader/dump.c" -o dump \
        -L"$library" -lfastsdt -Wl,-rpath,"$library" ||
        fail "$compiler"
done
compared=0 notes=0
compare() { # FILE: in every way to open it
    local way
    fastsdt-check --json --functions "$1" >check.json 2>/dev/null || true
    ./dump "$1" >dump.json 2>err || {
        # Neither can read it, for the same reason.
        [ "$(python3 -c 'import json, sys; print(json.load(open("check.json"))["files"][-1]["error"])')" = \
            "$(sed 's/^[0-9]*|//; s/|$//; s/|/: /; s/|/; /' err)" ] ||
            fail "$1: $(cat err) but fastsdt-check: $(cat check.json)"
        return 0
    }
    python3 "$FASTSDT_SOURCE/tests/reader/compare.py" check.json dump.json "$1" >said || fail "$(cat said)"
    compared=$((compared + $(sed -E 's/.*: ([0-9]+) probes, ([0-9]+) functions.*/\1 + \2/' said)))
    notes=$((notes + $(sed -E 's/.* ([0-9]+) notes by readelf/\1/' said)))
    # Descriptors and memory lead to no other file: neither to members of a thin archive nor to a debug file.
    case $1 in *thin*) return 0 ;; esac
    local id
    id=$(readelf -nW "$1" 2>/dev/null | sed -n 's/.*Build ID: \(..\)\(.*\)$/\1\/\2/p') || true
    [ -z "$id" ] || [ ! -e "/usr/lib/debug/.build-id/$id.debug" ] || return 0
    for way in map descriptor memory; do
        ./dump $way "$1" >other.json || fail "$way $1"
        # Memory has no path and no lines, a descriptor another path, which a message may have.
        sed -E 's,"path": "[^"]*",,g; s,/proc/self/fd/[0-9]+,'"$1"',g; s/"file": [^,]*, "line": [0-9]*//g' other.json >a
        sed -E 's,"path": "[^"]*",,g; s/"file": [^,]*, "line": [0-9]*//g' dump.json >b
        cmp -s a b || fail "$way differs: $1: $(diff <(tr , '\n' <b) <(tr , '\n' <a) | sed -n 1,10p)"
    done
}
for file in "$FASTSDT_SOURCE"/tests/fuzz/corpus/*; do compare "$file"; done
[ "$notes" -ge 100 ] || fail "only $notes notes of the corpus were compared with readelf's"

cat >named.c <<'END'
#include <fastsdt.h>
int main(int argc, char **argv)
{
    FASTSDT_NAMED(shop, order, (int, id, argc), (const char *, item, argv[0]));
    if (FASTSDT_IS_ACTIVE(shop, costly))
        FASTSDT_WITH(default, implicit, shop, costly, argc, (double)argc);
    return argc;
}
END
gcc -O2 -g -I"$INCLUDE" named.c -o named
gcc -O2 -g -c -I"$INCLUDE" named.c -o named.o
compare named
compare named.o
grep -q '"name": "item", "type": "const char \*"' dump.json || fail "no names of arguments: $(cat dump.json)"
fastsdt-index -q named -o indexed
compare indexed
# An object's findings have their place in a section, as its probes have, not an address that nobody else knows.
printf '.section .text.bad,"ax"\n .nops 3\n site: push 8(%%rax)\n .section .note.stapsdt,"?","note"\n .balign 4\n .4byte 2f-1f, 4f-3f, 3\n 1: .asciz "stapsdt"\n 2: .balign 4\n 3: .8byte site, 0, 0\n .asciz "p"\n .asciz "n"\n .asciz ""\n 4: .balign 4\n' >bad.s
if [ "$(uname -m)" = x86_64 ]; then
    gcc -c bad.s -o bad.o
    compare bad.o
    expect "a finding's place" "$(python3 - <<'END'
import json
findings = json.load(open("check.json"))["files"][0]["probes"][0]["findings"]
print(sorted({(f["address"], f["section"]) for f in findings}))
END
)" "[(3, '.text.bad')]"
fi
plugin=$FASTSDT_BUILD/gcc-plugin/gcc-$(gcc -dumpversion | cut -d. -f1)/fastprobe.so
[ -e "$plugin" ] || plugin=$(find "$FASTSDT_BUILD" -path "*/gcc-$(gcc -dumpversion | cut -d. -f1)/fastprobe.so" -print -quit)
if [ -n "$plugin" ]; then
    gcc -O2 -g -I"$INCLUDE" -fplugin="$plugin" -fplugin-arg-fastprobe-entry=auto -fplugin-arg-fastprobe-exit=nop10 \
        "$FASTSDT_SOURCE/examples/hello.c" -o selected
    compare selected
    grep -q '"selected": 1' dump.json || fail "no function was selected"
    grep -q '"result": "register"' dump.json || fail "no exit"
fi
for file in "$(gcc -print-file-name=libc.so.6)" "$(g++ -print-file-name=libstdc++.so.6)" /lib64/ld-linux-x86-64.so.2 "$(command -v fastsdt-check)"; do
    [ ! -e "$file" ] || compare "$(realpath "$file")"
done
[ $compared -gt 5000 ] || fail "only $compared probes and functions were compared"

# A process, and the example programs.
gcc -O2 -g -I"$INCLUDE" -x c - -o waits <<'END'
#include <fastsdt.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    FASTSDT_NAMED(wait, started, (int, count, argc), (char **, words, argv));
    return write(1, "up\n", 3) != 3 || read(0, argv[0], 1) < 0;
}
END
mkfifo to from 2>/dev/null || true
./waits <to >from &
pid=$!
exec 3>to 4<from
read -r <&4
fastsdt-check --pid $pid --json --functions >check.json 2>check.err || true
./dump process $pid >dump.json || fail "a process: $(cat check.err)"
python3 - "$PWD/waits" <<'END' || fail "a process"
import json, re, sys
check = json.load(open("check.json", errors="replace"))["process"]
text = open("dump.json", errors="replace").read()
dump = json.loads(re.sub(r', (0\]|"": 0\})', lambda m: "]" if m.group(1) == "0]" else "}", text).replace("[0]", "[]").replace('{"": 0}', "{}"))
theirs = sorted((f["path"], f["start"], f["deleted"], s["provider"], s["name"], s["address"], s["file_offset"], s["runtime"], s["layout"], s["change"], s["file_bytes"],
                 s["live_bytes"], s["target"], s["argument_string"]) for f in check["files"] for s in f["sites"] if not s["entry"] and not s["exit"])
ours = sorted((f["path"], f["start"], bool(f["deleted"]), p["provider"], p["name"], p["address"], p["file_offset"], p["runtime"], p["layout"], p["change"], p["bytes"],
               p["live_bytes"], p["target"], p["argument_string"]) for f in dump["files"] for p in f["probes"] if p["runtime"] is not None)
if ours != theirs or not any(one[0] == sys.argv[1] and one[3:5] == ("wait", "started") and one[9] == "untouched" for one in ours):
    sys.exit(f"libfastsdt {ours}\nfastsdt-check {theirs}")
END
gcc -std=c99 -pedantic -Wall -Wextra -Werror -I"$INCLUDE" "$FASTSDT_SOURCE/examples/probes.c" -o probes -L"$library" -lfastsdt -Wl,-rpath,"$library"
[ "$(wc -l <"$FASTSDT_SOURCE/examples/probes.c")" -le 40 ] || fail "the example is longer than 40 lines"
./probes $pid >out || fail "probes: $(cat out)"
place=$(readelf -nW waits | sed -n 's/ *Location: 0x0*\([0-9a-f]*\),.*/\1/p')
matches -E "^$PWD/waits:wait:started\(-4@.* 8@.*\) at 0x$place: .*, untouched$" <out || fail "the example in C: $(cat out), and readelf: $place"
for what in $pid "$PWD/waits"; do
    LD_LIBRARY_PATH=$library python3 "$FASTSDT_SOURCE/examples/probes.py" "$what" >out || fail "the example in Python"
    matches -Fx "$PWD/waits:wait:started(count, words)" <out || fail "the example in Python, $what: $(cat out)"
done
echo "libfastsdt's example of an error" >no-elf
if LD_LIBRARY_PATH=$library python3 "$FASTSDT_SOURCE/examples/probes.py" no-elf 2>err; then fail "no error"; fi
expect "an error in Python" "$(cat err)" "probes.py: no-elf: not an ELF file or an ar archive"
echo >&3
wait $pid || true
echo "$compared probes and functions, $notes notes by readelf"
