#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the libbpf of a kernel's own tree (Debian's linux-source package) into the cache, builds it statically there and
# prints the directory: `fetch-libbpf.sh SERIES CACHE`. It then holds libbpf.a and include/bpf/. Never copied into our tree.
# Exit 3: the mirror has no such package. Exit 4: no mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
series=$1 cache=$2
dir=$cache/libbpf-$series
if [ ! -s "$dir/libbpf.a" ]; then
    tree=$cache/linux-source-$series
    mkdir -p "$cache"
    new=$(mktemp -d "$cache/.libbpf.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    if [ ! -d "$tree" ]; then
        cd "$new"
        FASTSDT_CACHE=$cache FASTSDT_ARCHS="amd64 arm64" "$here/../../scripts/common/debian.sh" all \
            apt-get download "linux-source-$series" >download.log 2>&1 || { tail -n 1 download.log >&2; exit 3; }
        mkdir tree
        dpkg-deb --fsys-tarfile ./*.deb | tar -xO "./usr/src/linux-source-$series.tar.xz" |
            tar -xJ -C tree --strip-components=1 "linux-source-$series/tools/lib/bpf" "linux-source-$series/tools/include" \
                "linux-source-$series/tools/arch/x86/include" "linux-source-$series/scripts/bpf_doc.py"
        mv tree "$tree"
    fi
    mkdir -p "$new/out/include/bpf"
    cd "$new/out"
    cp "$tree"/tools/lib/bpf/*.h include/bpf/
    python3 "$tree/scripts/bpf_doc.py" --header --file "$tree/tools/include/uapi/linux/bpf.h" >include/bpf/bpf_helper_defs.h
    for source in "$tree"/tools/lib/bpf/*.c; do
        gcc -O1 -w -D_GNU_SOURCE -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 -Iinclude/bpf -I"$tree/tools/lib/bpf" \
            -I"$tree/tools/include" -I"$tree/tools/include/uapi" -c "$source"
    done
    ar rcs libbpf.a ./*.o
    rm -f ./*.o
    cp -r "$tree/tools/include/uapi" uapi
    rm -rf "$dir"
    mv "$new/out" "$dir"
fi
echo "$dir"
