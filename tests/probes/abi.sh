#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The interface of libfastsdt-probes is the recorded one (libfastsdt-probes.abi): programs that were linked to an older libfastsdt-probes.so.0 run with a
# newer one. The header and the library have the same functions.
# After a change that adds something: FASTSDT_RECORD=1 ctest -R probes.abi, and commit the file. After one that breaks programs, and only in a
# release: SOVERSION in probes/CMakeLists.txt, the version in exports.map, the packages' names.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc abidiff abidw nm
. "$FASTSDT_SOURCE/tests/probes/common.sh"
recorded=$here/libfastsdt-probes.abi
header=$INCLUDE/fastsdt/probes.h
functions() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort; }
expect "SONAME" "$(readelf -d "$library/libfastsdt-probes.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" libfastsdt-probes.so.0
# interface HEADER: as abidw has a library of functions that do nothing, as the header declares them: of the real one it would tell what is inside.
interface() {
    {
        echo "#include \"$1\""
        gcc -E -P "$1" | tr '\n' ' ' | grep -oE '(void|int|unsigned|const char\*|fastsdt_probes?\*|fastsdt_probe_function) fastsdt_probes?_[a-z_]+\([^()]*\);' |
            sed -e 's/^\(void .*\);$/\1 { }/' -e 's/;$/ { return 0; }/'
    } >stub.c
    gcc -g -fPIC -shared -w stub.c -o declared.so -Wl,-soname,libfastsdt-probes.so.0 -Wl,--version-script="$FASTSDT_SOURCE/probes/exports.map" ||
        fail "the declarations of $1 do not compile"
    expect "functions of $1" "$(functions declared.so)" "$(functions "$library/libfastsdt-probes.so")"
    abidw --no-comp-dir-path --no-corpus-path --no-show-locs --no-architecture --out-file now.abi declared.so
}
compare() {
    interface "$1"
    status=0
    abidiff --no-architecture "$recorded" now.abi >diff 2>&1 || status=$?
    [ $((status & 3)) = 0 ] || fail "abidiff: $(cat diff)"
}
interface "$header"
[ -z "${FASTSDT_RECORD:-}" ] || cp now.abi "$recorded"
compare "$header"
[ $status = 0 ] || fail "the interface is not the recorded one$([ $((status & 8)) = 0 ] || echo ', and programs break'): $(cat diff)"

# It can fail: a member before others, an error of another size.
breaks() { # NAME SED-COMMAND
    sed "$2" "$header" >changed.h
    ! cmp -s "$header" changed.h || fail "$1: the header has not changed"
    compare "$PWD/changed.h"
    [ "$status" != 0 ] || fail "$1: not seen"
}
breaks "a member in front" 's/^    const volatile unsigned short\* active;/    long more;\n&/'
breaks "an error of another size" 's/what\[512\]/what[256]/'
