# SPDX-License-Identifier: BSD-2-Clause
"""collector.py PORT-FILE FOLDER [STATUS BODY]: an OpenTelemetry collector that takes each request only if its JSON has no other members than
opentelemetry-proto says (its JSON: lowerCamelCase, ids of traces and spans in hexadecimal, 64-bit integers as texts), of the type that it says,
and keeps it in FOLDER as NUMBER-SIGNAL.json. With STATUS it answers all requests so. A line on its input "status STATUS BODY" changes that."""
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text(value):
    return isinstance(value, str)


def integer(value):  # int64, fixed64
    return isinstance(value, str) and re.fullmatch(r"-?\d+", value) and -2**63 <= int(value) < 2**64


def small(value):  # int32, uint32, sint32, enum
    return isinstance(value, int) and not isinstance(value, bool) and -2**31 <= value < 2**32


def real(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def truth(value):
    return isinstance(value, bool)


def hexadecimal(digits):
    return lambda value: isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) and value.strip("0") != ""


# opentelemetry-proto 1.5: common, resource, trace and metrics v1. A list: repeated.
VALUE = {"stringValue": text, "boolValue": truth, "intValue": integer, "doubleValue": real}
KEY_VALUE = {"key": text, "value": VALUE}
SCOPE = {"name": text, "version": text, "attributes": [KEY_VALUE]}
RESOURCE = {"attributes": [KEY_VALUE]}
EVENT = {"timeUnixNano": integer, "name": text, "attributes": [KEY_VALUE], "droppedAttributesCount": small}
SPAN = {"traceId": hexadecimal(32), "spanId": hexadecimal(16), "traceState": text, "parentSpanId": hexadecimal(16), "flags": small, "name": text,
        "kind": small, "startTimeUnixNano": integer, "endTimeUnixNano": integer, "attributes": [KEY_VALUE], "droppedAttributesCount": small,
        "events": [EVENT], "droppedEventsCount": small}
TRACES = {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"scope": SCOPE, "spans": [SPAN], "schemaUrl": text}], "schemaUrl": text}]}
POINT = {"attributes": [KEY_VALUE], "startTimeUnixNano": integer, "timeUnixNano": integer, "flags": small}
NUMBER = {**POINT, "asInt": integer, "asDouble": real}
HISTOGRAM = {**POINT, "count": integer, "sum": real, "bucketCounts": [integer], "explicitBounds": [real], "min": real, "max": real}
BUCKETS = {"offset": small, "bucketCounts": [integer]}
EXPONENTIAL = {**POINT, "count": integer, "sum": real, "scale": small, "zeroCount": integer, "positive": BUCKETS, "negative": BUCKETS, "min": real,
               "max": real, "zeroThreshold": real}
SUMMARY = {**POINT, "count": integer, "sum": real, "quantileValues": [{"quantile": real, "value": real}]}
METRIC = {"name": text, "description": text, "unit": text, "gauge": {"dataPoints": [NUMBER]},
          "sum": {"dataPoints": [NUMBER], "aggregationTemporality": small, "isMonotonic": truth},
          "histogram": {"dataPoints": [HISTOGRAM], "aggregationTemporality": small},
          "exponentialHistogram": {"dataPoints": [EXPONENTIAL], "aggregationTemporality": small}, "summary": {"dataPoints": [SUMMARY]}}
METRICS = {"resourceMetrics": [{"resource": RESOURCE, "scopeMetrics": [{"scope": SCOPE, "metrics": [METRIC], "schemaUrl": text}], "schemaUrl": text}]}
REQUESTS = {"/v1/traces": TRACES, "/v1/metrics": METRICS}
ONE_OF = [("gauge", "sum", "histogram", "exponentialHistogram", "summary"), ("asInt", "asDouble"), tuple(VALUE)]


def fault(value, wanted, where=""):
    """What is wrong; empty: nothing."""
    if callable(wanted):
        return "" if wanted(value) else f"{where} is {value!r}"
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return f"{where} is no list"
        return next((found for i, one in enumerate(value) if (found := fault(one, wanted[0], f"{where}[{i}]"))), "")
    if not isinstance(value, dict):
        return f"{where} is no object"
    for name, one in value.items():
        if name not in wanted:
            return f"{where}.{name} is no field"
        if found := fault(one, wanted[name], f"{where}.{name}"):
            return found
    for group in ONE_OF:
        if set(group) <= set(wanted) and len(set(group) & set(value)) != 1:
            return f"{where} has not one of {', '.join(group)}"
    return ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers = []  # STATUS, BODY
    count = 0
    lock = threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, answer = 200, "{}"
        with Handler.lock:
            Handler.count += 1
            if Handler.answers:
                status, answer = Handler.answers
            elif self.headers["Content-Type"] != "application/json" or self.path not in REQUESTS:
                status, answer = 404, f"{self.path} of {self.headers['Content-Type']}"
            else:
                try:
                    wrong = fault(json.loads(body), REQUESTS[self.path])
                except ValueError as error:
                    wrong = str(error)
                if wrong:
                    status, answer = 400, json.dumps({"code": 3, "message": wrong})
                else:
                    name = os.path.join(sys.argv[2], f"{Handler.count:05}-{os.path.basename(self.path)}.json")
                    with open(name + ".new", "wb") as file:
                        file.write(body)
                    os.rename(name + ".new", name)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer.encode())))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *what):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if len(sys.argv) > 3:
        Handler.answers = [int(sys.argv[3]), sys.argv[4]]
    with open(sys.argv[1] + ".new", "w") as file:
        print(server.server_port, file=file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for line in sys.stdin:
        words = line.split(" ", 2)
        with Handler.lock:
            Handler.answers = [int(words[1]), words[2].strip()] if len(words) > 2 else []
        print("did", flush=True)
