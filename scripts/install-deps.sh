#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs what fastsdt needs, on Debian or Ubuntu. `install-deps.sh`: all for building and testing. `demo`, `bench`, `kernel`, `upstream`,
# `package`: only what demo.sh, bench.sh, kernel/build.sh, upstream/build.sh or package.sh needs. `download`: fetches the packages for building and
# testing, and installs nothing. Compilers are of the versions that the release has. Needs root if something is missing. Safe to run again.
set -euo pipefail
needed="cmake ninja-build make pkg-config gcc g++ libc6-dev scdoc ca-certificates python3
libelf-dev libdw-dev liblzma-dev libiberty-dev libbpf-dev libzydis-dev libcli11-dev nlohmann-json3-dev libfmt-dev libprotozero-dev libmicrohttpd-dev libcurl4-openssl-dev"
# Packages that a release may lack: the tests that want one are skipped, with the reason.
demo="bpftrace gdb systemtap-sdt-dev dpkg-dev zlib1g-dev"
bench="$demo git libbenchmark-dev valgrind time linux-perf mold lttng-tools liblttng-ust-dev uftrace babeltrace2
qemu-system-x86 cpio zstd xz-utils busybox-static"
kernel="git dpkg-dev patch libgtest-dev flex bison bc cpio xz-utils busybox-static qemu-system-x86 qemu-system-arm
gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
upstream="git dpkg-dev bison flex texinfo gawk m4 autoconf automake autopoint gettext bzip2 xz-utils dejagnu zlib1g-dev liblzma-dev
libgmp-dev libmpfr-dev libmpc-dev"
package="git build-essential debhelper dpkg-dev fakeroot lintian autopkgtest piuparts debootstrap
rpm rpmlint cpio python3-venv clang llvm-dev libclang-dev"
everything="$bench
abigail-tools ccache libgtest-dev libgmock-dev libvixl-dev libzstd-dev liblzma-dev libbz2-dev libunwind-dev binutils patchelf shellcheck
gcc-aarch64-linux-gnu g++-aarch64-linux-gnu gcc-arm-linux-gnueabihf gcc-riscv64-linux-gnu gcc-powerpc64le-linux-gnu
gcc-s390x-linux-gnu gcc-mips64el-linux-gnuabi64
libc6-dev-arm64-cross libc6-dev-armhf-cross libc6-dev-riscv64-cross libc6-dev-ppc64el-cross
libc6-dev-s390x-cross libc6-dev-mips64el-cross
qemu-user qemu-system-arm qemu-system-misc qemu-system-ppc opensbi musl-tools
gdb-multiarch elfutils debootstrap tcl meson automake cargo golang-go delve librust-cc-dev lintian
curl dwarves wrk redis-server iproute2 babeltrace2 prometheus python3-prometheus-client python3-yaml python3-jsonschema
python3-pip python3-setuptools python3-wheel python3-pandas mypy debhelper rpm rpmlint dejagnu zsh fish"
only=()
case ${1:-} in
"") wanted=$everything ;;
download) wanted=$everything only=(--download-only) && shift ;; # compilers too are those of ""
demo) wanted=$demo ;;
bench) wanted="$bench python3-matplotlib" ;; # 78 packages with what it brings, which the tests do without
kernel) wanted=$kernel ;;
upstream) wanted=$upstream ;;
package) wanted=$package ;;
*)
    sed -n '3,/^[^#]/s/^# //p' "$0" >&2
    exit 2
    ;;
esac
installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep 'ok installed' >/dev/null; }
# The names of all packages are in a variable, because each call of apt-cache costs a second.
known() { [[ $names == *$'\n'"$1"$'\n'* ]]; }
# versions PREFIX SUFFIX: the versions N of all packages PREFIX-N SUFFIX that the release has, oldest first.
versions() { sed -n "s/^$1-\([0-9][0-9]*\)$2\$/\1/p" <<<"$names" | sort -n; }

