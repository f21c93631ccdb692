#!/bin/bash
# A running process is attached to, counted and left alone, several times. A Ctrl-C ends each run with its report.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
chown -R 65534:65534 . 2>/dev/null || true

# The program takes an order for each line and answers, so the test knows when each hit happens.
mkfifo in out report
"${as_user[@]}" ./app - <in >out &
pid=$!
exec 3>in 4<out
echo first >&3
read -r line <&4 # "open", which waits for the first answer
read -r line <&4
order() { echo "$1" >&3; read -r line <&4; }

# jumps: sites of the program that are armed, as fastsdt-check sees them.
jumps() {
    fastsdt-check --pid "$pid" --json >check.json 2>check.err || true # findings do not matter here
    grep -q '"change"' check.json || fail "fastsdt-check: $(cat check.err)"
    grep -c '"change": "jump"' check.json || true
}

# run N SCRIPT: attaches, has N orders made once the sites are armed, and interrupts.
run() {
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" -e "interval:ms:10 { printf(\"armed\\n\"); } $2"
    local i
    [ "$(jumps)" -gt 0 ] || fail "nothing is armed"
    for ((i = 0; i < $1; ++i)); do order "item $i"; done
    kill -INT $tracer
    grep -v '^armed$' <&5 >maps || true
    status=0
    wait $tracer || status=$?
}

untraced=$("${as_user[@]}" cat "/proc/$pid/maps" | wc -l)
for round in 1 2 3; do
    run 5 'usdt:./app:shop:order { @n = count(); @item[str(arg1)] = count(); }'
    expect "round $round: status" "$status" 0
    grep -qx '@n: 5' maps || fail "round $round: $(cat maps err)"
    expect "round $round: items" "$(grep -c '^@item\[item [0-4]' maps)" 5
    grep -qxE 'sites ([0-9]+) of \1 armed; dropped 0' maps || fail "round $round: $(cat maps)"
    # Between the rounds nothing is counted, and the sites have the file's bytes.
    order between
    expect "round $round: sites that are still armed" "$(jumps)" 0
done
echo "$untraced mappings before, $(wc -l <"/proc/$pid/maps") after 3 rounds"

# The reader of the report leaves early.
"${as_user[@]}" fastsdt-trace --engine user -p "$pid" --interval 0.02 -e 'usdt:./app:shop:order { @n = count(); }' 2>err 3>&- 4<&- |
    { read -r line && echo "$line" >first; } || true
expect "a reader that leaves: what it read" "$(cat first)" "@n: 0"
expect "a reader that leaves: sites that are still armed" "$(jumps)" 0

# The program goes on, and ends by itself under the tracer.
start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
    -e 'interval:ms:10 { printf("armed\n"); } usdt:./app:shop:closed { @closed = count(); }'
exec 3>&-
grep -v '^armed$' <&5 >maps || true
wait $tracer || fail "the end of the program: $(cat err maps)"
grep -qx '@closed: 1' maps || fail "the last hit is missing: $(cat maps)"
