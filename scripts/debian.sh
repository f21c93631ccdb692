#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs apt-get or apt-cache on other suites of Debian than the machine's own, and on source packages:
#
#     scripts/debian.sh 'SUITE...' apt-get download PACKAGE
#     scripts/debian.sh 'SUITE...' apt-get source --download-only PACKAGE
#
# Nothing is installed and the machine's package lists stay as they are: mirror and keys are the machine's, read through a
# configuration of our own that is kept in the cache (FASTSDT_CACHE, default ~/.cache/fastsdt). The lists are read anew
# after a day. FASTSDT_ARCHS names the architectures, default amd64. FASTSDT_ARCHIVE=ubuntu: Ubuntu's suites, from the folder beside
# the machine's Debian or from FASTSDT_UBUNTU_MIRROR; Debian's keys sign Ubuntu's, as a package. Exit 4: no mirror.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
self=$(realpath "$0") suites=$1
shift
archs=${FASTSDT_ARCHS:-amd64}
archive=${FASTSDT_ARCHIVE:-debian}
top=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}
cache=$top/apt/$(echo "$suites $archs" | tr ' ' '+')
mkdir -p "$cache/lists/partial" "$cache/archives/partial"

# A deb822 file first, then one-line lists. Only the main archive has the other suites (not -security).
mirror=$({ cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | sed -n 's|^URIs: *\([^ ]*/debian\)/\{0,1\} *$|\1|p' | sed -n 1p)
[ -n "$mirror" ] || mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
    sed -n 's|^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*/debian\)/\{0,1\} .*|\2|p' | sed -n 1p)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -z "$mirror" ] || [ ! -e "$keys" ]; then
    echo "debian.sh: found no Debian mirror in /etc/apt (or no $keys)" >&2
    exit 4
fi
components=main
if [ "$archive" = ubuntu ]; then
    mirror=${FASTSDT_UBUNTU_MIRROR:-${mirror%/debian}/ubuntu} keys=$top/apt/ubuntu-keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg
    components="main universe"
    if [ ! -e "$keys" ]; then
        fetched=$(mktemp -d)
        trap 'rm -rf "$fetched"' EXIT
        (cd "$fetched" && FASTSDT_ARCHIVE=debian FASTSDT_ARCHS=amd64 "$self" sid apt-get download ubuntu-keyring) >/dev/null ||
            { echo "debian.sh: no package ubuntu-keyring" >&2; exit 4; }
        dpkg-deb -x "$fetched"/ubuntu-keyring_*.deb "$top/apt/ubuntu-keyring"
    fi
fi
options=(-q -o "Dir::Etc::sourcelist=$cache/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::Lists=$cache/lists"
    -o "Dir::Cache=$cache" -o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin -o "APT::Architecture=${archs%% *}" -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User=root)
for arch in $archs; do options+=(-o "APT::Architectures::=$arch"); done
(
    flock 9
    if [ -z "$(find "$cache/updated" -mtime -1 2>/dev/null)" ]; then
        for suite in $suites; do
            echo "deb [arch=${archs// /,} signed-by=$keys] $mirror $suite $components"
            echo "deb-src [signed-by=$keys] $mirror $suite $components"
        done >"$cache/sources.list"
        # A suite that is gone is no error: its packages will be missing by name.
        apt-get "${options[@]}" update >"$cache/update.log" 2>&1 || tail -n 3 "$cache/update.log" >&2
        # With nothing at all, the next run tries again.
        [ -z "$(find "$cache/lists" -maxdepth 1 -name '*_Packages*' -print -quit)" ] || touch "$cache/updated"
    fi
) 9>"$cache/lock"
command=$1
shift
exec "$command" "${options[@]}" "$@"
