#!/bin/bash
# The ways of C++ and of the C library to leave a function, while all functions of a program that was built without fastsdt, of libc, libstdc++
# and libgcc_s have their first instructions and their returns moved: exceptions, coroutines, contexts, cancelled threads, handlers that walk
# the stack. The program counts what it destroys.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need g++ setpriv python3
need_attachable
user_folder
cp "$FASTSDT_SOURCE/tests/engine/ways.cpp" .
g++ -std=c++20 -O2 -fnon-call-exceptions -fasynchronous-unwind-tables ways.cpp -o ways
all='e c x t s j e'
plain=$(printf '%s\n' $all | ./ways )
expect "the program by itself" "$(head -1 <<<"$plain")" "e 2000, 21000 destroyed"
grep -q '^t 1000, ' <<<"$plain" || fail "the program by itself: $plain"

# A COMMAND, and a process that runs already.
printf '%s\n' $all >lines
fastsdt-trace --engine user -e 'uprobe:./ways:*, uprobe:*/lib*:* { @in = count(); } uretprobe:./ways:*, uretprobe:*/lib*:* { @out = count(); }' \
    -- ./ways <lines >out 2>err || fail "a command: $(cat out err)"
diff <(echo "$plain") <(grep 'destroyed$' out) || fail "a command: it differs: $(cat out err)"
grep -qE '^sites [0-9]{4,} of [0-9]{4,} armed; dropped 0' out || fail "a command: $(cat out)"

do_one() {
    echo "$1" >&3
    read -r did <&4
}
driven ./ways
do_one p
entry() { bytes_of '_Z5peeks.*'; }
own=$(entry)
fastsdt-trace --engine user -p $pid \
    -e 'uprobe:./ways:*, uprobe:*/lib*:* { @in = count(); } uretprobe:./ways:*, uretprobe:*/lib*:* { @out = count(); }' >out 2>err 3>&- 4<&- &
tracer=$!
until [ "$(entry)" != "$own" ]; do kill -0 $tracer || fail "attached: $(cat out err)"; done
for each in $all; do do_one $each; echo "$did"; done >with
kill -INT $tracer
wait $tracer || fail "attached: $(cat out err)"
diff <(echo "$plain") with || fail "attached: it differs"
grep -qE '^sites [0-9]{4,} of [0-9]{4,} armed; dropped 0' out || fail "attached: $(cat out)"

# A forked child that comes to handle faults sees no stub's address: what may fault is given up there, whether its hits count or not.
for follow in '' --follow; do
    fastsdt-trace --engine user $follow -p $pid \
        -e 'uprobe:./ways:_Z5peeks* { @peeks = count(); } uprobe:./ways:_Z4adds* { @adds = count(); }' >out 2>err 3>&- 4<&- &
    tracer=$!
    until [ "$(entry)" != "$own" ]; do kill -0 $tracer || fail "a child's handler: $(cat out err)"; done
    do_one k
    expect "a child's handler $follow: what the child came to" "$did" "k 0, 0 destroyed"
    do_one p
    kill -INT $tracer
    status=0
    wait $tracer || status=$?
    expect "a child's handler $follow: status" "$status" 1
    expect "a child's handler $follow" "$(grep . out)" "@adds: 1
@peeks: $([ -z "$follow" ] && echo 1 || echo 2)
sites 2 of 2 armed; dropped 0; $([ -z "$follow" ] && echo forked || echo followed) 1"
    [ -z "$follow" ] || grep -qx 'fastsdt-trace: a forked child has come to handle a signal that moved code may raise: such code is not armed there any more' err ||
        fail "a child's handler: $(cat err)"
done

# A handler that comes later sees no stub's address: what may fault is given up.
fastsdt-trace --engine user -p $pid \
    -e 'uprobe:./ways:_Z5peeks* { @peeks = count(); } uprobe:./ways:_Z4adds* { @adds = count(); }' >out 2>err 3>&- 4<&- &
tracer=$!
until [ "$(entry)" != "$own" ]; do kill -0 $tracer || fail "a handler: $(cat out err)"; done
do_one p
do_one h
until [ "$(entry)" = "$own" ]; do kill -0 $tracer || fail "a handler: $(cat out err)"; done
do_one f
kill -INT $tracer
status=0
wait $tracer || status=$?
expect "a handler: what was thrown" "$did" "f 105, 100 destroyed"
expect "a handler: status" "$status" 1
expect "a handler" "$(grep . out)" '@adds: 2
@peeks: 1
sites 1 of 2 armed (1 was armed until the process handled SIGSEGV or SIGBUS, and its code accesses memory); dropped 0'

# Where it is asked for, it stays.
fastsdt-trace --engine user --move-faulting -p $pid -e 'uprobe:./ways:_Z5peeks* { @peeks = count(); }' >out 2>err 3>&- 4<&- &
tracer=$!
until [ "$(entry)" != "$own" ]; do kill -0 $tracer || fail "--move-faulting: $(cat out err)"; done
do_one p
kill -INT $tracer
wait $tracer || fail "--move-faulting: $(cat out err)"
expect "--move-faulting" "$(grep . out)" '@peeks: 1
sites 1 of 1 armed; dropped 0'
exec 3>&-
wait $pid || fail "the program failed"
