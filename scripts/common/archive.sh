# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scripts that read an archive of packages. `use_archive debian|ubuntu CACHE` sets mirror, keys and components (with blanks between):
# the machine's own Debian mirror, from /etc/apt; for Ubuntu the folder beside it, or FASTSDT_UBUNTU_MIRROR. Ubuntu's keys are a package
# of Debian's, kept in CACHE. Returns 4, with the reason on standard error, where there is none.
#
# `own_debs CACHE SUITE` sets debs: a folder in CACHE for a suite's package files that is this shell's and its children's as long as one
# of them runs. Two apt-gets cannot use one folder at a time, and two debootstraps would write the same files: the second run has another.
own_debs() {
    local n lock
    for ((n = 1; ; n++)); do
        debs=$1/debs/$2
        [ $n = 1 ] || debs+=.$n
        mkdir -p "$debs" && exec {lock}>"$debs.lock" || return 1
        ! flock -n "$lock" || return 0
        exec {lock}>&-
    done
}
use_archive() {
    local name=$1 cache=$2 scripts fetched
    scripts=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
    # A deb822 file first, then one-line lists. Only the main archive has the other suites (not -security).
    mirror=$({ cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | sed -n 's|^URIs: *\([^ ]*/debian\)/\{0,1\} *$|\1|p' | sed -n 1p)
    [ -n "$mirror" ] || mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
        sed -n 's|^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*/debian\)/\{0,1\} .*|\2|p' | sed -n 1p)
    keys=/usr/share/keyrings/debian-archive-keyring.gpg components=main
    if [ -z "$mirror" ] || [ ! -e "$keys" ]; then
        echo "${0##*/}: found no Debian mirror in /etc/apt (or no $keys)" >&2
        return 4
    fi
    [ "$name" = ubuntu ] || return 0
    mirror=${FASTSDT_UBUNTU_MIRROR:-${mirror%/debian}/ubuntu} components="main universe"
    keys=$cache/apt/ubuntu-keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg
    [ ! -e "$keys" ] || return 0
    fetched=$(mktemp -d)
    (cd "$fetched" && FASTSDT_ARCHIVE=debian FASTSDT_ARCHS=amd64 "$scripts/debian.sh" sid apt-get download ubuntu-keyring >/dev/null) &&
        dpkg-deb -x "$fetched"/ubuntu-keyring_*.deb "$cache/apt/ubuntu-keyring" || true
    rm -rf "$fetched"
    [ -e "$keys" ] || { echo "${0##*/}: no package ubuntu-keyring" >&2; return 4; }
}
