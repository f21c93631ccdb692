#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a probe costs to compile: 2000 three-argument probes in one file, against systemtap's and libbpf's headers and
# against a plain asm statement with the same operands. Prints the least CPU time of several runs, in seconds, the ratio to
# libbpf's usdt.h, and the bytes that a probe adds to the object file. `bench/compile.sh [RUNS]`, default 7.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-7}
peers=$(bash tests/header/fetch-peers.sh "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# source INCLUDE PROBE > file: 100 functions of 20 probes; %d in PROBE becomes a number.
source_of() {
    [ -z "$1" ] || echo "#include \"$1\""
    local f i
    for f in $(seq 0 99); do
        echo "int f$f(int a, char *b, long c) {"
        # shellcheck disable=SC2059 # the format is the argument
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

least() { # least COMMAND...: user and system time of the fastest run
    local i TIMEFORMAT='%U %S'
    for i in $(seq "$runs"); do { time "$@"; } 2>&1; done | awk '{t = $1 + $2; if (!m || t < m) m = t} END {print m}'
}
printf '%-12s %-12s %8s %8s %12s\n' compiler header seconds ratio 'bytes/probe'
for compiler in gcc g++ clang-19 clang++-19; do
    command -v "$compiler" >/dev/null || { echo "$compiler is not installed"; continue; }
    case $compiler in *++*) language=c++ ;; *) language=c ;; esac
    base=$(least "$compiler" -x $language -O2 -c "$work/libbpf.c" -o "$work/libbpf.o")
    "$compiler" -x $language -O2 -c "$work/none.c" -o "$work/none.o"
    for header in asm systemtap libbpf FASTSDT STAP_PROBE3 USDT; do
        t=$(least "$compiler" -x $language -O2 -c "$work/$header.c" -o "$work/$header.o")
        printf '%-12s %-12s %8s %8s %12s\n' "$compiler" "$header" "$t" "$(awk "BEGIN {printf \"%.2f\", $t / $base}")" \
            "$((($(stat -c %s "$work/$header.o") - $(stat -c %s "$work/none.o")) / 2000))"
    done
done
