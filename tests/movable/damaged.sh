#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# .eh_frame, .gcc_except_table, jump tables and symbols as nobody writes them: an answer, soon, in little memory.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc python3
[ "$(uname -m)" = x86_64 ] || skip "the functions are x86-64 code"
gcc -shared -nostdlib -o rules.so "$FASTSDT_SOURCE/tests/movable/rules.s" || skip "this assembler does not know all instructions"
python3 "$FASTSDT_SOURCE/tests/movable/damaged.py" "$FASTSDT_BUILD/bin/movable_dump" rules.so
