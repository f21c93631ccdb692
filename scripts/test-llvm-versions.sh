#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds fastprobe for LLVM versions that this Debian does not have, and runs the plugin's test suite with them, x86-64
# and arm64. Usage: scripts/test-llvm-versions.sh [VERSION:SUITE...], as root; default: 18:trixie 22:trixie 21:sid 23:sid.
#
# Each suite becomes a chroot in the cache (FASTSDT_CACHE, default ~/.cache/fastsdt), made by debootstrap from the
# machine's own mirror and shared with test-gcc-versions.sh. Only clang, lld, LLVM's headers and binutils come from there;
# FileCheck, objdump and qemu are this machine's. What was printed last stands in docs/fastprobe.md.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/chroot
[ $# -gt 0 ] || set -- 18:trixie 22:trixie 21:sid 23:sid
[ "$(id -u)" = 0 ] || { echo "test-llvm-versions.sh: chroot needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "test-llvm-versions.sh: debootstrap is not installed" >&2; exit 2; }
mkdir -p "$cache"
mounted=()
unmount() { for m in "${mounted[@]}"; do umount "$m"; done; mounted=(); }
trap unmount EXIT

status=0
for pair in "$@"; do
    version=${pair%%:*} suite=${pair#*:} root=$cache/${pair#*:}
    if [ ! -e "$root/ready" ]; then
        mirror=$("$top/scripts/debian.sh" "$suite" apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n 1p)
        rm -rf "$root"
        # shellcheck disable=SC2015 # the log is shown in both cases
        debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$cache/$suite.log" 2>&1 && touch "$root/ready" ||
            { tail -5 "$cache/$suite.log" >&2; exit 1; }
    fi
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # A mirror that is a snapshot may be older than sid's lists are valid.
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/90valid"
    packages=("clang-$version" "lld-$version" "llvm-$version-dev" "libclang-$version-dev" "libclang-rt-$version-dev" g++
        g++-aarch64-linux-gnu libzstd-dev zlib1g-dev)
    if ! chroot "$root" dpkg -s "${packages[@]}" >/dev/null 2>&1; then
        chroot "$root" sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${packages[*]}" \
            >"$cache/llvm-$version.log" 2>&1 || { tail -5 "$cache/llvm-$version.log" >&2; exit 1; }
    fi

    # The tree and the results at the same path inside and outside: a compiler command is all that the suite sees.
    out=$top/build/llvm-versions dir=$top/build/llvm-versions/llvm-$version
    mkdir -p "$dir" "$root$top"
    mount --bind "$top" "$root$top"
    mounted+=("$root$top")
    mount -t proc proc "$root/proc" # sanitizers read their options there
    mounted+=("$root/proc")
    # What llvm-pass/CMakeLists.txt does, without CMake in the chroot.
    in_chroot() { chroot "$root" env -C "$dir" TMPDIR="$dir" "$@"; }
    include=$(in_chroot "llvm-config-$version" --includedir) libdir=$(in_chroot "llvm-config-$version" --libdir)
    full=$(in_chroot "llvm-config-$version" --version)
    compile=(g++ -std=c++17 -O1 -fPIC -shared -fno-exceptions -fvisibility=hidden -fvisibility-inlines-hidden
        -DFASTSDT_VERSION='"test"' -DFASTSDT_LLVMGOLD="\"$libdir/LLVMgold.so\"" -I "$top/include" -I "$top/fastprobe"
        -isystem "$include" -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS)
    libllvm="-L$libdir $(in_chroot "llvm-config-$version" --link-shared --libs)"
    libclang=$(in_chroot sh -c "ls $libdir/libclang-cpp.so.$version* | sed -n 1p")
    common=("$top"/fastprobe/*.cpp)
    # shellcheck disable=SC2086 # a list of words
    if ! { in_chroot "${compile[@]}" "$top"/llvm-pass/{pass,codegen,host}.cpp "${common[@]}" -o fastprobe-pass.so \
            -Wl,-soname,fastprobe-pass.so $libllvm &&
        in_chroot "${compile[@]}" "$top"/llvm-pass/{clang,host}.cpp "${common[@]}" -o fastprobe.so "$libclang" $libllvm \
            -L. -l:fastprobe-pass.so "-Wl,-rpath,\$ORIGIN"; } 2>"$dir/build.log"; then
        grep -m 20 'error' "$dir/build.log" >&2 || tail -20 "$dir/build.log" >&2
        echo "FAIL: LLVM $full ($suite): does not build"
        status=1
        unmount
        continue
    fi
    for target in x86-64 arm64; do
        option=
        [ "$target" = x86-64 ] || option=--target=aarch64-linux-gnu
        mkdir -p "$dir/$target/suite"
        for name in clang clang++; do
            printf '#!/bin/sh\nexec chroot %s env -C "$PWD" TMPDIR=%s %s/../bin/%s %s "$@"\n' "$root" "$dir" "$libdir" $name "$option" >"$dir/$target/$name"
            chmod +x "$dir/$target/$name"
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
    unmount
done
exit $status
