#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds fastprobe for GCC versions that this Debian does not have, and runs the plugin's cases with them, x86-64
# and the arm64 cross compiler. Usage: tests/long/test-gcc-versions.sh [VERSION:SUITE...], as root;
# default: 14:trixie 15:sid 16:sid.
#
# Compilers, plugin headers, binutils and CMake come from the suites' chroots (scripts/common/chroot.sh); lit, FileCheck, objdump,
# qemu and gdb are this machine's. What was printed last stands in docs/recorded/fastprobe.md.
set -euo pipefail
. "$(dirname "$0")/../../scripts/common/chroot.sh"
[ $# -gt 0 ] || set -- 14:trixie 15:sid 16:sid

status=0
for pair in "$@"; do
    version=${pair%%:*} suite=${pair#*:} out=$top/build/gcc-versions/${pair%%:*}
    enter "$suite" cmake ninja-build "g++-$version" "gcc-$version-plugin-dev" "gcc-$version-aarch64-linux-gnu" \
        "g++-$version-aarch64-linux-gnu" "gcc-$version-plugin-dev-aarch64-linux-gnu"
    mkdir -p "$out"
    full=$(chroot "$root" "gcc-$version" -dumpfullversion)
    if ! { chroot "$root" cmake -S "$top" -B "$out" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFASTSDT_TOOLS=OFF -DBUILD_TESTING=OFF \
        "-DCMAKE_C_COMPILER=gcc-$version" "-DCMAKE_CXX_COMPILER=g++-$version" "-DFASTSDT_GCCS=gcc-$version;aarch64-linux-gnu-gcc-$version" &&
        chroot "$root" cmake --build "$out" --target "fastprobe-gcc-$version" "fastprobe-gcc-$version-aarch64"; } >"$out/build.log" 2>&1; then
        tail -n 20 "$out/build.log" >&2
        echo "FAIL: gcc $full ($suite): does not build"
        status=1
        continue
    fi
    for target in x86-64 arm64; do
        prefix='' dir=$out/gcc-$version
        [ $target = x86-64 ] || prefix=aarch64-linux-gnu- dir=$dir-aarch64
        mkdir -p "$dir/suite"
        wrap "$dir/cc" "${prefix}gcc-$version"
        wrap "$dir/cxx" "${prefix}g++-$version"
        if (cd "$dir/suite" && FASTPROBE_SYSROOT=$root FASTSDT_SOURCE=$top FASTSDT_BUILD=$out JOBS=$(nproc) bash "$top/tests/fastprobe/suite.sh" \
            gcc $target "$dir/fastprobe.so" "$dir/cc" "$dir/cxx" >"$dir/suite.log" 2>&1); then
            echo "ok: gcc $full ($suite) $target: $(sed -n 's/^  \(Unsupported\|Passed\) *: *\([0-9]*\).*/\2 \L\1/p' "$dir/suite.log" | paste -sd,)"
        else
            tail -n 60 "$dir/suite.log" | cut -c1-200 >&2
            echo "FAIL: gcc $full ($suite) $target: $(grep '^FAIL' "$dir/suite.log" | paste -sd,)"
            status=1
        fi
    done
done
exit $status
