#!/bin/bash
# Other architectures: compiled, run under qemu-user, each note's pc at a nop inside the probed function as the target's
# own disassembler shows it, and the same numbers, sizes and signs of arguments as with systemtap's header.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"

cat > cross.c <<'E'
#include <stdio.h>
#include <sys/sdt.h>
#include "usdt.h"
FASTSDT_DEFINE_SEMA(mine);
int global = 7;
__attribute__((noinline)) int probed(int i, const char *s, long l, double d);
__attribute__((noinline)) int probed(int i, const char *s, long l, double d)
{
    FASTSDT(cross, own, i, s, l, 42, global, d);
    STAP_PROBE(cross, none);
    STAP_PROBE3(cross, stap, i, s, (unsigned char)l);
    USDT_WITH_SEMA(cross, usdt, i, l);
    FASTSDT_WITH(nop, explicit(mine), cross, explicit, l);
    STAP_PROBE12(cross, twelve, i, l, 1, 2, 3, i + 1, l + 2, s, global, -10, 11, i * 12);
    __asm__ volatile(STAP_PROBE_ASM(cross, text, -4@17));
    return USDT_IS_ACTIVE(cross, usdt) + FASTSDT_SEMA_IS_ACTIVE(mine) + i;
}
int main(int argc, char **argv)
{
    int result = probed(argc, argv[0], 3, 1.5);
    printf("ran %d\n", result);
    return 0;
}
E
cat > cross-asm.S <<'E'
#include "fastsdt.h"
	.text
	.globl assembly
	.type assembly, %function
assembly:
	FASTSDT(cross, assembly, 4@5)
	FASTSDT_WITH(nop, implicit, cross, assembly_sema)
	.size assembly, . - assembly
	.section .note.GNU-stack, "", %progbits
