#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Bad arguments stop the compilation with one message that names the argument; nothing is left behind.
# Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
kind=$1 plugin=$3 cc=$4 cxx=$5
need "${cc%% *}" python3
[ -e "$plugin" ] || skip "$plugin was not built"
echo 'int f(int a) { return a * 3; }' >f.c

refused() { # ARGUMENT TEXT...: fails, says fastprobe and each TEXT once, writes no object
    local argument=$1 text
    shift
    rm -f f.o
    if $cc -c f.c -fplugin="$plugin" "-fplugin-arg-fastprobe-$argument" 2>err; then fail "$argument: accepted"; fi
    [ ! -e f.o ] || fail "$argument: wrote an object"
    expect "$argument: number of errors" "$(grep -c 'error:' err)" 1
    for text in "$@"; do grep -qF -- "$text" err || fail "$argument: no '$text' in: $(cat err)"; done
}
refused entry "'entry'" "needs a value"
refused entry=fast "'entry'" "'fast' is not one of" nop10
refused exit "'exit'" "needs a value"
refused exit=frame "'exit'" "'frame' is not one of" nop10
refused kernels=six "'kernels'" '"six"'
refused kernels=7.2-6.1 "'kernels'" "runs backwards"
refused kernels=4.4- "'kernels'" "5.10"
refused kernels=6.1, "'kernels'"
refused 'include=(' "'include'" "regular expression"
refused 'exclude=[z-a]' "'exclude'" "regular expression"
refused list=/nonexistent "'list'" "/nonexistent" "No such file"
refused list=/ "'list'" "directory"
refused min-insns=-3 "'min-insns'" "'-3'"
refused min-insns=12x "'min-insns'" "'12x'"
refused report=/nonexistent/r "'report'" "/nonexistent/r" "No such file"
refused verbose=1 "'verbose'" "takes no value"
refused speed=3 "'speed'" "known: entry"

# A wrong mode in an attribute, and an attribute on no function.
echo '__attribute__((fastprobe("warp"))) int f(void) { return 0; }' >a.c
if $cc -c a.c -fplugin="$plugin" 2>err; then fail "attribute mode: accepted"; fi
grep -q "nop10" err || fail "attribute mode: $(cat err)"
echo '__attribute__((no_fastprobe)) int f;' >a.c
if $cc -Werror -c a.c -fplugin="$plugin" 2>err; then fail "attribute on a variable: accepted in silence"; fi
echo '__attribute__((fastprobe_exit("frame"))) int f(void) { return 0; }' >a.c
if $cc -c a.c -fplugin="$plugin" 2>err; then fail "attribute exit mode: accepted"; fi
grep -q "none, nop, nop10" err || fail "attribute exit mode: $(cat err)"

# Lists: a template's function by its short name; a line that is no function is told.
cat >templates.cpp <<'C'
template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
namespace { template <class T> struct box { T v; template <class U> __attribute__((noinline)) U *get(U *u) { u[0] += v; return u; } }; }
namespace ns { struct P { int v; }; template <class T> __attribute__((noinline)) bool operator<(T a, P b) { return b.v < a; } }
int main(int c, char **) { box<int> b{c}; long l = c; return twice(c) + *b.get(&l) + (c < ns::P{c}); }
C
for name in 'twice<int>' 'int twice<int>' 'twice<int>(int)' '(anonymous namespace)::box<int>::get<long>' 'ns::operator< <int>' 'main'; do
    printf '%s\nnobody # no function\n' "$name" >names
    rm -f list.json
    $cxx -w -O1 -c templates.cpp \
        -fplugin="$plugin" -fplugin-arg-fastprobe-list=names -fplugin-arg-fastprobe-report=list.json -fplugin-arg-fastprobe-verbose 2>err
    expect "functions by the list's $name" "$(grep -c . list.json)" 1
    expect "what is said of the list's lines" "$(grep -c 'is no function here' err) $(grep -c 'nobody.* is no function here' err)" "1 1"
done

# The report is JSON, whatever bytes the source's name has.
odd=$(printf 'caf\351 \303\251.c')
echo 'int f(int a) { return a; }' >"$odd"
rm -f odd.json
$cc -O2 -c "$odd" -o odd.o -fplugin="$plugin" -fplugin-arg-fastprobe-report=odd.json
python3 - <<'P'
import json
unit, = (json.loads(line)["unit"] for line in open("odd.json", "rb"))
assert unit == "caf\ufffd \u00e9.c", unit
P

# Exits in the report: their number, or why there are none.
rm -f exits.json
cat >exits.c <<'C'
__attribute__((returns_twice)) int twice(int a) { return a; }
int branches(int a) { return a ? twice(a + 1) : 3; }
void never(void) { for (;;) __asm__ volatile(""); }
__attribute__((naked)) void naked(void) { __asm__(""); }
C
$cc -w -O0 -c exits.c -fplugin="$plugin" -fplugin-arg-fastprobe-exit=nop -fplugin-arg-fastprobe-report=exits.json
python3 - <<'P'
import json
line = {x["function"]: x for x in map(json.loads, open("exits.json"))}
assert all(x["exit"] == "nop" for x in line.values()) and len(line) >= 3, line
assert line["branches"]["exits"] == 1 and line["branches"]["exit_bytes_added"] in (1, 4) and "exit_reason" not in line["branches"], line
assert line["twice"]["exits"] == 0 and "twice" in line["twice"]["exit_reason"], line
assert line["never"]["exits"] == 0 and line["never"]["exit_reason"] == "never returns", line
naked = line["naked"] # arm64 GCC does not know the attribute
assert naked["action"] != "skipped" or naked["exits"] == 0 and "naked" in naked["exit_reason"], line
P

