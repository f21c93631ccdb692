#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds fastprobe for GCC versions that this Debian does not have, and runs the plugin's test suite with them, x86-64
# and the arm64 cross compiler. Usage: scripts/test-gcc-versions.sh [VERSION:SUITE...], as root;
# default: 14:trixie 15:sid 16:sid.
#
# Each suite becomes a chroot in the cache (FASTSDT_CACHE, default ~/.cache/fastsdt), made by debootstrap from the
# machine's own mirror. Only compilers, plugin headers and binutils come from there; FileCheck, objdump, qemu and gdb are this
# machine's. What was printed last stands in docs/fastprobe.md.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/chroot
[ $# -gt 0 ] || set -- 14:trixie 15:sid 16:sid
[ "$(id -u)" = 0 ] || { echo "test-gcc-versions.sh: chroot needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "test-gcc-versions.sh: debootstrap is not installed" >&2; exit 2; }
mkdir -p "$cache"
mounted=()
cleanup() {
    local m
    for m in "${mounted[@]}"; do umount "$m" 2>/dev/null || true; done
    mounted=()
}
trap cleanup EXIT

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
    packages=("g++-$version" "gcc-$version-plugin-dev" "gcc-$version-aarch64-linux-gnu" "g++-$version-aarch64-linux-gnu"
        "gcc-$version-plugin-dev-aarch64-linux-gnu")
    if ! chroot "$root" dpkg -s "${packages[@]}" >/dev/null 2>&1; then
        chroot "$root" sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${packages[*]}" \
            >"$cache/$suite.log" 2>&1 || { tail -5 "$cache/$suite.log" >&2; exit 1; }
    fi

    # The tree and the results at the same path inside and outside: a compiler command is all that the suite sees.
    out=$top/build/gcc-versions
    mkdir -p "$out" "$root$top"
    mount --bind "$top" "$root$top"
    mounted+=("$root$top")
    mount -t proc proc "$root/proc" # sanitizers read their options there
    mounted+=("$root/proc")
    for target in x86-64 arm64; do
        prefix='' source=x86
        [ "$target" = x86-64 ] || { prefix=aarch64-linux-gnu-; source=aarch64; }
        gcc=${prefix}gcc-$version gxx=${prefix}g++-$version dir=$out/gcc-$version${prefix:+-aarch64}
        mkdir -p "$dir/suite"
        plugin=$dir/fastprobe.so
        include=$(chroot "$root" "$gcc" -print-file-name=plugin)/include
        # What gcc-plugin/CMakeLists.txt does, without CMake in the chroot.
        if ! chroot "$root" "g++-$version" -std=c++17 -O2 -fPIC -shared -fno-rtti -fno-exceptions -fvisibility=hidden -DFASTSDT_VERSION='"test"' \
            -I "$top/include" -isystem "$include" "$top"/gcc-plugin/{fastprobe,$source}.cpp "$top"/fastprobe/*.cpp -o "$plugin" 2>"$dir/build.log"; then
            head -20 "$dir/build.log" >&2
            echo "FAIL: gcc $version $target: does not build ($(chroot "$root" "$gcc" -dumpfullversion))"
            status=1
            continue
        fi
        for name in cc:$gcc cxx:$gxx; do
            printf '#!/bin/sh\nexec chroot %s env -C "$PWD" TMPDIR=%s %s "$@"\n' "$root" "$dir" "${name#*:}" >"$dir/${name%%:*}"
            chmod +x "$dir/${name%%:*}"
        done
        if (cd "$dir/suite" && FASTPROBE_SYSROOT=$root FASTSDT_SOURCE=$top FASTSDT_BUILD=$out bash "$top/tests/fastprobe/suite.sh" gcc $target "$plugin" "$dir/cc" "$dir/cxx" >"$dir/suite.log" 2>&1); then
            echo "ok: gcc $(chroot "$root" "$gcc" -dumpfullversion) ($suite) $target: $(tail -1 "$dir/suite.log")"
        else
            tail -60 "$dir/suite.log" | cut -c1-200 >&2
            echo "FAIL: gcc $(chroot "$root" "$gcc" -dumpfullversion) ($suite) $target: $(grep '^FAIL' "$dir/suite.log" | sed -n 1p)"
            status=1
        fi
    done
    cleanup
done
exit $status
