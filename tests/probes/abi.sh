#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The interface of libfastsdt-probes is the recorded one (libfastsdt-probes.abi): programs that were linked to an older libfastsdt-probes.so.0 run
# with a newer one. The header and the library have the same functions. After a change that adds something: FASTSDT_RECORD=1 ctest -R probes.abi,
# and commit the file. After one that breaks programs, and only in a release: SOVERSION in probes/CMakeLists.txt, the version in exports.map, the
# packages' names.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc abidiff abidw nm
. "$FASTSDT_SOURCE/tests/probes/common.sh"
. "$FASTSDT_SOURCE/tests/abi.sh"
recorded=$here/libfastsdt-probes.abi
header=$INCLUDE/fastsdt/probes.h
expect "SONAME" "$(soname "$library/libfastsdt-probes.so")" libfastsdt-probes.so.0
declared() {
    {
        echo "#include \"$1\""
        gcc -E -P "$1" | tr '\n' ' ' | grep \
            -oE '(void|int|unsigned|const char\*|fastsdt_probes?\*|fastsdt_probe_function) fastsdt_probes?_[a-z_]+\([^()]*\);' |
            sed -e 's/^\(void .*\);$/\1 { }/' -e 's/;$/ { return 0; }/'
    } >stub.c
    gcc -g -fPIC -shared -w stub.c -o declared.so -Wl,-soname,libfastsdt-probes.so.0 -Wl,--version-script="$FASTSDT_SOURCE/probes/exports.map" ||
        fail "the declarations of $1 do not compile"
    expect "functions of $1" "$(symbols declared.so)" "$(symbols "$library/libfastsdt-probes.so")"
}
same_interface

# It can fail: a member before others, an error of another size.
breaks "a member in front" 's/^    const volatile unsigned short\* active;/    long more;\n&/'
breaks "an error of another size" 's/what\[512\]/what[256]/'
