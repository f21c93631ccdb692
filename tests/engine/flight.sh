#!/bin/bash
# --flight: the newest events of each thread, after a crash, an exit(), a dump() and SIGUSR1. Which events there have to be follows from what the
# program does, and how many from the buffer's size: a record is two words and a word for each integer.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >app.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static long turns;
static void* work(void* number)
{
    for (long i = 1; i <= turns; ++i)
        FASTSDT(app, step, (long)number, i);
    return 0;
}
/* TURNS crash|threads|lines|forks */
int main(int argc, char** argv)
{
    pthread_t threads[4];
    turns = atol(argv[1]);
    if (!strcmp(argv[2], "crash")) {
        work(0);
        signal(SIGSEGV, SIG_DFL);
        kill(getpid(), SIGSEGV);
    } else if (!strcmp(argv[2], "threads")) {
        for (long i = 0; i < 4; ++i)
            pthread_create(&threads[i], 0, work, (void*)i);
        for (long i = 0; i < 4; ++i)
            pthread_join(threads[i], 0);
    } else if (!strcmp(argv[2], "forks")) {
        for (long i = 0; i < 3; ++i)
            if (!fork()) {
                work((void*)i);
                _exit(0);
            }
        while (wait(0) > 0)
            ;
    } else { /* TURNS for each line */
        for (int c; (c = getchar()) != EOF;) {
            work((void*)(long)c);
            puts("did");
            fflush(stdout);
        }
    }
    return argc - 3;
}
END
gcc -O2 -pthread -I"$INCLUDE" app.c -o app
probe='usdt:./app:app:step'
print="$probe { printf(\"%d %d\\n\", arg0, arg1); }"
# numbers FIRST LAST PREFIX: lines
numbers() { seq -f "$3 %.0f" "$1" "$2"; }

# A crash: the last 4096 / 32 events, the last of them the program's last.
fastsdt-trace --flight --buffer 4K -e "$print" -- ./app 100000 crash >out 2>err || fail "crash: $(cat err)"
expect "crash: events" "$(grep '^[0-9]' out)" "$(numbers 99873 100000 0)"
grep -q 'older events were overwritten: each thread kept its newest 4 KiB; --buffer keeps more$' err || fail "crash: $(cat err)"
# All of them where there is room, and not a word about others.
fastsdt-trace --flight --buffer 64K -e "$print" -- ./app 2000 crash >out 2>err || fail "room: $(cat err)"
expect "room: events" "$(grep '^[0-9]' out)" "$(numbers 1 2000 0)"
expect "room: what is said" "$(grep -c overwritten err || true)" 0

# Each thread's own.
fastsdt-trace --flight --buffer 4K -e "$print" -- ./app 50000 threads >out 2>err || fail "threads: $(cat err)"
for thread in 0 1 2 3; do
    expect "thread $thread" "$(grep "^$thread " out)" "$(numbers 49873 50000 $thread)"
done

# dump() prints what the thread recorded before it, exactly, although it goes on at once. What comes before the reading is counted. exit() the same.
dumping='usdt:./app:app:step { printf("%d %d\n", arg0, arg1); if (arg1 == 60000) { dump(); } }'
fastsdt-trace --flight --buffer 4K -e "$dumping" -- ./app 100000 crash >out 2>err || fail "dump: $(cat err)"
expect "dump: before it" "$(grep -E '^0 [0-9]+$' out | sed -n 1,128p)" "$(numbers 59873 60000 0)"
after=$(grep -E '^0 [0-9]+$' out | sed 1,128d)
kept=$(sed -n 's/.* \([0-9]*\) events were not kept: a thread records nothing between its dump() and the reading$/\1/p' err)
if [ -n "$after" ]; then # it was read before the program's end
    first=$(sed -n '1s/^0 //p' <<<"$after")
    expect "dump: after it" "$after" "$(numbers "$first" 100000 0)"
else
    expect "dump: nothing came later" "$kept" 40000
fi
fastsdt-trace --flight --buffer 4K -e 'usdt:./app:app:step { printf("%d %d\n", arg0, arg1); if (arg1 == 60000) { exit(); } }' \
    -- ./app 100000 crash >out 2>err || fail "exit: $(cat err)"
expect "exit" "$(grep -E '^0 [0-9]+$' out)" "$(numbers 59874 60000 0)"

# SIGUSR1, of a process that works when it is told to: nothing is printed before, and nothing twice. Behind the events come the maps.
driven ./app 10 lines
attach "$print $probe { @ = count(); }" --flight
did
did
kill -USR1 $tracer
while read -r line <&5 && [ "$line" != '@: 20' ]; do
    [ "$line" = armed ] || echo "$line"
done >first
expect "SIGUSR1: before the maps" "$(grep '^10' first)" "$(numbers 1 10 10; numbers 1 10 10)"
did
exec 3>&-
report
[ $status = 0 ] || fail "SIGUSR1: status $status: $(cat err)"
expect "SIGUSR1: at the end" "$(grep '^10' maps)" "$(numbers 1 10 10)"
exec 4<&- 5<&-
rm in answers report

# dump() by the clock, which prints while the process waits.
driven ./app 10 lines
attach "$print interval:ms:10 { dump(); }" --flight
did
while read -r line <&5 && [ "$line" != '10 10' ]; do
    [ "$line" = armed ] || echo "$line"
done >first
expect "interval" "$(cat first)" "$(numbers 1 9 10)"
exec 3>&-
report
expect "interval: at the end" "$(grep -c '^10' maps || true)" 0
exec 4<&- 5<&-
rm in answers report

# Forked children have rings of their own.
fastsdt-trace --flight --buffer 4K -e "$probe { printf(\"%d %d\\n\", arg0, arg1); }" -- ./app 20000 forks >out 2>err || fail "forks: $(cat err)"
for child in 0 1 2; do
    expect "child $child" "$(grep "^$child " out | tail -n 120)" "$(numbers 19881 20000 $child)"
done

# A timeline of the end.
fastsdt-trace record --flight --buffer 64K -o trace --probes './app:app:*' -- ./app 30000 crash >out 2>err || fail "record: $(cat err)"
if have babeltrace2; then
    babeltrace2 trace >events.txt
    last=$(sed -n '$s/.*arg1 = \([0-9]*\).*/\1/p' events.txt)
    count=$(wc -l <events.txt)
    expect "record: the last" "$last" 30000
    expect "record: none between" "$(sed 's/.*arg1 = \([0-9]*\).*/\1/' events.txt)" "$(seq $((30001 - count)) 30000)"
    [ "$count" -gt 1000 ] || fail "record: only $count events"
fi

# What does not go together.
refused() { # SENTENCE ARGUMENTS...
    local sentence=$1
    shift
    ! fastsdt-trace "$@" >out 2>err || fail "$*: no error"
    grep -q "$sentence" err || fail "$*: $(cat err)"
}
refused 'dump() prints what --flight keeps, which is not given$' -e "$dumping" -- ./app 1 crash
refused 'the script makes none at a probe' --flight -e "$probe { @ = count(); }" -- ./app 1 crash
refused 'top, latency and --engine kernel have none' --flight --engine kernel -e "$print" -- ./app 1 crash
refused 'dump() has no arguments' --flight -e "$probe { print(1); dump(1); }" -- ./app 1 crash
