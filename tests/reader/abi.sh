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
library=$FASTSDT_BUILD/lib/libfastsdt.so
map=$FASTSDT_SOURCE/reader/exports.map
functions='(void|unsigned|const char\*|(const )?fastsdt_reader[a-z_]*\*) fastsdt_reader_[a-z_]+'
exports 20
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
