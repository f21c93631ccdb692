#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# objdump's view of what can be moved in system libraries: windows begin and end where its instructions do, exits are its returns and jumps,
# and nothing that it prints as a target lies inside. The shares are those that were measured when the rules were found.
. "$FASTSDT_SOURCE/tests/common.sh"
need objdump readelf python3
[ "$(uname -m)" = x86_64 ] || skip "the libraries are no x86-64 code"
checked=0
for file in $(ldconfig -p 2>/dev/null | awk '/x86-64/ && ($1 == "libc.so.6" || $1 == "libstdc++.so.6") { print $NF }' | sort -u); do
    "$FASTSDT_BUILD/bin/movable_dump" --addresses "$file" >windows
    timeout 500 python3 "$FASTSDT_SOURCE/tests/movable/foreign.py" "$file" windows >log || fail "$(cat log)"
    cat log
    ((++checked))
done
[ $checked -gt 0 ] || skip "no libc.so.6 found"
