#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build-layouts.sh INCLUDE DIRECTORY: builds the programs of layouts.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
# The layouts that the header warns of are meant here.
flags="-O1 -g -I$1 -DFASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1 -DFASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2"
# shellcheck disable=SC2086 # a list of words
gcc $flags -no-pie "$here/layouts.c" "$here/layout_sites.S" -o "$2/layouts" -ldl -lpthread
# shellcheck disable=SC2086
gcc $flags -shared "$here/layout_sites.S" -o "$2/liblayouts.so"
