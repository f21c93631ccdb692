#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A server that forks without a pause, as long as it is not told to stop: a tracer that is to end does not wait for that. No child has jumps
# or a semaphore that is up afterwards.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv timeout
need_attachable
user_folder
cat >server.c <<'END'
#define FASTSDT_IMPLICIT_SEMAPHORES
#include <fastsdt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* Eight children at a time, each with 1 MiB that it has to give back at its end. The input's end ends it. */
int main(void)
{
    struct pollfd in = {0, POLLIN, 0};
    char* memory = memset(malloc(1 << 20), 1, 1 << 20);
    int children = 0, status = 0, bad = 0;
    for (; poll(&in, 1, 0) == 0; ++children) {
        if (children >= 8)
            wait(&status), bad += status != 0;
        if (fork() == 0) {
            memset(memory, 2, 1 << 20);
            FASTSDT_WITH(default, implicit, storm, child, children);
            usleep(20000);
            _exit(0);
        }
    }
    while (wait(&status) > 0)
        bad += status != 0;
    printf("%s %d\n", children > 8 ? "forked" : "idle", bad + (FASTSDT_IS_ACTIVE(storm, child) ? 1 : 0));
    return 0;
}
END
gcc -O2 -I"$INCLUDE" server.c -o server
mkfifo in
"${as_user[@]}" ./server <in >said &
server=$!
exec 3>in
for round in 1 2 3; do
    status=0
    # 1: a child that was forked just while the server was armed is found late.
    timeout 60 "${as_user[@]}" fastsdt-trace --engine user -p $server \
        --follow -e 'usdt:*:storm:child { @ = count(); } interval:ms:200 { exit(); }' >out 2>err 3>&- || status=$?
    [ $status -le 1 ] && grep -q '^@: [1-9]' out || fail "round $round ends with $status, while the server forks: $(cat out err)"
    if grep -q 'stay armed' err; then fail "round $round: $(cat err)"; fi
done
exec 3>&-
wait $server || fail "the server ended with $?"
expect "the server, and its children" "$(cat said)" "forked 0"
