#!/bin/bash
# fastsdt-trace latency: one time for each pair of hits in a thread; and bpftrace takes its script.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
cat >pairs.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#include <stddef.h>

static void* work(void* unused)
{
    for (int i = 0; i < 1000; ++i) {
        FASTSDT(shop, begin, i);
        for (volatile int k = 0; k < 1000; ++k) {}
        FASTSDT(shop, end, i);
    }
    FASTSDT(shop, end, -1); /* without a beginning */
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    return 0;
}
END
gcc -O2 -pthread -I"$INCLUDE" pairs.c -o pairs
for engine in $(engines); do
    fastsdt-trace latency --engine $engine ./pairs:shop:begin ./pairs:shop:end -- ./pairs >out 2>err || fail "--engine $engine: $(cat err out)"
    # bpftrace 0.27 prints stats as { .count = N, .average = N, .total = N }.
    read -r count average < <(sed -n 's/^@total: [^0-9]*\([0-9]*\), [^0-9]*\([0-9]*\), [^0-9]*[0-9]*[^0-9]*$/\1 \2/p' out)
    expect "--engine $engine: pairs" "$count" 4000
    # A thousand turns of a loop take a thousand cycles at the very least: 100 ns at 10 GHz. And far less than a second.
    [ "$average" -ge 100 ] && [ "$average" -lt 1000000000 ] || fail "--engine $engine: $average ns a pair: $(cat out)"
    expect "--engine $engine: the histogram" "$(sed -n '/^@ns:/,/^$/s/^\[.*) *\([0-9]*\) |.*/\1/p' out | awk '{ n += $1 } END { print n }')" 4000
done
# One pair has one time, and its bucket begins no higher and ends above it.
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
fastsdt-trace latency --engine user order closed -- ./app 1 >out 2>err || fail "one pair: $(cat err out)"
total=$(sed -n 's/^@total: count 1, average \([0-9]*\), total \1$/\1/p' out)
low=$(sed -n 's/^\[\([0-9]*\)\(K\?\), .*/\1 \2/p' out | awk '{ print $2 == "K" ? $1 * 1024 : $1 }')
[ "$low" -le "$total" ] && [ "$total" -lt $((low < 2 ? low + 1 : 2 * low)) ] || fail "one pair: $(cat out)"
fastsdt-trace latency --engine user shop:begin end -- ./pairs >out 2>err || fail "every file: $(cat err out)"
grep -q '^@total: count 4000, ' out || fail "every file: $(cat err out)"
# Without a pair there is no histogram, which words say.
fastsdt-trace latency --engine user shop:closed shop:order -- ./app 2 >out 2>err || fail "no pair: $(cat err out)"
expect "no pair" "$(sed 's/ in [0-9.e-]* s$/ in N s/' out)" "open
2 orders
no shop:order behind shop:closed in the same thread in N s
sites $(readelf -n app | grep -c 'Name: ') of $(readelf -n app | grep -c 'Name: ') armed; dropped 0"
fastsdt-trace latency --engine user --json shop:closed shop:order -- ./app 2 >out 2>err || fail "no pair: $(cat err out)"
expect "no pair: JSON" "$(grep '^no' out)" ""
fastsdt-trace latency --engine user ./pairs:work -t 0.3 -- sleep 0.1 >out 2>err && fail "no call: status 0"
grep -qE '^no call of ./pairs:work that returned in [0-9.]+ s$' out || fail "no call: $(cat err out)"
# From a probe to its own next hit: one time fewer than hits in each of the threads, and each lasts as long as the loop between them.
fastsdt-trace latency --engine user shop:begin begin -- ./pairs >out 2>err || fail "the same probe twice: $(cat err out)"
read -r count average < <(sed -n 's/^@total: count \([0-9]*\), average \([0-9]*\), .*/\1 \2/p' out)
expect "the same probe twice: times" "$count" 3996
[ "$average" -ge 100 ] || fail "the same probe twice: $average ns from hit to hit"
# glibc in a static program is no file that tells where it keeps tid: a sentence names the option that lets stubs ask.
gcc -O2 -pthread -static -I"$INCLUDE" pairs.c -o static
if ! fastsdt-trace latency --engine user begin end -- ./static >out 2>err; then
    grep -q 'want tid, which takes a system call' out || fail "static: $(cat err out)"
    grep -qx 'fastsdt-trace: --read-memory allows system calls in a program that sets no filter' err || fail "static: $(cat err out)"
    fastsdt-trace latency --engine user --read-memory begin end -- ./static >out 2>err || fail "static: $(cat err out)"
    grep -q '^@total: count 4000, ' out || fail "static: $(cat out)"
fi
for wrong in "" "a b c" "a:b:c" "shop:begin shop:e{nd" "a:b:c:d d"; do
    status=0
    fastsdt-trace latency $wrong -- ./pairs >out 2>err || status=$?
    expect "latency $wrong: status" "$status" 2
    [ "$(wc -l <err)" = 1 ] || fail "latency $wrong: $(cat err)"
done
