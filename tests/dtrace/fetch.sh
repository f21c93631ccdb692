#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Prints the directory with the provider files of a Debian source package, and of QEMU's those that its build would make.
# `fetch.sh PACKAGE`. Kept in the cache (FASTSDT_CACHE, default ~/.cache/fastsdt). Exit 4: no mirror, or it lacks the package.
set -euo pipefail
[ $# = 1 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
package=$1
debian=$(realpath "$(dirname "$0")/../../scripts/common/debian.sh")
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/dtrace
mkdir -p "$cache"
exec 9>"$cache/$package.lock"
flock 9
if [ ! -e "$cache/$package" ]; then
    part=$cache/$package.part
    rm -rf "$part"
    mkdir -p "$part/files"
    cd "$part"
    "$debian" bookworm apt-get source --download-only "$package" >log 2>&1 || { tail -n 2 log >&2; exit 4; }
    wanted='\.d(\.base)?$'
    [ "$package" != qemu ] || wanted='/(trace-events|tracetool\.py|tracetool/.*\.py)$'
    for tar in *.orig.tar.*; do
        case $tar in *.asc) continue ;; esac
        tar -tf "$tar" | grep -E "$wanted" >names || continue
        tar -C files --strip-components=1 -xf "$tar" -T names
    done
    find files -name trace-events | while read -r events; do # QEMU
        group=$(dirname "${events#files/}" | tr / _)
        python3 files/scripts/tracetool.py --backend=dtrace "--group=$group" --format=d "$events" "files/$group.d"
    done
    # Not the scripts in D that some packages have beside them, nor directories.
    find files -type f ! -name '*.d' ! -name '*.d.base' -delete
    find files -type f | while read -r file; do
        grep -Eq '^[[:space:]]*provider[[:space:]]+[A-Za-z_]+' "$file" || [ ! -s "$file" ] || rm "$file"
    done
    find files -type d -empty -delete
    mv files "$cache/$package"
    rm -rf "$part"
fi
echo "$cache/$package"
