#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The interface of libfastsdt is the recorded one (libfastsdt.abi): programs that were linked to an older libfastsdt.so.0 run with a newer
# one. abidiff compares a library that has no more than the header's declarations; the real one exports the same symbols.
# After a change that adds something: FASTSDT_RECORD=1 ctest -R reader.abi, and commit the file. After one that breaks programs, and only in
# a release: SOVERSION in reader/CMakeLists.txt, the version in exports.map, the packages' names.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc abidiff abidw nm
. "$FASTSDT_SOURCE/tests/abi.sh"
recorded=$FASTSDT_SOURCE/tests/reader/libfastsdt.abi
header=$INCLUDE/fastsdt/reader.h
declared() {
    {
        echo "#include \"$1\""
        tr '\n' ' ' <"$1" | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' |
            grep -oE '(void|unsigned|const char\*|(const )?fastsdt_reader[a-z_]*\*) fastsdt_reader_[a-z_]+\([^()]*\);' |
            sed -e 's/^\(void .*\);$/\1 { }/' -e 's/;$/ { return 0; }/'
    } >stub.c
    gcc -g -fPIC -shared -Wno-unused-parameter stub.c -o declared.so -Wl,-soname,libfastsdt.so.0 -Wl,--version-script="$FASTSDT_SOURCE/reader/exports.map" ||
        fail "the declarations of $1 do not compile"
}
declared "$header"
[ "$(symbols declared.so | wc -l)" -ge 20 ] || fail "the functions of the header are not found: $(cat stub.c)"
library=$FASTSDT_BUILD/lib/libfastsdt.so
[ -e "$library" ] || skip "the tools are not built"
diff <(symbols declared.so) <(symbols "$library") || fail "the header and the library differ (< header, > library)"
expect "SONAME" "$(soname "$library")" libfastsdt.so.0
same_interface

# It can fail: a member before others, a wider one, a parameter, a function that goes; and a function that comes.
breaks "a member in front" 's/^    const char\* provider;/    int new_member;\n&/'
breaks "a wider member" 's/^    int line;/    long line;/'
breaks "a parameter" 's/fastsdt_reader_close(fastsdt_reader\* reader)/fastsdt_reader_close(fastsdt_reader* reader, int how)/'
breaks "an error of another size" 's/what\[512\]/what[256]/'
breaks "a function that goes" '/fastsdt_reader_kernel_at/d'
[ $((status & 8)) != 0 ] || fail "a function that goes breaks programs: $(cat diff)"
breaks "a function that comes" 's/^unsigned fastsdt_reader_version(void);/&\nunsigned fastsdt_reader_more(void);/'
[ $((status & 8)) = 0 ] || fail "a function that comes breaks nothing: $(cat diff)"
