#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The static file of all tools, linked of this build's objects, in a root with nothing else.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/static/common.sh"
need unshare chroot
[ "$(id -u)" = 0 ] || skip "chroot needs root"
unshare --mount true 2>/dev/null || skip "no namespaces can be made here"
static_file
[ "$(stat -c %s fastsdt)" -lt 12000000 ] || fail "it has $(stat -c %s fastsdt) bytes"
# Nothing is loaded into it, by whatever way.
expect "what it needs" "$(readelf -ldW fastsdt | grep -E 'INTERP|NEEDED|RUNPATH' || true)" ""
rm -rf root
mkdir root
bash "$FASTSDT_SOURCE/tests/static/in_root.sh" fastsdt root
