#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs apt-get or apt-cache on other suites of Debian than the machine's own, and on source packages:
#
#     scripts/common/debian.sh 'SUITE...' apt-get download PACKAGE
#     scripts/common/debian.sh 'SUITE...' apt-get source --download-only PACKAGE
#
# Nothing is installed and the machine's package lists stay as they are: mirror and keys are the machine's, read through a
# configuration of our own that is kept in the cache (FASTSDT_CACHE, default ~/.cache/fastsdt). The lists are read anew
# after a day. SUITE `all`: those that have kernels which the project asks. FASTSDT_ARCHS names the architectures, default amd64.
# FASTSDT_ARCHIVE=ubuntu: Ubuntu's suites, from the folder beside the machine's Debian or from FASTSDT_UBUNTU_MIRROR; Debian's keys sign
# Ubuntu's, as a package. Exit 4: no mirror.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
. "$(dirname "$(realpath "$0")")/archive.sh"
suites=$1
[ "$suites" != all ] || suites="bullseye bookworm bookworm-backports trixie trixie-backports sid experimental"
shift
archs=${FASTSDT_ARCHS:-amd64}
archive=${FASTSDT_ARCHIVE:-debian}
top=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}
cache=$top/apt/$(echo "$suites $archs" | tr ' ' '+')
mkdir -p "$cache/lists/partial" "$cache/archives/partial"

use_archive "$archive" "$top" || exit 4
options=(-q -o "Dir::Etc::sourcelist=$cache/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::Lists=$cache/lists"
    -o "Dir::Cache=$cache" -o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin -o "APT::Architecture=${archs%% *}"
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User=root)
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
