#!/bin/bash
# Two users attach to one process at once: each gets the site, or is told who has it. Neither is told that it may not.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
[ "$(id -u)" = 0 ] || skip "two users take root"
need_attachable
user_folder
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/examples/hello.c" -o app
mkfifo in out
"${as_user[@]}" ./app - <in >out &
pid=$!
exec 3>in 4<out
echo first >&3
read -r line <&4 # it has begun
for ((i = 0; i < 20; ++i)); do
    "${as_user[@]}" fastsdt-trace --engine user -p $pid -t 0.01 -e 'usdt:./app:shop:order { @ = count(); }' >user.out 2>user.err 3>&- 4<&- &
    user=$!
    fastsdt-trace --engine user -p $pid -t 0.01 -e 'usdt:./app:shop:order { @ = count(); }' >root.out 2>root.err 3>&- 4<&- || [ $? = 1 ] ||
        fail "root: $(cat root.err)"
    wait $user || [ $? = 1 ] || fail "the other user: $(cat user.err)"
    for who in user root; do
        tail -1 $who.out | matches -xE 'sites [0-9] of [0-9] armed( \([0-9] (taken by tracer [0-9]+|only since [0-9.]+ s after the start)\))?; dropped 0' || fail "$who: $(cat $who.out $who.err)"
    done
done
exec 3>&-
wait $pid
