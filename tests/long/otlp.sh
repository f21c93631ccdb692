#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The spans of `fastsdt-trace export -o FILE.otlp.json`, read by the reader of OpenTelemetry's collector (pdata), which is fetched as a Go module.
# Exit status 77: it cannot be had.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
export FASTSDT_SOURCE=$top PATH=${FASTSDT_BUILD:-$top/build/default}/bin:$PATH
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
cd "$scratch"
cat >go.mod <<'END'
module read

go 1.24
END
cat >read.go <<'END'
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func main() {
	bytes, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(bytes)
	if err != nil {
		panic(err)
	}
	for _, resource := range traces.ResourceSpans().All() {
		name, _ := resource.Resource().Attributes().Get("service.name")
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				fmt.Println(name.Str(), span.TraceID(), span.SpanID(), span.ParentSpanID(), span.Name(),
					uint64(span.StartTimestamp()), uint64(span.EndTimestamp()), span.Kind(), span.Attributes().AsRaw(), span.Events().Len())
				for _, event := range span.Events().All() {
					fmt.Println("event", event.Name(), uint64(event.Timestamp()), event.Attributes().AsRaw())
				}
			}
		}
	}
}
END
export GOFLAGS=-mod=mod GOPATH=$PWD/go CGO_ENABLED=0
go get go.opentelemetry.io/collector/pdata >build.log 2>&1 || { tail -n 5 build.log; exit 77; }
go build -o read .

cat >app.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
__attribute__((noinline)) long inner(long n)
{
    FASTSDT(app, hit, n, "a \"text\" <b>\n");
    return n + 1;
}
__attribute__((noinline)) long outer(long n)
{
    return inner(n) + inner(-n);
}
static void* work(void* none)
{
    volatile long sum = 0;
    for (long i = 0; i < 100; ++i)
        sum += outer(i);
    return none;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    return pthread_join(thread, 0);
}
END
gcc -O2 -pthread -I"$top/include" app.c -o app
fastsdt-trace record -o trace --functions outer,inner --probes hit -- ./app
fastsdt-trace export trace -o trace.otlp.json
./read trace.otlp.json >spans
python3 - <<'END'
import collections, json
lines = [line.split(" ", 6) for line in open("spans")]
spans = [line for line in lines if line[0] == "app"]
wanted = [span for r in json.load(open("trace.otlp.json"))["resourceSpans"] for span in r["scopeSpans"][0]["spans"]]
assert len(spans) == len(wanted) == 600 and sum(line[0] == "event" for line in lines) == 400
for read, span in zip(spans, wanted):
    assert read[1:4] == [span["traceId"], span["spanId"], span.get("parentSpanId", "")], (read, span)
    assert read[4] == span["name"] and read[5] == span["startTimeUnixNano"], (read, span)
    assert read[6].split()[:2] == [span["endTimeUnixNano"], "Internal"], (read, span)
print(len(spans), "spans and 400 events: as they were written;", *collections.Counter(line[4] for line in spans).items())
END
