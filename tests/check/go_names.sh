#!/bin/bash
# Functions of stripped Go programs by the table that Go's runtime unwinds with: the same as `go tool nm` of the same programs unstripped. Damaged
# tables are refused.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
need_go
cat >program.go <<'GO'
package main

import (
	"fmt"
	"sort"
)

type server struct{ total int }

//go:noinline
func (s *server) add(n int) int { s.total += n; return s.total }

//go:noinline
func first[T any](list []T) T { return list[0] }

func main() {
	s := &server{}
	list := []int{3, 1, 2}
	sort.Slice(list, func(a, b int) bool { return list[a] < list[b] })
	fmt.Println(s.add(first(list)), first([]string{"a"}))
}
GO
cat >compare.py <<'PY'
"""compare.py GO FULL STRIPPED: what is called otherwise in the stripped file, or is missing there"""
import json
import re
import subprocess
import sys

go, full, stripped = sys.argv[1:]
wanted = {}
for line in subprocess.run([go, "tool", "nm", "-size", full], capture_output=True, text=True, check=True).stdout.splitlines():
    found = re.match(r" *([0-9a-f]+) +(\d+) [Tt] (.*)", line)
    if found and int(found[2]) != 0:
        wanted.setdefault(int(found[1], 16), set()).add((found[3].removesuffix(".abi0"), int(found[2])))
text = subprocess.run(["fastsdt-check", "--functions", "--json", stripped], capture_output=True, text=True, check=False).stdout
functions = {one["address"]: one for one in json.loads(text)["files"][0]["functions"]}
strangers = [one["name"] for address, one in functions.items() if address not in wanted and "." in one["name"]]
of_c = re.compile(r"[^.]*(\.(cold|part|constprop|isra).*)?")
of_go = {a: names for a, names in wanted.items() if not all(of_c.fullmatch(name) for name, size in names)}
lost = [names for address, names in of_go.items() if address not in functions]
# Padding is no part of a function, nor is what traps at its end. Before Go 1.20 the table has no types of generic functions.
other = [(functions[a]["name"], names) for a, names in of_go.items() if a in functions and not any(
    functions[a]["name"].replace("\u00b7", ".") in (name, re.sub(r"\[.*\]", "[...]", name)) and size - functions[a]["size"] in range(20) for name, size in names)]
print(len(of_go), "functions;", "lost", lost[:5], "other", other[:5], "strangers", strangers[:5])
sys.exit(len(of_go) < 1000 or bool(lost or other or strangers))
PY
compared=0
for go in go /usr/lib/go-1.19/bin/go; do
    command -v "$go" >/dev/null || continue
    ways="static cgo arm64"
    [ "$go" = go ] || ways=static # each way takes all packages once more
    ! whole || ways="static pie cgo arm64"
    for how in $ways; do
        cgo=0 arch=amd64 linker='' flags=()
        case $how in
        pie) flags=(-buildmode=pie) ;;
        cgo)
            cgo=1 linker=-linkmode=external
            ! whole || flags=(-buildmode=pie)
            ;;
        arm64) arch=arm64 ;;
        esac
        if [ $how = cgo ] && ! command -v gcc >/dev/null; then continue; fi
        export GOTOOLCHAIN=local GOARCH=$arch CGO_ENABLED=$cgo
        "$go" build "${flags[@]}" -ldflags="$linker" -o full program.go || fail "$go does not build it: $how"
        "$go" build "${flags[@]}" -ldflags="$linker -s -w" -o stripped program.go
        python3 compare.py "$go" full stripped || fail "$go, $how: names of a stripped program"
        compared=$((compared + 1))
    done
done
[ $compared -ge 3 ] || fail "only $compared programs were compared"
# Each with some bytes of its table changed: never a crash, and no other end than those of fastsdt-check.
python3 - <<'PY'
import random
import re
import subprocess

whole = bytearray(open("stripped", "rb").read())
text = subprocess.run(["readelf", "-SW", "stripped"], capture_output=True, text=True, check=True).stdout
line = next(line.split("]")[1].split() for line in text.splitlines() if ".gopclntab" in line)
start, size = int(line[3], 16), int(line[4], 16)
chance = random.Random(1)
refused = 0
for number in range(60):
    damaged = bytearray(whole)
    for _ in range(chance.choice((1, 4, 200))):
        at = start + (chance.randrange(72) if number % 2 else chance.randrange(size))
        damaged[at] = chance.randrange(256)
    open("damaged", "wb").write(damaged[: chance.randrange(start, len(damaged))] if number % 10 == 9 else damaged)
    ended = subprocess.run(["fastsdt-check", "--functions", "damaged"], capture_output=True, timeout=60, check=False)
    assert ended.returncode in (0, 1, 2), (number, ended)
    refused += not re.search(rb"\b[1-9]\d+ functions", ended.stdout)
assert refused, "no damage was seen"
PY
