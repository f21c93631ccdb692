#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the headers with compilers that this Debian does not have: those of tests/header that need no tracer, inside a chroot
# of the compiler's suite (scripts/common/chroot.sh), so that assembler, linkers, C library and readelf are of the same time.
# Usage: tests/long/test-header-compilers.sh [COMPILER:SUITE...], as root; default: the oldest that the headers support
# and the newest there are:
#     gcc-9:bullseye gcc-10:bullseye clang-11:bullseye clang-13:bullseye
#     gcc-14:trixie gcc-15:sid gcc-16:sid clang-22:trixie clang-21:sid clang-23:sid
# What was printed last stands in docs/recorded/linking.md.
set -euo pipefail
. "$(dirname "$0")/../../scripts/common/chroot.sh"
[ $# -gt 0 ] || set -- gcc-9:bullseye gcc-10:bullseye clang-11:bullseye clang-13:bullseye \
    gcc-14:trixie gcc-15:sid gcc-16:sid clang-22:trixie clang-21:sid clang-23:sid
out=$top/build/header-compilers
mkdir -p "$out/cache"
# systemtap's and libbpf's newest headers, which surface.sh compares with, are fetched outside.
peers=$(bash "$top/tests/header/fetch-peers.sh" "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}") && cp -r "$peers" "$out/cache/" ||
    echo "without the headers to compare with"

status=0
for pair in "$@"; do
    compiler=${pair%%:*} suite=${pair#*:}
    case $compiler in
    gcc-*) enter "$suite" binutils make python3 systemtap-sdt-dev "$compiler" "g++-${compiler#gcc-}" ;;
    clang-*) enter "$suite" binutils make python3 systemtap-sdt-dev g++ "$compiler" "lld-${compiler#clang-}" ;;
    *) echo "$script: $pair is neither gcc-N:SUITE nor clang-N:SUITE" >&2; exit 2 ;;
    esac
    dir=$out/$compiler-$suite
    rm -rf "$dir"
    mkdir -p "$dir/bin"
    # Tests that use plain `gcc` get this one.
    case $compiler in gcc-*)
        ln -s "/usr/bin/$compiler" "$dir/bin/gcc"
        ln -s "/usr/bin/g++-${compiler#gcc-}" "$dir/bin/g++" ;;
    esac
    case $compiler in
    gcc-*) version=$(chroot "$root" "$compiler" -dumpfullversion) ;;
    *) version=$(chroot "$root" "$compiler" --version | sed -n '1s/.* \([0-9][0-9.]*\).*/\1/p') ;;
    esac
    version="${compiler%-*} $version ($suite, binutils $(chroot "$root" as --version | sed -n '1s/.* //p'))"
    passed=
    for test in clean surface errors layout small semaphore dead redzone; do
        mkdir "$dir/$test"
        result=0
        chroot "$root" env -i -C "$dir/$test" HOME=/root LC_ALL=C.UTF-8 PATH="$dir/bin:/usr/sbin:/usr/bin:/sbin:/bin" FASTSDT_SOURCE="$top" \
            FASTSDT_BUILD="$out" \
            FASTSDT_CACHE="$out/cache" FASTSDT_COMPILERS="$compiler" \
            bash "$top/tests/header/$test.sh" >"$dir/$test.log" 2>&1 || result=$?
        case $result in
        0) passed="$passed $test" ;;
        77) echo "not run: $version $test: $(tail -n 1 "$dir/$test.log")" ;;
        *)
            tail -n 30 "$dir/$test.log" | cut -c1-200 >&2
            echo "FAIL: $version $test: $(grep '^FAIL' "$dir/$test.log" | sed -n 1p)"
            status=1
            ;;
        esac
    done
    [ -z "$passed" ] || echo "ok: $version:$passed"
done
exit $status
