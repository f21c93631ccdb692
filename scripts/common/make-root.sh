#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes a minimal root of a Debian or Ubuntu release in DIR, which must not exist: `make-root.sh SUITE DIR`.
# What comes from outside comes from the machine's own mirror: for Ubuntu the folder beside its Debian, or FASTSDT_UBUNTU_MIRROR.
# Package files, never installed trees, are kept in the cache (FASTSDT_CACHE, default ~/.cache/fastsdt).
# Exit 1: the root cannot be made. Exit 4: no mirror has the suite.
set -euo pipefail
[ $# = 2 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
suite=$1 root=$2
here=$(cd "$(dirname "$0")" && pwd)
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}
fail() { echo "make-root.sh: $2" >&2; exit "$1"; }
[ "$(id -u)" = 0 ] || fail 2 "making a root needs root"
[ ! -e "$root" ] || fail 2 "$root exists"
command -v debootstrap >/dev/null || fail 2 "debootstrap is not installed"

. "$here/archive.sh"
use_archive debian "$cache" || exit 4
script=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found() { apt-helper "$1/dists/$suite/Release"; }
# Asks through apt, which uses the machine's proxy and certificates.
apt-helper() { /usr/lib/apt/apt-helper download-file "$1" "$work/Release" >/dev/null 2>&1; }
if ! found "$mirror"; then
    use_archive ubuntu "$cache" || exit 4
    found "$mirror" || fail 4 "the machine's mirror has no $suite"
    grep -q '^Origin: Ubuntu' "$work/Release" || fail 4 "$suite of $mirror is neither Debian nor Ubuntu"
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=(gutsy) # the scripts of all Ubuntu releases are links to this one
elif [ ! -e "/usr/share/debootstrap/scripts/$suite" ]; then
    script=(sid)
fi
include=()
case $mirror in https:*) include=(--include=ca-certificates) ;; esac
debs=${FASTSDT_DEBS:-} # of bare.sh, which holds its lock
[ -n "$debs" ] || own_debs "$cache" "$suite"
# It mounts /proc there: in a namespace of its own, so that nothing stays mounted however it ends.
unshare --mount debootstrap --variant=minbase --keyring="$keys" --components="${components// /,}" --cache-dir="$(realpath "$debs")" \
    "${include[@]}" "$suite" "$root" "$mirror" "${script[@]}" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail 1 "no root of $suite"; }

# Where packages come from later: the release, and its updates and security where the machine's lists have them.
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    grep -E "/? $suite(-updates|-security)? main\$" || true)
case $sources in *" $suite main"*) ;; *) sources="deb $mirror $suite $components" ;; esac
case $components in *universe*) sources="$sources
deb $mirror $suite-updates $components" ;; esac
printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
# The lists of a mirror that is a snapshot may have expired. The proxy is the machine's.
{
    echo 'Acquire::Check-Valid-Until "false";'
    apt-config dump 2>/dev/null | grep -iE '^Acquire::[a-z]+::proxy ' || true
} >"$root/etc/apt/apt.conf.d/90machine"
# A temporary root need not survive a crash of the machine: without this dpkg waits for the disk after each file.
mkdir -p "$root/etc/dpkg/dpkg.cfg.d" && echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/90throw-away"
# Nor does anybody search its manual: man-db's index is made anew after each installation.
echo "man-db man-db/auto-update boolean false" | chroot "$root" debconf-set-selections
cp /etc/resolv.conf "$root/etc/resolv.conf"
[ -e "$root/etc/hosts" ] || echo "127.0.0.1 localhost" >"$root/etc/hosts" # usually the installer of a system writes it
