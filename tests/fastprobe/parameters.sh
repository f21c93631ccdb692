#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A parameter that can be read at the entry without the plugin can be read at the recorded entry with it: by the location
# lists, of every function of a few sources. (With gdb: cases/debugger.c.) Arguments as suite.sh; in the environment:
#
# FASTPROBE_SOURCES, FASTPROBE_FLAGS, FASTPROBE_LEVELS  other sources, flags for them, other levels than -O0 to -O3
. "$FASTSDT_SOURCE/tests/common.sh"
kind=$1 plugin=$3 cc=$4 cxx=$5
need python3 "${cc%% *}"
[ -e "$plugin" ] || skip "$plugin was not built"
dwarfdump=$(ls -d /usr/lib/llvm-*/bin/llvm-dwarfdump 2>/dev/null | sort -V | tail -n 1)
[ -n "$dwarfdump" ] || skip "llvm-dwarfdump is not installed"
cases=$FASTSDT_SOURCE/tests/fastprobe/cases
# clang's walk() jumps to the loop's condition first, with a jump that is on no line.
cat >walk.c <<'E'
struct value { int height; };
struct values { int n; struct value *v[1]; };
struct select { struct select *prior; struct value *where, *having, *limit; struct values *list; };
static void one(const struct value *v, int *most) { if (v && v->height > *most) *most = v->height; }
static void many(const struct values *v, int *most) { if (v) for (int i = 0; i < v->n; i++) one(v->v[i], most); }
void walk(const struct select *first, int *most)
{
    for (const struct select *s = first; s; s = s->prior) { one(s->where, most); one(s->having, most); many(s->list, most); }
}
E
sources=${FASTPROBE_SOURCES:-"walk.c $cases/modes.c $cases/stack.c $cases/awkward.c $cases/selection.cpp"}
readable() { python3 "$FASTSDT_SOURCE/tests/fastprobe/parameters.py" --dwarfdump "$dwarfdump" "$1" | sort; }
# compile FILE FLAGS...: linked, so that records have addresses; it need not run.
compile() {
    local file=$1 compiler=$cc
    shift
    [[ $source != *.cpp ]] || compiler=$cxx
    $compiler -w "$level" -g -I"$INCLUDE" ${FASTPROBE_FLAGS:-} "$@" -c "$source" -o a.o &&
        $compiler -nostdlib -static a.o -Wl,-e,0 -Wl,--unresolved-symbols=ignore-all -o "$file" 2>link.log
}
all=0
for source in $sources; do
    for level in ${FASTPROBE_LEVELS:--O0 -O1 -O2 -O3}; do
        compile without || { echo "left out: $source $level"; continue; }
        readable without >without.txt
        for mode in nop nop10; do
            compile with "-fplugin=$plugin" "-fplugin-arg-fastprobe-entry=$mode" || fail "${source##*/} $level entry=$mode"
            readable with >with.txt
            diff <(cut -d' ' -f1,2 without.txt) <(cut -d' ' -f1,2 with.txt) >/dev/null || fail "${source##*/} $level entry=$mode: other parameters"
            lost=$(paste -d' ' without.txt with.txt | awk '$3 ~ /^(covered|one-place)$/ && $6 !~ /^(covered|one-place)$/')
            [ -z "$lost" ] ||
                fail "${source##*/} $level entry=$mode: $(wc -l <<<"$lost") parameters cannot be read any more: $(sed -n 1,5p <<<"$lost")"
        done
        here=$(grep -c ' covered$\| one-place$' without.txt || true)
        all=$((all + here))
        echo "${source##*/} $level: $here of $(wc -l <without.txt) parameters are readable, and stay so"
    done
done
[ $all -gt 20 ] || fail "only $all parameters were compared"
