#!/bin/sh
# Installs what building and testing fastsdt needs, on Debian 12: `install-deps.sh`, or `install-deps.sh demo` for what
# demo.sh needs only. Needs root where something is missing. Safe to run again.
set -eu
demo="
cmake ninja-build make pkg-config gcc g++ scdoc ca-certificates python3
libelf-dev libdw-dev libzydis-dev libcli11-dev nlohmann-json3-dev libfmt-dev
clang-19 bpftrace gdb systemtap-sdt-dev dpkg-dev zlib1g-dev
"
everything="
$demo git
libgtest-dev libgmock-dev libbenchmark-dev clang-format-19 shellcheck
gcc-12-plugin-dev gcc-11 g++-11 gcc-11-plugin-dev gcc-12-multilib g++-12-multilib
clang-14 clang-16 llvm-14-dev llvm-16-dev llvm-19-dev libclang-14-dev libclang-16-dev libclang-19-dev
libclang-rt-14-dev libclang-rt-19-dev libzstd-dev
llvm-19-tools binutils lld-14 lld-16 lld-19 mold
gcc-aarch64-linux-gnu g++-aarch64-linux-gnu gcc-12-plugin-dev-aarch64-linux-gnu
gcc-arm-linux-gnueabihf gcc-riscv64-linux-gnu gcc-powerpc64le-linux-gnu gcc-s390x-linux-gnu gcc-mips64el-linux-gnuabi64
qemu-user qemu-system-x86 qemu-system-arm cpio zstd xz-utils busybox-static
linux-perf libbpf-dev gdb-multiarch elfutils valgrind gfortran-12 gdc-12 gnat-12 gccgo-12 debootstrap
"
case ${1:-} in
"") packages=$everything ;;
demo) packages=$demo ;;
*)
    echo "usage: install-deps.sh [demo]" >&2
    exit 2
    ;;
esac
missing=""
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "install-deps.sh: these packages are missing and installing them needs root:$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
apt-get install -y -qq --no-install-recommends $missing >/dev/null
