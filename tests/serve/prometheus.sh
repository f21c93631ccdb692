#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# fastsdt-trace serve under a real Prometheus: counts equal what the targets say, over their restart and a reload; bad clients, bad
# configurations, limits, and a service that is killed.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
. "$FASTSDT_SOURCE/tests/serve/common.sh"
case $(fastsdt-trace serve --config absent 2>&1 || true) in
*"serve is not in this build"*) skip "fastsdt-trace is built without serve (FASTSDT_SERVE)" ;;
esac
need gcc curl prometheus promtool
need_attachable
scratch=$PWD
rm -rf data in2 out2 # of a former run
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/serve/app.c" -o app

# start: a target, whose input is descriptor 8 and output descriptor 7.
start() {
    rm -f in out && mkfifo in out
    ./app <in >out 7<&- 8>&- &
    app=$!
    started+=("$app")
    exec 8>in 7<out
}
end() {
    echo quit >&8
    wait "$app" || fail "the target: status $?"
}
# serve OPTIONS...: a service on a port of its own; leaves service and port.
serve() {
    rm -f log # a former service's, which said the same
    fastsdt-trace serve "$@" --listen 127.0.0.1:0 >log 2>&1 7<&- 8>&- &
    service=$!
    started+=("$service")
    await 'said "metrics at"'
    port=$(sed -n 's,.*metrics at http://127.0.0.1:\([0-9]*\)/.*,\1,p' log)
}
said() { grep -q "$1" log; }
scraped() { curl -fsS -m 10 "http://127.0.0.1:$port/metrics"; }
has() { scraped | matches -xF "$1"; }

cat >shop.bt <<'END'
usdt:*:app:hit { @hits = count(); @by[str(arg1)] = count(); @size = hist(arg0); @bytes = stats(arg0); @sum = sum(arg0); @high = max(arg0); }
END
echo 'usdt:*:app:hit /arg0 < 10/ { @few = count(); @each[arg0, str(arg1)] = lhist(arg0, 0, 10, 2); @last = str(arg1); @mean = avg(arg0); }' >more.bt
config() { # config EXTRA-SCRIPT
    cat <<END
{ // all targets of this folder
  "scripts": [ {"name": "shop", "file": "shop.bt", "exe": "$scratch/app", "maps": {"@by": {"name": "shop_hits_by", "labels": ["shop"], "keys": 2, "help": "with \"quotes\""}}}$1 ] }
END
}
config "" >trace.json

# Usage and configurations that are refused: one line with the file and the place.
refused() { # refused SENTENCE CONFIGURATION
    local status=0
    echo "$2" >bad.json
    fastsdt-trace serve --config bad.json >bad.out 2>&1 || status=$?
    expect "bad configuration" "$status $(cat bad.out)" "2 fastsdt-trace: bad.json: $1"
}
refused 'scripts: there is none' '{}'
refused 'nothing: there is no such setting' '{"nothing": 1}'
refused 'keys: a number from 1 to 1000000 is wanted' '{"keys": 0}'
refused 'listen: "here" is no ADDRESS:PORT, as 127.0.0.1:9946 is' '{"listen": "here"}'
refused 'scripts[0].exe[1]: a text is wanted' '{"scripts": [{"name": "a", "exe": ["/bin/sh", true]}]}'
refused 'scripts[0]: which processes? "exe", "comm", "cgroup", "container" and "user" say it, or "pid" alone' \
    '{"scripts": [{"name": "a", "script": "usdt:*:a:b { @ = count(); }", "user": 0, "pid": 1}]}'
