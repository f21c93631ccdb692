#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --armable: what is said of entries, exits and sites of a program that was built without fastsdt's layouts. tests/movable has the rules.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc python3
[ "$(uname -m)" = x86_64 ] || skip "the functions are x86-64 code"
cat >some.s <<'END'
	.text
	.type	first, @function
first:	.cfi_startproc
	mov	(%rdi), %eax
	inc	%eax
	inc	%eax
	ret
	.cfi_endproc
	.size	first, . - first
	.byte	0xcc, 0xcc, 0xcc, 0xcc
	.type	second, @function
second:	.cfi_startproc
	syscall
990:	nop
	mov	$1, %eax
	je	1f
	ret
1:	ret
	.cfi_endproc
	.size	second, . - second
	ud2
	.section .note.stapsdt, "", @note
	.balign	4
	.4byte	992f - 991f, 994f - 993f, 3
991:	.asciz	"stapsdt"
992:	.balign	4
993:	.8byte	990b, 0, 0
	.asciz	"shop"
	.asciz	"order"
	.asciz	""
994:	.balign	4
	.section .note.GNU-stack, "", @progbits
END
gcc -shared -nostdlib -o some.so some.s
base=$((16#$(nm some.so | sed -n 's/ t first$//p')))
at() { printf '%#x' $((base + $1)); }
expect "text" "$(fastsdt-check --armable some.so)" "some.so:
  $(at 0)  first  6 bytes, may fault; exits 1 of 1
  $(at 11)  second  has an instruction there that cannot be moved; exits 1 of 2
    $(at 22)  exit: has too few bytes there
  $(at 13)  shop:order  6 bytes
  entries 1 of 2 (50.0 %), may fault 100.0 %, exits 2 of 3 (66.7 %), whole functions 1, sites 1 of 1 (100.0 %)"
expect "summary" "$(fastsdt-check --armable --summary some.so)" "some.so:
  entries 1 of 2 (50.0 %), may fault 100.0 %, exits 2 of 3 (66.7 %), whole functions 1, sites 1 of 1 (100.0 %)
    1 exit: has too few bytes there
    1 entry: has an instruction there that cannot be moved"
expect "all exits" "$(fastsdt-check --armable --verbose some.so | sed -n 3p)" "    $(at 6)  return: 5 bytes"
expect "--probe" "$(fastsdt-check --armable --probe 'other:*' some.so | tail -n 1 | grep -o 'sites.*')" "sites none"
expect "JSON" "$(fastsdt-check --armable --json some.so | python3 -c '
import json, sys
file, = json.load(sys.stdin)["files"]
base = file["functions"][0]["address"]
for function in file["functions"]:
    for window in [function["entry"]] + function["exits"]:
        print(function["name"], window["address"] - base, *[window.get(key) for key in ("length", "at", "may_fault", "leaves", "obstacle")])
print(file["sites"][0]["name"], file["sites"][0]["window"]["length"], file["summary"]["exits"])')" "first 0 6 0 True False None
first 6 5 0 False True None
second 11 None None None None has an instruction there that cannot be moved
second 14 8 7 False True None
second 22 None None None None has too few bytes there
order 6 {'all': 3, 'movable': 2}"
# A probe's nop is not moved with the function's first instructions: it would be executed no more.
sed 's/^\tsyscall$/\tpush %rbx/; s/^1:\tret$/1:\tpop %rbx\n\tret/' some.s >site.s
gcc -shared -nostdlib -o site.so site.s
fastsdt-check --armable site.so | matches "second  has another probe's site inside the bytes that would be replaced" ||
    fail "a probe's site: $(fastsdt-check --armable site.so)"
for wrong in --plan --diff --sarif --functions "--kernel 6.1" "--only error"; do
    if fastsdt-check --armable $wrong some.so 2>err; then fail "--armable $wrong"; fi
    grep -q "armable" err || matches "files: OLD NEW" <err || fail "--armable $wrong: $(cat err)"
done
# arm64: every instruction is a word.
have aarch64-linux-gnu-gcc || exit 0
cat >word.s <<'END'
	.text
	.type	first, %function
first:	.cfi_startproc
	ldr	w0, [x0]
990:	nop
	ret
	.cfi_endproc
	.size	first, . - first
	.type	second, %function
second:	.cfi_startproc
	svc	0
	b	first
	.cfi_endproc
	.size	second, . - second
END
sed -n '/\.note\.stapsdt/,/^994/p' some.s | sed 's/@note/%note/' >>word.s
aarch64-linux-gnu-gcc -shared -nostdlib -o word.so word.s
base=$((16#$(nm word.so | sed -n 's/ t first$//p')))
expect "arm64" "$(fastsdt-check --armable --verbose word.so)" "word.so:
  $(at 0)  first  4 bytes, may fault; exits 1 of 1
    $(at 8)  return: 4 bytes
  $(at 12)  second  has an instruction there that cannot be moved; exits 1 of 1
    $(at 16)  tail call: 4 bytes
  $(at 4)  shop:order  4 bytes
  entries 1 of 2 (50.0 %), may fault 100.0 %, exits 2 of 2 (100.0 %), whole functions 1, sites 1 of 1 (100.0 %)
    1 entry: has an instruction there that cannot be moved"
