#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches Debian's kernel of one series into the cache and prints the directory: `fetch-kernel.sh ARCH SERIES CACHE`, for
# example `fetch-kernel.sh amd64 6.12 ~/.cache/fastsdt`. The directory then holds `vmlinuz` and `package` (name and version).
# Nothing is installed (see scripts/debian.sh). Exit 3: the mirror has no such kernel. Exit 4: no mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 series=$2 cache=$3
dir=$cache/kernels/$arch/$series
if [ -s "$dir/vmlinuz" ] && [ -s "$dir/package" ]; then
    echo "$dir"
    exit 0
fi
mkdir -p "$cache/kernels/$arch"
debian() {
    FASTSDT_CACHE=$cache FASTSDT_ARCHS="amd64 arm64" "$here/../../scripts/debian.sh" \
        "bookworm bookworm-backports trixie trixie-backports sid experimental" "$@"
}

# Up to 6.18 the image is in linux-image-*, from 6.19 on in linux-binary-*; the newest may exist unsigned only.
names=$(debian apt-cache pkgnames linux-) || exit 4
package=$(echo "$names" |
    sed 's/:.*//' | grep -E "^linux-(image|binary|binary-unsigned)-${series//./\\.}[.-][^ ]*cloud-$arch\$" | sort -u |
    while read -r name; do
        release=${name#linux-image-} release=${release#linux-binary-} release=${release#unsigned-}
        case $name in
        linux-binary-unsigned-*) rank=2 ;;
        linux-binary-*) rank=3 ;;
        *) rank=1 ;;
        esac
        # "7.3-cloud" is a release candidate: older than 7.3.4.
        printf '%s %s %s\n' "${release%-cloud-*}" "$rank" "$name"
    done | sort -k1,1V -k2,2n | tail -n 1 | cut -d' ' -f3 || true)
if [ -z "$package" ]; then
    echo "fetch-kernel.sh: the mirror has no $series kernel for $arch" >&2
    exit 3
fi
new=$(mktemp -d "$cache/kernels/$arch/.fetch.XXXXXX")
trap 'rm -rf "$new"' EXIT
cd "$new"
debian apt-get download "$package:$arch" >download.log 2>&1 || { cat download.log >&2; exit 4; }
deb=$(echo ./*.deb)
dpkg-deb --fsys-tarfile "$deb" | tar -x --wildcards './boot/vmlinuz*' './usr/lib/modules/*/vmlinuz*' 2>/dev/null || true
image=$(find . -name 'vmlinuz*' -type f | sed -n 1p)
if [ -z "$image" ]; then
    echo "fetch-kernel.sh: no vmlinuz in $package" >&2
    exit 3
fi
mv "$image" vmlinuz
dpkg-deb -f "$deb" Package Version | sed 's/^[^:]*: //' | paste -sd' ' >package
rm -rf boot usr "$deb" download.log
rm -rf "$dir"
mv "$new" "$dir"
trap - EXIT
echo "$dir"
