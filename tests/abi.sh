# Sourced by tests of a library's recorded interface. They set `recorded`, the file, and `header`, and define
# declared HEADER: makes declared.so, a library of functions that do nothing, as the header declares them: of the real one abidiff would tell what is inside.
symbols() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort; }
soname() { readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'; }
# compare HEADER: what abidiff says is in the file diff, its status the status: 4 is a difference, 8 one that breaks programs.
compare() {
    declared "$1"
    status=0
    abidiff --no-architecture "$recorded" declared.so >diff 2>&1 || status=$?
    [ $((status & 3)) = 0 ] || fail "abidiff: $(cat diff)"
}
# The header is the recorded one, or FASTSDT_RECORD records it.
same_interface() {
    declared "$header"
    if [ -n "${FASTSDT_RECORD:-}" ]; then
        abidw --no-comp-dir-path --no-corpus-path --no-show-locs --no-architecture --out-file "$recorded" declared.so
    fi
    compare "$header"
    [ $status = 0 ] || fail "the interface is not the recorded one$([ $((status & 8)) = 0 ] || echo ', and programs break'): $(cat diff)"
}
# breaks NAME SED-COMMAND: that it can fail.
breaks() {
    sed "$2" "$header" >changed.h
    ! cmp -s "$header" changed.h || fail "$1: the header has not changed"
    compare "$PWD/changed.h"
    [ "$status" != 0 ] || fail "$1: not seen"
}
