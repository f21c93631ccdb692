#!/bin/bash
# A thread that the kernel has made for io_uring comes to no user space: another makes the calls that map memory.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
echo '#include <linux/io_uring.h>' | gcc -E - >/dev/null 2>&1 || skip "no <linux/io_uring.h>"
gcc -O2 -Wall -Wextra -Werror "$FASTSDT_SOURCE/tests/engine/workers.c" -o workers
status=0
"${as_user[@]}" ./workers </dev/null || status=$?
[ "$status" != 77 ] || skip "io_uring cannot be used here"
driven ./workers
did
expect "threads" "$(ls "/proc/$pid/task" | wc -l)" 2
attach 'uprobe:./workers:work { @ = count(); }'
did
kill -INT $tracer
report
expect "status ($(cat err))" "$status" 0
grep -q '^@: 1$' maps || fail "$(cat maps)"
exec 3>&-
wait "$pid" || fail "the program failed"
