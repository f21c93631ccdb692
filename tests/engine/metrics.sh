#!/bin/bash
# examples/metrics, as an ordinary user: several clients at once make a fixed number of orders. The metrics to be scraped are worked out here.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
user_folder
cp "$FASTSDT_BUILD"/lib/libfastsdt-trace.so.0 .
gcc -O2 -Wall -Wextra -Werror -I"$INCLUDE" "$FASTSDT_SOURCE/examples/metrics/metrics.c" -o metrics \
    -L"$FASTSDT_BUILD/lib" -lfastsdt-trace -pthread -Wl,-rpath,"\$ORIGIN" || fail "the example does not compile"
for wrong in "" 65536 12x; do
    status=0
    ./metrics $wrong >out 2>err || status=$?
    expect "metrics $wrong" "$status $(cat err)" "2 usage: metrics PORT"
done

mkfifo said
"${as_user[@]}" ./metrics 0 >said 2>err &
pid=$!
read -r line <said || fail "it ended: $(cat err)"
port=${line##* }
get() { # get PATH: the body
    exec 7<>"/dev/tcp/127.0.0.1/$port" || fail "no connection: $(cat err)"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$1" >&7
    sed '1,/^\r$/d' <&7
    exec 7>&-
}

# Nothing yet; then 40 requests of 997 orders by 4 clients.
get /metrics >scraped
grep -qx 'shop_order_cents_count 0' scraped || fail "before the first order: $(cat scraped err)"
requests=40 n=997
clients=()
for client in 1 2 3 4; do
    (for ((i = 0; i < requests / 4; ++i)); do [ "$(get "/orders?n=$n")" = "thank you" ] || exit 1; done) &
    clients+=($!)
done
for client in "${clients[@]}"; do wait "$client" || fail "a client: $(cat err)"; done
expect "another path" "$(get /else)" "/metrics or /orders?n=N"
get /metrics >scraped

# Order i of a request: shop i % 3, i * 37 % 5000 cents.
awk -v n=$n -v times=$requests 'BEGIN {
    for (i = 0; i < n; ++i) {
        shops[i % 3] += times
        cents = i * 37 % 5000
        sum += cents * times
        for (high = 0; high < cents; high = 2 * high + 1) ;
        at[high] += times
        if (high > most) most = high
    }
    print "# TYPE shop_orders_total counter"
    for (s = 0; s < 3; ++s) printf "shop_orders_total{shop=\"%d\"} %d\n", s, shops[s]
    print "# TYPE shop_order_cents histogram"
    for (high = 0; ; high = 2 * high + 1) {
        all += at[high]
        printf "shop_order_cents_bucket{le=\"%d\"} %d\n", high, all
        if (high == most) break
    }
    printf "shop_order_cents_bucket{le=\"+Inf\"} %d\nshop_order_cents_sum %d\nshop_order_cents_count %d\n", all, sum, all
    print "shop_dropped_total 0"
}' >wanted
grep -v request_seconds scraped | grep -vE '^# (TYPE shop_dropped|HELP)' >figures
diff wanted figures || fail "(< wanted, > scraped) $(cat err)"
# The durations cannot be known here, but their number can. If the processor's counter is no clock, the server said so.
if grep -q request_seconds scraped; then
    grep -qx "shop_request_seconds_count $requests" scraped || fail "durations: $(grep request_seconds scraped)"
else
    grep -q nsecs err || fail "no durations: $(cat err)"
fi
if have promtool; then
    promtool check metrics <scraped >out 2>&1 || fail "promtool: $(cat out)"
else
    echo "promtool is not installed: the format is compared with the awk program only"
fi
kill -TERM $pid
wait $pid || fail "its end: $(cat err)"
[ ! -s err ] || grep -q nsecs err || fail "it complains: $(cat err)"
