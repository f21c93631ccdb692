# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scripts that test with the compilers of other Debian suites, before anything else, after `set`:
#
#     enter SUITE PACKAGE...      $root becomes a chroot of that suite with these packages in it; the script ends when it cannot
#     wrap FILE COMMAND...        FILE becomes a program that runs COMMAND and its own arguments in $root, in the directory it is in
#
# and $top is the source tree, at the same path inside and outside. The chroots stay in the cache (FASTSDT_CACHE, default
# ~/.cache/fastsdt), made by make-root.sh. To have the newest compilers of a suite, delete its chroot.
#
# The script runs in a mount namespace of its own: what is mounted goes with its last process, however that ends, and others
# may use the same chroot meanwhile.
script=$(basename "$0")
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
[ "$(id -u)" = 0 ] || { echo "$script: chroot needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "$script: debootstrap is not installed" >&2; exit 2; }
[ -n "${FASTSDT_CHROOT_NAMESPACE:-}" ] || FASTSDT_CHROOT_NAMESPACE=1 exec unshare --mount bash "$0" "$@"

enter() {
    local suite=$1 cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/chroot
    shift
    root=$cache/$suite
    mkdir -p "$cache"
    chroot_failed() { tail -n 5 "$root.log" >&2; echo "$script: $1; all of it: $root.log" >&2; exit 1; }
    (
        flock 9
        if [ ! -e "$root/ready" ]; then
            rm -rf "$root"
            "$top/scripts/common/make-root.sh" "$suite" "$root" 2>"$root.log" || chroot_failed "no chroot of $suite"
            touch "$root/ready"
        fi
        if ! chroot "$root" dpkg -s "$@" >/dev/null 2>&1; then
            chroot "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"' \
                sh "$@" >"$root.log" 2>&1 || chroot_failed "cannot install $*"
        fi
    ) 9>"$root.lock" || exit
    mkdir -p "$root$top"
    mountpoint -q "$root$top" || mount --bind "$top" "$root$top"
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc" # sanitizers read their options there
}

wrap() {
    local file=$1
    shift
    printf '#!/bin/sh\nexec chroot %q env -C "$PWD" TMPDIR=%q %s "$@"\n' "$root" "$(dirname "$file")" "$(printf '%q ' "$@")" >"$file"
    chmod +x "$file"
}
