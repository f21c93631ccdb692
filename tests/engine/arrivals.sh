#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Processes that begin while fastsdt-trace looks for them, a thousand in a second: each is traced, or counted as missed. None is lost in silence.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
[ "$(id -u)" = 0 ] || skip "the kernel tells root only of each new process"
cat >brief.c <<'END'
#include <fastsdt.h>
int main(void)
{
    for (int i = 0; i < 10; ++i)
        FASTSDT(brief, hit, i);
    return 0;
}
END
gcc -O2 -I"$INCLUDE" brief.c -o brief
gcc -O2 brief.c -I"$INCLUDE" -o other # with the same probe, and not asked for
gcc -O2 "$FASTSDT_SOURCE/tests/engine/starts.c" -o starts
rm -f report && mkfifo report
as_user=()
# of WHAT: the number behind a word of the last line; 0: it is not there.
of() { sed -nE "s/^sites.*; $1 ([0-9]+).*/\1/p" maps | grep . || echo 0; }

# By file.
fastsdt-trace --engine user --exe ./brief -e 'interval:ms:10 { printf("armed\n"); } usdt:*:brief:hit { @ = count(); }' >report 2>err &
tracer=$!
exec 5<report
armed
./starts 1000 ./brief
./starts 20 ./other
kill -INT $tracer
report
expect "of a file: $(cat maps err)" "$status $(($(of found) + $(of missed)))" "1 1000"
[ "$(sed -n 's/^@: //p' maps)" -le $((10 * $(of found))) ] || fail "more hits than of those that were found: $(cat maps)"
grep -q "^fastsdt-trace: $(of missed) processes ended before they could be traced: all their hits are missing$" err || fail "no sentence: $(cat err)"

# What descendants of a COMMAND execute, also where the parent does not wait, and where they cannot be made to wait for the tracer.
status=0
fastsdt-trace --engine user --no-move -e 'usdt:*/brief:brief:hit { @ = count(); }' \
    -- sh -c './starts 100 ./brief; (./brief &); ./brief; true' >maps 2>err || status=$?
expect "of descendants: $(cat maps err)" "$status $(($(of found) + $(of missed)))" "1 102"

# An ordinary user is not told, and the report does not count them.
user_folder
cp "$OLDPWD"/{brief,starts} .
chown -R 65534:65534 .
status=0
setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all fastsdt-trace --engine user \
    -e 'usdt:*/brief:brief:hit { @ = count(); }' -- sh -c './starts 100 ./brief' >maps 2>err || status=$?
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 0 ] || expect "an ordinary user: $(cat maps err)" "$(of missed)" 0
