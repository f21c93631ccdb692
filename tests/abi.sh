# Sourced by tests of a library's recorded interface. They set `recorded`, the file, `header`, `library`, `map`, its version script, and
# `functions`, a pattern of its declarations.

# declared HEADER: makes declared.so, a library of functions that do nothing, as the header declares them: of the real one abidiff would tell what
# is inside. Types of functions are no declarations.
declared() {
    {
        echo "#include \"$1\""
        grep -v '^typedef void' "$1" | tr '\n' ' ' | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/,,g' | grep -oE "$functions\([^()]*\);" |
            sed -e 's/^\(void .*\);$/\1 { }/' -e 's/;$/ { return 0; }/'
    } >stub.c
    gcc -g -fPIC -shared -Wno-unused-parameter -Wno-int-conversion -I"$INCLUDE" stub.c -o declared.so -Wl,-soname,"${library##*/}.0" \
        -Wl,--version-script="$map" || fail "the declarations of $1 do not compile"
}
symbols() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort; }
soname() { readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'; }
# compare HEADER: what abidiff says is in the file diff, its status the status: 4 is a difference, 8 one that breaks programs.
compare() {
    declared "$1"
    status=0
    abidiff --no-architecture "$recorded" declared.so >diff 2>&1 || status=$?
    [ $((status & 3)) = 0 ] || fail "abidiff: $(cat diff)"
}
# exports LEAST: the library, if it is built, has what the header declares, LEAST functions or more, and nothing else.
exports() {
    declared "$header"
    [ "$(symbols declared.so | wc -l)" -ge "$1" ] || fail "the functions of the header are not found: $(cat stub.c)"
    [ -e "$library" ] || skip "the tools are not built"
    diff <(symbols declared.so) <(symbols "$library") || fail "the header and the library differ (< header, > library)"
    expect "SONAME" "$(soname "$library")" "${library##*/}.0"
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
