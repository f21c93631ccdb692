#!/bin/bash
# fastsdt-check --diff: probes that went, came or changed between two builds; nothing if only the code differs.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc ar
check() { # STATUS WORDS...: output in out
    local expected=$1 status=0
    shift
    fastsdt-check --diff "$@" >out 2>err || status=$?
    [ $status = "$expected" ] || fail "status $status, not $expected: $*: $(cat out err)"
}
cat >a.c <<'END'
#include <fastsdt.h>
#include <sys/sdt.h>
int main(int argc, char **argv)
{
    double d = argc;
    long l = argc;
    FASTSDT(shop, order, argc, argv[0]);
    FASTSDT(shop, kept, argc, d);
    STAP_PROBE1(shop, wider, FORM);
#ifdef OLD
    FASTSDT(shop, gone);
#else
    FASTSDT(shop, came, (unsigned short)argc);
#endif
#ifdef TWO_FORMS
    FASTSDT(shop, order, l, argv[0]);
#endif
    return (int)l - argc;
}
END
gcc -O2 -DOLD -DFORM=argc -I"$INCLUDE" a.c -o old
gcc -O2 -DFORM=l -I"$INCLUDE" a.c -o new
gcc -O0 -DOLD -DFORM=argc -DFASTSDT_LAYOUT=nop -no-pie -I"$INCLUDE" a.c -o other-code
gcc -O2 -DFORM=l -DTWO_FORMS -I"$INCLUDE" a.c -o forms

check 1 old new
expect "old to new" "$(cat out)" "- shop:gone  no arguments
! shop:wider  -4  ->  -8
+ shop:came  2
1 gone, 1 changed, 1 new, 2 the same"
check 0 old other-code
expect "another build" "$(cat out)" "4 probes, nothing has changed"
check 1 new forms
expect "a second form" "$(sed -n 1p out)" "! shop:order  -4 8  ->  -4 8, or -8 8"
check 0 --fail-on never old new
check 1 --summary old new
expect "summary" "$(cat out)" "1 gone, 1 changed, 1 new, 2 the same"
check 0 --probe came old new
expect "only came" "$(cat out)" "+ shop:came  2
1 new"
check 0 --probe 'shop:k*' old new

# The same source with systemtap's header, which marks floats.
for header in /usr/include/sys/sdt.h /usr/include/"$(gcc -print-multiarch)"/sys/sdt.h; do
    [ -e "$header" ] && ! grep -q fastsdt "$header" || continue
    printf '#include <sys/sdt.h>\nint main(int c, char **v) { double d = c; STAP_PROBE3(shop, all, c, v, d); return 0; }\n' >peer.c
    gcc -O2 peer.c -o theirs
    gcc -O2 -I"$INCLUDE" peer.c -o ours
    check 0 theirs ours
    expect "systemtap's header and ours" "$(cat out)" "1 probe, nothing has changed"
done

# Archives and objects, JSON, and what cannot be compared.
gcc -O2 -c -DOLD -DFORM=argc -I"$INCLUDE" a.c -o old.o
rm -f lib.a
ar rc lib.a old.o
check 0 lib.a old
check 1 --json lib.a new
python3 - out <<'P' || fail "the JSON is not as docs/json.md says: $(cat out)"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == 1 and d["old"] == "lib.a" and d["new"] == "new", d
assert d["summary"] == {"gone": 1, "changed": 1, "came": 1, "same": 2}, d
assert [(c["change"], c["probe"]) for c in d["changes"]] == [("gone", "shop:gone"), ("changed", "shop:wider"), ("came", "shop:came")], d
assert d["changes"][1]["old"] == {"arguments": ["-4"], "sites": 1, "semaphore": False}, d
assert d["changes"][0]["new"] is None and d["changes"][2]["old"] is None, d
P
check 2 old none
[ ! -s out ] || fail "half a comparison"
check 2 old
check 2 old new forms
check 2 --plan old new
check 2 --functions old new
check 2 old a.c
