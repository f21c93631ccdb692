#!/bin/bash
# Each layout's bytes and what its notes say, and the promise that patchable bytes never cross a boundary.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the layouts are those of x86-64"
compilers=$(have_of gcc-11 gcc-12 clang-14 clang-19)
most=$(have_of gcc-12 clang-19) # more is checked with these

# Name, id, patchable bytes, bytes, bound and flags in C, instructions as binutils' disassembler names them.
cat > layouts <<'E'
nop 1 0,1 90 0 1 nop
nop1 1 0,1 90 0 1 nop
nop1_nop4 2 1,4 900f1f4000 6 1 nop,nopl
nop5 3 0,5 0f1f440000 6 3 nopl
nop1_nop5 4 1,5 900f1f440000 6 3 nop,nopl
nop10 5 0,10 662e0f1f840000000000 6 1 nopw
nop1_nop10 6 1,10 90662e0f1f840000000000 6 1 nop,nopw
default 6 1,10 90662e0f1f840000000000 6 1 nop,nopw
E
cat > one.c <<'E'
#include "fastsdt.h"
int main(void) { FASTSDT_WITH(WHICH, none, test, probe, 42); return 0; }
E
cat > one.S <<'E'
#include "fastsdt.h"
	.globl main
	.type main, @function
main:
	FASTSDT_WITH(WHICH, none, test, probe, -4@$42)
	xorl %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", %progbits
E
while read -r name id patch bytes bound flags instructions; do
    for c in $compilers; do
        sources=("c one.c" "assembler-with-cpp one.S")
        case " $most " in *" $c "*) sources+=("c -O2 one.c" "c++ one.c") ;; esac
        for source in "${sources[@]}"; do
            [[ $source != c++* ]] || have ${c/gcc/g++} || continue
            want=$flags
            [[ $source != *.S ]] || want=0 # nobody but the author knows about the CPU flags and the red zone there
            want=$((want | $(ungrouped $c)))
            rm -f one
            $c $optin -DWHICH=$name -I"$INCLUDE" -x $source -o one
            got=$(notes one '{pc:#x} {probe} {layout} {patch} {bound} {flags} {args} {function}')
            pc=${got%% *}
            expect "$c $source, $name: the notes" "${got#* }" "test:probe $id $patch $bound $want -4@\$42 main"
            length=$((${#bytes} / 2))
            objdump -d --insn-width=16 --start-address=$pc --stop-address=$((pc + length)) one |
                sed -n 's/^ *[0-9a-f]*:\t//p' | sed 's/\tcs nopw /\tnopw /' > text # binutils until 2.36 prints nopw %cs:...
            expect "$c $source, $name: the bytes" "$(cut -f1 text | tr -d ' \n')" "$bytes"
            expect "$c $source, $name: the instructions" "$(cut -f2 text | awk '{print $1}' | paste -sd,)" "$instructions"
        done
    done
    # As the layout of a file, through the three headers.
    if [ $name != default ]; then
        printf '#include <sys/sdt.h>\n#include "usdt.h"\n' > file.c
        echo 'int main(void) { FASTSDT(t, p); STAP_PROBE(t, p); DTRACE_PROBE1(t, p, 1); USDT(t, p); return 0; }' >> file.c
        ${most%% *} $optin -DFASTSDT_LAYOUT=$name -I"$INCLUDE" file.c -o file
        expect "$name as the layout of a file" "$(notes file '{layout} {patch} {bound}' | sort | uniq -c | xargs)" \
            "4 $id $patch $bound"
    fi
done < layouts

# A site at every offset of a page. Sites are 33 bytes apart, before padding: that meets all 4096 offsets.
cat > offsets.py <<'E'
import sys
layout, language = sys.argv[1:]
print('#include "fastsdt.h"')
if language == "S":
    print("\t.text\n\t.p2align 12\n\t.globl _start\n_start:")
    for k in range(4096):
        print(f"\t.org _start + {33 * k}, 0xcc\n\tFASTSDT_WITH({layout}, none, test, o{33 * k})")
else:
    print('__asm__(".text\\n.p2align 12");\nvoid _start(void);\nvoid _start(void)\n{')
    print('__asm__ volatile(".p2align 12\\norigin:");')
    for k in range(4096):
        print(f'__asm__ volatile(".org origin + {33 * k}, 0xcc"); FASTSDT_WITH({layout}, none, test, o{33 * k});')
    print("}")
E
cat > crossing.py <<'E'
import os, sys
sys.path.insert(0, os.environ["FASTSDT_SOURCE"] + "/tests/header")
import notes
path, size, bound = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sites = notes.sites(notes.Elf(path))
origin = min(s["pc"] - int(s["name"][1:]) for s in sites)
assert len(sites) == 4096
assert {int(s["name"][1:]) % 4096 for s in sites} == set(range(4096)), "not every offset was tried"
assert origin % 4096 == 0, hex(origin)
crossed = padded = 0
for s in sites:
    assert s["bound"] == bound, s
    wanted = origin + int(s["name"][1:])
    padding = s["pc"] - wanted
    line = 1 << (bound or 6)
    first, last = s["pc"] + s["offset"], s["pc"] + s["offset"] + s["length"] - 1
    crossed += first // line != last // line
    padded += padding > 0
    assert 0 <= padding < size, s
    # Padding goes only where the layout would have crossed.
    assert padding == 0 or wanted // line != (wanted + size - 1) // line, s
if bound:
    assert crossed == 0, f"{crossed} sites cross a boundary of {line} bytes"
    assert padded == 4096 // line * (size - 1), padded
else:
    assert padded == 0 and crossed == 64 * (s["length"] - 1), (padded, crossed) # without the promise they do
E
try() { # try COMPILER LANGUAGE LAYOUT SIZE BOUND
    $python offsets.py $3 $2 > offsets.$2
    $1 $optin -DFASTSDT_BOUND=$5 -I"$INCLUDE" -O0 -nostdlib -static offsets.$2 -o offsets 2> log || fail "$(cat log)"
    $python crossing.py offsets $4 $5 || fail "$*"
}
for c in $compilers; do try $c c nop1_nop10 11 6; done
for c in $most; do
    try $c S nop1_nop10 11 6
    try $c S nop1_nop10 11 0
done
c=${most%% *}
for job in "nop1_nop10 11 4" "nop1_nop10 11 5" "nop1_nop10 11 12" "nop1_nop4 5 6" "nop5 5 6" "nop5 5 0" \
    "nop1_nop5 6 6" "nop10 10 6" "nop10 10 4"; do
    try $c S $job
done
echo "no crossing at any offset"
