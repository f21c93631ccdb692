#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the headers that ours stand in for, to compare with, into the cache and prints the directory:
# `fetch-peers.sh CACHE`. It then holds systemtap/sys/sdt.h (and sdt-config.h) of Debian's newest systemtap-sdt-dev, and
# libbpf/usdt.h and libbpf's usdt.c of its newest kernel source. Nothing is installed and the machine's package lists stay as they are: the
# machine's mirror and keys are read through a configuration of our own. Exit 4: no mirror. They are never part of the tree.
set -euo pipefail
dir=$1/peers
there() { [ -s "$dir/libbpf/usdt.h" ] && [ -s "$dir/libbpf/usdt.c" ] && [ -s "$dir/systemtap/sys/sdt.h" ]; }
there && { echo "$dir"; exit 0; }
mkdir -p "$1"
exec 9>"$1/peers.lock"
flock 9
there && { echo "$dir"; exit 0; } # somebody else fetched it meanwhile
work=$(mktemp -d "$1/peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
mirror=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's|^URIs: *\([^ ]*/debian\)/\{0,1\} *$|\1|p' |
    head -n 1)
[ -n "$mirror" ] || mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's|^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*/debian\)/\{0,1\} .*|\2|p' | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -n "$mirror" ] && [ -e "$keys" ] ||
    { echo "fetch-peers.sh: found no Debian mirror in /etc/apt (or no $keys)" >&2; exit 4; }
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
echo "deb [signed-by=$keys] $mirror sid main" > "$work/sources.list"
options=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::Lists=$work/lists"
    -o "Dir::Cache=$work/cache" -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
    -o APT::Sandbox::User=root)
cd "$work"
apt-get "${options[@]}" update > log 2>&1 || { tail -3 log >&2; exit 4; }
source=$(apt-cache "${options[@]}" pkgnames linux-source- | grep -E '^linux-source-[0-9.]+$' | sort -V | tail -n 1)
apt-get "${options[@]}" download systemtap-sdt-dev "$source" > log 2>&1 || { tail -3 log >&2; exit 4; }
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
