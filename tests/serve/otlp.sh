#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --otlp: spans of export and metrics of serve, sent to a collector that takes nothing but what OpenTelemetry's protocol has (collector.py), and
# the errors of one that refuses, is slow or not there. What was sent is compared with the file of export and with the target's own counts.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
. "$FASTSDT_SOURCE/tests/serve/common.sh"
need gcc python3
case $(fastsdt-trace export none --otlp http://127.0.0.1:9 2>&1 || true) in *"built without libcurl"*) skip \
    "fastsdt-trace is built without libcurl (FASTSDT_OTLP)" ;; esac
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/serve/app.c" -o app
rm -rf got port in out to answers trace && mkdir got && mkfifo in out to answers
python3 "$FASTSDT_SOURCE/tests/serve/collector.py" port got <to >answers &
started+=($!)
exec 5>to 6<answers
answer() { # answer [STATUS BODY]: from now on; else as it should
    echo "${*:+status }$*" >&5
    read -r _ <&6
}
await '[ -e port ]'
url=http://127.0.0.1:$(cat port)

# Spans: those of the file, in requests of some MiB.
gcc -O2 -pthread -I"$INCLUDE" "$FASTSDT_SOURCE/tests/serve/calls.c" -o calls
fastsdt-trace record -o trace --functions outer,inner --probes hit -- ./calls 10000 >log 2>&1 || fail "record: $(cat log)"
fastsdt-trace export trace -o trace.otlp.json 2>log || fail "export: $(cat log)"
fastsdt-trace export trace --otlp "$url/" >out.txt 2>log || fail "export --otlp: $(cat log)"
expect "what is said" "$(cat out.txt log)" ""
python3 - <<'END' || fail "the spans differ"
import glob, json
def spans(file):
    return [span for r in json.load(open(file))["resourceSpans"] for s in r["scopeSpans"] for span in s["spans"]]
sent = [spans(file) for file in sorted(glob.glob("got/*-traces.json"))]
assert len(sent) > 1, len(sent)
wanted = spans("trace.otlp.json")
events = lambda all: sum(len(span.get("events", ())) for span in all)
assert sum(sent, []) == wanted, (sum(map(len, sent)), len(wanted))
assert events(wanted) == 20000 and len(wanted) == 30000, (events(wanted), len(wanted))
END
said() { # said WHAT STATUS URL TEXT: export ends so
    local status=0
    fastsdt-trace export trace --otlp "$3" >out.txt 2>log || status=$?
    expect "$1: $(cat log)" "$status $(wc -l <log)" "$2 1"
    grep -qF -- "$4" log || fail "$1: $(cat log)"
}
answer 400 '{"code":3,"message":"no span \u001b[31m here"}'
said "a refusal" 2 "$url" "$url/v1/traces: the collector answered with status 400: no span \\x1b[31m here"
answer 503 "try again later"
said "an error" 2 "$url" "status 503: try again later"
answer 302 ""
said "another place" 2 "$url" "status 302"
answer 200 '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'
said "a part" 2 "$url" "the collector refused 2 spans: too old"
answer 200 'this is no JSON'
fastsdt-trace export trace --otlp "$url" >out.txt 2>&1 || fail "an answer that is no JSON: $(cat out.txt)"
answer
python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' >free
said "nobody there" 2 "http://127.0.0.1:$(cat free)" "/v1/traces: Failed to connect to 127.0.0.1"
said "a password" 2 "http://user:secret@127.0.0.1:$(cat free)" "http://127.0.0.1:$(cat free)/v1/traces: "
! grep -q secret log || fail "the password is printed: $(cat log)"
said "the path too" 2 "$url/v1/traces/" "fastsdt-trace: --otlp: $url/v1/traces/: the collector's address alone is wanted; /v1/traces is added to it"
status=0
fastsdt-trace serve --otlp "" -e 'BEGIN { @ = 1; }' -p $$ 2>log || status=$?
expect "an empty one" "$status $(cut -d';' -f1 log)" "2 fastsdt-trace: --otlp: \"\": a URL like http://127.0.0.1:4318 is wanted"
status=0
fastsdt-trace export trace --otlp "" 2>log || status=$?
expect "an empty one, export" "$status $(cut -d';' -f1 log)" "2 fastsdt-trace: --otlp: \"\": a URL like http://127.0.0.1:4318 is wanted"
echo '{ "otlp": { "seconds": 1 }, "scripts": [] }' >empty.json
status=0
fastsdt-trace serve --config empty.json 2>log || status=$?
expect "none in a configuration" "$status $(cat log)" \
    '2 fastsdt-trace: empty.json: otlp: "url" is missing, the collector'"'"'s: "http://127.0.0.1:4318"'
echo '{ "otlp": { "url": "here" }, "scripts": [] }' >wrong.json
status=0
fastsdt-trace serve --config wrong.json 2>log || status=$?
expect "none that is one in a configuration" "$status $(cat log)" \
    '2 fastsdt-trace: wrong.json: otlp.url: "here": a URL like http://127.0.0.1:4318 is wanted'
said "no URL" 2 "127.0.0.1:4318" "a URL like http://127.0.0.1:4318 is wanted"
said "another protocol" 2 "ftp://127.0.0.1" "a URL like http://127.0.0.1:4318 is wanted"
said "a wrong port" 2 "http://127.0.0.1:port" "fastsdt-trace: --otlp: http://127.0.0.1:port: "
status=0
fastsdt-trace export trace -o trace.json --otlp "$url" 2>log || status=$?
expect "a file and a collector: $(cat log)" "$status $(grep -c 'either writes a file' log)" "2 1"

# Metrics.
case $(fastsdt-trace serve --config absent 2>&1 || true) in *"serve is not in this build"*) exit 0 ;; esac
need_attachable
rm -f got/*
./app <in >out &
app=$!
started+=("$app")
exec 8>in 7<out
hit 1
cat >config.json <<END
{ "listen": "127.0.0.1:0", "otlp": { "url": "$url", "seconds": 1 },
  "scripts": [ { "name": "app", "exe": "$PWD/app", "script": "usdt:*:app:hit { @n[str(arg1)] = count(); @h = hist(arg0); @minus = hist(arg0 - 2); @l = lhist(arg0, 0, 30, 10); @s = stats(arg0); @last = arg0; @text = str(arg1); @max = max(arg0); @avg = avg(arg0); @bytes = sum(arg0); }",
                 "read_memory": true, "maps": { "@bytes": { "name": "app_sent", "unit": "bytes" } } } ] }
END
fastsdt-trace serve --config config.json >log 2>&1 7<&- 8>&- 5>&- 6<&- &
service=$!
started+=("$service")
await 'grep -q "metrics at" log'
port=$(sed -n 's,.*metrics at http://127.0.0.1:\([0-9]*\)/.*,\1,p' log)
metric() { python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/metrics').read().decode())" | sed -n "s/^$1 //p"; }
await '[ "$(metric "fastsdt_sites_armed{script=\"app\"}")" = 1.0 ] || [ "$(metric "fastsdt_sites_armed{script=\"app\"}")" = 3.0 ]'
hit 10
answer 500 '{"message":"full"}'
await 'grep -q "v1/metrics: the collector answered with status 500: full; metrics are not delivered" log'
await '[ "$(metric fastsdt_otlp_undelivered_total | cut -d. -f1)" -ge 2 ]'
expect "said once" "$(grep -c "are not delivered" log)" 1
answer
await 'grep -q "all metrics are delivered again" log'
# A configuration that is refused changes nothing, not even where the service listens.
cp config.json former.json
sed "s|\"listen\": \"127.0.0.1:0\"|\"listen\": \"127.0.0.1:$(cat free)\"|; s|$url|ftp://nowhere|" former.json >config.json
kill -HUP $service
await 'grep -q "the former configuration stays" log'
[ "$(metric fastsdt_otlp_undelivered_total | cut -d. -f1)" -ge 2 ] || fail "it does not listen where it did: $(cat log)"
cp former.json config.json
hit 25 # the last ones are sent when the service ends
echo quit >&8
wait $app
kill -TERM $service
wait $service || fail "the service: status $?: $(cat log)"
grep -q "requests with metrics were not delivered to $url" log || fail "the end: $(cat log)"
python3 - <<'END' || fail "the metrics differ"
import glob, json
requests = [json.load(open(file)) for file in sorted(glob.glob("got/*-metrics.json"))]
assert len(requests) >= 2
(resource,) = requests[-1]["resourceMetrics"]
assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "fastsdt-trace"}}]
metrics = {one["name"]: one for one in resource["scopeMetrics"][0]["metrics"]}
values = [i for n in (10, 25) for i in range(n)] * 3
def points(name, kind):
    return metrics[name][kind]["dataPoints"]
n = points("app_n", "sum")
assert [one["asInt"] for one in n] == ["35"] * 3 and metrics["app_n"]["sum"]["isMonotonic"] and metrics["app_n"]["sum"]["aggregationTemporality"] == 2
assert sorted(one["attributes"][0]["value"]["stringValue"][:3] for one in n) == ["one", "thr", "two"]
(h,) = points("app_h", "exponentialHistogram")
buckets = [str(sum(2**i <= v < 2**(i + 1) for v in values)) for i in range(5)]
assert (h["scale"], h["positive"], h["zeroCount"], h["count"]) == (0, {"offset": 0, "bucketCounts": buckets}, str(values.count(0)), str(len(values))), h
for name, less in (("app_minus", 2), ("app_l", 0)):
    (one,) = points(name, "histogram")
    counts, bounds = [int(count) for count in one["bucketCounts"]], one["explicitBounds"]
    assert bounds == sorted(set(bounds)) and len(counts) == len(bounds) + 1 and sum(counts) == int(one["count"]) == len(values)
    edges = [float("-inf"), *bounds, float("inf")]
    assert counts == [sum(low < v - less <= high for v in values) for low, high in zip(edges, edges[1:])], (name, one)
(s,) = points("app_s", "summary")
assert (s["count"], s["sum"]) == (str(len(values)), sum(values))
assert [points(name, "gauge")[0]["asInt"] for name in ("app_last", "app_max")] == ["24", "24"]
assert points("app_avg", "gauge")[0]["asDouble"] == sum(values) / len(values)
assert points("app_text", "gauge")[0]["attributes"][-1]["key"] == "value"
assert metrics["app_sent_bytes"]["unit"] == "By" and points("app_sent_bytes", "sum")[0]["asInt"] == str(sum(values))
assert points("process_cpu_seconds", "sum")[0]["asDouble"] > 0
begin, now = (int(h[name]) for name in ("startTimeUnixNano", "timeUnixNano"))
assert 0 < now - begin < 600e9, (begin, now)
END
status=0
fastsdt-trace serve --exe "$PWD/app" -e 'usdt:*:app:hit { @ = count(); }' --otlp nowhere >log 2>&1 || status=$?
expect "no URL: $(cat log)" "$status $(grep -c 'a URL like' log)" "2 1"
