#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The interface of libfastsdt-trace is the recorded one (libfastsdt-trace.abi): programs that were linked to an older libfastsdt-trace.so.0 run
# with a newer one. That the library exports what the header declares, api.sh says.
# After a change that adds something: FASTSDT_RECORD=1 ctest -R engine.api_abi, and commit the file. After one that breaks programs, and only in
# a release: SOVERSION in api/CMakeLists.txt, the version in exports.map, the packages' names.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc abidiff abidw nm
. "$FASTSDT_SOURCE/tests/abi.sh"
recorded=$FASTSDT_SOURCE/tests/engine/libfastsdt-trace.abi
header=$INCLUDE/fastsdt/trace.h
library=$FASTSDT_BUILD/lib/libfastsdt-trace.so
map=$FASTSDT_SOURCE/api/exports.map
functions='(void|unsigned|int|size_t|uint64_t|const char\*|const void\*|(const )?fastsdt_trace[a-z_]*\*) fastsdt_trace_[a-z_]+'
exports 30
same_interface

# It can fail.
breaks "a member in front" 's/^    const char\* reason;/    int new_member;\n&/'
breaks "a wider member" 's/^    int state;/    long state;/'
breaks "an error of another size" 's/reserved\[512\]/reserved[256]/'
breaks "a parameter" 's/fastsdt_trace_maps_free(fastsdt_trace_maps\* maps)/fastsdt_trace_maps_free(fastsdt_trace_maps* maps, int how)/'
breaks "a function that goes" '/^int fastsdt_trace_close/d'
[ $((status & 8)) != 0 ] || fail "a function that goes breaks programs: $(cat diff)"
breaks "a function that comes" 's/^unsigned fastsdt_trace_version(void);/&\nunsigned fastsdt_trace_more(void);/'
[ $((status & 8)) = 0 ] || fail "a function that comes breaks nothing: $(cat diff)"
