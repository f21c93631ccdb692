#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Spans of `fastsdt-trace export --otlp` and of its file, and metrics of `serve --otlp`, taken by the receiver of OpenTelemetry's collector, which is
# fetched as a Go module and built (some minutes). Exit status 77: it cannot be had.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
export FASTSDT_SOURCE=$top PATH=${FASTSDT_BUILD:-$top/build/default}/bin:$PATH
scratch=$(mktemp -d)
started=()
leave() {
    local pid
    for pid in "${started[@]}"; do { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null || true; done
    chmod -R u+w "$scratch"
    rm -rf "$scratch"
}
trap leave EXIT
cd "$scratch"
cat >go.mod <<'END'
module collect

go 1.24
END
cat >collect.go <<'END'
// The front of OpenTelemetry's collector, its receiver for OTLP: keeps what it takes, a JSON text a line, as its own writer has it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var lock sync.Mutex
	keep := func(name string, text []byte, err error) error {
		check(err)
		lock.Lock()
		defer lock.Unlock()
		file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		check(err)
		_, err = file.Write(append(text, '\n'))
		check(err)
		return file.Close()
	}
	traces, err := consumer.NewTraces(func(_ context.Context, all ptrace.Traces) error {
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(all)
		return keep("traces", text, err)
	})
	check(err)
	metrics, err := consumer.NewMetrics(func(_ context.Context, all pmetric.Metrics) error {
		text, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(all)
		return keep("metrics", text, err)
	})
	check(err)
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	check(confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"http": map[string]any{"endpoint": os.Args[1]}}}).Unmarshal(config))
	ctx, settings := context.Background(), receivertest.NewNopSettings(factory.Type())
	one, err := factory.CreateTraces(ctx, settings, config, traces)
	check(err)
	other, err := factory.CreateMetrics(ctx, settings, config, metrics)
	check(err)
	check(one.Start(ctx, componenttest.NewNopHost()))
	check(other.Start(ctx, componenttest.NewNopHost()))
	fmt.Println("ready")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	check(one.Shutdown(ctx))
	check(other.Shutdown(ctx))
}
END
version=v0.165.0
export GOFLAGS=-mod=mod CGO_ENABLED=0 GOPATH=${FASTSDT_CACHE:-$PWD}/go GOCACHE=${FASTSDT_CACHE:-$PWD}/go-build
{ go get go.opentelemetry.io/collector/receiver/{otlpreceiver,receivertest}@$version && go build -o collect .; } >build.log 2>&1 ||
    { tail -n 5 build.log; exit 77; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
mkfifo said
./collect "127.0.0.1:$port" >said 2>collect.log &
started+=($!)
read -r line <said || { cat collect.log; exit 1; }
[ "$line" = ready ]

gcc -O2 -pthread -I"$top/include" "$top/tests/serve/calls.c" -o app
fastsdt-trace record -o trace --functions outer,inner --probes hit -- ./app 100 2
fastsdt-trace export trace -o trace.otlp.json
python3 - "$url" <<'END'
import sys, urllib.request
request = urllib.request.Request(sys.argv[1] + "/v1/traces", open("trace.otlp.json", "rb").read(), {"Content-Type": "application/json"})
assert urllib.request.urlopen(request).status == 200
END
fastsdt-trace export trace --otlp "$url"
python3 - <<'END'
import json
def spans(text):
    return [(r["resource"]["attributes"], span) for r in json.loads(text)["resourceSpans"] for span in r["scopeSpans"][0]["spans"]]
def plain(attributes):
    return {one["key"]: next(iter(one["value"].values())) for one in attributes}
def all_of(text):
    return [(plain(resource)["service.name"], one["traceId"], one["spanId"], one.get("parentSpanId", ""), one["name"], one["kind"],
             one["startTimeUnixNano"], one["endTimeUnixNano"], plain(one["attributes"]),
             [(event["name"], event["timeUnixNano"], plain(event["attributes"])) for event in one.get("events", ())]) for resource, one in spans(text)]
wanted = all_of(open("trace.otlp.json").read())
assert len(wanted) == 600 and sum(len(one[-1]) for one in wanted) == 400
taken = [all_of(line) for line in open("traces")]
assert taken == [wanted, wanted], [len(one) for one in taken]
print("600 spans and 400 events, from the file and sent: as they were written")
END

# Metrics: hist(), lhist(), stats(), counts by key.
cat >server.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    for (int n; scanf("%d", &n) == 1; fflush(stdout)) {
        for (int i = 0; i < n; ++i)
            FASTSDT(app, hit, i);
        puts("did");
    }
    return 0;
}
END
gcc -O2 -I"$top/include" server.c -o server
mkfifo in out
./server <in >out &
started+=($!)
exec 8>in 7<out
hit() {
    echo "$1" >&8
    read -r _ <&7
}
hit 1
fastsdt-trace serve --listen 127.0.0.1:0 --otlp "$url" --exe "$PWD/server" \
    -e 'usdt:*:app:hit { @n[arg0 % 2] = count(); @h = hist(arg0); @l = lhist(arg0, 0, 30, 10); @s = stats(arg0); }' \
    2>serve.log 8>&- 7<&- &
service=$!
started+=("$service")
until grep -q "metrics at" serve.log; do kill -0 $service; done
hit 100
kill -TERM $service
wait $service || { cat serve.log; exit 1; }
python3 - <<'END'
import json
(resource,) = json.loads(open("metrics").read().splitlines()[-1])["resourceMetrics"]
metrics = {one["name"]: one for one in resource["scopeMetrics"][0]["metrics"]}
assert [(one["attributes"][0]["value"]["stringValue"], one["asInt"]) for one in metrics["script_n"]["sum"]["dataPoints"]] == [("0", "50"), ("1", "50")]
(h,) = metrics["script_h"]["exponentialHistogram"]["dataPoints"]
assert (h["count"], h["zeroCount"], h["positive"]["bucketCounts"]) == ("100", "1", [str(len(range(2**i, min(2**(i + 1), 100)))) for i in range(7)]), h
(l,) = metrics["script_l"]["histogram"]["dataPoints"]
assert l["bucketCounts"] == ["0", "10", "10", "10", "70"] and l["explicitBounds"] == [-1, 9, 19, 29], l
(s,) = metrics["script_s"]["summary"]["dataPoints"]
assert (s["count"], s["sum"]) == ("100", 4950), s
print(len(metrics), "metrics: as they were counted")
END
