#!/bin/bash
# Drop-in: the same source built with systemtap's sys/sdt.h, with libbpf's usdt.h and with ours has the same probes with
# the same numbers, sizes and signs of arguments, as readelf prints them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the sources name x86-64 registers"

mkdir -p installed/sys
for file in /usr/include/sys/sdt.h /usr/include/"$(gcc -print-multiarch)"/sys/sdt.h; do
    [ ! -e "$file" ] || cp "$file" "${file%.h}-config.h" installed/sys/
done
systemtaps= usdt=
[ ! -e installed/sys/sdt.h ] || systemtaps=$PWD/installed
if peers=$(timeout 300 bash "$here/fetch-peers.sh" "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}" 2> peers.err); then
    systemtaps="$systemtaps $peers/systemtap" usdt=$peers/libbpf
else
    echo "without the newest headers to compare with: $(tail -1 peers.err)"
fi
[ -n "$systemtaps" ] || skip "neither systemtap-sdt-dev nor a Debian mirror is here"

# Name and arguments of each probe. Ours has no `f` before the @ of doubles.
whole_text() {
    readelf -nW "$1" | sed -n 's/.*Provider: /P /p; s/^ *Name: /N /p; s/^ *Arguments: */A /p' |
        awk '{ t = $1; sub(/^. ?/, "") } t == "P" { p = $0 } t == "N" { n = $0 } t == "A" { print p ":" n " " $0 }' |
        sed 's/f@/@/g' | sort -u
}
sizes() { whole_text "$1" | sed 's/@[^ ]*//g' | sort -u; }
# In C++ the other headers take every enumeration for unsigned (signs.sh tells who is right).
signed_enums() { sizes "$1" | sed -E 's/^(t:(enumerator_|negative_|scoped_|wide_|template_value)) ([0-9])$/\1 -\3/' | sort -u; }
count=0
compare() { # compare FILTER WHAT PEER-INCLUDE COMPILER...
    local filter=$1 what=$2 peer=$3
    shift 3
    rm -f theirs ours
    "$@" -I"$peer" -o theirs || fail "$what: with the header that ours stands in for"
    "$@" -I"$INCLUDE" -o ours || fail "$what: with our header"
    $filter theirs > theirs.txt
    $filter ours > ours.txt
    [ -s theirs.txt ] || fail "$what: no probes to compare"
    diff theirs.txt ours.txt > difference || fail "$what: theirs and ours differ"$'\n'"$(cat difference)"
    count=$((count + $(wc -l < ours.txt)))
}

stap=(-w -DWIDE -include sys/sdt.h '-DP0(n)=STAP_PROBE(t,n)' '-DP1(n,a)=STAP_PROBE1(t,n,a)' '-DP3(n,a,b,c)=STAP_PROBE3(t,n,a,b,c)'
    '-DP12(n,...)=STAP_PROBE12(t,n,__VA_ARGS__)')
libbpf=(-w -DWIDE -include usdt.h '-DP0(n)=USDT(t,n)' '-DP1(n,a)=USDT(t,n,a)' '-DP3(n,a,b,c)=USDT(t,n,a,b,c)'
    '-DP12(n,...)=USDT(t,n,__VA_ARGS__)')
used=
# usable COMPILER PEER-INCLUDE HEADER SOURCE: older compilers cannot use the newest of the other headers.
usable() {
    echo "$4" | $1 -I"$2" -include $3 -x c -c -o peer.o - 2> log && { used="$used $2"; return; }
    [ -n "${FASTSDT_COMPILERS:-}" ] || fail "$1 with $2/$3: $(cat log)"
    echo "$1 cannot use $2/$3"
    return 1
}
# GNU ld before 2.36 refuses to join clang's notes in link order with plain ones, such as STAP_PROBE_ASM's.
mixed=
! binutils_before 2.36 ld.bfd || mixed=-fuse-ld=lld
peers=$systemtaps newest=$usdt
for c in $(have_of gcc-12 gcc-11 clang-14 clang-19); do
    systemtaps= usdt=
    for peer in $peers; do ! usable $c "$peer" sys/sdt.h 'void f(void) { STAP_PROBE(t, p); }' || systemtaps="$systemtaps $peer"; done
    [ -z "$newest" ] || ! usable $c "$newest" usdt.h 'USDT_DECLARE_SEMA(s); void f(void) { USDT_WITH_EXPLICIT_SEMA(s, t, p, 1); }' ||
        usdt=$newest
    [ -n "$systemtaps" ] || fail "$c has no systemtap header to compare with"
    for lang in c c++; do
        [ $lang = c ] && compiler=$c || compiler=$(cxx_of $c)
        have $compiler || continue
        [ $lang = c ] && filter=sizes || filter=signed_enums
        for level in -O0 -O2; do
            for peer in $systemtaps; do
                compare $filter "$c $lang $level" "$peer" \
                    $compiler -x $lang $level "${stap[@]}" "$here/surface.c" -lstdc++
            done
            [ -z "$usdt" ] ||
                compare $filter "$c $lang $level usdt.h" "$usdt" \
                    $compiler -x $lang $level "${libbpf[@]}" "$here/surface.c" -lstdc++
        done
    done
    for peer in $systemtaps; do
        [[ $c = clang* ]] || compare whole_text "$c assembly" "$peer" $c "$here/surface.S"
        compare whole_text "$c private names" "$peer" $c $([[ $c = gcc* ]] || echo $mixed) -O2 "$here/surface-private.c"
    done
    [ -z "$usdt" ] || compare whole_text "$c usdt.h" "$usdt" $c -O2 "$here/surface-usdt.c"
    [ -z "$usdt" ] || compare whole_text "$c usdt.h, a nop of one's own" "$usdt" $c -O2 -DWITH_NOP "$here/surface-usdt.c"
done
# The user's constraints are the user's: memory operands where ours would have none.
printf '#include <sys/sdt.h>\n#include "usdt.h"\nint g; ' > constraint.c
echo 'int main(void) { STAP_PROBE1(t, stap, g); USDT(t, usdt, g); FASTSDT(t, own, g); return 0; }' >> constraint.c
gcc -O2 -no-pie -fno-pie -DSTAP_SDT_ARG_CONSTRAINT=m -DUSDT_ARG_CONSTRAINT=m -DFASTSDT_ARG_CONSTRAINT=m \
    -I"$INCLUDE" constraint.c -o constraint
expect "constraints of the user's" "$(whole_text constraint)" "$(printf 't:own -4@g(%%rip)\nt:stap -4@g(%%rip)\nt:usdt -4@g(%%rip)')"

[ $count -gt 0 ] || fail "no compiler, or no header, to compare with"
echo "$count probes compared with: $(basename -a $used | sort -u | xargs)"
