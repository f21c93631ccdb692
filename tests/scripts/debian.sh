#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/common/debian.sh finds the machine's mirror in either form of apt's configuration, and says when there is none.
. "$FASTSDT_SOURCE/tests/common.sh"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "putting another /etc/apt in place needs root"
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || skip "not a Debian machine"
export FASTSDT_CACHE=$PWD/cache

# with FILE TEXT: runs debian.sh where /etc/apt has this one file, and prints the sources it made.
with() {
    rm -rf apt cache
    mkdir -p apt/sources.list.d apt/apt.conf.d apt/preferences.d apt/trusted.gpg.d
    [ -z "$1" ] || printf '%s\n' "$2" >"apt/$1"
    unshare -m sh -c 'mount --bind apt /etc/apt && exec "$0/scripts/common/debian.sh" sid true' "$FASTSDT_SOURCE" >log 2>&1 || echo "exit $?"
    if [ -e cache/apt/sid+amd64/sources.list ]; then sed -n 's|.* \([^ ]*/debian\) .*|\1|p' cache/apt/sid+amd64/sources.list | sort -u; fi
}
here=file:$PWD/none/debian # nothing is there: the update fails, and that is no error
expect "one-line list" "$(with sources.list "deb $here bookworm main")" "$here"
expect "one-line list with options, in a folder" "$(with sources.list.d/x.list "deb [arch=amd64 trusted=yes] $here/ bookworm main")" "$here"
expect "deb822" "$(with sources.list.d/debian.sources "Types: deb
URIs: $here/
Suites: bookworm
Components: main")" "$here"
[ ! -e cache/apt/sid+amd64/updated ] || fail "lists that could not be had count as up to date"
expect "no mirror" "$(with '')" "exit 4"
matches 'found no Debian mirror' <log || fail "no mirror: $(cat log)"
