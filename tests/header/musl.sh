#!/bin/bash
# Another libc: the headers need none. musl-gcc compiles, links and runs a program with a probe by each name.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
need musl-gcc

cat > musl.c <<'E'
#include <sys/sdt.h>
#include "usdt.h"
#include <stdio.h>
FASTSDT_DEFINE_SEMA(mine);
int main(int argc, char **argv)
{
    STAP_PROBE2(musl, stap, argc, argv);
    USDT_WITH_SEMA(musl, usdt, argc);
    FASTSDT_WITH(default, explicit(mine), musl, own, argc * 2L);
    puts(USDT_IS_ACTIVE(musl, usdt) || FASTSDT_SEMA_IS_ACTIVE(mine) ? "traced" : "not traced");
    return 0;
}
E
for options in "-O0" "-O2" "-O2 -static"; do
    musl-gcc $options -Wall -Wextra -Werror -I"$INCLUDE" musl.c -o musl || fail "musl-gcc $options"
    expect "musl-gcc $options: the program" "$(./musl)" "not traced"
    expect "musl-gcc $options: the notes" "$(readelf -n musl | sed -n 's/^ *Name: //p' | xargs)" "stap usdt own"
    expect "musl-gcc $options: the sizes" "$(readelf -n musl | sed -n 's/^ *Arguments: //p' | sed 's/@[^ ]*//g' | xargs)" "-4 8 -4 -8"
done
! readelf -lW musl | grep INTERP || fail "not the static program"
