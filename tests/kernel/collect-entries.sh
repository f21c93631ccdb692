#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Prints one example of each form of first instruction in the functions of the given objects, the 200 most frequent forms:
#   collect-entries.sh OBJDUMP ARCH FILE... >entries-ARCH.txt
# A form is the mnemonic with register names, numbers and symbols left out. The recorded files in this directory came from
# Debian 12's libc, libstdc++, libcrypto, libpython, libLLVM and compiler-rt (the last is built by clang); those of other architectures
# from their libc, libm and libstdc++, arm's from armel's, which are not Thumb, loongarch's from sid's libc and libm.
set -euo pipefail
objdump=$1 arch=$2
shift 2
echo "# $arch: number of functions that begin so, bytes of one example, its text; made by collect-entries.sh"
for file in "$@"; do
    # The word, as GNU objdump prints it: LLVM's prints the bytes in memory.
    "$objdump" -d -w "$file" | sed -E 's/^ +([0-9a-f]+): (..) (..) (..) (..) +\t/ \1:\t\5\4\3\2\t/'
done | awk -F'\t' -v arch="$arch" '
    /^[0-9a-f]+ <.*>:$/ { first = 1; next }
    first && NF >= 3 {
        first = 0
        if ($3 ~ /\(bad\)|\.inst|\.word|\.long|undefined/) next
        # For 32-bit arm only what is not Thumb; for powerpc the word, as objdump prints the bytes in memory.
        if (arch == "arm" && $2 !~ /^[0-9a-f]{8} *$/) next
        if (arch == "powerpc") { split($2, byte, " "); $2 = byte[4] byte[3] byte[2] byte[1] }
        form = $3 (NF > 3 ? " " $4 : "")
        sub(/ *(<|\/\/|# ).*/, "", form)
        text = form
        gsub(/%[er]?(ax|bx|cx|dx|si|di|bp)|%r[0-9]+[dwb]?|%[abcd][lh]|%(si|di|bp)l/, "%r", form)
        gsub(/%[xyz]mm[0-9]+/, "%xmm", form)
        gsub(/\<[wx][0-9]+\>|\<[wx]zr\>/, "r", form)
        gsub(/\<[qdsbhv][0-9]+\>/, "v", form)
        gsub(/-?0x[0-9a-f]+|#-?[0-9]+|\<[0-9a-f]{3,}\>/, "N", form)
        count[form]++
        if (!(form in bytes)) {
            b = $2
            gsub(/ /, "", b)
            bytes[form] = b
            example[form] = text
        }
    }
    END { for (form in count) printf "%d %s %s\n", count[form], bytes[form], example[form] }' | tr -s ' ' | sort -k1,1nr -k2,2 | sed -n 1,200p
