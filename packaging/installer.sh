#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# installer.sh FOLDER: writes FOLDER/install.sh, for the static files that are there.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
[ $# = 1 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"$/\1/p' "$top/include/fastsdt.h")
url=$(sed -n 's/^ *HOMEPAGE_URL "\([^"]*\)".*/\1/p' "$top/CMakeLists.txt")
cd "$1"
sums=""
for file in "fastsdt-$version-x86_64" "fastsdt-$version-aarch64"; do
    [ ! -e "$file" ] || sums+=$(sha256sum "$file")'\n'
done
sed "s|@VERSION@|$version|g; s|@URL@|$url|g; s|@SUMS@|$sums|" "$top/packaging/install.sh" >install.sh
chmod 755 install.sh
