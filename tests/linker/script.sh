#!/bin/bash
# linker/fastsdt.ld beside a script that discards everything a probe needs, and beside the default script.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc readelf nm
cat > own.ld <<'E'
ENTRY(_start)
SECTIONS
{
  . = 0x100000;
  .text : { *(.text .text.*) }
  .rodata : { *(.rodata .rodata.*) }
  . = ALIGN(0x1000);
  .data : { *(.data .data.*) }
  .bss : { *(.bss .bss.*) *(COMMON) }
  /DISCARD/ : { *(.note*) *(.comment) *(.stapsdt*) *(.probes) *(.eh_frame*) }
}
E
cat > fw.c <<'E'
#include <usdt.h>
USDT_DEFINE_SEMA(sema);
extern char __start_probes[], __stop_probes[], __stop_note_stapsdt[], __stop_note_fastsdt[];
char *volatile sizes[] = {__stop_note_stapsdt, __stop_note_fastsdt};
int data = 3;
__attribute__((noinline)) int f(int x) { USDT(fw, f, x); if (USDT_SEMA_IS_ACTIVE(sema)) USDT_WITH_EXPLICIT_SEMA(sema, fw, on, x); return x + data; }
void dead(void) { USDT(fw, dead); }
void _start(void) { USDT(fw, start); for (;;) f((int)(__stop_probes - __start_probes)); }
E
names() { # a libc may have probes
    readelf -nW "$1" | awk '/Provider: / { ours = $NF !~ /^(libc|libm|rtld|libpthread)$/ } /^ *Name: / && ours { print $2 }' | sort | tr '\n' ' '
}
column() { readelf -SW "$1" | sed 's/^ *\[ *//; s/\]//' | awk -v s="$2" -v c="$3" '$2 == s {print $c}'; }
check() { # FILE WHAT
    expect "$2: probes" "$(names "$1")" "f on start "
    expect "$2: one layout note each" "$(readelf -nW "$1" | grep -c '(0x00000053)')" 3
    local address base semaphores note
    address=$(column "$1" .stapsdt.base 4)
    base=$(readelf -nW "$1" | sed -n 's/.*Base: 0x\([^,]*\),.*/\1/p' | sort -u)
    expect "$2: base" "$base" "$address"
    expect "$2: the semaphore is in .probes" "$(readelf -nW "$1" | grep -A2 'Name: on' | sed -n 's/.*Semaphore: 0x//p')" "$(column "$1" .probes 4)"
    expect "$2: .probes is writable" "$(column "$1" .probes 8)" WA
    expect "$2: notes are in order" "$(readelf -SW "$1" | grep -o '\.note\.\(stapsdt\|fastsdt\)' | tr '\n' ' ')" ".note.stapsdt .note.fastsdt "
}
mkdir -p out
for compiler in gcc $(installed clang); do
    $compiler -O2 -I"$INCLUDE" -ffreestanding -fno-pic -fno-stack-protector -ffunction-sections -c fw.c -o fw.o
    for linker in ld.bfd $(installed ld.lld); do
        $linker -T "$FASTSDT_SOURCE/linker/fastsdt.ld" -T own.ld --gc-sections fw.o -o out/own
        check out/own "$compiler, $linker, own script"
        for note in stapsdt fastsdt; do
            expect "__stop_note_$note is the section's size" "$((0x$(nm out/own | awk -v s=__stop_note_$note '$3 == s {print $1}')))" \
                "$((0x$(column out/own .note.$note 6)))"
        done
        expect "the semaphores are between the symbols" "$(nm out/own | awk '/ __st(art|op)_probes$/ {print $1}' | sort | sed -n 1p)" \
            "$(column out/own .probes 4)"
        # Without a script of one's own the fragment augments the default one.
        $linker -T "$FASTSDT_SOURCE/linker/fastsdt.ld" --gc-sections fw.o -o out/default
        check out/default "$compiler, $linker, default script"
    done
done

# Whole programs of every kind, with the default script: they run, and .bss is where it was. GNU ld once went on from address 0
# behind the notes.
cat > whole.c <<'E'
#include <usdt.h>
USDT_DEFINE_SEMA(sema);
static int bss[100];
int f(int x) { USDT(whole, f, x); if (USDT_SEMA_IS_ACTIVE(sema)) USDT_WITH_EXPLICIT_SEMA(sema, whole, on, x); bss[x] = 45; USDT(whole, start); return bss[x]; }
E
echo 'int f(int); int main(int c, char **v) { (void)v; return f(c); }' > main.c
compiler=gcc
! have clang-19 || compiler=clang-19 # gcc knows no -fuse-ld=lld-19
for linker in bfd lld-14 lld-16 lld-19; do
    have ld.$linker || continue
    [ $compiler = clang-19 ] || [ $linker = bfd ] || continue
    for mode in "-no-pie -fno-pic" "-pie -fPIE" "-static" "-static-pie -fPIE" "-shared -fPIC"; do
        main=main.c
        case $mode in -shared*) main= ;; esac
        $compiler -O2 -I"$INCLUDE" $mode -fuse-ld=$linker -Wl,-T,"$FASTSDT_SOURCE/linker/fastsdt.ld" whole.c $main -o out/whole 2>log ||
            fail "$linker $mode: $(cat log)"
        check out/whole "$linker $mode"
        [ -n "$main" ] || continue
        status=0
        ./out/whole || status=$?
        expect "$linker $mode: what the program returns" "$status" 45
    done
done
