#!/bin/bash
# Programs and libraries whose file has changed since they were mapped, traced by an ordinary user.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/semaphore.c" -o new
chown -R 65534:65534 . 2>/dev/null || true
mkfifo in out
"${as_user[@]}" ./app - <in >out &
pid=$!
exec 3>in 4<out
order() { echo "$1" >&3; read -r line <&4; }
order first
read -r line <&4 # after "open"

# counted SCRIPT: has three orders made while it runs, and prints the maps.
counted() {
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" -e "interval:ms:10 { printf(\"armed\n\"); } $1"
    for _ in 1 2 3; do order more; done
    kill -INT $tracer
    grep -v '^armed$' <&5 >maps || true
    status=0
    wait $tracer || status=$?
    expect "$2: status" "$status" 0
    expect "$2: hits" "$(head -1 maps)" "@n: 3"
    grep -qxE 'sites ([0-9]+) of \1 armed; dropped 0' maps || fail "$2: $(cat maps err)"
}
mkfifo report
script='usdt:./app:shop:order { @n = count(); }'
counted "$script" "as it was"
rm app
counted "$script" "removed"
counted 'usdt:*:shop:order { @n = count(); }' "removed, every file"
# A package upgrade: the name now leads to another program, whose probes are not those of the process.
mv new app
counted "$script" "replaced"
