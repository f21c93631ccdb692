#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libstapsdt.so.0: names, structures and behaviour are those of linux-usdt/libstapsdt, whatever is wrong is said, and tracers see a C program's hits.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc nm python3
. "$FASTSDT_SOURCE/tests/probes/common.sh"
expect "functions" "$(nm -D --defined-only "$library/stapsdt/libstapsdt.so.0" | sed 's/.* T //' | sort | tr '\n' ' ')" \
    "probeFire probeIsEnabled providerAddProbe providerDestroy providerInit providerLoad providerUnload providerUseMemfd "
expect "SONAME" "$(readelf -d "$library/stapsdt/libstapsdt.so.0" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" libstapsdt.so.0
# What is made of the header of 0.1.1 (src/libstapsdt.h, commit 0d53f98): members with their offsets and sizes, and values.
recorded='SDTProbe_t.name 0 8
SDTProbe_t.argFmt 8 24
SDTProbe_t._fire 32 8
SDTProbe_t.provider 40 8
SDTProbe_t.argCount 48 4
SDTProbeList_t.probe 0 56
SDTProbeList_t.next 56 8
SDTProvider_t.name 0 8
SDTProvider_t.probes 8 8
SDTProvider_t.errno 16 4
SDTProvider_t.error 24 8
SDTProvider_t._handle 32 8
SDTProvider_t._filename 40 8
SDTProvider_t._memfd 48 4
SDTProvider_t._use_memfd 52 4
sizes 56 64 56
MAX_ARGUMENTS 6
noError -1
elfCreationError 0
tmpCreationError 1
sharedLibraryOpenError 2
symbolLoadingError 3
sharedLibraryCloseError 4
noarg 0
uint8 1
int8 -1
uint16 2
int16 -2
uint32 4
int32 -4
uint64 8
int64 -8
memfd_disabled 0
memfd_enabled 1
providerInit 1
providerUseMemfd 1
providerAddProbe 1
providerLoad 1
providerUnload 1
providerDestroy 1
probeFire 1
probeIsEnabled 1'
with() { gcc -O2 -Wall -Wextra -Werror -I"$1" "${@:2}" -L"$library/stapsdt" -lstapsdt -Wl,-rpath,"${rpath:-$library/stapsdt}"; }
with "$INCLUDE/fastsdt/stapsdt" "$here/stapsdt_layout.c" -o layout
expect "structures" "$(./layout)" "$recorded"
# And of that header itself, where it is installed.
for header in /usr/include/libstapsdt.h /usr/local/include/libstapsdt.h; do
    [ -e "$header" ] || continue
    with "${header%/*}" "$here/stapsdt_layout.c" -o theirs
    expect "structures of $header" "$(./theirs)" "$recorded"
done

user_folder
cp "$library/stapsdt/libstapsdt.so.0" .
rpath=$PWD with "$INCLUDE/fastsdt/stapsdt" "$here/stapsdt_target.c" -o target
g++ -x c++ -Wall -Wextra -Werror -fsyntax-only -I"$INCLUDE/fastsdt/stapsdt" "$here/stapsdt_layout.c"
chmod 777 .
export TMPDIR=$PWD
./target misuse >out || fail "misuse: status $?: $(cat out)"
expect "misuse" "$(cat out)" '7 arguments: 1|0|many: a probe has up to 6 arguments of 1, 2, 4 or 8 bytes
a size: 1|0|odd: a probe has up to 6 arguments of 1, 2, 4 or 8 bytes
before: 0 1 0
loaded: 0 1 1
nobody traces: 0 0 1
use_memfd: 0
unloaded: 0 1 1
use_memfd: 1
again, from a file: 0 1
once more, with another: 0 1
unloaded by somebody else: -1|4 1
and loaded: 0
a long name: -1|1|a name has at most 255 bytes
a blank: -1|0|shop: "a b" is no name that tracers could ask for
no folder: -1|2|/nowhere: no file can be made: No such file or directory'
tracers 6 ./target memory
tracers 6 ./target file
expect "files that are left" "$(ls fastsdt-* 2>/dev/null || true)" ""
