#!/bin/bash
# The whole link matrix (tests/linker/matrix/matrix.py), about 1,500 links: half an hour on two cores, as root.
# Usage: scripts/link-matrix.sh [options of matrix.py]. The default is --cells all and a report in the build directory;
# FASTSDT_BUILD names that (default build/default).
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
build=$(realpath "${FASTSDT_BUILD:-$source/build/default}")
matrix=$source/tests/linker/matrix
mkdir -p "$build/link-matrix"
cd "$build/link-matrix"
clang=$(command -v clang-19 clang-16 clang-14 clang | sed -n 1p)
"$clang" -O2 -g -target bpf -D__TARGET_ARCH_x86 -I"/usr/include/$(gcc -dumpmachine)" -c "$matrix/hits.bpf.c" -o hits.bpf.o
gcc -O2 -Wall "$matrix/hits.c" -o hits -lbpf
gcc -O2 -Wall "$matrix/loader.c" -o loader
[ $# -gt 0 ] || set -- --cells all --report "$build/link-matrix/report.tsv"
exec python3 "$matrix/matrix.py" --include "$source/include" --index "$build/bin/fastsdt-index" \
    --plugins "$build" --hits ./hits --hits-bpf hits.bpf.o --loader "$(realpath loader)" --scratch "$build/link-matrix/cells" "$@"
