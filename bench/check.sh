#!/bin/bash
# check.sh [PROBES] [RUNS]: how long fastsdt-check takes beside `readelf -n` on the same file, in the same run, as the ratio of
# the shortest of many runs: a program with PROBES probes (about 3 MB with 20,000), and the largest library here without
# any (libLLVM, about 100 MB). Aim: at most 1.5 on the first; on the second the time to read headers and notes.
# FASTSDT_CHECK names the tool, else build/default's.
set -euo pipefail
cd "$(dirname "$0")/.."
probes=${1:-20000}
runs=${2:-7}
check=${FASTSDT_CHECK:-$PWD/build/default/bin/fastsdt-check}
[ -x "$check" ] || { echo "check.sh: $check is not built; cmake --build --preset default" >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# nop1+nop10 sites with three arguments, as fastsdt.h emits them, and code between them.
awk -v probes="$probes" 'BEGIN {
    print ".globl _start\n.text\n_start:"
    split("-4@%eax 8@%rbx -8@-16(%rbp) 4@$5 -4@%r12d 8@%rdi 2@%cx", args, " ")
    for (i = 0; i < probes; i++) {
        if (i % 50 == 0) print ".globl f" i "\n.type f" i ",@function\nf" i ":"
        print "mov %rdi, %rax\nadd $" i ", %rax\n.p2align 4,,10\n1: .byte 0x90,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0\nret"
        print ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8,994f-993f,3\n.asciz \"stapsdt\"\n993: .8byte 1b,_.stapsdt.base,0"
        print ".asciz \"provider" i % 20 "\"\n.asciz \"probe" i "\"\n.asciz \"" args[1 + i % 7] " " args[1 + i % 5] " " args[1 + i % 3] "\"\n994: .balign 4\n.popsection"
        print ".pushsection .note.fastsdt,\"\",\"note\"\n.balign 4\n.4byte 8,24,0x53\n.asciz \"fastsdt\"\n.byte 1,6,1,10,4,0,1,0\n.8byte 1b,0\n.popsection"
    }
    print ".section .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1"
}' > "$scratch/many.s"
as "$scratch/many.s" -o "$scratch/many.o"
ld "$scratch/many.o" -o "$scratch/many"

# shortest COMMAND...: seconds of user and system time of one run, the least over all groups of ten; other load hardly
# matters then.
shortest() {
    local TIMEFORMAT='%U %S' i k
    for ((i = 0; i < runs; i++)); do
        { time for k in 1 2 3 4 5 6 7 8 9 10; do "$@" > /dev/null 2>&1; done; } 2>&1
    done | awk '{ t = ($1 + $2) / 10; if (NR == 1 || t < least) least = t } END { printf "%.4f\n", least }'
}
compare() { # compare NAME FILE
    local theirs ours
    theirs=$(shortest readelf -n "$2")
    ours=$(shortest "$check" "$2")
    awk -v name="$1" -v size="$(stat -Lc %s "$2")" -v a="$ours" -v b="$theirs" \
        'BEGIN { printf "%-24s %6.1f MB  fastsdt-check %.4f s  readelf -n %.4f s  ratio %s\n", name, size / 1e6, a, b, (b > 0 ? sprintf("%.2f", a / b) : "-") }'
}
compare "$probes probes" "$scratch/many"
TIMEFORMAT='%U %S'
library=
for candidate in /usr/lib/x86_64-linux-gnu/libLLVM*.so.*; do
    [ ! -f "$candidate" ] || { [ -n "$library" ] && [ "$(stat -Lc %s "$candidate")" -le "$(stat -Lc %s "$library")" ]; } || library=$candidate
done
[ -z "$library" ] || compare "$(basename "$library"), none" "$library"
