#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a command on a machine that nobody prepared: `bare.sh SUITE COMMAND...` makes a minimal root of that release
# (make-root.sh), puts a clean checkout of HEAD into it and nothing else, and runs COMMAND there, in the checkout, as root
# with an empty environment. The root is removed afterwards; FASTSDT_KEEP_ROOT=1 keeps it and says where it is.
# Kernel, devices and /sys are this machine's, so that probes can be attached; FASTSDT_ROOT_WITHOUT_UPROBES=1 hides those.
# Exit: COMMAND's, or 125 when there is no root.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3,8s/^# //p' "$0" >&2; exit 2; }
suite=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/fastsdt-bare.XXXXXX")
root=$work/root
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/debs/$suite
clean() {
    [ -z "${FASTSDT_KEEP_ROOT:-}" ] || { echo "bare.sh: the root is $root" >&2; return; }
    rm -rf --one-file-system "$work" # nothing is mounted there: the mounts were in a namespace that is gone
}
trap clean EXIT
trap 'exit 130' INT TERM
started=$SECONDS
"$here/make-root.sh" "$suite" "$root" || exit 125
tree=/root/fastsdt
git clone -q --no-hardlinks "file://$(git -C "$here" rev-parse --show-toplevel)" "$root$tree"
echo "bare.sh: a minimal root of $suite in $((SECONDS - started)) s"
mkdir -p "$cache" "$root/var/cache/apt/archives"
# shellcheck disable=SC2016 # the inner shell's variables
unshare --mount --propagation private sh -c '
    root=$1 cache=$2 tree=$3
    shift 3
    # A mount point of its own, as / is on a machine: unshare --mount works inside.
    mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
        mount --bind "$cache" "$root/var/cache/apt/archives" || exit 125
    [ -z "${FASTSDT_ROOT_WITHOUT_UPROBES:-}" ] || mount -t tmpfs none "$root/sys/bus/event_source/devices" || exit 125
    set -- chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        TERM="${TERM:-dumb}" ${CI:+CI="$CI"} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        sh -c '\''cd "$0" && exec "$@"'\'' "$tree" "$@"
    exec "$@"' sh "$root" "$(realpath "$cache")" "$tree" "$@" </dev/null
