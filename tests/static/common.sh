# Sourced after tests/common.sh by the scripts of this folder.

# static_file: links the file of this build's objects, as ./fastsdt.
static_file() {
    local status=0
    need gcc cmake objcopy readelf strip
    [ "$(uname -m)" = x86_64 ] || skip "only on x86-64"
    "$FASTSDT_SOURCE/packaging/static.sh" --libraries "$FASTSDT_BUILD/static" 2>err || status=$?
    [ $status != 4 ] || skip "$(tail -n 1 err)"
    [ $status = 0 ] || fail "$(cat err)"
    cmake --build "$FASTSDT_BUILD" --target fastsdt-static >log 2>&1 || fail "linking: $(tail -n 5 log)"
    strip -o fastsdt "$FASTSDT_BUILD/bin/fastsdt-static"
}
