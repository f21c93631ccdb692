#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# As rules.sh, damaged.sh and foreign.sh, for arm64.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
prefix=''
[ "$(uname -m)" = aarch64 ] || prefix=aarch64-linux-gnu-
need "${prefix}gcc" "${prefix}objdump"
dump() { "$FASTSDT_BUILD/bin/movable_dump" "$@"; }
source=$FASTSDT_SOURCE/tests/movable
"${prefix}gcc" -shared -nostdlib -o rules.so "$source/rules_arm64.s" || skip "this assembler does not know all instructions"
sed -n 's,^//= ,,p' "$source/rules_arm64.s" | sort >expected
dump rules.so | awk 'NR == FNR { known[$1 " " $2] = 1; next } ($1 " " $2) in known || $1 == "site"' expected - | sort >got
diff -u expected got || fail "rules"
"${prefix}gcc" -shared -nostdlib -Wl,-soname,ld-linux-aarch64.so.1 -o loader.so "$source/rules_arm64.s"
expect "the loader" \
    "$(dump loader.so | grep -v '^site' | cut -d: -f2 | sort -u)" " is in the dynamic linker, which runs before it has relocated itself"
expect "the loader's sites" "$(dump loader.so | grep '^site nop:')" "site nop: 0+4 at 0"
python3 "$source/damaged.py" "$FASTSDT_BUILD/bin/movable_dump" rules.so

checked=0
for name in libc.so.6 libstdc++.so.6; do
    file=$("${prefix}gcc" -print-file-name=$name)
    [ -f "$file" ] || continue
    dump --addresses "$file" >windows
    OBJDUMP=${prefix}objdump timeout 500 python3 "$source/foreign.py" "$file" windows >log || fail "$(cat log)"
    cat log
    ((++checked))
done
[ $checked -gt 0 ] || skip "no libc.so.6 for arm64 found"
