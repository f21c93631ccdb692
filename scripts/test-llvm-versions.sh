#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds fastprobe for LLVM versions that this Debian does not have, and runs the plugin's test suite with them, x86-64
# and arm64. Usage: scripts/test-llvm-versions.sh [VERSION:SUITE...], as root; default: 18:trixie 22:trixie 21:sid 23:sid.
#
# Only clang, lld, LLVM's headers and binutils come from the suites' chroots (scripts/chroot.sh); FileCheck, objdump and qemu
# are this machine's. What was printed last stands in docs/fastprobe.md.
set -euo pipefail
. "$(dirname "$0")/chroot.sh"
[ $# -gt 0 ] || set -- 18:trixie 22:trixie 21:sid 23:sid
out=$top/build/llvm-versions

status=0
for pair in "$@"; do
    version=${pair%%:*} suite=${pair#*:} dir=$out/llvm-${pair%%:*}
    enter "$suite" "clang-$version" "lld-$version" "llvm-$version-dev" "libclang-$version-dev" "libclang-rt-$version-dev" g++ \
        g++-aarch64-linux-gnu libzstd-dev zlib1g-dev
    mkdir -p "$dir"
    # What llvm-pass/CMakeLists.txt does, without CMake in the chroot.
    in_chroot() { chroot "$root" env -C "$dir" TMPDIR="$dir" "$@"; }
    include=$(in_chroot "llvm-config-$version" --includedir) libdir=$(in_chroot "llvm-config-$version" --libdir)
    full=$(in_chroot "llvm-config-$version" --version)
    compile=(g++ -std=c++17 -O1 -fPIC -shared -fno-exceptions -fvisibility=hidden -fvisibility-inlines-hidden
        -DFASTSDT_LLVMGOLD="\"$libdir/LLVMgold.so\"" -I "$top/include" -I "$top/fastprobe"
        -isystem "$include" -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS)
    libllvm="-L$libdir $(in_chroot "llvm-config-$version" --link-shared --libs)"
    libclang=$(in_chroot sh -c "ls $libdir/libclang-cpp.so.$version* | sed -n 1p")
    common=("$top"/fastprobe/*.cpp)
    # shellcheck disable=SC2086 # a list of words
    if ! { in_chroot "${compile[@]}" "$top"/llvm-pass/{pass,hooks,registry,frame,look,insert,emit,host}.cpp "${common[@]}" -o fastprobe-pass.so \
            -Wl,-soname,fastprobe-pass.so $libllvm &&
        in_chroot "${compile[@]}" "$top"/llvm-pass/{clang,host}.cpp "${common[@]}" -o fastprobe.so "$libclang" $libllvm \
            -L. -l:fastprobe-pass.so "-Wl,-rpath,\$ORIGIN"; } 2>"$dir/build.log"; then
        grep -m 20 'error' "$dir/build.log" >&2 || tail -20 "$dir/build.log" >&2
        echo "FAIL: LLVM $full ($suite): does not build"
        status=1
        continue
    fi
    for target in x86-64 arm64; do
        option=
        [ "$target" = x86-64 ] || option=--target=aarch64-linux-gnu
        mkdir -p "$dir/$target/suite"
        for name in clang clang++; do
            # shellcheck disable=SC2086 # none or one
            wrap "$dir/$target/$name" "$libdir/../bin/$name" $option
        done
        if (cd "$dir/$target/suite" && FASTPROBE_SYSROOT=$root FASTSDT_SOURCE=$top FASTSDT_BUILD=$out bash "$top/tests/fastprobe/suite.sh" \
            clang $target "$dir/fastprobe.so" "$dir/$target/clang" "$dir/$target/clang++" >"$dir/$target/suite.log" 2>&1); then
            echo "ok: clang $full ($suite) $target: $(tail -1 "$dir/$target/suite.log")"
        else
            tail -60 "$dir/$target/suite.log" | cut -c1-200 >&2
            echo "FAIL: clang $full ($suite) $target: $(grep '^FAIL' "$dir/$target/suite.log" | sed -n 1p)"
            status=1
        fi
    done
done
exit $status
