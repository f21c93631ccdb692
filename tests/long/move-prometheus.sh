#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's prometheus, a stripped Go program with C code, under queries: all of its functions and returns are armed and taken back, again and again, by
# tracers of which every third is killed. Each answer has to be right, and its code is its file's afterwards. Usage:
#
#   tests/long/move-prometheus.sh [-b DIR] [-n ROUNDS] [-p PROGRAM]
#
#   -b DIR      the built programs (default: build/default/bin)
#   -n ROUNDS   so many tracers (default: 100)
#   -p PROGRAM  another prometheus (default: that of Debian's package, which apt fetches)
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
bin=$top/build/default/bin rounds=100 program=
while getopts b:n:p: option; do
    case $option in
        b) bin=$(realpath "$OPTARG") ;;
        n) rounds=$OPTARG ;;
        p) program=$(realpath "$OPTARG") ;;
        *) sed -n '6,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
if [ -z "$program" ]; then
    apt-get download -q prometheus >/dev/null
    dpkg -x prometheus_*.deb package
    program=$work/package/usr/bin/prometheus
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >prometheus.yml <<END
global: {scrape_interval: 200ms}
scrape_configs: [{job_name: itself, static_configs: [{targets: ["127.0.0.1:$port"]}]}]
END
"$program" --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" >log 2>&1 &
pid=$!
# queries.py PORT: asks from four threads until it is interrupted; each answer has to be 200 and what the query means. Says the longest pause.
cat >queries.py <<'END'
import json, signal, sys, threading, time, urllib.parse, urllib.request
ends, counts, wrong, longest = threading.Event(), [0] * 4, [], [0.0] * 4
signal.signal(signal.SIGTERM, lambda *_: ends.set())
def ask(path):
    with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}{path}", timeout=60) as answer:
        return answer.read().decode()
def value(query):
    result = json.loads(ask("/api/v1/query?query=" + urllib.parse.quote(query)))["data"]
    return float(result["result"][1]) if result["resultType"] == "scalar" else float(result["result"][0]["value"][1])
def work(number):
    i = 0
    while not ends.is_set():
        begin = time.monotonic()
        try:
            right = (value(f"{i} * 7 + 1") == i * 7 + 1, value(f"sum(vector({i})) / 2") == i / 2, value('count(up{job="itself"})') == 1,
                     "go_goroutines" in ask("/metrics"))[(i + number) % 4]
        except Exception as error:
            right = wrong.append(repr(error))
        if right is False:
            wrong.append(f"query {i}")
        counts[number] += 4
        longest[number] = max(longest[number], time.monotonic() - begin)
        i += 1
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
ends.wait()
for thread in threads: thread.join()
print(f"{sum(counts)} requests, {len(wrong)} wrong {wrong[:3]}, the slowest four of one client took {1000 * max(longest):.0f} ms")
END
# It has scraped itself.
until python3 -c "import urllib.request as u; exit(b'\"1\"' not in u.urlopen('http://127.0.0.1:$port/api/v1/query?query=up').read())" 2>/dev/null; do
    kill -0 $pid || { cat log >&2; exit 1; }
done
python3 queries.py "$port" >before & queries=$!
sleep 5
kill -TERM $queries
wait $queries
echo "untraced, 5 s: $(cat before)"
python3 queries.py "$port" >answers & queries=$!
begin=$SECONDS sites= killed=0
for ((i = 1; i <= rounds; ++i)); do
    "$bin/fastsdt-trace" --engine user -p $pid -e "uprobe:$program:* { @in = count(); } uretprobe:$program:* { @out = count(); }" >out 2>err </dev/null &
    tracer=$!
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    if [ $((i % 3)) = 0 ]; then
        kill -KILL $tracer
        killed=$((killed + 1))
    else
        kill -INT $tracer
    fi
    status=0
    wait $tracer || status=$?
    case $status in 0 | 1 | 2 | 130 | 137) ;; *) echo "a tracer ended with $status: $(cat err)" >&2; exit 1 ;; esac
    [ -z "$(grep '^sites [1-9]' out)" ] || sites=$(grep '^sites' out)
    kill -0 $pid || { echo "prometheus ended in round $i: $(tail -n 20 log)" >&2; exit 1; }
done
seconds=$((SECONDS - begin))
"$bin/fastsdt-trace" --engine user -p $pid --duration 2 -e "uprobe:$program:* { @in = count(); } uretprobe:$program:* { @out = count(); }" >out 2>err </dev/null || true
cat out
kill -TERM $queries
wait $queries
echo "$rounds rounds, $killed killed, in $seconds s; $(cat answers); $sites"
python3 - $pid "$program" <<'END'
import re, sys
differs = 0
for line in open(f"/proc/{sys.argv[1]}/maps"):
    part = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ [1-9][0-9]* +(.*)", line)
    if part and part[4].strip() == sys.argv[2]:
        start, end, offset = (int(part[i], 16) for i in (1, 2, 3))
        with open(f"/proc/{sys.argv[1]}/mem", "rb") as memory, open(sys.argv[2], "rb") as file:
            memory.seek(start); file.seek(offset)
            there, here = memory.read(end - start), file.read(end - start)
            differs += sum(a != b for a, b in zip(there, here))
    assert "rwxp" not in line and "fastsdt" not in line.replace("fastsdt-", ""), line
sys.exit(f"{differs} bytes of its code differ" if differs else 0)
END
grep -q ' 0 wrong ' answers
