#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build-layouts.sh INCLUDE DIRECTORY [PLUGIN]: builds the programs of layouts.sh; PLUGIN is fastprobe.so for gcc-12.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
# The layouts that the header warns of are meant here.
flags="-O1 -g -I$1 -DFASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1 -DFASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2"
# shellcheck disable=SC2086 # a list of words
gcc $flags -no-pie "$here/layouts.c" "$here/layout_sites.S" -o "$2/layouts" -ldl -lpthread
# shellcheck disable=SC2086
gcc $flags -shared "$here/layout_sites.S" -o "$2/liblayouts.so"

# One program for each entry mode, with and without landing pads.
[ -e "${3-}" ] || exit 0
for mode in auto nop nop10 frame; do
    for cet in none full; do
        gcc-12 -O2 -g -no-pie -fcf-protection=$cet -fplugin="$3" -fplugin-arg-fastprobe-entry=$mode -fplugin-arg-fastprobe-include='^f_' \
            "$here/entries.c" -o "$2/entries.$mode.$cet" -lpthread
    done
done
