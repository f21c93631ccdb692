#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches Debian's kernel of one series into the cache and prints the directory: `fetch-kernel.sh ARCH SERIES CACHE`, for
# example `fetch-kernel.sh amd64 6.12 ~/.cache/fastsdt`. The directory then holds `vmlinuz` and `package` (name and version).
# The machine's own mirror and keys are used, read through a configuration of our own: nothing is installed and the
# machine's package lists stay as they are. Exit 3: the mirror has no such kernel. Exit 4: no mirror.
set -euo pipefail
arch=$1 series=$2 cache=$3
dir=$cache/kernels/$arch/$series
if [ -s "$dir/vmlinuz" ] && [ -s "$dir/package" ]; then
    echo "$dir"
    exit 0
fi
mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial" "$cache/kernels/$arch"

# A deb822 file first, then one-line lists. Only the main archive has the other suites (not -security).
mirror=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's|^URIs: *\([^ ]*/debian\)/\{0,1\} *$|\1|p' | head -n 1)
[ -n "$mirror" ] || mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's|^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*/debian\)/\{0,1\} .*|\2|p' | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -z "$mirror" ] || [ ! -e "$keys" ]; then
    echo "fetch-kernel.sh: found no Debian mirror in /etc/apt (or no $keys)" >&2
    exit 4
fi
for suite in bookworm bookworm-backports trixie trixie-backports sid experimental; do
    echo "deb [arch=amd64,arm64 signed-by=$keys] $mirror $suite main"
done >"$cache/apt/sources.list.new"
options=(-q -o "Dir::Etc::sourcelist=$cache/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::Lists=$cache/apt/lists" -o "Dir::Cache=$cache/apt/cache" -o APT::Architecture=amd64
    -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User=root)

# The lists are read again when they are older than a day.
(
    flock 9
    if ! cmp -s "$cache/apt/sources.list.new" "$cache/apt/sources.list" 2>/dev/null ||
        [ -z "$(find "$cache/apt/updated" -mtime -1 2>/dev/null)" ]; then
        mv "$cache/apt/sources.list.new" "$cache/apt/sources.list"
        # A suite that is gone is not an error here: its kernels will be missing by name.
        apt-get "${options[@]}" update >"$cache/apt/update.log" 2>&1 || cat "$cache/apt/update.log" >&2
        touch "$cache/apt/updated"
    fi
) 9>"$cache/apt/lock"

# Up to 6.18 the image is in linux-image-*, from 6.19 on in linux-binary-*; the newest may exist unsigned only.
package=$(apt-cache "${options[@]}" pkgnames linux- |
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
    done | sort -k1,1V -k2,2n | tail -n 1 | cut -d' ' -f3)
if [ -z "$package" ]; then
    echo "fetch-kernel.sh: the mirror has no $series kernel for $arch" >&2
    exit 3
fi
new=$(mktemp -d "$cache/kernels/$arch/.fetch.XXXXXX")
trap 'rm -rf "$new"' EXIT
cd "$new"
apt-get "${options[@]}" download "$package:$arch" >download.log 2>&1 || { cat download.log >&2; exit 4; }
deb=$(echo ./*.deb)
dpkg-deb --fsys-tarfile "$deb" | tar -x --wildcards './boot/vmlinuz*' './usr/lib/modules/*/vmlinuz*' 2>/dev/null || true
image=$(find . -name 'vmlinuz*' -type f | head -n 1)
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
