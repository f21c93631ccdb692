#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs programs under another kernel: `in-guest.sh SERIES FILE... <COMMANDS` boots Debian's x86-64 kernel of that series ("7.2") in
# QEMU, without KVM and with one CPU. FILEs are in /bin there, with the libraries they need. Each line of COMMANDS is a program's full
# name and its arguments; what they write to standard output is printed. Times are those of emulated hardware: good for ratios
# within one guest. Exit: the first status that is not 0; 125: no kernel, no QEMU, or the guest gave no answer.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2; }
series=$1
shift
source=$(cd "$(dirname "$0")/.." && pwd)
. "$source/tests/kernel/guest.sh"
for tool in qemu-system-x86_64 cpio gzip; do
    command -v $tool >/dev/null || { echo "in-guest.sh: $tool is not installed" >&2; exit 125; }
done
dir=$("$source/tests/kernel/fetch-kernel.sh" amd64 "$series" "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}") || exit 125
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/bin"
$(guest_compiler amd64) "$source/tests/kernel/guest-init.c" -o "$work/root/init"
for file in "$@"; do guest_add_program "$work/root" "$file"; done
sed 's|^|out /dev/null |' >"$work/root/commands"
guest_pack "$work/root" "$work/initramfs"
guest_boot amd64 "$dir/vmlinuz" "$work/initramfs" "${FASTSDT_GUEST_SECONDS:-600}" | tr -d '\r' >"$work/console" || true
if ! grep -qx '@guest done' "$work/console"; then
    tail -n 5 "$work/console" >&2
    echo "in-guest.sh: the guest of $series did not come to its end" >&2
    exit 125
fi
sed -n '/^@out exit [0-9]*$/d; s/^@out //p' "$work/console"
exit "$(sed -n 's/^@out exit //p' "$work/console" | sed -n '/^0$/!{p;q}' | grep . || echo 0)"
