#!/bin/bash
# A program that sets the rights of its own code while functions in it are armed, and one that comes not to allow that they are changed.
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
