#!/bin/bash
# -d ast, ir and code: what becomes of a script. Stable, since people and tests compare it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
SCRIPT='usdt:./app:shop:order /arg0 > $1/ { @[str(arg1), 07] = hist(arg0); $x = (int8)arg0; $x -= $x++ ? 2 : 3; printf("%d\n", $x); }'
show() { fastsdt-trace -d "$1" -e "$SCRIPT" 5 "${@:2}" 2>err || fail "$1: $(cat err)"; }
expect "ast" "$(show ast)" 'clause
  probe usdt:./app:shop:order
  filter
    infix >
      word arg0
      parameter $1
  assign =
    map @
      call str
        word arg1
      number 7
    call hist
      word arg0
  assign =
    variable $x
    cast to int8
      word arg0
  assign -=
    variable $x
    choice
      then ++
        variable $x
      number 2
      number 3
  call printf
    text "%d\n"
    variable $x'
expect "ir" "$(show ir)" 'usdt:./app:shop:order
    v0 = arg0
    v1 = 5
    v2 = v0 > v1
    jump L0 if not v2
    v3 = arg0
    v4 = arg1
    read text at v4 to key.1[0:64]
    v5 = 7
    store key.1[64:8], v5
    hist @[key.1] v3
    v6 = arg0
    v7 = 255
    v8 = v6 & v7
    v9 = 128
    v10 = v8 ^ v9
    v11 = 128
    v12 = v10 - v11
    store $x.0, v12
    v13 = load $x.0
    v14 = load $x.0
    v15 = 1
    v16 = v14 + v15
    store $x.0, v16
    store before.3, v14
    v17 = load $x.0[0:1], signed
    store $x.0, v17
    v18 = load before.3
    jump L1 if not v18
    v19 = 2
    store choice.2, v19
    jump L2
L1:
    v20 = 3
    store choice.2, v20
L2:
    v21 = load choice.2
    v22 = v13 - v21
    store $x.0, v22
    v23 = load $x.0
    event 3, printf, v23
L0:'
# A stage of a script with an error is that error.
status=0
fastsdt-trace -d ir -e 'BEGIN { @ = $y; }' >out 2>err || status=$?
expect "an error" "$status $(sed -n 1p err)" '2 -e:1:13: error: $y has no value here'
status=0
fastsdt-trace -d nothing -e 'BEGIN { }' >out 2>err || status=$?
[ $status != 0 ] || fail "a stage that is none"
# The last one is of a process.
cat >app.c <<'END_OF_C'
#include <fastsdt.h>
int main(void)
{
    FASTSDT(shop, order, 5, "text");
    return 0;
}
END_OF_C
gcc -O1 -I"$INCLUDE" app.c -o app
status=0
fastsdt-trace -d code -e 'usdt:./app:shop:order { @ = count(); }' >out 2>err || status=$?
[ $status != 0 ] || fail "code without a process"
fastsdt-trace -d code -e 'usdt:./app:shop:order { @ = count(); }' -- ./app >out 2>err || fail "code: $(cat err)"
fastsdt-trace --dry-run -e 'usdt:./app:shop:order { @ = count(); }' -- ./app >dry 2>err || fail "dry: $(cat err)"
expect "code" "$(sed 's/0x[0-9a-f]*//g; s/[0-9a-f]\{6,\}//g' out | wc -l)" "$(sed 's/0x[0-9a-f]*//g; s/[0-9a-f]\{6,\}//g' dry | wc -l)"
grep -q 'can be armed' out || fail "code: $(cat out)"
