#!/bin/bash
# CPython from Debian's unchanged sources, configured --with-dtrace: its configure script and makefile take our dtrace for systemtap's,
# and the objects with probes have the same ones with the same arguments. tests/long/real-programs.sh builds all of it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/programs/common.sh"
need gcc make
. "$FASTSDT_SOURCE/tests/long/real-programs/cpython.sh"
source=$PWD/source
fetch "$package"
[ -e "$source" ] || { dpkg-source --no-copy -x "$archives"/*.dsc part >unpack.log 2>&1 && mv part "$source"; } ||
    fail "cannot unpack $package: $(tail -n 1 unpack.log)"
mapfile -t objects < <(cd "$source" && grep -rl 'PyDTrace_[A-Z]' Python Modules Objects --include='*.c' | sed 's/c$/o/' | sort)
mkdir -p bin
ln -sf "$FASTSDT_BUILD/bin/fastsdt-dtrace" bin/dtrace

# made WHAT: in the folder of that name, what the makefile makes of the objects with probes. CPPFLAGS and PATH choose the header and the dtrace.
made() {
    rm -rf "$1"
    mkdir "$1"
    (
        cd "$1"
        [ ! -e ../config.cache ] || cp ../config.cache .
        CC=gcc CFLAGS=-O2 configure >configure.log 2>&1 || fail "$1: configure: $(tail -n 3 configure.log)"
        [ -e ../config.cache ] || grep -Evi '^ac_cv_env|dtrace|sdt' config.cache >../config.cache
        grep -qx '#define WITH_DTRACE 1' pyconfig.h || fail "$1: configured without probes"
        make -j2 CC=gcc "${objects[@]}" >make.log 2>&1 || fail "$1: make: $(tail -n 5 make.log)"
        # Addresses and registers are the compiler's choice; provider, name, sizes and signs are the program's.
        readelf -nW "${objects[@]}" | awk '/Provider: / { provider = $NF } /^ *Name: / { name = $2 }
            /^ *Arguments:/ { sub(/^ *Arguments: */, ""); gsub(/f?@[^ ]*/, ""); print provider ":" name, $0 }' | sort -u >probes
    )
}
rm -f config.cache
CPPFLAGS="" made systemtap
CPPFLAGS=-I$INCLUDE PATH=$PWD/bin:$PATH made fastsdt
grep -q "^DTRACE=.*$PWD/bin/dtrace" fastsdt/Makefile || fail "the makefile has another dtrace: $(grep '^DTRACE=' fastsdt/Makefile)"
readelf -SW "${objects[@]/#/fastsdt/}" | matches 'note.fastsdt' || fail "the objects were not made with our header"
expect "probes of ${#objects[@]} objects" "$(cat fastsdt/probes)" "$(cat systemtap/probes)"
[ "$(wc -l <fastsdt/probes)" -ge 8 ] || fail "few probes: $(cat fastsdt/probes)"
"$FASTSDT_BUILD/bin/fastsdt-check" --no-lines "${objects[@]/#/fastsdt/}" >check.log || fail "fastsdt-check: $(tail -n 5 check.log)"
