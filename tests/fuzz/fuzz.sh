#!/bin/bash
# fuzz.sh [SECONDS]: libFuzzer with AddressSanitizer on the reader, from the corpus here. What it finds goes to
# build/fuzz/found, and from there, made small, into the corpus once it is fixed.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
. scripts/common/versions.sh
cxx=${CXX:-$(newest clang++)}
command -v "$cxx" >/dev/null || { echo "fuzz.sh: $cxx is not installed (scripts/install-deps.sh does that)" >&2; exit 1; }
out=build/fuzz
mkdir -p "$out/found" "$out/new"
wrap=$(command -v ccache || true)
objects=
for source in lib/*/*.cpp reader/*.cpp linker/indexer.cpp tools/fastsdt-check/files.cpp tools/fastsdt-check/output_{json,plan,sarif,text}.cpp \
    tests/fuzz/reader_fuzz.cpp; do
    object=$out/$(echo "${source%.cpp}" | tr / -).o
    objects="$objects $object"
    [ "$object" -nt "$source" ] && [ -z "$(find lib include -name '*.h' -newer "$object")" ] && continue
    $wrap "$cxx" -std=c++20 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
        -Iinclude -Ilib -Ilinker -c "$source" -o "$object"
done
"$cxx" -fsanitize=fuzzer,address,undefined $objects -lelf -ldw -lfmt -lZydis -o "$out/reader_fuzz"
# Without a limit on memory an allocation of a made-up size would go unnoticed.
"$out/reader_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="$out/found/" "$out/new" tests/fuzz/corpus
