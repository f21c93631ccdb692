#!/bin/bash
# An 8-byte value in a 32-bit file, named by one register of the pair that holds it: gdb reads half, and the check says so.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc gdb
check=$FASTSDT_BUILD/bin/fastsdt-check
cat > pair.c <<'E'
#include <sys/sdt.h>
long long wide(void);
int main(void) { long long v = wide(); STAP_PROBE2(pair, wide, v, 7); return 0; }
E
echo 'long long wide(void) { return 0x1122334455667788; }' > wide.c
[ "$(uname -m)" = x86_64 ] && echo 'int main(void) { return 0; }' | gcc -m32 -x c - -o small 2> /dev/null && ./small ||
    skip "this machine builds and runs no 32-bit programs"
read_by_gdb() { # what gdb reads for the first argument
    gdb -nx -batch -ex 'break -probe-stap pair:wide' -ex run -ex 'printf "READ %llx\n", $_probe_arg0' "$1" 2> /dev/null < /dev/null |
        sed -n 's/^READ //p'
}
# The header writes such a value to memory, unless a constraint of the program's own says otherwise.
for constraint in "" -DSTAP_SDT_ARG_CONSTRAINT=nr; do
    gcc -m32 -O1 -I"$FASTSDT_SOURCE/include" $constraint pair.c wide.c -o pair
    $check --no-lines pair > found || true
    if [ -z "$constraint" ]; then
        expect "gdb, in memory" "$(read_by_gdb ./pair)" 1122334455667788
        ! grep argument-misread found || fail "a value in memory is reported"
    else
        readelf -nW pair | matches 'Arguments: -8@%e' || fail "not in a register: $(readelf -nW pair | grep Arguments)"
        [ "$(read_by_gdb ./pair)" != 1122334455667788 ] || fail "gdb reads a pair of registers"
        matches 'argument 1 -8@%e.*holds half.*argument-misread' < found || fail "not reported: $(cat found)"
        ! grep 'argument 2' found || fail "an argument of 4 bytes is reported"
    fi
done
