#!/bin/bash
# Where Go functions of arm64 are entered and left, by both engines, against objdump's disassembly: behind the check of the stack, and at each ret.
# All functions with a check but assembly can be armed.
. "$FASTSDT_SOURCE/tests/common.sh"
need python3
need_go
have aarch64-linux-gnu-objdump || skip "no objdump for arm64"
# Frames of all sizes: the check, and what makes the frame, depend on it.
cat >frames.go <<'END'
package main

//go:noinline
func touch(all []int64) int64 { return all[len(all)/2] + 1 }

//go:noinline
func small(n int64) int64 { return touch([]int64{n, n + 1}) }

//go:noinline
func large(n int64) int64 {
	var all [400]int64
	all[200] = n
	return touch(all[:])
}

//go:noinline
func larger(n int64) int64 {
	var all [2000]int64
	all[1000] = n
	if touch(all[:]) == 1 {
		return n
	}
	return touch(all[1:])
}

//go:noinline
func largest(n int64) int64 {
	var all [13000]int64
	all[6500] = n
	switch touch(all[:]) {
	case 1, 2, 3:
		return n
	case 4, 5, 7, 8, 9, 10, 11:
		return n * 3
	}
	return touch(all[1:])
}

func main() { println(small(1), large(2), larger(3), largest(4)) }
END
cat >compare.py <<'END'
import json, re, subprocess, sys
build, file = sys.argv[1:]
GUARD = "ldr\tx16, [x28, #16]"
functions, entry = {}, None  # by address: [names, entry, returns]
for line in subprocess.check_output(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", file], text=True).splitlines():
    if found := re.match(r"([0-9a-f]+) <(.*)>:$", line):
        one = functions.setdefault(int(found[1], 16), [found[2], None, []])
        state, number = "begin", 0
    elif found := re.match(r" *([0-9a-f]+):\t(.*)", line):
        text = found[2].split("//")[0].strip()
        number += 1
        if state == "begin":
            state = "check" if text == GUARD else "none"
        elif state == "check" and text.startswith("b.ls"):
            state = "entry"
        elif state == "entry":
            one[1], state = int(found[1], 16), "none"
        if text == "ret":
            one[2].append(int(found[1], 16))
checked = {a: f for a, f in functions.items() if f[1] and not f[0].endswith(".abi0") and f[0] not in ("runtime.dropm", "runtime.text")}
places = {}
for line in subprocess.check_output([build + "/bin/go_places", file], text=True).splitlines():
    words = line.split()
    places[int(words[0], 16)] = words[1:]
armable = {f["address"]: f for f in json.loads(subprocess.check_output([build + "/bin/fastsdt-check", "--armable", "--json", file]))["files"][0]["functions"]}
wrong = []
for address, (name, entry, returns) in checked.items():
    # A wrapper may leave by a jump, which only the kernel's engine has.
    place, window = places[address], armable[address]
    if int(place[0], 16) != entry:
        wrong.append(f"{name}: the kernel's entry is {place[0]}, and not {entry:x}")
    if place[1:] == ["unknown"] or not set(returns) <= {int(p, 16) for p in place[1:]}:
        wrong.append(f"{name}: the kernel's exits are {place[1:]}, and not {[hex(r) for r in returns]}")
    if window["entry"]["obstacle"] is not None or window["entry"]["address"] != entry:
        wrong.append(f"{name}: the window of its entry is {window['entry']}, and not {entry:x}")
    if [e["address"] for e in window["exits"]] != returns and returns:
        wrong.append(f"{name}: the windows of its exits are {window['exits']}, and not {[hex(r) for r in returns]}")
for line in wrong[:20]:
    print(line)
print(len(checked), "functions with a check,", len(wrong), "wrong")
missing = [name for name in ("main.small", "main.large", "main.larger", "main.largest") if "frames" in file and name not in {f[0] for f in checked.values()}]
sys.exit(bool(wrong or missing or len(checked) < 500))
END
GOARCH=arm64 go build -o churn "$FASTSDT_SOURCE/tests/engine/churn.go" || fail "go build"
GOARCH=arm64 go build -o frames frames.go || fail "go build"
GOARCH=arm64 go build -buildmode=pie -o frames-pie frames.go || fail "go build"
for file in churn frames frames-pie; do
    python3 compare.py "$FASTSDT_BUILD" ./$file >report || fail "$file: $(cat report)"
    echo "$file: $(tail -n 1 report)"
done

# Until 1.17 a program has the address of its version's text, and not the text.
cat >old.py <<'END'
import re, struct, subprocess
data = bytearray(open("frames", "rb").read())
sections = subprocess.check_output(["readelf", "-SW", "frames"], text=True)
offset = int(re.search(r"\.go\.buildinfo +PROGBITS +[0-9a-f]+ ([0-9a-f]+)", sections)[1], 16)
symbols = subprocess.check_output(["readelf", "-sW", "frames"], text=True)
version = int(re.search(r"([0-9a-f]+) +16 OBJECT .* runtime\.buildVersion$", symbols, re.M)[1], 16)
data[offset + 14:offset + 33] = struct.pack("<BBQQB", 8, 0, version, 0, 0)
open("old", "wb").write(data)
END
python3 old.py || fail "a program of the old form"
armable() { fastsdt-check --armable "$1" | sed 1d; }
armable old | cmp - <(armable frames) || fail "$(armable old | tail -n 1)"
expect "versions in the new form" "$(python3 -c 'print(open("old", "rb").read().count(b"\xff Go buildinf:\x08\x02"))')" 0