refused 'scripts[0].file: absent.bt: No such file or directory' '{"scripts": [{"name": "a", "file": "absent.bt"}]}'
refused 'scripts[0].maps.@x.labels[0]: the label le has a meaning of its own' '{"scripts": [{"name": "a", "maps": {"@x": {"labels": ["le"]}}}]}'
status=0
fastsdt-trace serve --config absent.json 2>err || status=$?
expect "no file" "$status $(cat err)" "2 fastsdt-trace: absent.json: No such file or directory"
echo '{"scripts": [' >bad.json
status=0
fastsdt-trace serve --config bad.json 2>err || status=$?
[ $status = 2 ] && grep -q '^fastsdt-trace: bad.json: parse error at line 2, column 1' err || fail "syntax: $status $(cat err)"
echo 'usdt:*:a:b { @x = nothing(); }' >bad.bt
status=0
fastsdt-trace serve --exe ./app bad.bt 2>err || status=$?
[ $status = 2 ] && grep -q '^fastsdt-trace: bad.bt:1:19: ' err || fail "script: $status $(cat err)"
for address in here name:99 127.0.0.1:65536 ""; do
    status=0
    fastsdt-trace serve --listen "$address" --exe ./app shop.bt 2>err || status=$?
    expect "--listen $address" "$status $(cat err)" "2 fastsdt-trace: --listen: \"$address\" is no ADDRESS:PORT, as 127.0.0.1:9946 is"
done
status=0
fastsdt-trace serve --exe ./app -e 'BEGIN { @ = 1; }' 2>err || status=$?
expect "a clause of no probe" "$status $(cat err)" "2 fastsdt-trace: -e: BEGIN has nothing to do here: serve prints and clears no maps"

# A service, and Prometheus that asks it every half second.
start
serve --config trace.json
await 'has "fastsdt_sites_armed{script=\"shop\"} 1.0"'
web=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >prometheus.yml <<END
global: {scrape_interval: 500ms, scrape_timeout: 500ms}
scrape_configs: [{job_name: fastsdt, static_configs: [{targets: ["127.0.0.1:$port"]}]}]
END
promtool check config prometheus.yml >promtool.log 2>&1 || fail "$(cat promtool.log)"
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$web" >prometheus.log 2>&1 7<&- 8>&- &
started+=($!)
# ask EXPRESSION: its value, or several lines.
ask() {
    curl -fsS -G "http://127.0.0.1:$web/api/v1/query" --data-urlencode "query=$1" 2>/dev/null |
        /usr/bin/python3 -c 'import json, sys; print("\n".join(r["value"][1] for r in json.load(sys.stdin)["data"]["result"]))'
}
equals() { await "[ \"\$(ask '$1' 2>/dev/null)\" = $2 ]"; }
hit 1000
equals shop_hits_total "$made"
first=$made

# The target is restarted: what the first one recorded stays.
end
start
await 'has "fastsdt_sites_armed{script=\"shop\"} 1.0"'
hit 500
equals shop_hits_total $((first + made))
equals 'resets(shop_hits_total[5m])' 0
equals shop_bytes_sum $((3 * (1000 * 999 / 2 + 500 * 499 / 2)))
equals shop_bytes_count $((first + made))
equals shop_sum_total $((3 * (1000 * 999 / 2 + 500 * 499 / 2)))
equals shop_high 999
equals 'shop_size_bucket{le="+Inf"}' $((first + made))
equals 'shop_size_bucket{le="255.0"}' $((3 * 2 * 256))
equals 'sum(shop_hits_by_total)' $((2 * (1000 + 500)))
equals 'fastsdt_keys_left_out{map="@by"}' 1

# A reload that changes nothing, one that is refused, and one with another script: the counts go on.
kill -HUP "$service"
await 'said "1 of 1 scripts go on, 0 are new"'
echo '{' >trace.json
kill -HUP "$service"
await 'said "former configuration stays"'
await 'has "fastsdt_config_last_reload_successful 0.0"'
hit 10
equals shop_hits_total $((first + made))
cp app other # another file: one process has one script
config ", {\"name\": \"other\", \"file\": \"more.bt\", \"exe\": \"$scratch/other\", \"maps\": {\"@last\": {\"export\": false}}}" >trace.json
kill -HUP "$service"
await 'said "1 of 1 scripts go on, 1 are new"'
await 'has "fastsdt_config_last_reload_successful 1.0"'
mkfifo in2 out2
./other <in2 >out2 7<&- 8>&- &
started+=($!)
exec 6>in2 5<out2
await 'has "fastsdt_sites_armed{script=\"other\"} 1.0"'
echo "hit 100" >&6
read -r _ _ <&5
hit 5
equals other_few_total 30
equals other_mean 4.5
equals 'other_each_bucket{arg0="3",arg1="one",le="3.0"}' 1
equals shop_hits_total $((first + made))
! scraped | matches other_last || fail "other_last is exported"

