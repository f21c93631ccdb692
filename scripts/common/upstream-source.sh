#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unpacks the upstream sources of a Debian source package, without Debian's patches, as DIR/PACKAGE, once:
# `scripts/common/upstream-source.sh PACKAGE DIR`. SQLite's also get bld/sqlite3.c, one file out of all. Exit 4: they cannot be fetched.
set -euo pipefail
[ $# = 2 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
here=$(realpath "$(dirname "$0")")
mkdir -p "$2"
cd "$2"
exec 9>"$1.lock"
flock 9
[ ! -e "$1" ] || exit 0
files=$("$here/debian-source.sh" "$1")
rm -rf "$1.part"
mkdir "$1.part"
for t in "$files"/*.orig.tar.*; do # *.orig-www.tar.* is documentation
    case $t in *.asc) ;; *) tar -C "$1.part" -xf "$t" --strip-components=1 ;; esac
done
if [ "$1" = sqlite3 ]; then
    (mkdir "$1.part/bld" && cd "$1.part/bld" && ../configure --disable-readline && make sqlite3.c) >"$1.log" 2>&1 ||
        { tail -n 3 "$1.log" >&2; exit 1; }
fi
mv "$1.part" "$1"
