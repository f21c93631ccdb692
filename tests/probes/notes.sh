#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The objects of libfastsdt-probes, in memory and in files, on x86-64 and (under qemu) on arm64: the sites and notes are those of the compiler and
# fastsdt.h, nothing is wrong with them, and unwinders know the functions.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc readelf python3
. "$FASTSDT_SOURCE/tests/probes/common.sh"
export INCLUDE
compile "$here/use.c" -o use
./use object memory.so >out || fail "$(cat out)"
TMPDIR=$PWD ./use object file.so file >out || fail "$(cat out)"
cmp memory.so file.so || fail "the object in memory is another than that in a file"
python3 -B "$here/notes.py" gcc memory.so

# looks OBJECT FRAMES: as other tools see the file.
looks() {
    readelf -aW "$1" >all.txt 2>err || fail "readelf: $(cat err)"
    [ ! -s err ] || fail "readelf: $(cat err)"
    expect "relocations" "$(grep -c 'no relocations' all.txt)" 1
    expect "the stack" "$(sed -n 's/^  GNU_STACK .* \(R.*\)  0.*/\1/p' all.txt)" RW
    expect "segments that are both written to and executed" "$(grep -c 'LOAD.*RWE' all.txt || true)" 0
    # Of each function where it begins and ends, in the symbols and in .eh_frame.
    sed -n 's/^ *[0-9]*: 0*\([0-9a-f]*\) *\([0-9]*\) FUNC *GLOBAL.*/\1 \2/p' all.txt | sort -u >functions.txt
    readelf --debug-dump=frames "$1" 2>err | sed -n 's/.*FDE.*pc=0*\([0-9a-f]*\)\.\.0*\([0-9a-f]*\)$/\1 \2/p' |
        while read -r from to; do echo "$from $((16#$to - 16#$from))"; done | sort -u >frames.txt
    diff functions.txt frames.txt || fail "$1: functions (<) and frames (>) differ"
    [ "$(wc -l <frames.txt)" = 15 ] || fail "$1: $(wc -l <frames.txt) frames"
}
looks memory.so
expect "build IDs" "$(grep -cE 'Build ID: [0-9a-f]{32}$' all.txt)" 1
# A process with a shadow stack loads only what says that it goes with one.
[ "$(uname -m)" != x86_64 ] || expect "properties" "$(sed -n 's/.*Properties: //p' all.txt)" "x86 feature: SHSTK"
# perf takes them from a file that has a build ID.
if have perf && [ "$(id -u)" = 0 ]; then
    rm -rf cache
    perf --buildid-dir "$PWD/cache" buildid-cache --add "$PWD/memory.so" >perf.txt 2>&1 || fail "perf: $(cat perf.txt)"
    expect "probes in perf's list" "$(perf --buildid-dir "$PWD/cache" list sdt 2>/dev/null | grep -c ' sdt_shop:')" 15
fi

# built NAME COMPILER OPTION: use.c with the library as probes/CMakeLists.txt builds it, in one program.
built() {
    "$2" -O2 -g0 -fPIC -fomit-frame-pointer -fno-stack-protector "$3" -fasynchronous-unwind-tables -shared -nostdlib \
        -Wl,-s,--build-id=none,--hash-style=sysv,-z,noseparate-code,-z,max-page-size=4096 -I"$INCLUDE" "$FASTSDT_SOURCE/probes/sites.c" \
        -o "sites-$1.so"
    "$2" -O2 -Wall -Wextra -Werror -I"$INCLUDE" "$here/use.c" "$FASTSDT_SOURCE"/probes/{arguments,image,place,probes,sites_read}.c \
        "$FASTSDT_SOURCE/probes/sites.S" -DFASTSDT_SITES_FILE="\"$PWD/sites-$1.so\"" -o "use-$1" -ldl -lpthread
}
if have clang-19 && [ "$(uname -m)" = x86_64 ]; then
    built clang clang-19 -fcf-protection=return
    ./use-clang object clang.so >out || fail "clang: $(cat out)"
    python3 -B "$here/notes.py" clang-19 clang.so
    looks clang.so
fi
if have aarch64-linux-gnu-gcc && have qemu-aarch64; then
    built arm64 aarch64-linux-gnu-gcc -mbranch-protection=none
    arm64() { timeout 300 qemu-aarch64 -L /usr/aarch64-linux-gnu ./use-arm64 "$@" >out 2>err || fail "arm64: use $*: $(cat out err)"; }
    TMPDIR=$PWD arm64 object arm64.so file
    python3 -B "$here/notes.py" aarch64-linux-gnu-gcc arm64.so
    looks arm64.so
    arm64 object memory-arm64.so
    cmp arm64.so memory-arm64.so || fail "arm64: the object in memory is another than that in a file"
    arm64 threads
    arm64 forks
    echo "char c" >char
    arm64 arguments <char
    expect "arm64: char" "$(cat out)" ok
else
    echo "arm64 was not tried: no aarch64-linux-gnu-gcc or no qemu-aarch64"
fi
