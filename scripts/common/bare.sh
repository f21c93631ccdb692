#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs a command on a machine that nobody prepared: `bare.sh SUITE COMMAND...` makes a minimal root of that release
# (make-root.sh), puts a clean checkout of HEAD into it and nothing else, and runs COMMAND there, in the checkout, as root
# with an empty environment. The root is removed afterwards; FASTSDT_KEEP_ROOT=1 keeps it and says where it is.
# Kernel, devices and /sys are this machine's, so that probes can be attached; FASTSDT_ROOT_WITHOUT_UPROBES=1 hides those.
# Exit: COMMAND's, or 125 when there is no root.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
# In a mount namespace of its own: nothing stays mounted, however this ends.
[ -n "${FASTSDT_BARE_NAMESPACE:-}" ] || FASTSDT_BARE_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
suite=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/fastsdt-bare.XXXXXX")
root=$work/disk/root
. "$here/archive.sh"
own_debs "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}" "$suite"
free_mib() { df -m --output=avail "$work" | tail -n 1 | tr -d ' '; }
clean() {
    [ -z "${FASTSDT_KEEP_ROOT:-}" ] || { echo "bare.sh: the root is $root" >&2; return; }
    # The file does not shrink: it has the most that there was. What fails for want of disk does not always say so.
    [ ! -e "$work/image" ] || echo "bare.sh: the root took $(du -m "$work/image" | cut -f1) MiB of the disk, which has $(free_mib) MiB left"
    umount -R -l "$work/disk" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM
mkdir "$work/disk"
# One file as a disk: it is removed at once, while half a million files take minutes. Without a loop device, a plain
# folder.
if [ -z "${FASTSDT_KEEP_ROOT:-}" ]; then
    { truncate -s 60G "$work/image" && PATH=$PATH:/usr/sbin mkfs.ext4 -q -O ^has_journal "$work/image" &&
        mount -o loop,noatime "$work/image" "$work/disk"; } 2>/dev/null || rm -f "$work/image"
fi
started=$SECONDS
FASTSDT_DEBS=$debs "$here/make-root.sh" "$suite" "$root" || exit 125
tree=/root/fastsdt
git clone -q --no-hardlinks "file://$(git -C "$here" rev-parse --show-toplevel)" "$root$tree"
echo "bare.sh: a minimal root of $suite in $((SECONDS - started)) s; $(free_mib) MiB of disk for it"
mkdir -p "$root/var/cache/apt/archives"
# A mount point of its own, as / is on a machine: unshare --mount works inside.
mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
    mount --bind "$debs" "$root/var/cache/apt/archives" || exit 125
[ -z "${FASTSDT_ROOT_WITHOUT_UPROBES:-}" ] || mount -t tmpfs none "$root/sys/bus/event_source/devices" || exit 125
# The namespace's own root, not a chroot: a program that visits another mount namespace and comes back, as perf does for
# build-ids, finds itself at the namespace's root.
unshare --mount --propagation private env PATH="$PATH:/usr/sbin:/sbin" sh -c '
    cd "$0" && pivot_root . mnt || exit 125
    exec chroot . env -i "$@"' "$root" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    TERM="${TERM:-dumb}" ${CI:+CI="$CI"} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    sh -c 'umount -l /mnt && cd "$0" && exec "$@"' "$tree" "$@" </dev/null
