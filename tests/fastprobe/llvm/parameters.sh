#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A parameter that can be read at the entry without the plugin can be read at the recorded entry with it: by the location
# lists, of every function of a few sources, and by gdb. FASTPROBE_SOURCES: other sources than those, and FASTPROBE_FLAGS for
# them (SQLite: docs/fastprobe.md).
. "$FASTSDT_SOURCE/tests/fastprobe/llvm/llvm.sh"
cases=$FASTSDT_SOURCE/tests/fastprobe/cases
sources=${FASTPROBE_SOURCES:-"$cases/modes.c $cases/stack.c $cases/awkward.c $cases/selection.cpp"}
readable() { python3 "$FASTSDT_SOURCE/tests/fastprobe/llvm/parameters.py" "$bin/llvm-dwarfdump" "$1"; }
all=0
for source in $sources; do
    for level in ${FASTPROBE_LEVELS:--O0 -O1 -O2 -O3}; do
        # shellcheck disable=SC2086
        compile() { "$bin/clang" -w "$level" -g -fno-omit-frame-pointer -I"$INCLUDE" ${FASTPROBE_FLAGS:-} "$@" -c "$source" -o a.o && "$bin/ld.lld" -r a.o -o a.r && "$bin/ld.lld" --unresolved-symbols=ignore-all -e 0 --noinhibit-exec a.r -o "$out" 2>/dev/null; }
        out=without compile || { echo "left out: $source $level"; continue; }
        readable without >without.txt
        for mode in nop auto nop10; do
            out=with compile "-fplugin=$plugin" "-fplugin-arg-fastprobe-entry=$mode" || fail "${source##*/} $level entry=$mode"
            readable with >with.txt
            diff <(cut -d' ' -f1,2 without.txt) <(cut -d' ' -f1,2 with.txt) >/dev/null || fail "${source##*/} $level entry=$mode: other parameters"
            lost=$(paste -d' ' without.txt with.txt | awk '$3 == "yes" && $6 == "no"')
            [ -z "$lost" ] || fail "${source##*/} $level entry=$mode: $(wc -l <<<"$lost") parameters cannot be read any more: $(sed -n 1,5p <<<"$lost")"
        done
        all=$((all + $(grep -c yes without.txt)))
        echo "${source##*/} $level: $(grep -c yes without.txt) of $(wc -l <without.txt) parameters are readable, and stay so"
    done
done
[ $all -gt 20 ] || fail "only $all parameters were compared"

if have gdb; then
    cat >a.c <<'E2'
__attribute__((noinline)) int leaf(int a, const char *b) { return a * 3 + b[a]; }
__attribute__((noinline)) int loop(int a, int b) { do b += a * b; while (--a); return b; }
int main(int argc, char **argv) { return leaf(argc + 6, "abcdefgh") + loop(argc + 7, argc + 8) == 0; }
E2
    for level in -O0 -O1 -O2 -O3; do
        for mode in none nop nop10 auto; do
            "$bin/clang" $level -g "-fplugin=$plugin" "-fplugin-arg-fastprobe-entry=$mode" a.c -o a
            # At the address: as far as the compiler tells (not at -O0, where parameters are in a frame that is not there yet).
            got=$(gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break *leaf' -ex 'break *loop' -ex run -ex 'print a' \
                -ex 'print b[1]' -ex continue -ex 'print a' -ex 'print b' ./a 2>&1 | sed -n 's/^\$[0-9] = //p' | tr '\n' ' ')
            [ $level = -O0 ] || expect "gdb, break *f, $level entry=$mode" "$got" "7 98 'b' 8 9 "
            # Where gdb stops in a function.
            got=$(gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break leaf' -ex run -ex 'info args' ./a 2>&1 | grep -c '^a = 7$\|^b = .*"abcdefgh"' || true)
            expect "gdb, break f, $level entry=$mode" "$got" 2
        done
    done
fi