# What the formats say, judged by others.
scraped >text
promtool check metrics <text >promtool.log 2>&1 || fail "promtool: $(cat promtool.log)"
curl -fsS -H 'Accept: application/openmetrics-text; version=1.0.0' -D head "http://127.0.0.1:$port/metrics" >openmetrics
grep -qi '^content-type: application/openmetrics-text; version=1.0.0' head || fail "$(cat head)"
expect "its end" "$(tail -n 1 openmetrics)" "# EOF"
if /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null; then
    /usr/bin/python3 - openmetrics >parsed <<'END'
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
found = {f.name: f for f in parse(open(sys.argv[1]).read())}
print(found["shop_hits"].type, found["shop_size"].type, found["shop_bytes"].type, found["shop_high"].type, found["fastsdt_build"].type)
print(sorted(s.labels["shop"] for s in found["shop_hits_by"].samples))
END
    expect "another parser" "$(cat parsed)" "counter histogram summary gauge info
['one', 'three\\\\x0alines']"
else
    echo "prometheus_client is not installed: only promtool and Prometheus have read the format"
fi

# Clients that are slow or send garbage do no harm.
for ((i = 0; i < 20; ++i)); do
    exec {slow}<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /metr' >&"$slow"
done
head -c 100000 /dev/urandom >garbage
for ((i = 0; i < 5; ++i)); do
    (cat garbage >"/dev/tcp/127.0.0.1/$port") 2>/dev/null || true
done
expect "another method" "$(curl -s -o /dev/null -w '%{http_code}' -X POST -d x "http://127.0.0.1:$port/metrics")" 405
expect "another path" "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/x")" 404
hit 7
has "shop_hits_total $((first + made))" || fail "after bad clients: $(scraped | grep shop_hits_total)"

# Every query of the dashboard is one that Prometheus takes.
/usr/bin/python3 -c '
import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        print(target["expr"])' "$FASTSDT_SOURCE/share/grafana/fastsdt.json" >expressions
[ "$(wc -l <expressions)" -gt 10 ] || fail "the dashboard has no queries"
while read -r expression; do
    ask "$expression" >/dev/null || fail "Prometheus refuses $expression"
done <expressions
equals 'sum(fastsdt_processes{job="fastsdt"})' 2
equals 'count(up{job="fastsdt"} == 1)' 1

# It is killed; the next one clears what it left, and counts anew.
kill -KILL "$service"
wait "$service" || true
hit 3
serve --exe ./app shop.bt
await 'has "fastsdt_sites_armed{script=\"shop\"} 1.0"'
before=$made
hit 20
has "shop_hits_total $((made - before))" || fail "after the restart of the service: $(scraped | grep shop_hits_total) $(cat log)"

# Its end puts the sites back.
kill -TERM "$service"
wait "$service" || fail "status $? at its end: $(cat log)"
# A function that was not compiled for it.
serve --exe ./app -e 'uprobe:./app:hits { @calls = count(); }'
await 'has "fastsdt_sites_armed{script=\"script\"} 1.0"'
hit 20
has "script_calls_total 3" || fail "a function: $(scraped | grep calls) $(cat log)"
kill -TERM "$service"
wait "$service" || fail "status $? at its end: $(cat log)"
fastsdt-check --pid "$app" >check || fail "$(cat check)"
! grep -q 'fastsdt-trace\|memfd:fastsdt' "/proc/$app/maps" || fail "memory stays in the target"
end
