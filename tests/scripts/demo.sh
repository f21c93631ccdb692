#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/demo.sh in a tree in which nothing has been built.
. "$FASTSDT_SOURCE/tests/common.sh"
rm -rf tree
mkdir tree
tar -C "$FASTSDT_SOURCE" --exclude=./build --exclude=./.git -c . | tar -C tree -x
tree/scripts/demo.sh >log 2>&1 || fail "status $?: $(tail -n 5 log)"
grep -q '^  shop:order .* nop1+nop10' log || fail "no probe is shown: $(cat log)"
[ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] ||
    grep -q '^shop:order .* ok  *[a-z]* .* cc 66 2e 0f 1f 84' log || fail "no probe was attached: $(cat log)"
rm -rf tree
