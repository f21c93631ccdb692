#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unwind information is right at every instruction of every entry and exit: gdb single-steps through them and unwinds.
# Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
target=$2 plugin=$3 cc=$4 cxx=$5
need "${cc%% *}" "${cxx%% *}" python3 gdb
[ -e "$plugin" ] || skip "$plugin was not built"
case $cc in
*llvm-14/*aarch64*) skip "LLVM 14 describes an arm64 prologue only at its end, with or without the plugin" ;;
esac
exit=-fplugin-arg-fastprobe-exit
cases=$FASTSDT_SOURCE/tests/fastprobe/cases
gdb=gdb objdump=objdump
if [ "$target" = arm64 ]; then
    need gdb-multiarch qemu-aarch64
    gdb=gdb-multiarch objdump=aarch64-linux-gnu-objdump
fi

check() { # FILE FLAGS...
    local file=$cases/$1 compiler=$cc log
    shift
    case $file in *.cpp) compiler="$cxx -std=c++20" ;; esac
    $compiler -w -I"$INCLUDE" -fplugin="$plugin" "$@" -S "$file" -o e.s || fail "$file $*: does not compile"
    [ -z "$damage" ] || sed -i "$damage" e.s
    local march=() # clang does not write it into the assembly
    for flag; do case $flag in -march=*) march=("$flag") ;; esac done
    $compiler -w "${march[@]}" -static -no-pie e.s -o e -lm || fail "$file $*: does not link"
    # Readers of the records see addresses of functions: the landing pad is stepped through as well. At an exit the
    # stack is as at an entry.
    readelf -nW e | sed -n 's/.*description data: 01 .. .. .. .. .. .. .. \(.. .. .. .. .. .. .. ..\).*/\1/p' |
        while read -r a b c d f g h i; do echo "$i$h$g$f$d$c$b$a"; done >entries
    [ -s entries ] || fail "$file $*: no records"
    export ENTRIES=$PWD/entries STEPS=14 TARGET=$target REMOTE=
    if [ "$target" = arm64 ]; then
        
        REMOTE=$((20000 + $$ % 20000))
        qemu-aarch64 -cpu max -g "$REMOTE" ./e >/dev/null 2>&1 &
        while ! grep -qi "$(printf ':%04X ' "$REMOTE")" /proc/net/tcp /proc/net/tcp6; do kill -0 $! || fail "qemu is gone"; done
    fi
    log=$(timeout 120 $gdb -nx -batch -ex 'set debuginfod enabled off' -x "$FASTSDT_SOURCE/tests/fastprobe/unwind.py" ./e 2>&1) || true
    if [ "$target" = arm64 ]; then # gdb has ended it, unless gdb failed
        kill $! 2>/dev/null || true
        wait || true
    fi
    echo "${file##*/} $*: $(grep '^RESULT' <<<"$log" || tail -5 <<<"$log")"
    if [ -n "$damage" ]; then
        grep -q '^RESULT [1-9][0-9]* functions, .*, [1-9][0-9]* wrong' <<<"$log" || fail "wrong CFI goes unnoticed"
        return
    fi
    grep -q '^RESULT [1-9][0-9]* functions, [1-9][0-9]* instructions, 0 wrong' <<<"$log" || fail "$(grep -A20 '^RESULT' <<<"$log")"
}

# Shows that this test can fail: it does without the directives that follow the stack pointer.
damage='/cfi_def_cfa_offset/d'
check modes.c -O2 -fplugin-arg-fastprobe-entry=frame
damage=
for entry in auto nop frame; do
    check modes.c -O2 -fplugin-arg-fastprobe-entry=$entry $exit=nop10
    check cxx.cpp -O2 -fplugin-arg-fastprobe-entry=$entry $exit=nop
done
check awkward.c -O2 -fplugin-arg-fastprobe-entry=nop
check awkward.c -O2 -fstack-clash-protection -fplugin-arg-fastprobe-entry=frame
[ "$1" = clang ] || [ "$target" = arm64 ] || check push.c -O2 -fplugin-arg-fastprobe-entry=auto
check stack.c -O0 -fplugin-arg-fastprobe-entry=nop $exit=nop
check exits.c -O2 $exit=nop10
check exits.c -O0 $exit=nop
check through.cpp -O2 $exit=nop10
check through.cpp -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer $exit=nop
check through.cpp -O0 $exit=nop
if [ "$target" = x86-64 ]; then
    check modes.c -Os -fplugin-arg-fastprobe-entry=nop10
    check cxx.cpp -O2 -fcf-protection=full -fplugin-arg-fastprobe-entry=nop10
    check through.cpp -O3 -fcf-protection=full $exit=nop10
    check modes.c -O2 -fcf-protection=full -fplugin-arg-fastprobe-entry=frame
else
    # libgcc from GCC 14 on branches to landing pads, where clang 19 has no bti: exceptions end in SIGILL, with or without the plugin.
    $cxx -std=c++20 -w -I"$INCLUDE" -O2 -mbranch-protection=standard -static -no-pie "$cases/cxx.cpp" -o plain -lm || fail "cxx.cpp: does not compile"
    if qemu-aarch64 -cpu max ./plain 2>/dev/null; then
        check cxx.cpp -O2 -mbranch-protection=standard -fplugin-arg-fastprobe-entry=nop $exit=nop
    else
        echo "left out: cxx.cpp -mbranch-protection=standard: without the plugin it does not run either"
    fi
    check exits.c -O2 -march=armv8.3-a -mbranch-protection=standard $exit=nop
    check modes.c -O2 -mbranch-protection=pac-ret+leaf -fplugin-arg-fastprobe-entry=nop
fi
