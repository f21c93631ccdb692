#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs the tools of fastsdt @VERSION@: one static file for this machine, and links to it with the tools' names.
#
#     install.sh [-d DIR] [-f FROM]
#
#   -d DIR   where to (default: /usr/local/bin for root, ~/.local/bin for others)
#   -f FROM  the release: a folder or an http address (default: this script's folder, if it has the file; else the project's address)
#
# What it installs has the checksum that stands below, or nothing is installed. To remove it: DIR/fastsdt and DIR/fastsdt-*.
set -eu
say() { echo "install.sh: $*" >&2; }
fail() { say "$*"; exit 1; }
sums='@SUMS@'
if [ "$(id -u)" = 0 ]; then to=/usr/local/bin; else to=${HOME:-}/.local/bin; fi
from=
while getopts d:f: option; do
    case $option in
    d) to=$OPTARG ;;
    f) from=$OPTARG ;;
    *) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
system=$(uname -s)
[ "$system" = Linux ] || fail "fastsdt is for Linux, and this is $system"
arch=$(uname -m)
[ "$arch" != arm64 ] || arch=aarch64
file=fastsdt-@VERSION@-$arch
sum=$(echo "$sums" | while read -r one name; do [ "$name" != "$file" ] || echo "$one"; done)
[ -n "$sum" ] || fail "there is no file for $arch; the source builds there: docs/install.md"
if [ -z "$from" ]; then
    from=$(cd "$(dirname "$0")" 2>/dev/null && pwd) || from=.
    [ -e "$from/$file" ] || from=@URL@/releases/download/v@VERSION@
fi
mkdir -p "$to" || fail "$to: cannot be made; -d DIR gives another folder"
new=$to/.fastsdt.$$
trap 'rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM
case $from in
http://* | https://*)
    if command -v curl >/dev/null 2>&1; then curl -fsSL -o "$new" "$from/$file" || fail "cannot get $from/$file"
    elif command -v wget >/dev/null 2>&1; then wget -q -O "$new" "$from/$file" || fail "cannot get $from/$file"
    else fail "neither curl nor wget is here: get $from/$file, put it beside this script and run it again"
    fi
    ;;
*) cp "$from/$file" "$new" || fail "cannot copy $from/$file to $to" ;;
esac
found=$(sha256sum "$new") || fail "sha256sum is missing, so the file cannot be verified"
[ "${found%% *}" = "$sum" ] || fail "$from/$file is not the file of the release: its SHA-256 is ${found%% *}, and not $sum. Nothing was installed"
chmod 755 "$new"
mv -f "$new" "$to/fastsdt"
"$to/fastsdt" install "$to" >/dev/null
say "fastsdt @VERSION@ is in $to"
case :${PATH:-}: in
*:"$to":*) ;;
*) say "your PATH does not have $to: export PATH=\"$to:\$PATH\"" ;;
esac
