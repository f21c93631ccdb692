#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# LoongArch's kernel judges a site by the next instruction too: sites with the same bytes have verdicts of their own, whichever comes first in the
# file.
. "$FASTSDT_SOURCE/tests/common.sh"
clang=$(newest clang)
linker=ld.lld-${clang#clang-}
need python3 "$clang" "$linker" fastsdt-check
loongarch() { "$clang" --target=loongarch64-linux-gnu -O2 -fPIC -I"$INCLUDE" -c "$1.c" -o "$1.o"; }
echo 'int x;' >any.c
loongarch any 2>err || skip "$clang has no LoongArch: $(sed 1q err)"
# arch/loongarch/kernel/inst.c, insns_not_supported(): ll.w is refused, and so is what stands in front of it.
for order in "plain linked" "linked plain"; do
    {
        echo '#include <fastsdt.h>'
        for name in $order; do
            load=ld.w
            [ $name = plain ] || load=ll.w
            echo "void $name(void) { FASTSDT(of, $name); __asm__ volatile(\"$load \$t0, \$sp, 0\" : : : \"t0\"); }"
        done
    } >both.c
    loongarch both && "$linker" -shared both.o -o both.so || fail "no library"
    expect "$order" "$(fastsdt-check --json -k 6.12 both.so | python3 -c '
import json, sys
for site in json.load(sys.stdin)["files"][0]["probes"]:
    print(site["name"], *(kernel["verdict"] for kernel in site["kernels"].values()))' | sort)" "linked reject
plain xol"
done
