#!/bin/bash
# The whole link matrix (tests/linker/matrix/matrix.py), about 1,500 links: half an hour on two cores, as root.
# Usage: tests/long/link-matrix.sh [options of matrix.py]. The default is --cells all and a report in the build directory;
# FASTSDT_BUILD names that (default build/default).
set -euo pipefail
source=$(realpath "$(dirname "$0")/../..")
build=$(realpath "${FASTSDT_BUILD:-$source/build/default}")
matrix=$source/tests/linker/matrix
work=$build/link-matrix
mkdir -p "$work"
. "$source/scripts/common/versions.sh"
clang=$(newest clang)
"$clang" -O2 -g -target bpf -D__TARGET_ARCH_x86 -I"/usr/include/$(gcc -dumpmachine)" -c "$matrix/hits.bpf.c" -o "$work/hits.bpf.o"
gcc -O2 -Wall "$matrix/hits.c" -o "$work/hits" -lbpf
gcc -O2 -Wall "$matrix/loader.c" -o "$work/loader"
[ $# -gt 0 ] || set -- --cells all --report "$work/report.tsv"
exec python3 "$matrix/matrix.py" --include "$source/include" --index "$build/bin/fastsdt-index" \
    --plugins "$build" --hits "$work/hits" --hits-bpf "$work/hits.bpf.o" --loader "$work/loader" --scratch "$work/cells" "$@"
