#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a probe costs to compile: 2000 three-argument probes in one file, against systemtap's and libbpf's headers and
# against a plain asm statement with the same operands. Prints the least CPU time of several rounds, in seconds, the ratio to
# libbpf's usdt.h, and the bytes that a probe adds to the object file. A round compiles with each header in turn.
# `bench/compile.sh [ROUNDS]`, default 7.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-7}
peers=$(bash tests/header/fetch-peers.sh "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# source INCLUDE PROBE > file: 100 functions of 20 probes; %d in PROBE becomes a number.
source_of() {
    [ -z "$1" ] || echo "#include \"$1\""
    local f i
    for f in $(seq 0 99); do
        echo "int f$f(int a, char *b, long c) {"
        for i in $(seq 0 19); do printf "$2\n" $((f * 20 + i)); done
        echo "return a; }"
    done
}
source_of "" '__asm__ __volatile__("nop #%d %%0 %%1 %%2" :: "nor"(a), "nor"(b), "nor"(c));' >"$work/asm.c"
source_of "$peers/systemtap/sys/sdt.h" 'STAP_PROBE3(p, n%d, a, b, c);' >"$work/systemtap.c"
source_of "$peers/libbpf/usdt.h" 'USDT(p, n%d, a, b, c);' >"$work/libbpf.c"
source_of "$PWD/include/fastsdt.h" 'FASTSDT(p, n%d, a, b, c);' >"$work/FASTSDT.c"
source_of "$PWD/include/sys/sdt.h" 'STAP_PROBE3(p, n%d, a, b, c);' >"$work/STAP_PROBE3.c"
source_of "$PWD/include/usdt.h" 'USDT(p, n%d, a, b, c);' >"$work/USDT.c"

source_of "" '/* %d */' >"$work/none.c" # the same functions without probes

headers=(asm systemtap libbpf FASTSDT STAP_PROBE3 USDT)
TIMEFORMAT='%U %S'
printf '%-12s %-12s %8s %8s %12s\n' compiler header seconds ratio 'bytes/probe'
for compiler in gcc g++ clang-19 clang++-19; do
    command -v "$compiler" >/dev/null || { echo "$compiler is not installed"; continue; }
    case $compiler in *++*) language=c++ ;; *) language=c ;; esac
    compile() { "$compiler" -x $language -O2 -c "$work/$1.c" -o "$work/$1.o"; }
    compile none
    for ((round = 0; round < rounds; ++round)); do
        for header in "${headers[@]}"; do echo "$header $({ time compile "$header"; } 2>&1)"; done
    done >"$work/times"
    for header in "${headers[@]}"; do
        awk -v compiler="$compiler" -v header="$header" -v bytes=$((($(stat -c %s "$work/$header.o") - $(stat -c %s "$work/none.o")) / 2000)) '
            { t = $2 + $3; if (!($1 in least) || t < least[$1]) least[$1] = t }
            END { printf "%-12s %-12s %8s %8.2f %12d\n", compiler, header, least[header], least[header] / least["libbpf"], bytes }' "$work/times"
    done
done
