#!/bin/bash
# A running process: attached to, counted, left alone again; again and again. A Ctrl-C ends the report.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
attachable || skip "kernel.yama.ptrace_scope is not 0"
rm -rf user && mkdir user && cd user
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
chown -R 65534:65534 . 2>/dev/null || true

# The program takes an order for each line, and answers: so every hit has its time.
mkfifo in out
as_user ./app - <in >out &
exec 3>in 4<out
read -r line <&4 # open
pid=$(pgrep -P $$ -x app || pgrep -P "$(pgrep -P $$ | head -1)" -x app || true)
[ -n "$pid" ] || pid=$!
order() { echo "$1" >&3; read -r line <&4; }

# run N SCRIPT: attaches, has N orders made once the sites are armed, and interrupts.
run() {
    as_user fastsdt-trace --engine user -p "$pid" -e "BEGIN { printf(\"begin\\n\"); } interval:ms:10 { printf(\"armed\\n\"); } $2" >report 2>err &
    local tracer=$! i
    # The interval's first turn comes after arming.
    tail -n +1 -F report --pid=$tracer 2>/dev/null | grep -m1 -q '^armed' || fail "the tracer ended: $(cat err report)"
    for ((i = 0; i < $1; ++i)); do order "item $i"; done
    kill -INT $tracer
    status=0
    wait $tracer || status=$?
    grep -v '^armed$' report >maps
}

untraced=$(as_user cat "/proc/$pid/maps" | wc -l)
for round in 1 2 3; do
    run 5 'usdt:./app:shop:order { @n = count(); @item[str(arg1)] = count(); }'
    expect "round $round: status" "$status" 0
    grep -qx '@n: 5' maps || fail "round $round: $(cat maps err)"
    expect "round $round: items" "$(grep -c '^@item\[item [0-4]' maps)" 5
    grep -qxE 'sites ([0-9]+) of \1 armed; dropped 0' maps || fail "round $round: $(cat maps)"
    # Between the rounds nobody counts, and the bytes are the file's.
    order between
    fastsdt-check --pid "$pid" --json >check.json 2>/dev/null || true
    ! grep -q '"change": "jump"' check.json || fail "round $round: a site is still armed"
done
echo "$untraced mappings before, $(wc -l <"/proc/$pid/maps") after 3 rounds"

# The program goes on, and ends by itself under the tracer.
as_user fastsdt-trace --engine user -p "$pid" -e 'interval:ms:10 { printf("armed\n"); } usdt:./app:shop:closed { @closed = count(); }' >report 2>err &
tracer=$!
tail -n +1 -F report --pid=$tracer 2>/dev/null | grep -m1 -q '^armed' || fail "the tracer ended: $(cat err report)"
exec 3>&-
wait $tracer || fail "the end of the program: $(cat err report)"
grep -qx '@closed: 1' report || fail "the last hit is missing: $(cat report)"
