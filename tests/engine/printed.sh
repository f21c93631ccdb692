#!/bin/bash
# What a script prints at the hits of probes: in their order, nothing twice, and what is missing is said. The expected lines follow from
# the program.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
cat >app.c <<'END_OF_C'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static int hits;
static __attribute__((noinline)) void work(long thread)
{
    char name[32];
    snprintf(name, sizeof name, "thread %ld", thread);
    for (int i = 0; i < hits; ++i)
        FASTSDT(app, hit, i, thread, name);
}
static void* run(void* number)
{
    char name[16];
    snprintf(name, sizeof name, "worker-%ld", (long)number);
    prctl(PR_SET_NAME, name);
    work((long)number);
    return NULL;
}
/* Threads that hit in turn: hit i is of thread i % 4. */
static int turn;
static void* relay(void* number)
{
    for (int i = (int)(long)number; i < hits; i += 4) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i)
            sched_yield();
        getppid(); /* the processor may read its counter before it reads `turn`, but not before a system call */
        FASTSDT(app, turn, i);
        __atomic_store_n(&turn, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}
/* app HITS THREADS CHILDREN: with `-` instead of CHILDREN, for each line that it reads. */
int main(int argc, char** argv)
{
    const int threads = argc > 2 ? atoi(argv[2]) : 0, children = argc > 3 ? atoi(argv[3]) : 0;
    pthread_t some[64];
    hits = atoi(argv[1]);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 3 && strcmp(argv[3], "-") == 0) {
        for (char line[8]; fgets(line, sizeof line, stdin);) {
            work(0);
            puts("did");
        }
        return 0;
    }
    for (long i = 0; i < children; ++i)
        if (fork() == 0) {
            run((void*)(i + 1));
            _exit(0);
        }
    while (children && wait(NULL) > 0)
        ;
    if (!threads && !children)
        work(0);
    for (long i = 0; i < threads; ++i)
        pthread_create(&some[i], NULL, argc > 3 && strcmp(argv[3], "relay") == 0 ? relay : run, (void*)(i + (argc <= 3)));
    for (int i = 0; i < threads; ++i)
        pthread_join(some[i], NULL);
    FASTSDT(app, done, hits);
    return 0;
}
END_OF_C
gcc -O2 -pthread -I"$INCLUDE" app.c -o app
chown -R 65534:65534 . 2>/dev/null || true
HIT=usdt:./app:app:hit
# trace OPTIONS...: leaves status, out and err.
trace() {
    status=0
    "${as_user[@]}" fastsdt-trace --engine user "$@" >out 2>err </dev/null || status=$?
}

