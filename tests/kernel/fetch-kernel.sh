#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches a kernel of Debian or Ubuntu into the cache and prints the directory: `fetch-kernel.sh ARCH KERNEL CACHE`, for
# example `fetch-kernel.sh amd64 6.12 ~/.cache/fastsdt`. The directory then holds `vmlinuz` and `package` (name and version).
#   6.12, 6.12-rt                                       Debian's newest of the series; the flavour is cloud, rt or generic on amd64
#                                                       and arm64, elsewhere what most machines run
#   ubuntu-6.8, ubuntu-7.0.0-43, ubuntu-7.0-realtime    Ubuntu's; the flavour is generic unless named
# Nothing is installed (see scripts/common/debian.sh). Exit 3: the mirror has no such kernel. Exit 4: no mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 kernel=$2 cache=$3
dir=$cache/kernels/$arch/$kernel
if [ -s "$dir/vmlinuz" ] && [ -s "$dir/package" ]; then
    echo "$dir"
    exit 0
fi
mkdir -p "$cache/kernels/$arch"
series=${kernel#ubuntu-} flavour=
case $series in *-[a-z]*) flavour=${series##*-} series=${series%-*} ;; esac
case $kernel in
ubuntu-*)
    flavour=-${flavour:-generic}
    archive() {
        FASTSDT_ARCHIVE=ubuntu FASTSDT_ARCHS=$arch FASTSDT_CACHE=$cache "$here/../../scripts/common/debian.sh" \
            "bionic-updates jammy-updates noble-updates resolute resolute-updates resolute-proposed stonking" "$@"
    }
    ;;
*)
    archs=$arch
    case $arch in
    amd64 | arm64) flavour=-${flavour:-cloud}-$arch flavour=${flavour#-generic} archs="amd64 arm64" ;;
    armhf) flavour=-${flavour:-armmp} ;;
    ppc64el) flavour=-${flavour:-powerpc64le} ;;
    *) flavour=-$arch ;;
    esac
    archive() {
        FASTSDT_CACHE=$cache FASTSDT_ARCHS=$archs "$here/../../scripts/common/debian.sh" all "$@"
    }
    ;;
esac

# Debian has the image in linux-image-* up to 6.18, from 6.19 on in linux-binary-*; the newest may exist unsigned only.
names=$(archive apt-cache pkgnames linux-) || exit 4
package=$(echo "$names" |
    sed 's/:.*//' | grep -E "^linux-(image|binary|binary-unsigned)-${series//./\\.}([.+-][0-9a-z.+-]*)?$flavour\$" | sort -u |
    while read -r name; do
        release=${name#linux-image-} release=${release#linux-binary-} release=${release#unsigned-}
        case ${release%"$flavour"} in *-rt | *-cloud | *-16k) continue ;; esac # of another flavour
        case $name in
        linux-binary-unsigned-*) rank=2 ;;
        linux-binary-*) rank=3 ;;
        *) rank=1 ;;
        esac
        # "7.3-cloud" is a release candidate: older than 7.3.4.
        printf '%s %s %s\n' "${release%"$flavour"}" "$rank" "$name"
    done | sort -k1,1V -k2,2n | tail -n 1 | cut -d' ' -f3 || true)
if [ -z "$package" ]; then
    echo "fetch-kernel.sh: the mirror has no kernel $kernel for $arch" >&2
    exit 3
fi
new=$(mktemp -d "$cache/kernels/$arch/.fetch.XXXXXX")
trap 'rm -rf "$new"' EXIT
cd "$new"
archive apt-get download "$package:$arch" >download.log 2>&1 || { cat download.log >&2; exit 4; }
deb=$(echo ./*.deb)
dpkg-deb --fsys-tarfile "$deb" | tar -x --wildcards './boot/vmlinu[xz]*' './usr/lib/modules/*/vmlinu[xz]*' 2>/dev/null || true
image=$(find . -name 'vmlinu[xz]*' -type f | sed -n 1p)
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
