#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build-layouts.sh ARCH INCLUDE DIRECTORY [PLUGIN]: builds the programs of layouts.sh for an architecture of guest.sh. PLUGIN is a
# fastprobe.so as the build has it, gcc-12/fastprobe.so or gcc-12-aarch64/fastprobe.so, whose GCC is then used.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/guest.sh"
gcc=gcc
if [ -e "${4-}" ]; then gcc=$(basename "$(dirname "$4")" -aarch64); fi
case $1 in
amd64) cc=$gcc landing_pads="-fcf-protection=none -fcf-protection=full" modes="auto nop nop10 frame" ;;
arm64) cc=$(guest_target arm64)-$gcc landing_pads="-mbranch-protection=none -mbranch-protection=standard" modes="auto nop frame" ;;
*) cc=$(guest_cc "$1") landing_pads= modes= ;;
esac
mkdir -p "$3"
# The layouts that the header warns of are meant here.
flags="-O1 -g -I$2 -DFASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1 -DFASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2"
$cc $flags -no-pie "$here/layouts.c" "$here/layout_sites.S" -o "$3/layouts" -ldl -lpthread
$cc $flags -shared "$here/layout_sites.S" -o "$3/liblayouts.so"

# One program for each entry mode, with and without landing pads.
[ -e "${4-}" ] || { echo "build-layouts.sh: there is no fastprobe for GCC: function entries are not among the layouts" >&2; exit 0; }
for mode in $modes; do
    for pads in $landing_pads; do
        $cc -O2 -g -no-pie "$pads" -fplugin="$4" -fplugin-arg-fastprobe-entry=$mode -fplugin-arg-fastprobe-include='^f_' \
            "$here/entries.c" -o "$3/entries.$mode.${pads#*=}" -lpthread
    done
done
