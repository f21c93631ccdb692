#!/bin/bash
# Probe names, symbols and paths that somebody else chose: none becomes a program of bpftrace's, a shell command, or a
# command for the terminal.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc fastsdt-check fastsdt-index python3
[ "$(uname -m)" = x86_64 ] || skip "the program is for x86-64"
esc=$'\e'
python3 - <<'E'
names = ["n {} BEGIN { cat(\"/etc/hostname\"); exit(); } END", "plain", "two words", "a*", "quote'quote", "$(id)", "`id`", "0x1234",
         "a,uprobe:/bin/sh:main", "a/1/", "a:b", "\x1b]0;title\x07", "a\u202eb", "a\nb", "", "dash-ed", "dot.ted", "_1", "#c", "\\\\"]
def note(provider, name):
    q = lambda s: "".join("\\%03o" % b for b in s.encode())
    return f'''    .pushsection .note.stapsdt,"","note"
    .balign 4
    .4byte 8, 994f - 993f, 3
    .asciz "stapsdt"
993: .8byte 990b, _.stapsdt.base, 0
    .asciz "{q(provider)}"
    .asciz "{q(name)}"
    .asciz ""
994: .balign 4
    .popsection
'''
out = '''    .section .stapsdt.base,"aG","progbits",.stapsdt.base,comdat
    .weak _.stapsdt.base
    .hidden _.stapsdt.base
_.stapsdt.base: .space 1
    .section .note.GNU-stack,"",@progbits
    .text
    .globl main
    .type main, @function
main:
'''
for name in names:
    if name:
        out += "990: nop\n" + note("provider", name)
    out += "990: nop\n" + note(name, "name")
out += "    xor %eax, %eax\n    ret\n    .size main, . - main\n"
# Entries: functions with such names, as fastprobe would record them.
for i, name in enumerate(names):
    if "\n" in name or not name:
        continue
    symbol = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    out += f'''    .globl {symbol}
    .type {symbol}, @function
{symbol}: nop
    ret
    .size {symbol}, . - {symbol}
    .pushsection .note.fastsdt,"","note"
    .balign 4
    .4byte 8, 24, 0x45
    .asciz "fastsdt"
    .byte 1, 1, 0, 1, 0, 0
    .2byte 0
    .8byte {symbol}, 0
    .popsection
'''
open("names.s", "w").write(out)
E
gcc names.s -o names || skip "this assembler does not take such symbols"
fastsdt-check --plan -k 6.12 names > plan.txt
fastsdt-check --plan --json -k 6.12 names > plan.json
python3 - "$PWD/names" <<'E'
import json, re, shlex, sys
path = sys.argv[1]
plan = json.load(open("plan.json"))["files"][0]["plan"]
assert len(plan) > 40, len(plan)
word = r"[A-Za-z_][A-Za-z0-9_.-]*"
form = re.compile(rf"(usdt:{re.escape(path)}:{word}:{word}|uprobe:{re.escape(path)}:({word}|0x[0-9a-f]+)) \{{ @\[probe\] = count\(\); \}}")
named = 0
for point in plan:
    words = shlex.split(point["bpftrace"])
    assert words[0] == "bpftrace" and words[-2] == "-e", words
    assert form.fullmatch(words[-1]), words
    named += ":0x" not in words[-1]
    # perf: one event definition of plain words, and names that perf takes.
    match = re.fullmatch(rf"echo 'p:([A-Za-z_]\w*)/([A-Za-z_]\w*) {re.escape(path)}:0x[0-9a-f]+' >>/sys/kernel/tracing/uprobe_events && perf record -a -e \1:\2", point["perf"])
    assert match, point["perf"]
    # The plan still leads to the place.
    if ":0x" in words[-1]:
        assert int(words[-1].split(":0x")[1].split()[0], 16) == point["address"], point
events = [p["perf"].split("'")[1].split()[0] for p in plan]
assert len(set(events)) == len(events), "an event's name twice"
assert named >= 10, named
E
! grep -q "$esc" plan.txt || fail "an escape sequence reached the terminal"
! grep -q $'\u202e' plan.txt || fail "U+202E reached the terminal"
fastsdt-check names > check.txt || true
fastsdt-check --functions -v names >> check.txt || true
fastsdt-index -v -n names >> check.txt
! grep -q "[$esc"$'\a'"]" check.txt || fail "an escape sequence reached the terminal"
! grep -q $'\u202e' check.txt || fail "U+202E reached the terminal"
# bpftrace's own parser: each command has one probe and no other action.
if have bpftrace && [ "$(id -u)" = 0 ]; then
    python3 -c 'import json; print("\n".join(sorted({p["bpftrace"] for p in json.load(open("plan.json"))["files"][0]["plan"]})))' |
        sed -n '1~6p' > commands
    while read -r command; do
        eval "${command/bpftrace/bpftrace -d}" > ast.txt 2>&1 < /dev/null || true
        ! grep -qE '^ *(BEGIN|END)|call: (cat|system|exit)' ast.txt || fail "$command: $(cat ast.txt)"
        ! grep -q 'syntax error' ast.txt || fail "$command: $(cat ast.txt)"
    done < commands
fi
# Paths: quoted for the shell, or refused with a reason.
for path in 'a b' "q'uote" 'dq"x' 'back\x' 'st*r' $'li\nne' 'ha#sh' "e${esc}[31m"; do
    cp names "$path"
    fastsdt-check --plan --json -k 6.12 "$path" > plan.json
    fastsdt-check --plan -k 6.12 "$path" > plan.txt
    ! grep -q "$esc" plan.txt || fail "an escape sequence of a path reached the terminal"
    python3 - "$PWD/$path" <<'E'
import json, shlex, sys
path = sys.argv[1]
point = json.load(open("plan.json"))["files"][0]["plan"][1]
for tool in "bpftrace", "perf":
    if point[tool] is None:
        assert any("path" in remark for remark in point["remarks"]), point
        continue
    assert path in " ".join(shlex.split(point[tool])), point
    assert not set(path) & set('\n"\\*\x1b' if tool == "bpftrace" else '\n \\#\x1b'), point
assert ("#" in path or " " in path or "\n" in path) <= (point["perf"] is None), point
E
    rm "$path"
done
