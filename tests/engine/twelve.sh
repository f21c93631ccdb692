#!/bin/bash
# The twelve arguments that a site can have, of all sizes and signs, as gdb reads them. bpftrace has arg0 to arg9 only.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc gdb
cat >twelve.c <<'E2'
#include <fastsdt.h>
volatile signed char a = -1;
volatile unsigned char b = 0xfe;
volatile short c = -3;
volatile unsigned short d = 0xfffc;
volatile int e = -5, f = 6;
volatile unsigned g = 0xfffffff9;
volatile long h = -8;
volatile unsigned long i = 0xfffffffffffffff7ul;
const char *volatile text = "the last";
int main(void)
{
    FASTSDT(t, twelve, a, b, c, d, e, f, g, h, i, 10, -11l, text);
    return 0;
}
E2
words=() format='' asked=''
for n in {0..11}; do
    words+=("@a$n = arg$n;")
    format+="@a$n: %lu\\n" asked+=", (unsigned long) \$_probe_arg$n"
done
for compiler in gcc $(newest clang); do
    have "$compiler" || continue
    $compiler -O2 -no-pie -I"$INCLUDE" twelve.c -o twelve
    gdb -nx -q -batch -ex 'break -probe-stap t:twelve' -ex run -ex "printf \"$format\"$asked" ./twelve 2>gdb.err | grep '^@a[0-9]*:' >gdb.txt ||
        fail "gdb: $(cat gdb.err)"
    expect "$compiler: gdb's values" "$(wc -l <gdb.txt)" 12
    for engine in auto $(engines | grep -v bpftrace); do
        fastsdt-trace --engine $engine -e "usdt:./twelve:t:twelve { ${words[*]} @text = str(arg11); @sum = sum(arg10 + arg5) }" \
            -- ./twelve >out 2>err ||
            fail "$compiler: $(cat err)"
        grep '^@a' out | sort >user.txt
        sort gdb.txt | diff - user.txt >difference || fail "$compiler: < gdb, > fastsdt-trace: $(cat difference)"
        expect "$compiler: the string and the sum" "$(grep -E '^@(text|sum)' out | sort | xargs)" "@sum: 18446744073709551611 @text: the last"
    done
done
# A site of ten has no arg10; bpftrace is not asked for what it cannot do.
sed 's/, 10, -11l, text//' twelve.c >nine.c && gcc -O2 -I"$INCLUDE" nine.c -o nine
status=0
fastsdt-trace --engine user -e 'usdt:./nine:t:twelve { @ = arg10 }' -- ./nine >out 2>err || status=$?
[ $status != 0 ] || fail "a site without arg10 was traced: $(cat out err)"
cat out err | matches 'no arg10' || fail "unclear: $(cat out err)"
status=0
fastsdt-trace --engine bpftrace -e 'usdt:./twelve:t:twelve { @ = arg11 }' -- ./twelve >out 2>err || status=$?
expect "--engine bpftrace" "$status $(cat out err)" "2 fastsdt-trace: bpftrace has no arg11, the arguments of its probes are arg0 to arg9"
