#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The interface of libfastsdt is the recorded one (libfastsdt.abi): programs that were linked to an older libfastsdt.so.0 run with a newer
# one. abidiff compares a library that has no more than the header's declarations; the real one exports the same symbols.
# After a change that adds something: FASTSDT_RECORD=1 ctest -R reader.abi, and commit the file. After one that breaks programs, and only in
# a release: SOVERSION in reader/CMakeLists.txt, the version in exports.map, the packages' names.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc abidiff abidw nm
recorded=$FASTSDT_SOURCE/tests/reader/libfastsdt.abi
# declared HEADER LIBRARY: a library of functions that do nothing, as the header declares them.
declared() {
    {
        echo "#include \"$1\""
        tr '\n' ' ' <"$1" | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' |
            grep -oE '(void|unsigned|const char\*|(const )?fastsdt_reader[a-z_]*\*) fastsdt_reader_[a-z_]+\([^()]*\);' |
            sed -e 's/^\(void .*\);$/\1 { }/' -e 's/;$/ { return 0; }/'
    } >stub.c
    gcc -g -fPIC -shared -Wno-unused-parameter stub.c -o "$2" -Wl,-soname,libfastsdt.so.0 -Wl,--version-script="$FASTSDT_SOURCE/reader/exports.map" ||
        fail "the declarations of $1 do not compile"
}
symbols() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort; }
# compare HEADER: what abidiff says is in the file diff, its status the status: 4 is a difference, 8 one that breaks programs.
compare() {
    declared "$1" declared.so
    status=0
    abidiff --no-architecture "$recorded" declared.so >diff 2>&1 || status=$?
    [ $((status & 3)) = 0 ] || fail "abidiff: $(cat diff)"
}
header=$INCLUDE/fastsdt/reader.h
declared "$header" declared.so
[ "$(symbols declared.so | wc -l)" -ge 20 ] || fail "the functions of the header are not found: $(cat stub.c)"
library=$FASTSDT_BUILD/lib/libfastsdt.so
[ -e "$library" ] || skip "the tools are not built"
diff <(symbols declared.so) <(symbols "$library") || fail "the header and the library differ (< header, > library)"
expect "SONAME" "$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" libfastsdt.so.0
if [ -n "${FASTSDT_RECORD:-}" ]; then
    abidw --no-comp-dir-path --no-corpus-path --no-show-locs --no-architecture --out-file "$recorded" declared.so
fi
compare "$header"
[ $status = 0 ] || fail "the interface is not the recorded one$([ $((status & 8)) = 0 ] || echo ', and programs break'): $(cat diff)"

# It can fail: a member before others, a wider one, a parameter, a function that goes; and a function that comes.
breaks() { # NAME SED-COMMAND
    sed "$2" "$header" >changed.h
    ! cmp -s "$header" changed.h || fail "$1: the header has not changed"
    compare "$PWD/changed.h"
    [ "$status" != 0 ] || fail "$1: not seen"
}
breaks "a member in front" 's/^    const char\* provider;/    int new_member;\n&/'
breaks "a wider member" 's/^    int line;/    long line;/'
breaks "a parameter" 's/fastsdt_reader_close(fastsdt_reader\* reader)/fastsdt_reader_close(fastsdt_reader* reader, int how)/'
breaks "an error of another size" 's/what\[512\]/what[256]/'
breaks "a function that goes" '/fastsdt_reader_kernel_at/d'
[ $((status & 8)) != 0 ] || fail "a function that goes breaks programs: $(cat diff)"
breaks "a function that comes" 's/^unsigned fastsdt_reader_version(void);/&\nunsigned fastsdt_reader_more(void);/'
[ $((status & 8)) = 0 ] || fail "a function that comes breaks nothing: $(cat diff)"
