#!/bin/bash
# The first example of the documentation, as an ordinary user. The expected figures follow from examples/hello.c: order N costs
# 250 + N cents.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
user_folder
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
gcc -O2 -static -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o static
gcc -O2 -static-pie -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o static-pie
gcc -O2 -s -no-pie -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o stripped
chown -R 65534:65534 . 2>/dev/null || true
script() { printf 'usdt:./%s:shop:order /arg2 > 1000/ { @[arg0 %% 3] = sum(arg0); @cents = hist(arg2); @n = count(); }' "$1"; }

# Orders 751 to 2000, by their number modulo 3; and their cents, 1001 to 2250, by powers of two.
wanted=$(python3 - <<'END'
ids = range(751, 2001)
for total, rest in sorted((sum(i for i in ids if i % 3 == r), r) for r in range(3)):
    print(f"@[{rest}]: {total}")
print("@cents: ")
counts = [(n, sum(1 for i in ids if 2**n <= 250 + i < 2**(n + 1))) for n in (9, 10, 11)]
label = {9: "512", 10: "1K", 11: "2K", 12: "4K"}
for n, count in counts:
    print(f"[{label[n]}, {label[n + 1]})".ljust(16) + str(count).rjust(8) + " |" + ("@" * int(count / max(c for _, c in counts) * 52)).ljust(52) + "|")
print("\n@n: 1250")
END
)
for program in app static static-pie stripped; do
    "${as_user[@]}" fastsdt-trace --engine user -e "$(script $program)" -- ./$program 2000 >out 2>err || fail "$program: $(cat err out)"
    # The program prints its own lines by itself, so they may be anywhere; ours are together.
    expect "$program" "$(grep -vE '^open$|^2000 orders$' out | sed '$d')" "$wanted"
    grep -qxE 'sites ([0-9]+) of \1 armed; dropped 0' out || fail "$program: $(tail -1 out)"
    grep -qx '2000 orders' out || fail "$program does not print what it printed untraced: $(cat out)"
    expect "$program: messages" "$(cat err)" ""
done

# More keys than a map holds are counted as dropped, and the status tells.
status=0
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:./app:shop:order { @[arg0] = count(); }' -- ./app 100000 >out 2>err || status=$?
expect "status" "$status" 1
kept=$(grep -c '^@\[' out) dropped=$(sed -n 's/.*; dropped //p' out)
[ "$kept" -ge 4096 ] && [ "$dropped" -gt 0 ] || fail "$kept keys, $dropped dropped"
expect "keys and dropped" $((kept + dropped)) 100000
