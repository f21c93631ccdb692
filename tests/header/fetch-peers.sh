#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches what ours is compared with into the cache and prints the directory: `fetch-peers.sh CACHE`. It then holds
# systemtap/sys/sdt.h (and sdt-config.h) of Debian's newest systemtap-sdt-dev, and libbpf/usdt.h and libbpf/usdt.c of its
# newest kernel source. Exit 4: they cannot be fetched. They are never part of the tree.
set -euo pipefail
common=$(cd "$(dirname "$0")/../../scripts/common" && pwd)
cache=$1
dir=$cache/peers
there() { [ -s "$dir/libbpf/usdt.h" ] && [ -s "$dir/libbpf/usdt.c" ] && [ -s "$dir/systemtap/sys/sdt.h" ]; }
there && { echo "$dir"; exit 0; }
mkdir -p "$cache"
exec 9>"$cache/peers.lock"
flock 9
there && { echo "$dir"; exit 0; } # somebody else fetched it meanwhile
work=$(mktemp -d "$cache/peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
debian() { FASTSDT_CACHE=$cache "$common/debian.sh" sid "$@"; }
source=$(debian apt-cache pkgnames linux-source- | grep -E '^linux-source-[0-9.]+$' | sort -V | tail -n 1) || exit 4
debian apt-get download systemtap-sdt-dev "$source" > log 2>&1 || { tail -3 log >&2; exit 4; }
mkdir -p new/systemtap/sys new/libbpf
dpkg-deb --fsys-tarfile systemtap-sdt-dev_*.deb |
    tar -xO --wildcards './usr/include/*/sys/sdt.h' > new/systemtap/sys/sdt.h
dpkg-deb --fsys-tarfile systemtap-sdt-dev_*.deb |
    tar -xO --wildcards './usr/include/*/sys/sdt-config.h' > new/systemtap/sys/sdt-config.h
dpkg-deb --fsys-tarfile "$source"_*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
    tar -xJ --wildcards '*/tools/testing/selftests/bpf/usdt.h' '*/tools/lib/bpf/usdt.c'
mv linux-source-*/tools/testing/selftests/bpf/usdt.h linux-source-*/tools/lib/bpf/usdt.c new/libbpf/
[ -s new/libbpf/usdt.h ] && [ -s new/libbpf/usdt.c ] && [ -s new/systemtap/sys/sdt.h ] ||
    { echo "fetch-peers.sh: the packages do not hold the headers" >&2; exit 4; }
rm -rf "$dir"
mv new "$dir"
echo "$dir"
