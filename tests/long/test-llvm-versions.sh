#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds fastprobe for LLVM versions that this Debian does not have, and runs the plugin's cases with them, x86-64
# and arm64. Usage: tests/long/test-llvm-versions.sh [VERSION:SUITE...], as root; default: 18:trixie 21:sid 23:sid.
#
# Compilers, lld, LLVM's headers, binutils and CMake come from the suites' chroots (scripts/common/chroot.sh); lit, FileCheck, objdump, qemu and
# gdb are this machine's. What was printed last stands in docs/recorded/fastprobe.md.
set -euo pipefail
. "$(dirname "$0")/../../scripts/common/chroot.sh"
[ $# -gt 0 ] || set -- 18:trixie 21:sid 23:sid

status=0
for pair in "$@"; do
    version=${pair%%:*} suite=${pair#*:} out=$top/build/llvm-versions/${pair%%:*}
    enter "$suite" cmake ninja-build g++ "clang-$version" "lld-$version" "llvm-$version-dev" "libclang-$version-dev" "libclang-rt-$version-dev" \
        g++-aarch64-linux-gnu libzstd-dev zlib1g-dev
    mkdir -p "$out"
    full=$(chroot "$root" "llvm-config-$version" --version)
    if ! { chroot "$root" cmake -S "$top" -B "$out" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFASTSDT_TOOLS=OFF -DBUILD_TESTING=OFF \
        "-DFASTSDT_LLVM_CONFIGS=$(chroot "$root" sh -c "command -v llvm-config-$version")" &&
        chroot "$root" cmake --build "$out" --target "fastprobe_llvm_$version"; } >"$out/build.log" 2>&1; then
        grep -m 20 'error' "$out/build.log" >&2 || tail -n 20 "$out/build.log" >&2
        echo "FAIL: LLVM $full ($suite): does not build"
        status=1
        continue
    fi
    for target in x86-64 arm64; do
        option='' dir=$out/$target
        [ $target = x86-64 ] || option=--target=aarch64-linux-gnu
        mkdir -p "$dir/suite"
        for name in clang clang++; do
            wrap "$dir/$name" "/usr/lib/llvm-$version/bin/$name" $option
        done
        if (cd "$dir/suite" && FASTPROBE_SYSROOT=$root FASTSDT_SOURCE=$top FASTSDT_BUILD=$out JOBS=$(nproc) bash "$top/tests/fastprobe/suite.sh" \
            clang $target "$out/llvm-$version/fastprobe.so" "$dir/clang" "$dir/clang++" >"$dir/suite.log" 2>&1); then
            echo "ok: clang $full ($suite) $target: $(sed -n 's/^  \(Unsupported\|Passed\) *: *\([0-9]*\).*/\2 \L\1/p' "$dir/suite.log" | paste -sd,)"
        else
            tail -n 60 "$dir/suite.log" | cut -c1-200 >&2
            echo "FAIL: clang $full ($suite) $target: $(grep '^FAIL' "$dir/suite.log" | paste -sd,)"
            status=1
        fi
    done
done
exit $status
