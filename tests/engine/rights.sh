#!/bin/bash
# A program that sets the rights of its own code while functions in it are armed, one that comes not to allow that they are changed, and one
# whose tracer is killed while another waits.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
gcc -O2 -Wall -Wextra -Werror "$FASTSDT_SOURCE/tests/engine/rights.c" -o rights
do_one() { # LINE ANSWER
    echo "$1" >&3
    read -r did <&4 || did="no answer"
    expect "$1" "$did" "$2"
}
guarded() { grep -q 'rwxp.*/rights$' "/proc/$pid/maps"; }

# The kernel's probes have to stay away from jumps that replace several instructions. So the page is writable again within a second.
driven ./rights
text >text.before
attach 'uprobe:./rights:work { @ = count(); }'
guarded || fail "the text is not guarded: $(cat "/proc/$pid/maps")"
do_one r "r 0"
until guarded; do kill -0 $tracer || fail "$(cat err)"; done
do_one w "w 24"
kill -INT $tracer
report
expect "status" "$status" 0
grep -q '^@: 1$' maps || fail "$(cat maps)"
! guarded || fail "the text stays writable"
text | cmp - text.before || fail "the text has changed"

# A tracer that waits for another's sites gets them also when that one is killed.
attach 'uprobe:./rights:work { @ = count(); }'
first=$tracer
tables() { awk '/memfd:fastsdt/ { print $5 }' "/proc/$pid/maps"; }
tables_of_first=$(tables)
[ -n "$tables_of_first" ] || fail "the first tracer has no tables: $(cat "/proc/$pid/maps")"
mkfifo second
"${as_user[@]}" fastsdt-trace --engine user -p "$pid" \
    -e 'interval:ms:10 { printf("begun\n"); } uprobe:./rights:work { @ = count(); }' >second 2>err2 3>&- 4<&- &
second=$!
exec 6<second
read -r line <&6
expect "the second tracer" "$line" begun
do_one w "w 24"
kill -KILL $first
wait $first || true
exec 5<&- # with what the first has printed
# Its stubs may lie where those of the first one lay: then the jump is the same.
until [[ $'\n'$(tables)$'\n' != *$'\n'$tables_of_first$'\n'* ]] && text >text.now && ! cmp -s text.now text.before; do
    kill -0 $second || fail "the second tracer: $(cat err2)"
done
do_one w "w 24"
kill -INT $second
grep -v '^begun$' <&6 >maps || true
status=0
wait $second || status=$?
expect "the second tracer: status" "$status" 1
grep -q '^@: 1$' maps || fail "the second tracer: $(cat maps)"
grep -q '^sites 1 of 1 armed (1 only since ' maps || fail "the second tracer: $(cat maps)"
text | cmp - text.before || fail "the second tracer: the text has changed"

# Where the page cannot be made as it was, that is what is said.
attach 'uprobe:./rights:work { @ = count(); }'
do_one f "f 0"
kill -INT $tracer
report
expect "a filter: status" "$status" 1
text | cmp - text.before || fail "a filter: the text has changed"
grep -q '^fastsdt-trace: pages that had sites stay writable: ' err || fail "a filter: $(cat err)"
! grep -q 'stay armed' err || fail "a filter: $(cat err)"
do_one w "w 24"
exec 3>&-
wait "$pid" || fail "the program failed"
