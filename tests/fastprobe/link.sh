#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Records through linkers: they go with dead and folded functions, stay with live ones, and exist after LTO.
# Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
kind=$1 target=$2 plugin=$3 cc=$4 cxx=$5
need "${cc%% *}" "${cxx%% *}" python3 readelf
[ -e "$plugin" ] || skip "$plugin was not built"
objdump=objdump
[ "$target" = x86-64 ] || objdump=aarch64-linux-gnu-objdump
entries() { python3 "$FASTSDT_SOURCE/tests/fastprobe/entries.py" "$1" --objdump $objdump | cut -d'|' -f1; }
recorded() { entries "$1" | grep -v 'no record' | cut -d: -f1 | sort | tr '\n' ' '; } # names

cat >a.cpp <<'E2'
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noipa))
#endif
template <typename T> NOINLINE T comdat(T a) { return a * 3; }
int other(int);
NOINLINE int dead(int a) { return a * 7 + comdat<short>(a); }
NOINLINE int same_one(int a) { return a * 11 + 1; }
NOINLINE int same_two(int a) { return a * 11 + 1; }
int main(int argc, char **) { return comdat(argc) + other(argc) + same_one(argc) + same_two(argc) - 3 - 14 - 24; }
E2
cat >b.cpp <<'E2'
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noipa))
#endif
template <typename T> NOINLINE T comdat(T a) { return a * 3; }
NOINLINE int dead_too(int a) { return a * 9; }
NOINLINE int other(int a) { return comdat(a + 1) + 8; }
E2
# link FLAGS...: the plugin on every command line, as an LTO link needs it.
link() {
    local flags=("$@")
    $cxx "${flags[@]}" -fplugin="$plugin" -c a.cpp -o a.o && $cxx "${flags[@]}" -fplugin="$plugin" -c b.cpp -o b.o &&
        $cxx "${flags[@]}" -fplugin="$plugin" a.o b.o -o e
}
can_link() { echo 'int main(void){return 0;}' >t.c; $cc "$@" t.c -o t >/dev/null 2>&1; }
no_strays() { ! entries e | grep 'RECORD WITHOUT FUNCTION' || fail "$*: a record points at no function"; }

all="_Z4deadi _Z5otheri _Z6comdatIiET_S0_ _Z6comdatIsET_S0_ _Z8dead_tooi _Z8same_onei _Z8same_twoi main "
live="_Z5otheri _Z6comdatIiET_S0_ _Z8same_onei _Z8same_twoi main "
linkers="bfd"
[ "$target" = arm64 ] || { have ld.gold && linkers="$linkers gold"; have mold && linkers="$linkers mold"; }
lld=$(newest ld.lld)
have "$lld" && { mkdir -p bin; ln -sf "$(command -v "$lld")" bin/ld.lld; linkers="$linkers lld"; }
for linker in $linkers; do
    use=("-fuse-ld=$linker" -B"$PWD/bin")
    can_link "${use[@]}" || continue
    for position in "" -fPIE "-static"; do
        # One record each, also for the function that both files contain.
        link -O2 $position "${use[@]}" || fail "$linker $position: does not link"
        expect "$linker $position: records" "$(recorded e)" "$all"
        no_strays "$linker $position"
    done
    # Dead functions and their records go. gold and mold: see docs/fastprobe.md.
    case $linker in bfd | lld)
        link -O2 -ffunction-sections -Wl,--gc-sections "${use[@]}"
        expect "$linker --gc-sections: records" "$(recorded e)" "$live"
        no_strays "$linker --gc-sections"
        ;;
    esac
    # Nothing in the text refers to a record, so functions fold as they did, and the folded share one record.
    if [ "$linker" = lld ] && [ "$target" = x86-64 ]; then
        link -O2 -ffunction-sections -Wl,--icf=all "${use[@]}"
        entries e | grep '=' | matches 'same_onei=_Z8same_twoi: \(nop\|other\)' || fail "icf: $(entries e)"
        expect "icf: records of the folded" "$(entries e | grep -c same_one)" 1
    fi
done

# A shared library, and a partial link.
$cxx -O2 -fPIC -shared -fplugin="$plugin" a.cpp b.cpp -o l.so
recorded l.so | matches '_Z5otheri' || fail "shared library: $(recorded l.so)"
$cxx -O2 -fplugin="$plugin" -c a.cpp -o a.o && $cxx -O2 -fplugin="$plugin" -c b.cpp -o b.o && $cxx -r -nostdlib a.o b.o -o partial.o &&
    $cxx partial.o -o e
expect "partial link: records" "$(recorded e)" "$all"
no_strays "partial link"

if [ "$kind" = gcc ]; then
    expected="_Z5otheri _Z6comdatIiET_S0_ _Z8same_onei _Z8same_twoi main "
    for flags in "-flto" "-flto -ffat-lto-objects" "-flto -flto-partition=max" "-flto=2 -flto-partition=1to1" \
        "-flto -fno-use-linker-plugin -ffat-lto-objects"; do
        link -O2 $flags 2>/dev/null || fail "$flags"
        got=$(recorded e)
        for name in $expected; do
            case " $got" in *" $name "* | *" ${name}."*) ;; *) fail "$flags: no record of $name in: $got" ;; esac
        done
        no_strays "$flags"
    done
    # Debug information changes no code: GCC compiles twice and compares.
    $cxx -O2 -g -fcompare-debug -fplugin="$plugin" -c a.cpp -o a.o || fail "-fcompare-debug"
    # An argument on the link line counts: the code is made there.
    rm -f lto.json
    $cxx -O2 -flto -fplugin="$plugin" -c a.cpp -o a.o
    $cxx -O2 -flto -fplugin="$plugin" -c b.cpp -o b.o
    $cxx -O2 -flto -fplugin="$plugin" -fplugin-arg-fastprobe-entry=nop -fplugin-arg-fastprobe-report=lto.json a.o b.o -o e
    grep -q '"function": "main", "source": "main", "unit": "a.cpp", .*"entry": "nop"' lto.json || fail "LTO report: $(cat lto.json)"
fi