# The report: valid JSON lines, appended whole by compilations that run side by side, nothing from a failed one.
rm -f report.json # the plugin appends
cat >many.py <<'P'
for n in range(400):
    print(f"int f{n}(int a) {{ return a * {n + 3}; }}")
P
python3 many.py >many.c
for n in 1 2 3 4 5 6; do
    $cc -O1 -c many.c -o many$n.o -fplugin="$plugin" -fplugin-arg-fastprobe-report=report.json &
done
wait
echo 'int f(int a) { return a * 3; } int g(void) { return nothing; }' >bad.c
if $cc -O1 -c bad.c -fplugin="$plugin" -fplugin-arg-fastprobe-report=report.json 2>err; then fail "bad.c compiles"; fi
python3 - <<'P'
import json
lines = [json.loads(line) for line in open("report.json")]
assert len(lines) == 2400, len(lines)
blocks = [lines[i:i + 400] for i in range(0, 2400, 400)]
assert all(sorted(x["function"] for x in b) == sorted(f"f{n}" for n in range(400)) for b in blocks)
for line in lines:
    assert line["unit"] == "many.c" and line["source"] == line["function"], line
    assert line["action"] in ("added", "kept") and (line["bytes_added"] > 0) == (line["action"] == "added"), line
    assert line["before"] and line["after"] and line["entry"] == "auto", line
P

# verbose says the same to people, and disable is silent and without effect.
$cc -O1 -c f.c -fplugin="$plugin" -fplugin-arg-fastprobe-verbose 2>err
grep -q "fastprobe: f: added" err || fail "verbose: $(cat err)"
$cc -O1 -c f.c -o without.o
$cc -O1 -c f.c -o disabled.o -fplugin="$plugin" -fplugin-arg-fastprobe-disable -fplugin-arg-fastprobe-verbose 2>err
[ ! -s err ] || fail "disable: $(cat err)"
cmp without.o disabled.o || fail "disable changes the object"

# Preprocessed separately, as ccache and -save-temps do; the macro is there for sources.
echo '#ifdef __FASTPROBE__
int with(void) { return 1; }
#endif' >macro.c
# Clang loads plugins for that step but runs none; sources then see annotations, which mean the same.
[ "$kind" = gcc ] && save=-save-temps || save=
$cc $save -c macro.c -fplugin="$plugin"
nm macro.o | matches ' T with' || fail "__FASTPROBE__ is not defined"
# The same if the debug information has macros, each of which needs a place in a file.
for source in macro.c macro.cpp; do
    cp macro.c with.${source#*.}
    $cc $save -g3 -c with.${source#*.} -o macro.o -fplugin="$plugin" || fail "-g3 with.${source#*.}"
    nm macro.o | matches ' T .*with' || fail "-g3: __FASTPROBE__ is not defined"
    $cc -g3 -c with.${source#*.} -o macro.o -fplugin="$plugin" -fplugin-arg-fastprobe-disable || fail "-g3 disable"
done
# Two compilations of one file give the same object.
for n in 1 2; do $cc -O2 -c many.c -o same$n.o -fplugin="$plugin" -fplugin-arg-fastprobe-entry=nop10; done
cmp same1.o same2.o || fail "not reproducible"

# A list is a file that the object depends on. ccache hears of it by CCACHE_EXTRAFILES, and without that nothing is cached: either
# the compilation is refused, or ccache, whose preprocessing was refused, leaves the file alone (4.14).
echo f >names
with_list="-O1 -c f.c -fplugin=$plugin -fplugin-arg-fastprobe-entry=nop -fplugin-arg-fastprobe-list=$PWD/names"
if [ "$kind" = gcc ]; then
    $cc $with_list -MD -MF f.d -o f.o
    grep -q "$PWD/names" f.d || fail "-MD: $(cat f.d)"
fi
if have ccache; then
    export CCACHE_DIR=$PWD/cache
    for try in 1 2; do
        ccache --zero-stats >/dev/null
        if ccache $cc $with_list -o f.o 2>err; then
            ccache --print-stats | matches -xE 'preprocessor_error.[1-9]' || fail "ccache and a list, time $try: accepted"
            continue
        fi
        grep -q "'list'.*ccache.*$PWD/names.*CCACHE_EXTRAFILES" err || fail "ccache and a list: $(cat err)"
    done
    export CCACHE_EXTRAFILES=$PWD/f.c:$PWD/names
    for name in f g f; do
        echo $name >names
        ccache $cc $with_list -o f.o || fail "ccache that knows the list"
        [ $name = f ] && want=1 || want=0
        expect "ccache: a record, with '$name' in the list" "$(readelf -nW f.o | grep -c 'fastsdt.*0x00000045' || true)" $want
    done
    # No list, no trouble; the third compilation above was a hit.
    unset CCACHE_EXTRAFILES
    ccache $cc -O1 -c f.c -fplugin="$plugin" -o f.o || fail "ccache"
    ccache --print-stats | matches -xE '(direct|preprocessed)_cache_hit.[1-9]' || fail "ccache caches nothing: $(ccache --print-stats)"
else
    echo "no ccache: not tested with it"
fi
