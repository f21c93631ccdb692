#!/bin/bash
# Dead code stays dead and live probes stay, with every linker: the site instances in the text, counted by an instruction
# that stands before each, are the notes. notes.py also checks each note's pc and base.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "counts the bytes of x86-64's nop1+nop10"

cat > mark.h <<'E'
/* A site and an instruction that goes wherever the site goes and tells it from other sources' sites. */
#define AT(probe) do { __asm__ volatile("movl %0, %%eax" : : "i"(0x5ca10000 + __LINE__) : "eax"); probe; } while (0)
E
cat > a.c <<'E'
#include "mark.h"
#include <stdlib.h>
#include <sys/sdt.h>
#include "usdt.h"
int b(int i);
int cxx(int i);
int dead(int i) { AT(STAP_PROBE1(gone, dead, i)); AT(USDT_WITH_SEMA(gone, dead_sema, i)); return i; }
int dead_caller(int i) { AT(STAP_PROBE1(gone, dead_caller, i)); return dead(i) + 1; }
#line 1000 /* alike to the last byte */
__attribute__((noinline)) int twin_one(int i) { AT(FASTSDT(live, twin, i)); return i * 7; }
#line 1000 /* alike to the last byte */
__attribute__((noinline)) int twin_two(int i) { AT(FASTSDT(live, twin, i)); return i * 7; }
__attribute__((noinline, cold)) void unlikely(int i) { AT(FASTSDT(live, cold, i)); if (i > 1000) abort(); }
__attribute__((noinline)) int blocks(int i)
{
    if (__builtin_expect(i > 500, 0)) {
        AT(FASTSDT(live, rare, i));
        unlikely(i);
        i += b(i);
    }
    AT(FASTSDT(live, often, i));
    for (int k = 0; k < i; k++)
        AT(FASTSDT(live, loop, k));
    return i;
}
int (*volatile first)(int) = twin_one, (*volatile second)(int) = twin_two;
int main(int argc, char **argv)
{
    (void)argv;
    AT(STAP_PROBE(live, main));
    AT(USDT_WITH_SEMA(live, sema, argc));
    return (first(argc) + second(argc) + blocks(argc) + b(argc) + cxx(argc)) < 0;
}
E
cat > b.c <<'E'
#include "mark.h"
#include "fastsdt.h"
int b(int i);
int dead_b(int i);
int dead_b(int i) { AT(FASTSDT(gone, dead_b, i)); return i; }
int b(int i) { AT(FASTSDT(live, b, i)); return i + 1; }
E
cat > shared.h <<'E'
#include "mark.h"
#include "fastsdt.h"
inline int inlined(int i) { AT(FASTSDT(live, inlined, i)); return i + 2; }
inline int dead_inlined(int i) { AT(FASTSDT(gone, dead_inlined, i)); return i + 2; }
template <typename T> __attribute__((noinline)) T templated(T t) { AT(FASTSDT(live, templated, t)); return t; }
struct Scoped {
    int value;
    explicit Scoped(int v) : value(v) { AT(FASTSDT(live, constructor, v)); }
    ~Scoped() { AT(FASTSDT(live, destructor, value)); }
    virtual int method() { AT(FASTSDT(live, method, value)); return value; }
};
static inline int everything(int i) { Scoped s(i); return inlined(i) + templated(i) + (int)templated((long)i) + s.method(); }
int other(int i);
E
cat > c.cc <<'E'
#include "shared.h"
extern "C" int cxx(int i) { return everything(i) + other(i); }
int dead_user(int i) { AT(FASTSDT(gone, dead_user, i)); return dead_inlined(i) + (int)templated((char)i); }
E
cat > d.cc <<'E'
#include "shared.h"
int other(int i) { return everything(i) + (int)templated((short)i); }
int dead_other(int i) { return dead_inlined(i); }
E
live="b cold constructor destructor inlined loop main method often rare sema templated twin"

site='\xb8..\xa1\x5c'
older=clang-14
whole || older=
compilers=$(have_of gcc-12 $older clang-19)
linkers= llds=
for c in $compilers; do case $c in clang-*) llds="$llds lld-${c#clang-}" ;; esac; done
for linker in bfd gold $llds mold; do
    case $linker in lld-*) program=ld.$linker ;; mold) program=mold ;; *) program=ld.$linker ;; esac
    have $program || continue
    mkdir -p with-$linker
    ln -sf "$(command -v $program)" with-$linker/ld
    linkers="$linkers $linker"