# A release's compilers. The newest clang is enough for the demo; the tests take the oldest LLVM that the plugin supports
# and the two newest, and the two newest GCCs.
compilers() {
    local llvm gcc bolt default v
    mapfile -t llvm < <(versions clang "" | awk '$1 >= 14')
    [ ${#llvm[@]} -gt 0 ] || return 0
    # The version of the compiler that is called `gcc`.
    default=$(apt-cache show gcc 2>/dev/null | sed -n 's/^Depends:.* gcc-\([0-9][0-9]*\) .*/\1/p' | sed -n 1p)
    case ${1:-} in
    upstream) return ;;
    package) echo "gcc-$default-plugin-dev"; return ;;
    demo) echo "clang-${llvm[-1]} gcc-$default gcc-$default-plugin-dev"; return ;;
    kernel) echo "clang-${llvm[-1]} gcc-$default gcc-$default-multilib gcc-$default-plugin-dev gcc-$default-plugin-dev-aarch64-linux-gnu"; return ;;
    bench)
        echo "clang-${llvm[-1]} lld-${llvm[-1]} llvm-${llvm[-1]}-dev libclang-${llvm[-1]}-dev libclang-rt-${llvm[-1]}-dev"
        echo "gcc-$default g++-$default gcc-$default-plugin-dev"
        return
        ;;
    esac
    for v in $(printf '%s\n' "${llvm[0]}" "${llvm[@]: -2}" | sort -un); do
        echo "clang-$v lld-$v llvm-$v-dev libclang-$v-dev libclang-rt-$v-dev llvm-$v-tools"
    done
    mapfile -t bolt < <(versions bolt "")
    [ ${#bolt[@]} = 0 ] || echo "bolt-${bolt[-1]}"
    echo "clang-format-19" # scripts/format.sh names the version: others format differently
    mapfile -t gcc < <(versions gcc -plugin-dev | awk '$1 >= 11')
    [ ${#gcc[@]} -gt 0 ] || return 0
    for v in "${gcc[@]: -2}"; do echo "gcc-$v g++-$v gcc-$v-plugin-dev"; done
    # With -m32 and -mx32; the cross compiler's plugin; GCC's other front ends.
    echo "gcc-$default g++-$default gcc-$default-plugin-dev gcc-$default-multilib g++-$default-multilib gcc-$default-plugin-dev-aarch64-linux-gnu"
    echo "gfortran-$default gdc-$default gnat-$default gccgo-$default"
}

missing() {
    local p
    for p in "$@"; do installed "$p" || echo "$p"; done
}
export DEBIAN_FRONTEND=noninteractive
# Sets install to what is missing and available, absent to what this release does not have.
choose() {
    local p
    names=$'\n'$(apt-cache pkgnames)$'\n' install="" absent=""
    for p in $(missing $needed $wanted $(compilers "$@")); do
        if known "$p"; then install="$install $p"; else absent="$absent $p"; fi
    done
}
choose "$@"
[ -n "$install" ] || { known cmake && exit 0; }
if [ "$(id -u)" != 0 ]; then
    echo "install-deps.sh: installing needs root; missing:${install:- the lists of packages (apt-get update)}" >&2
    exit 1
fi
# The choice depends on what the release has, so the lists have to be fresh.
apt-get update -qq
choose "$@"
for p in $absent; do
    case " ${needed//$'\n'/ } " in *" $p "*) echo "install-deps.sh: this release has no $p" >&2; exit 1 ;; esac
done
[ -z "$absent" ] || echo "install-deps.sh: not in this release:$absent"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
LC_ALL=C apt-get install --assume-no --no-install-recommends $install 2>/dev/null | # it asks, and takes no for an answer
    awk '/newly installed/ { n = $3 } /^Need to get/ { get = $4 " " $5 } /^After this/ { on = $4 " " $5 }
         END { if (n) printf "install-deps.sh: %d packages, %s to fetch, %s on disk\n", n, get ? get : "nothing", on ? on : "nothing" }' || true
apt-get install -y -qq --no-install-recommends "${only[@]}" $install >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "install-deps.sh: apt-get could not install the packages" >&2
    exit 1
}
