#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Prints the directory with the files of a source package of Debian 12 or FASTSDT_SUITE (.dsc and archives), fetched once and kept in the cache
# (FASTSDT_CACHE, default ~/.cache/fastsdt): `scripts/common/debian-source.sh PACKAGE`.
# Exit 4: no mirror, or it lacks the package; the reason is on standard error.
set -euo pipefail
[ $# = 1 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
debian=$(realpath "$(dirname "$0")")/debian.sh
suite=${FASTSDT_SUITE:-bookworm}
dir=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/sources/$suite/$1
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir" ]; then
    rm -rf "$dir.part"
    mkdir "$dir.part"
    cd "$dir.part"
    "$debian" "$suite" apt-get source --download-only "$1" >"$dir.log" 2>&1 9>&- || { sed -n 's/^E: //p' "$dir.log" | sed -n 1p >&2; exit 4; }
    mv "$dir.part" "$dir"
fi
echo "$dir"