done
checked=0
# judge WHAT FILE DEAD: notes and sites agree; every live probe is there; DEAD: `gone` or `kept` or `any`
judge() {
    local sites got
    notes "$2" '{probe}' > got || fail "$1"
    sites=$(notes --count "$2" $site)
    [ "$(wc -l < got)" = "$sites" ] ||
        fail "$1: $sites sites in the text, $(wc -l < got) notes: $(sort got | uniq -c | xargs)"
    expect "$1: live probes" "$(sed -n 's/^live://p' got | sort -u | xargs)" "$live"
    [ "$3" != gone ] || ! grep '^gone' got || fail "$1: a dead function was kept for its probe"
    [ ! -x "$2" ] || [[ $2 = *.so ]] || ./"$2" || fail "$1: the program"
    checked=$((checked + 1))
}
# judge_mold WHAT FILE: it drops dead functions and keeps their notes (fastsdt-index removes those); the live ones are right.
judge_mold() {
    readelf -nW "$2" | sed -n 's/^ *Name: //p' | sort -u > got
    expect "$1: live probes" "$(grep -v '^dead' got | xargs)" "$live"
    expect "$1: bases" "$(readelf -nW "$2" | sed -n 's/.*Base: 0x0*\([0-9a-f]*\),.*/\1/p' | sort -u)" \
        "$(readelf -SW "$2" | sed -n 's/.* \.stapsdt\.base *PROGBITS *0*\([0-9a-f]*\) .*/\1/p')"
    checked=$((checked + 1))
}
# What becomes of dead functions: with notes of an assembler or a linker without link order they may stay.
dead_with() {
    if [ $1 = bfd ] && binutils_before 2.36 ld.bfd || [ "$(ungrouped $c)" != 0 ]; then echo any; else echo gone; fi
}

for c in $compilers; do
    cxx=$(cxx_of $c)
    have $cxx || continue
    case $c in clang*) third=-fbasic-block-sections=all ;; *) third=-freorder-blocks-and-partition ;; esac
    for variant in "-O2 -ffunction-sections" "-O0 -ffunction-sections" "-O2 -ffunction-sections $third"; do
        {
            $c $variant -fPIC -I"$INCLUDE" -c a.c b.c
            $cxx $variant -fPIC -I"$INCLUDE" -c c.cc d.cc
        }
        objects="a.o b.o c.o d.o"
        for linker in $linkers; do
            link() { rm -f out out.so; $cxx -Bwith-$linker "$@" 2> link.err; }
            what="$c $variant, $linker"
            gone=$(dead_with $linker)
            link $objects -o out || fail "$what: $(cat link.err)"
            judge "$what" out kept
            link $objects -shared -Wl,--gc-sections -o out.so || fail "$what -shared: $(cat link.err)"
            judge "$what -shared" out.so kept # everything is exported
            for mode in -pie -no-pie; do
                if ! link $objects $mode -Wl,--gc-sections -o out; then
                    # gold refuses to link when a dead function has a probe, whatever form the note has.
                    [ $linker = gold ] || fail "$what $mode --gc-sections: $(cat link.err)"
                elif [ $linker = mold ]; then
                    judge_mold "$what $mode --gc-sections" out
                else
                    judge "$what $mode --gc-sections" out $gone
                fi
            done
            case $linker in
            lld-* | mold)
                link $objects -Wl,--icf=all -o out || fail "$what --icf=all: $(cat link.err)"
                judge "$what --icf=all" out any
                link $objects -Wl,--icf=all -Wl,--gc-sections -o out ||
                    fail "$what --icf=all --gc-sections: $(cat link.err)"
                [ $linker = mold ] && judge_mold "$what --icf=all --gc-sections" out ||
                    judge "$what --icf=all --gc-sections" out $gone
                ;;
            gold)
                if link $objects -Wl,--icf=all -o out; then judge "$what --icf=all" out any; fi
                ;;
            esac
            # Partial link, then the rest: dead functions may stay, live probes must.
            # mold 1.10 aborts in -r on a weak symbol of a COMDAT group, systemtap's base as well as ours.
            if [ $linker != mold ]; then
                with-$linker/ld -r a.o b.o -o partial.o 2> link.err || fail "$what -r: $(cat link.err)"
                for final in bfd ${llds##* }; do
                    [ -d with-$final ] || continue
                    # gold's -r drops the order of clang's notes: GNU ld before 2.36 and lld 11 refuse that.
                    case $linker-$final in
                    gold-bfd) ! binutils_before 2.36 ld.bfd || continue ;;
                    gold-lld-11) continue ;;
                    esac
                    rm -f out
                    $cxx -Bwith-$final partial.o c.o d.o -Wl,--gc-sections -o out 2> link.err ||
                        fail "$what -r, then $final: $(cat link.err)"
                    judge "$what -r, then $final --gc-sections" out any
                done
            fi
        done
    done
    # Link-time optimization.
    case $c in gcc*) lto="-flto" lto_linker=bfd ;; *) lto="-flto -flto=thin" lto_linker=lld-${c#clang-} ;; esac
    [ -d with-$lto_linker ] || continue
    gone=$(dead_with $lto_linker)
    for option in $lto; do
        $c -O2 $option -I"$INCLUDE" -c a.c b.c
        $cxx -O2 $option -I"$INCLUDE" -c c.cc d.cc
        $cxx -O2 $option -Bwith-$lto_linker a.o b.o c.o d.o -Wl,--gc-sections -o out 2> link.err ||
            fail "$c $option: $(cat link.err)"
        judge "$c $option" out $gone
    done
done
echo "$checked links: sites and notes agree"
