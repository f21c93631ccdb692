#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches into the cache what Debian 12 lacks to boot a loong64 kernel, and prints the directory: `fetch-loong64.sh CACHE`. It contains
# `qemu-system-loongarch64` 10 of bookworm-backports (7.2 loads neither this firmware nor a kernel that is not an ELF file), `firmware.fd`,
# and a `sysroot` with libc and libgcc of sid for clang. Nothing is installed (see scripts/common/debian.sh).
# Exit 3: a package is missing. Exit 4: no mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$1
dir=$cache/loong64
if [ -s "$dir/complete" ]; then
    echo "$dir"
    exit 0
fi
mkdir -p "$cache"
new=$(mktemp -d "$cache/.loong64.XXXXXX")
trap 'rm -rf "$new"' EXIT
# get ARCH FOLDER SUITE PACKAGE...: unpacks them there
get() {
    local arch=$1 folder=$2 suite=$3 package
    shift 3
    mkdir -p "$new/debs.$folder"
    cd "$new/debs.$folder"
    for package; do
        FASTSDT_CACHE=$cache FASTSDT_ARCHS=$arch "$here/../../scripts/common/debian.sh" "$suite" \
            apt-get download "$package:$arch" >download.log 2>&1 || {
            tail -n 1 download.log >&2
            echo "fetch-loong64.sh: $suite has no $package for $arch" >&2
            exit 3
        }
    done
    for package in ./*.deb; do dpkg-deb -x "$package" "$new/$folder"; done
}
libgcc=$(FASTSDT_CACHE=$cache FASTSDT_ARCHS=loong64 "$here/../../scripts/common/debian.sh" sid apt-cache pkgnames libgcc- |
    sed 's/:.*//' | grep -E '^libgcc-[0-9]+-dev$' | sort -V | tail -n 1) || exit 4
get amd64 qemu bookworm-backports qemu-system-misc qemu-system-common qemu-system-data
get amd64 firmware trixie qemu-efi-loongarch64
get loong64 sysroot sid libc6 libc6-dev linux-libc-dev libgcc-s1 "$libgcc"
cp "$new/firmware/usr/share/qemu-efi-loongarch64/QEMU_EFI.fd" "$new/firmware.fd"
ln -s usr/lib "$new/sysroot/lib" # sid's base-files
ln -s usr/lib64 "$new/sysroot/lib64"
# QEMU finds its data by its own place.
ln -s qemu/usr/bin/qemu-system-loongarch64 "$new/qemu-system-loongarch64"
rm -rf "$new"/debs.* "$new/firmware"
cd "$cache"
echo "$libgcc" >"$new/complete"
rm -rf "$dir"
mv "$new" "$dir"
trap - EXIT
echo "$dir"
