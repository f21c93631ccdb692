#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds fastprobe for GCC versions that this Debian does not have, and runs the plugin's test suite with them, x86-64
# and the arm64 cross compiler. Usage: scripts/test-gcc-versions.sh [VERSION:SUITE...], as root;
# default: 14:trixie 15:sid 16:sid.
#
# Only compilers, plugin headers and binutils come from the suites' chroots (scripts/chroot.sh); FileCheck, objdump, qemu and
# gdb are this machine's. What was printed last stands in docs/fastprobe.md.
set -euo pipefail
. "$(dirname "$0")/chroot.sh"
[ $# -gt 0 ] || set -- 14:trixie 15:sid 16:sid
out=$top/build/gcc-versions

status=0
for pair in "$@"; do
    version=${pair%%:*} suite=${pair#*:}
    enter "$suite" "g++-$version" "gcc-$version-plugin-dev" "gcc-$version-aarch64-linux-gnu" "g++-$version-aarch64-linux-gnu" \
        "gcc-$version-plugin-dev-aarch64-linux-gnu"
    for target in x86-64 arm64; do
        prefix='' source=x86
        [ "$target" = x86-64 ] || { prefix=aarch64-linux-gnu-; source=aarch64; }
        gcc=${prefix}gcc-$version gxx=${prefix}g++-$version dir=$out/gcc-$version${prefix:+-aarch64}
        mkdir -p "$dir/suite"
        plugin=$dir/fastprobe.so
        include=$(chroot "$root" "$gcc" -print-file-name=plugin)/include
        # What gcc-plugin/CMakeLists.txt does, without CMake in the chroot.
        if ! chroot "$root" "g++-$version" -std=c++17 -O2 -fPIC -shared -fno-rtti -fno-exceptions -fvisibility=hidden \
            -I "$top/include" -isystem "$include" "$top"/gcc-plugin/{fastprobe,$source}.cpp "$top"/fastprobe/*.cpp -o "$plugin" 2>"$dir/build.log"; then
            sed -n 1,20p "$dir/build.log" >&2
            echo "FAIL: gcc $version $target: does not build ($(chroot "$root" "$gcc" -dumpfullversion))"
            status=1
            continue
        fi
        wrap "$dir/cc" "$gcc"
        wrap "$dir/cxx" "$gxx"
        if (cd "$dir/suite" && FASTPROBE_SYSROOT=$root FASTSDT_SOURCE=$top FASTSDT_BUILD=$out bash "$top/tests/fastprobe/suite.sh" gcc $target "$plugin" "$dir/cc" "$dir/cxx" >"$dir/suite.log" 2>&1); then
            echo "ok: gcc $(chroot "$root" "$gcc" -dumpfullversion) ($suite) $target: $(tail -1 "$dir/suite.log")"
        else
            tail -60 "$dir/suite.log" | cut -c1-200 >&2
            echo "FAIL: gcc $(chroot "$root" "$gcc" -dumpfullversion) ($suite) $target: $(grep '^FAIL' "$dir/suite.log" | sed -n 1p)"
            status=1
        fi
    done
done
exit $status