# The one-liners that people write first.
trace -e "BEGIN { printf(\"begin %d\\n\", 3 * 4); }
$HIT /arg0 < 4/ { \$half = arg0 / 2; if (arg0 % 2) { printf(\"%d: %s %s\\n\", arg0, str(arg2), comm); } else { printf(\"half %d\\n\", \$half); } }
$HIT /arg0 == 3/ { print(arg0); print(\"text\"); print(@seen); time(\"%%\\n\"); clear(@seen); }
$HIT { @seen++; @other[arg0 > 5 ? \"high\" : \"low\"] = count(); }
usdt:./app:app:done { printf(\"done %d\\n\", arg0); exit(); printf(\"never\\n\"); }
END { printf(\"end %d %s\\n\", @n, elapsed > 0 ? \"later\" : \"?\"); } $HIT { @n += 2; }" -- ./app 10
expect "one-liners: status" "$status $(cat err)" "0 "
expect "one-liners" "$(sed '/^$/d; /^@seen: /d' out)" 'begin 12
half 0
1: thread 0 app
half 1
3: thread 0 app
3
text
%
done 10
end 20 later
@n: 20
@other[high]: 4
@other[low]: 6
sites 2 of 2 armed; dropped 0'

# JSON has the types that bpftrace gives.
trace --json -e "$HIT /arg0 == 1/ { printf(\"%d \\\"%s\\\"\\n\", arg0, str(arg2)); print(arg0); print(str(arg2)); time(\"x\"); }" -- ./app 3
expect "JSON" "$(sed '$d' out)" '{"type": "printf", "data": "1 \"thread 0\"\n"}
{"type": "value", "data": 1}
{"type": "value", "data": "thread 0"}
{"type": "time", "data": "x"}'

# join(): as many strings as the array has, up to 16, and to the first that is empty. (bpftrace 0.17 reads the kernel's memory for it: it
# prints empty lines here.)
cat >words.c <<'END'
#include <fastsdt.h>
#include <stddef.h>
static const char* const words[] = {"one", "two", "three", NULL, "never"};
static const char* const none[] = {NULL};
static const char* const many[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", NULL};
static const char* const gap[] = {"before", "", "behind", NULL};
int main(void)
{
    FASTSDT(app, words, words);
    FASTSDT(app, words, none);
    FASTSDT(app, words, many);
    FASTSDT(app, words, gap);
    return 0;
}
END
gcc -O2 -I"$INCLUDE" words.c -o words
joined='one two three

0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
before'
trace -e 'usdt:./words:app:words { join(arg0); }' -- ./words
expect "join" "$status $(cat err)$(sed '$d' out)" "0 $joined"
trace --json -e 'usdt:./words:app:words { join(arg0, ", "); printf("then\n"); }' -- ./words
expect "join, JSON" "$status $(sed -n 1,2p out)" '0 {"type": "join", "data": "one, two, three"}
{"type": "printf", "data": "then\n"}'
trace -e 'usdt:./words:app:words { join(arg0, 1); }' -- ./words
expect "join of what is none" "$status $(grep -c ' error: join() is ' err)" "2 1"

# Each thread's events are in their order, also where nobody reads a clock.
for order in "" --unordered; do
    trace --buffer 1M $order -e "$HIT { printf(\"%d %d %s\\n\", arg1, arg0, comm); }" -- ./app 3000 8
    expect "threads $order: status" "$status $(cat err)" "0 "
    python3 - <<'END_OF_PYTHON' || fail "threads $order: $(tail -3 out)"
lines = [line.split() for line in open("out") if not line.startswith("sites")]
of = {}
for thread, hit, comm in lines:
    assert comm == f"worker-{thread}", comm
    of.setdefault(thread, []).append(int(hit))
assert sorted(of) == [str(i) for i in range(1, 9)] and all(hits == list(range(3000)) for hits in of.values())
END_OF_PYTHON
done
for useless in "--unordered -e '$HIT { @ = count(); }'" "record -o trace --unordered -e '$HIT { printf(\"%d\", arg0); }'" "top --unordered" \
    "--unordered --engine kernel -e '$HIT { printf(\"%d\", arg0); }'"; do
    status=0
    eval "fastsdt-trace $useless -- ./app 1" >out 2>err || status=$?
    expect "$useless" "$status $(grep -c '^fastsdt-trace: --unordered is for ' err)" "2 1"
done
# And those of all threads by the time at which they were recorded.
trace --buffer 1M -e 'usdt:./app:app:turn { printf("%d\n", arg0); }' -- ./app 5000 4 relay
expect "threads in turn: $(cat err)" "$status $(sed '$d' out | xargs)" "0 $(seq -s' ' 0 4999)"

# Followed children print too; what the same thread numbers of others print is not mixed up.
trace --buffer 256K -e "$HIT { printf(\"%d %d %d\\n\", pid, arg1, arg0); } usdt:./app:app:done { @done = count(); }" -- ./app 500 0 6
expect "children: status" "$status $(cat err)" "0 "
python3 - <<'END_OF_PYTHON' || fail "children: $(tail -3 out)"
of = {}
for pid, child, hit in (line.split() for line in open("out") if line[0].isdigit()):
    of.setdefault((pid, child), []).append(int(hit))
assert len(of) == 6 and all(hits == list(range(500)) for hits in of.values()), {k: len(v) for k, v in of.items()}
END_OF_PYTHON

# More than a ring holds, at once: the oldest are there, the others are counted, and the status tells.
trace --buffer 4K -e "$HIT { printf(\"%d\\n\", arg0); @n = count(); }" -- ./app 200000
expect "lost: status" "$status" 1
printed=$(grep -c '^[0-9]' out) lost=$(sed -n 's/.*; lost //p' out)
expect "printed and lost" "$((printed + lost))" 200000
expect "what is first" "$(head -1 out)" 0
grep -q "^fastsdt-trace: $lost events were lost, since a thread recorded more than 4 KiB " err || fail "lost: $(cat err)"
expect "counted" "$(grep '^@n' out)" "@n: 200000"

# Whoever reads the output may go away; the program goes on, and nothing stays in it.
driven ./app 50 0 -
did
text >before
start_tracer "${as_user[@]}" fastsdt-trace --engine user -p $pid \
    -e "interval:ms:10 { printf(\"armed\\n\"); } $HIT { printf(\"%d\\n\", arg0); }"
exec 5<&-
did
wait $tracer || true
text >after
cmp -s before after || fail "the text is not as it was"

# A tracer that is killed while the program records: the next one prints all of its own.
for i in 1 2 3; do
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -p $pid \
        -e "interval:ms:10 { printf(\"armed\\n\"); } $HIT { printf(\"%d\\n\", arg0); }"
    did
    kill -KILL $tracer
    wait $tracer 2>/dev/null || true
    exec 5<&-
    did
done
attach "$HIT { printf(\"%d\\n\", arg0); }" --duration 600
did
kill -INT $tracer
report
expect "the tracer after: $(cat err)" "$status $(tail -1 maps) $(sed '$d' maps | sort -n | xargs)" "0 sites 1 of 1 armed; dropped 0 $(seq -s' ' 0 49)"
text >after
cmp -s before after || fail "the text is not as it was after tracers that were killed"
exec 3>&-
wait $pid

# exit() at a site ends the run with what came before it.
trace -e "$HIT { printf(\"%d\\n\", arg0); if (arg0 == 5) { exit(); } }" -- ./app 1000
expect "exit()" "$status $(sed '$d' out | xargs)" "0 0 1 2 3 4 5"

# Arguments by their names, which two files of a program may have in another order.
cat >one.c <<'END_OF_C'
#include <fastsdt.h>
static __attribute__((noinline)) void one(int i)
{
    FASTSDT_NAMED(shop, sold, (int, id, i), (const char*, item, i == 2 ? "tea" : "coffee"));
    FASTSDT_NAMED(shop, sent, (const char*, item, "tea"), (int, id, 10 * i));
    FASTSDT(shop, plain, i);
}
int main(void)
{
    for (int i = 1; i <= 3; ++i)
        one(i);
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" one.c -o one
trace -e 'usdt:./one:shop:s* /args.id != 20/ { printf("%d %s\n", args.id, str(args->item)); @[str(args.item)] = sum(args.id); }' -- ./one
expect "names" "$status $(grep -v sites out | xargs)" "0 1 coffee 10 tea 2 tea 3 coffee 30 tea @[coffee]: 4 @[tea]: 42"
trace -e 'usdt:./one:shop:* { @[probe] = sum(args.id); }' -- ./one
expect "no names" "$status $(tail -1 out)" "1 sites 2 of 3 armed (1 has no argument named id (only arg0)); dropped 0"

# comm and str() of the heap are values that only a system call reads.
trace -e "$HIT /comm == \"app\"/ { @ = count(); } $HIT /comm != \"app\"/ { @no = count(); }" -- ./app 7
expect "comm in a filter" "$(grep -v sites out | xargs)" "@: 7 @no: 0"