E
# Of readelf's names and arguments: the name and the part of each argument up to its @.
cat > sizes.awk <<'E'
$1 == "N" { n = $2 }
$1 == "A" {
    line = n
    $0 = substr($0, 3)
    while (match($0, /(^| )-?[0-9]+@/)) {
        line = line " " substr($0, RSTART, RLENGTH)
        $0 = substr($0, RSTART + RLENGTH)
    }
    print line
}
E
theirs=$(ls /usr/include/sys/sdt.h /usr/include/*/sys/sdt.h 2> /dev/null | sed -n 1p || true)
mkdir -p theirs/sys
[ -z "$theirs" ] || cp "$theirs" "${theirs%.h}-config.h" theirs/sys/

done_targets=
# judge FILE DISASSEMBLER: each probe once, at a nop in its function; the note says how long the nop is
judge() {
    local what=$1 file=$2 dump=$3 probe pc patch function
    notes $file '{probe} {pc:#x} {layout} {patch} {function}' > sites || fail "$what"
    while read -r probe pc layout patch function; do
        case $probe in cross:assembly*) want=assembly ;; *) want=probed ;; esac
        expect "$what: function of $probe" "$function" $want
        expect "$what: layout of $probe" "$layout" 1
        $dump -d --start-address=$pc --stop-address=$((pc + ${patch#*,})) $file | grep -E "^ *[0-9a-f]+:" > text
        [ "$(wc -l < text)" = 1 ] &&
            grep -qiE '\<(nop|nop\.n|nopr|ori +r?0, ?r?0, ?0|mov +r0, r0)\>' text ||
                fail "$what: no nop of ${patch#*,} bytes at $probe: $(cat text)"
    done < sites
}
probes="cross:explicit cross:none cross:own cross:stap cross:text cross:twelve cross:usdt"
target() { # target NAME QEMU DISASSEMBLER COMPILER...
    local name=$1 qemu=$2 dump=$3 level file
    shift 3
    have $1 || { echo "no $1"; return 0; }
    have ${dump%% *} || return 0
    for level in -O0 -O2; do
        "$@" $level -Wall -Wextra -Werror -static -I"$INCLUDE" cross.c cross-asm.S -o cross-$name || fail "$name $level"
        if have $qemu; then expect "$name $level" "$($qemu ./cross-$name)" "ran 1"; fi
        judge "$* $level" cross-$name "$dump -z"
        expect "$name $level: probes" "$(cut -d' ' -f1 sites | sort -u | grep -v assembly | xargs)" "$probes"
        notes cross-$name '{probe} {args}' | sort -u > args
        expect "$name $level: assembly" "$(grep assembly args)" "$(printf 'cross:assembly 4@5\ncross:assembly_sema ')"
        # One operand each, with its size; how it is written is the target's own, `[sp, 8]` included.
        expect "$name $level: twelve arguments" "$(grep -o 'cross:twelve .*' args | grep -oE '(^| )-?[1248]@' | wc -l)" 12
        expect "$name $level: sizes" "$(sed -n 's/cross:own //p' args | grep -oE '(^| )-?[1248]@' | xargs)" \
            "-4@ $w@ -$w@ -4@ -4@ 8@"
        if [ "$w" = 8 ]; then
            ! grep -E ':lo12:|\(\$?\.|global' args || fail "$name $level: an operand names a symbol"
        fi
    done
    # Side by side with systemtap's header, every type.
    if [ -n "$theirs" ]; then
        for include in theirs "$INCLUDE"; do
            "$@" -O2 -w -static -I$include -include sys/sdt.h '-DP0(n)=STAP_PROBE(t,n)' '-DP1(n,a)=STAP_PROBE1(t,n,a)' \
                '-DP3(n,a,b,c)=STAP_PROBE3(t,n,a,b,c)' '-DP12(n,...)=STAP_PROBE12(t,n,__VA_ARGS__)' \
                "$here/surface.c" -o types-$name || fail "$name: types with $include"
            readelf -nW types-$name | sed -n 's/^ *Name: /N /p; s/^ *Arguments: */A /p' | sed 's/f@/@/g' |
                awk -f sizes.awk | sort -u > types.$([ $include = theirs ] && echo theirs || echo ours)
        done
        [ -s types.theirs ] || fail "$name: no probes with systemtap's header"
        diff types.theirs types.ours > difference || fail "$name: theirs and ours differ"$'\n'"$(cat difference)"
    fi
    done_targets="$done_targets $name"
}
w=8
target arm64 qemu-aarch64 aarch64-linux-gnu-objdump aarch64-linux-gnu-gcc
target riscv64 qemu-riscv64 riscv64-linux-gnu-objdump riscv64-linux-gnu-gcc
target riscv64-no-c qemu-riscv64 riscv64-linux-gnu-objdump riscv64-linux-gnu-gcc -march=rv64g
target ppc64le qemu-ppc64le powerpc64le-linux-gnu-objdump powerpc64le-linux-gnu-gcc
target s390x qemu-s390x s390x-linux-gnu-objdump s390x-linux-gnu-gcc
target mips64el qemu-mips64el mips64el-linux-gnuabi64-objdump mips64el-linux-gnuabi64-gcc
w=4
target arm-thumb qemu-arm arm-linux-gnueabihf-objdump arm-linux-gnueabihf-gcc
target arm qemu-arm arm-linux-gnueabihf-objdump arm-linux-gnueabihf-gcc -marm
! gcc -m32 -static -o empty -xc - <<< 'int main(void) { return 0; }' 2> /dev/null || target i386 env objdump gcc -m32

# clang's assembler, and an architecture that Debian 12 has no compiler for.
if have clang-19 && have ld.lld-19 && have llvm-objdump-19; then
    for triple in aarch64-linux-gnu armv7-linux-gnueabihf riscv64-linux-gnu powerpc64le-linux-gnu s390x-linux-gnu \
        mips64el-linux-gnuabi64 loongarch64-linux-gnu i386-linux-gnu; do
        sed '/#include <stdio.h>/d; /^int main/,$d' cross.c > bare.c
        echo "void _start(void); void _start(void) { probed(1, \"\", 3, 1.5); }" >> bare.c
        options="-ffreestanding -nostdinc -fno-pic"
        [[ $triple != mips* ]] || options="-ffreestanding -nostdinc" # its ABI has no -fno-pic
        for level in -O1 -O2; do
            for c in clang-14 clang-19; do
                have $c || continue
                case $c:$triple in clang-14:loongarch64*) continue ;; esac
                $c --target=$triple $level $options -Wall -Wextra -Werror -I"$INCLUDE" -c bare.c -o bare.o ||
                    fail "$c $triple"
                $c --target=$triple -I"$INCLUDE" -c cross-asm.S -o bare-asm.o || fail "$c $triple, assembly"
                ld.lld-19 bare.o bare-asm.o -o bare 2> log || { cat log; fail "$c $triple: link"; }
                judge "$c $triple $level" bare "llvm-objdump-19 -z"
                expect "$c $triple: probes" "$(cut -d' ' -f1 sites | sort -u | grep -v assembly | xargs)" "$probes"
            done
        done
        done_targets="$done_targets clang:${triple%%-*}"
    done
fi
[ -n "$done_targets" ] || skip "no cross compiler is installed"
echo "targets:$done_targets"
