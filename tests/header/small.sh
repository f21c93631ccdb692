#!/bin/bash
# Inlining, stripping, and assemblers without link order.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"

# A small function with a probe is still inlined: gcc counts the lines of an asm for instructions unless it is told not to.
cat > inline.c <<'E'
#include <sys/sdt.h>
#include "usdt.h"
static int small(int x) { STAP_PROBE2(test, stap, x, 1); USDT(test, usdt, x); FASTSDT(test, own, x); return x + 1; }
int a(int x) { return small(x) * 3; }
int b(int x) { return small(x) * 5; }
int main(int argc, char **argv) { (void)argv; return a(argc) + b(argc) + small(argc) - 20; }
E
for c in $(have_of gcc-11 gcc-12 clang-14 clang-19); do
    $c -O2 -I"$INCLUDE" inline.c -o inlined
    ! nm inlined | grep -w small || fail "$c -O2 does not inline a small function with probes"
    notes inlined '{probe}' | sort | uniq -c > sites
    awk '$1 < 3 { exit 1 }' sites || fail "$c: inlined three times, but: $(xargs < sites)"
done

# Arguments are evaluated once, like those of a function, whatever kind of expression they are.
cat > once.c <<'E'
#include <sys/sdt.h>
#include "usdt.h"
static int calls;
static int call(void) { return ++calls; }
static struct { unsigned field : 3; } bits;
int main(int argc, char **argv)
{
    int i = 0;
    char *p = argv[0];
    STAP_PROBE1(once, increment, i++);
    STAP_PROBE2(once, call, call(), argc);
    STAP_PROBE1(once, assignment, i += 5);
    STAP_PROBE1(once, dereference, *p++);
    STAP_PROBE1(once, statement, ({ int q = ++i; q; }));
    STAP_PROBE1(once, conditional, argc ? p : 0);
    USDT(once, usdt, i++, call(), *p++);
    USDT_WITH_SEMA(once, sema, ++i);
    FASTSDT(once, own, ++i, call(), p++, bits.field++, i + argc);
    if (argc > 5)
        STAP_PROBE(once, then);
    else
        FASTSDT(once, otherwise);
    return !(i == 10 && calls == 3 && p == argv[0] + 3 && bits.field == 1);
}
E
for c in $(have_of gcc-12 clang-14 clang-19); do
    for lang in c c++; do
        compiler=$c
        [ $lang = c ] || compiler=$(cxx_of $c)
        have $compiler || continue
        for level in -O0 -O2; do
            $compiler -x $lang $level -Wall -Wextra -Werror -I"$INCLUDE" once.c -o once
            ./once || fail "$compiler $level: an argument was evaluated more than once, or not at all"
        done
    done
done

# What strips and what keeps.
cat > strip.c <<'E'
#include "fastsdt.h"
int main(int argc, char **argv) { (void)argv; FASTSDT(test, one, argc); FASTSDT(test, two); return 0; }
E
gcc -g -O2 -I"$INCLUDE" strip.c -o full
print_notes() { notes "$1" '{probe} {pc:#x} {layout} {patch} {bound} {args}'; }
want=$(print_notes full)
expect "two probes" "$(wc -l <<< "$want")" 2
strip full -o stripped
strip -g full -o stripped-g
objcopy --only-keep-debug full full.debug
objcopy --strip-debug --add-gnu-debuglink=full.debug full linked
cp full small
strip --strip-unneeded small
for file in stripped stripped-g linked small; do expect "$file keeps the notes" "$(print_notes $file)" "$want"; done
expect "the debug file has the notes as well" "$(readelf -n full.debug 2> /dev/null | grep -c 'Name: one\|Name: two')" 2
if have eu-strip; then
    eu-strip full -o eu-stripped
    expect "eu-strip keeps the notes" "$(print_notes eu-stripped)" "$want"
fi
for tool in llvm-strip-14 llvm-strip-19; do
    have $tool || continue
    $tool full -o gone
    expect "$tool drops what is not loaded" "$(readelf -SW gone | grep -c 'note.\(stapsdt\|fastsdt\)')" 0
    $tool -g full -o kept
    expect "$tool -g" "$(print_notes kept)" "$want"
    $tool --keep-section=.note.stapsdt --keep-section=.note.fastsdt full -o kept
    expect "$tool --keep-section" "$(print_notes kept)" "$want"
done

# gas before 2.36 has no link order, or warns about it. Here it is made to believe that it is 2.35.2: the notes lie in plain
# sections and say so.
cat > old.c <<'E'
#include <sys/sdt.h>
#include "usdt.h"
__attribute__((noinline, noclone)) int f(int x)
{
    STAP_PROBE1(test, stap, x);
    USDT_WITH_SEMA(test, usdt, x); FASTSDT(test, own);
    return x;
}
int main(int argc, char **argv) { (void)argv; return f(argc) - argc; }
E
cat > old.S <<'E'
#include "fastsdt.h"
	.text
	FASTSDT(test, assembly, %eax)
	.section .note.GNU-stack, "", %progbits
E
for version in "" 23502; do
    plain=$version
    [ "$(ungrouped gcc)" = 0 ] || plain=1
    gcc -O2 -S -I"$INCLUDE" old.c -o old.s
    gcc -E -I"$INCLUDE" old.S -o old-asm.s
    grep -q '[.]gasversion[.]' old.s && grep -q '[.]gasversion[.]' old-asm.s ||
        fail "the headers ask no version any more"
    ! grep BFD_RELOC_NONE old.s old-asm.s || fail "a name that clang's assembler does not know before 13"
    [ -z "$version" ] || sed -i "s/[.]gasversion[.]/$version/g" old.s old-asm.s
    gcc -c old.s -o old.o 2> log
    gcc -c old-asm.s -o old-asm.o 2>> log
    expect "warnings of gas ${version:-as it is}" "$(cat log)" ""
    gcc old.o old-asm.o -o old
    ./old || fail "the program"
    for object in old.o old-asm.o; do
        readelf -SW $object | grep -E ' \.note\.(stapsdt|fastsdt)' > sections
        if [ -n "$plain" ]; then
            ! grep -E ' L +[0-9]+ +[0-9]+ +4$' sections || fail "$object: link order from an assembler that has none"
        else
            expect "$object: sections with link order" "$(grep -cE ' [GL]+ +[0-9]+ +[0-9]+ +4$' sections)" "$(grep -c . sections)"
        fi
    done
    ungrouped=$([ -n "$plain" ] && echo 4 || echo 0)
    expect "flags with gas ${version:-as it is}" "$(notes old '{probe} {flags}')" \
        "$(printf 'test:stap %s\ntest:usdt %s\ntest:own %s\ntest:assembly %s' \
            $((ungrouped | 1)) $((ungrouped | 1)) $((ungrouped | 1)) $ungrouped)"
    if have gdb; then
        expect "gdb with gas ${version:-as it is}" \
            "$(gdb -nx -batch -ex 'info probes stap' old 2>&1 | awk '$1 == "stap" {print $3}' | sort -u | xargs)" \
            "assembly own stap usdt"
    fi
done
