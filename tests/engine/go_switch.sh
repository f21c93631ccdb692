#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Functions of Go programs with a switch that the compiler makes a table of: their entries and all of their returns can be armed, with frames of
# each size. Go 1.19, which Debian has, makes frames otherwise than Go 1.21 and later. Counts are the program's own.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need python3
need_go
need_attachable
# Frames of so many bytes, and a few more. 128 is written as -128.
python3 - <<'END_PYTHON'
sizes = [8, 16, 64, 80, 88, 96, 104, 112, 120, 128, 136, 200, 1000]
with open("switches.go", "w", encoding="ascii") as file:
    file.write("package main\n\nvar entered, left, sum int\n\n//go:noinline\n"
               "func use(bytes []byte, n int) int { bytes[n%len(bytes)] = byte(n); return n + len(bytes) }\n")
    for size in sizes:
        cases = "".join(f"\tcase {n}:\n\t\tr := use(bytes[:], n+{n})\n\t\tleft++\n\t\treturn r * {n + 3}\n" for n in range(20))
        file.write(f"\n//go:noinline\nfunc chosen{size}(n int) int {{\n\tvar bytes [{size}]byte\n\tentered++\n"
                   f"\tswitch n {{\n{cases}\t}}\n\tleft++\n\treturn use(bytes[:], n)\n}}\n")
    calls = "".join(f"\t\tsum += chosen{size}(n % 22)\n" for size in sizes)
    file.write(f"\nfunc main() {{\n\tfor n := 0; n < 10000; n++ {{\n{calls}\t}}\n\tprintln(\"did\", entered, left, sum)\n}}\n")
END_PYTHON
tried=0
for go in go /usr/lib/go-1.19/bin/go; do
    have "$go" || continue
    GOTOOLCHAIN=local "$go" build -o switches switches.go || fail "$go cannot build it"
    ./switches 2>alone
    # Each has a jump by a table, as a disassembler sees it.
    GOTOOLCHAIN=local "$go" tool objdump -s '^main\.chosen' switches >code || fail "$go tool objdump"
    expect "$("$go" version): functions with a table" "$(grep -c 'JMP 0(\|JMP .*\*8)\|JMP [A-Z]*[0-9]*$' code)" 13
    returns=$(grep -c '\sRET\s*$' code)
    fastsdt-trace --engine user -e 'uprobe:./switches:main.chosen* { @in = count(); }
        uretprobe:./switches:main.chosen* { @out = count(); }' -- ./switches >out 2>err ||
        fail "$("$go" version): $(cat err out)"
    diff alone <(grep '^did ' err) || fail "$("$go" version): another result"
    read -r _ entered left _ <alone
    expect "$("$go" version): counts" "$(sed -n 's/^@[a-z]*: //p' out | xargs)" "$entered $left"
    grep -q "^sites $((13 + returns)) of $((13 + returns)) armed; dropped 0" out ||
        fail "$("$go" version): not all of 13 entries and $returns returns: $(cat out err)"
    tried=$((tried + 1))
done
[ $tried -gt 0 ]
