#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The static file of all tools, linked of this build's objects, in a root with nothing else.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc cmake objcopy readelf strip unshare chroot
[ "$(id -u)" = 0 ] || skip "chroot needs root"
unshare --mount true 2>/dev/null || skip "no namespaces can be made here"
[ "$(uname -m)" = x86_64 ] || skip "only on x86-64"
status=0
"$FASTSDT_SOURCE/scripts/static.sh" --libraries "$FASTSDT_BUILD/static" 2>err || status=$?
[ $status != 4 ] || skip "$(tail -n 1 err)"
[ $status = 0 ] || fail "$(cat err)"
cmake --build "$FASTSDT_BUILD" --target fastsdt-static >log 2>&1 || fail "linking: $(tail -n 5 log)"
strip -o fastsdt "$FASTSDT_BUILD/bin/fastsdt-static"
[ "$(stat -c %s fastsdt)" -lt 12000000 ] || fail "it has $(stat -c %s fastsdt) bytes"
# Nothing is loaded into it, by whatever way.
expect "what it needs" "$(readelf -ldW fastsdt | grep -E 'INTERP|NEEDED|RUNPATH' || true)" ""
rm -rf root
mkdir root
bash "$FASTSDT_SOURCE/tests/static/in_root.sh" fastsdt root
