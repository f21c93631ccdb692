#!/bin/bash
# A handler of a signal that an instruction raises sees the instruction where it stands in the program, whenever the handler comes.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
gcc -O1 -o raises "$FASTSDT_SOURCE/tests/engine/signals.c"
bmi=$(grep -m1 -cw bmi1 /proc/cpuinfo || true)
expected='handles
divides: a signal at 0
adds: a signal at 0
loads: a signal at 0
plain: no signal'
[ "$bmi" = 0 ] || expected+='
newer: no signal'
lines='handle divides adds loads plain'
[ "$bmi" = 0 ] || lines+=' newer'
expect "the program by itself" "$(printf '%s\n' $lines | ./raises)" "$expected"
script='uprobe:./raises:divides, uprobe:./raises:adds, uprobe:./raises:newer, uprobe:./raises:loads, uprobe:./raises:plain { @[func] = count(); }'

driven ./raises
ask() { echo "$1" >&3; read -r did <&4; }
declare -A own
for each in adds newer loads; do own[$each]=$(bytes_of $each); done
# Before there is a handler all are armed but what divides. A handler that comes at once after that has seen it: nothing waits here.
attach "$script"
ask handle
ask divides
expect "a handler that has just come" "$did" "divides: a signal at 0"
# What may still be armed gets its bytes back as soon as the tracer sees the handler.
for each in adds newer loads; do
    until [ "$(bytes_of $each)" = "${own[$each]}" ]; do
        kill -0 $tracer || fail "$each: $(cat err)"
        [ $SECONDS -lt 60 ] || fail "$each is armed still, a minute after the handler came"
    done
done
for each in divides adds loads plain; do
    ask $each
    expect "a handler: $each" "$did" "$(grep "^$each" <<<"$expected")"
done
kill -INT $tracer
report
expect "a handler: status" "$status" 1
expect "a handler" "$(grep -v '^sites' maps | grep .)" '@[plain]: 1'
grep -q '^sites 1 of 5 armed (' maps || fail "a handler: $(cat maps)"
for reason in '1 has no nop10, and its code divides, which a handler of SIGFPE would see elsewhere' \
    '1 was armed until the process handled SIGSEGV or SIGBUS, and its code accesses memory' \
    '1 was armed until the process handled SIGFPE, and its code calculates with floating point' \
    '1 was armed until the process handled SIGILL, and its code has instructions that not every processor has'; do
    grep -qF "$reason" maps || fail "not said: $reason: $(cat maps)"
done
# With the handler there nothing of that kind is armed.
attach "$script"
for each in divides adds loads plain; do
    ask $each
    expect "handled: $each" "$did" "$(grep "^$each" <<<"$expected")"
done
kill -INT $tracer
report
grep -q '^sites 1 of 5 armed (' maps || fail "handled: $(cat maps)"
exec 3>&-
wait $pid || fail "the program failed"

# A COMMAND that handles them later.
status=0
printf '%s\n' divides | fastsdt-trace --engine user -e 'uprobe:./raises:divides { @ = count(); }' -- ./raises >out 2>err || status=$?
expect "a COMMAND without a handler: the signal ends it" "$status $(grep -c 'was killed by signal 8' err)" "1 1"
