#!/bin/bash
# Forked children: their hits count in the same maps, whoever forked them and however many there are, and nothing stays in them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
cat >library.c <<'END'
#include <fastsdt.h>
void begin(int n) { FASTSDT(lib, begin, n); }
END
cat >plugin.c <<'END'
#define FASTSDT_IMPLICIT_SEMAPHORES
#include <fastsdt.h>
#include <unistd.h>
void plugged(int n)
{
    while (!FASTSDT_IS_ACTIVE(plugin, hit))
        usleep(1000);
    for (int i = 0; i < n; ++i)
        FASTSDT_WITH(default, implicit, plugin, hit, i);
}
END
cat >app.c <<'END'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
void begin(int n);
static char* text;
static __attribute__((noinline, noclone)) void hits(int n)
{
    for (int i = 0; i < n; ++i) {
        begin(i);
        FASTSDT_WITH(default, implicit, app, hit, i % 4, text);
    }
}
static void* thread(void* n)
{
    hits((int)(long)n);
    return NULL;
}
static void children(int count, int at_once, int n, int threads)
{
    for (int i = 0; i < count; ++i) {
        if (i >= at_once)
            wait(NULL);
        if (fork() == 0) {
            pthread_t some[8];
            for (int t = 0; t < threads; ++t)
                pthread_create(&some[t], NULL, thread, (void*)(long)n);
            for (int t = 0; t < threads; ++t)
                pthread_join(some[t], NULL);
            if (!threads)
                hits(n);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
}
/* app COMMAND...: or a command for each line of its input. */
static int run(char* line)
{
    int a = 0, b = 0, c = 0, d = 0;
    char what[16] = "";
    const int n = sscanf(line, "%15s %d %d %d %d", what, &a, &b, &c, &d);
    if (n >= 1 && !strcmp(what, "hits")) {
        hits(a);
    } else if (!strcmp(what, "children")) { /* COUNT AT-ONCE HITS THREADS */
        children(a, b, c, d);
    } else if (!strcmp(what, "daemon")) { /* HITS: of a grandchild whose parents have ended */
        if (fork() == 0) {
            const pid_t parent = getpid();
            setsid();
            if (fork() == 0) {
                while (getppid() == parent)
                    ;
                hits(a);
            }
            _exit(0);
        }
        _exit(0);
    } else if (!strcmp(what, "vfork")) {
        if (vfork() == 0) {
            hits(a);
            _exit(0);
        }
        wait(NULL);
    } else if (!strcmp(what, "keep")) { /* HITS: a child that stays; tells its number, the counter and whether it is traced */
        const pid_t child = fork();
        if (child == 0) {
            hits(a);
            printf("child %d %d\n", getpid(), FASTSDT_IS_ACTIVE(app, hit) ? 1 : 0);
            for (int signal;;) {
                sigset_t set;
                sigemptyset(&set);
                sigaddset(&set, SIGUSR1);
                sigwait(&set, &signal);
                hits(a);
                printf("child %d %d\n", getpid(), FASTSDT_IS_ACTIVE(app, hit) ? 1 : 0);
            }
        }
    } else if (!strcmp(what, "load")) { /* a child that loads a library */
        if (fork() == 0) {
            hits(1);
            if (!dlopen("libm.so.6", RTLD_NOW))
                _exit(1);
            hits(1);
            _exit(0);
        }
        wait(NULL);
    } else if (!strcmp(what, "plugin")) { /* HITS: a child loads a library that its parent has not, and waits until that is traced */
        if (fork() == 0) {
            hits(a);
            void (*plugged)(int) = (void (*)(int))dlsym(dlopen("./plugin.so", RTLD_NOW), "plugged");
            plugged(a);
            hits(a);
            _exit(0);
        }
        wait(NULL);
    }
    printf("did %d\n", getpid());
    return 0;
}
int main(int argc, char** argv)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    text = strdup("of the heap");
    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (int i = 1; i < argc; ++i)
        run(argv[i]);
    static char line[64];
    while (argc == 1 && fgets(line, sizeof line, stdin))
        run(line);
    return 0;
}
END
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 -I"$INCLUDE" app.c -o app ./library.so -lpthread
gcc -O2 -I"$INCLUDE" -shared -fPIC plugin.c -o plugin.so
chown -R 65534:65534 . 2>/dev/null || true
mkfifo in out report

# traced SCRIPT OPTIONS...: a report on a command; leaves status, maps, err.
traced() {
    local script=$1
    shift
    status=0
    "${as_user[@]}" fastsdt-trace --engine user -e "$script" "$@" >all 2>err || status=$?
    grep -vE '^did [0-9]+$' all >maps || true
}

# A server that forks its workers.
traced 'usdt:./app:app:hit { @ = count(); @by[arg0] = count(); @largest = max(arg0); @text[str(arg1)] = count(); }' -- ./app 'children 4 4 1000 0'
expect "four children" "$status $(cat maps err)" "0 @: 4000
@by[0]: 1000
@by[1]: 1000
@by[2]: 1000
@by[3]: 1000
@largest: 3
@text[of the heap]: 4000
sites 1 of 1 armed; dropped 0; followed 4"

# Its threads come at once, to their first hits too.
traced 'usdt:./app:app:hit { @ = count(); }' -- ./app 'children 20 4 500 8'
expect "children with threads" "$status $(cat maps err)" "0 @: 80000
sites 1 of 1 armed; dropped 0; followed 20"

# Many more than there is memory for at once; what those left that have ended counts.
traced 'usdt:./app:app:hit { @ = count(); @by[arg0] = hist(arg0); @least = min(arg0); @sum = sum(arg0); }' -- ./app 'children 3000 2 10 0'
expect "3000 children" "$status $(grep -E '^@[: ]|^@least|^@sum|sites' maps)" "0 @: 30000
@least: 0
@sum: 39000
sites 1 of 1 armed; dropped 0; followed 3000"

# A daemon forks twice: the command has ended long before its hits.
traced 'usdt:./app:app:hit { @ = count(); }' -- ./app 'daemon 700'
expect "a daemon" "$status $(cat maps err)" "0 @: 700
sites 1 of 1 armed; dropped 0; followed 1"

# Numbers of processes, as they know them themselves. A value that one site keeps and another reads, of far modules.
traced 'usdt:./app:app:hit { @pids[pid] = count(); @tids[tid] = count(); @last = pid; } usdt:./library.so:lib:begin { @begun[tid] = arg0; }
    usdt:./app:app:hit /@begun[tid] % 4 == arg0/ { @same = count(); }' -- ./app 'children 3 1 100 0'
expect "numbers" "$status $(grep -c '^@pids\[[0-9]*\]: 100$' maps) $(grep -c '^@tids\[[0-9]*\]: 100$' maps) $(grep -E '^@same|^sites' maps)" \
    "0 3 3 @same: 300
sites 2 of 2 armed; dropped 0; followed 3"
expect "numbers of processes and their only threads" "$(grep -o '^@pids.*' maps | tr -dc '0-9\n')" "$(grep -o '^@tids.*' maps | tr -dc '0-9\n')"

# The same where no call may be made, since the program may set a filter: the only thread of a child has its number.
cat >alone.c <<'END'
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char** argv)
{
    if (argc > 9)
        prctl(atoi(argv[9])); /* nobody can tell what for */
    for (int child = 0; child < 3; ++child)
        if (fork() == 0) {
            for (int i = 0; i < 100; ++i)
                FASTSDT(app, hit, i);
            fprintf(stderr, "child %d\n", getpid());
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}
END
gcc -O2 -I"$INCLUDE" alone.c -o alone
traced 'usdt:./alone:app:hit { @pids[pid] = count(); @ = count(); }' -- ./alone
expect "numbers without a call" "$status $(sed -n 's/^@pids\[\([0-9]*\)\]: 100$/\1/p' maps | sort -n | xargs) $(grep -E '^@:|^sites' maps)" \
    "0 $(sed -n 's/^child //p' err | sort -n | xargs) @: 300
sites 1 of 1 armed; dropped 0; followed 3"

# A child by vfork has its parent's memory, and counts as the parent.
traced 'usdt:./app:app:hit { @[pid] = count(); }' -- ./app 'vfork 50'
expect "vfork" "$status $(grep -c '^@\[[0-9]*\]: 50$' maps) $(tail -1 maps)" "0 1 sites 1 of 1 armed; dropped 0"

# A child that loads a library may have got a filter with it: it makes no system calls any more, and says so.
traced 'usdt:./app:app:hit { @[str(arg1)] = count(); }' -- ./app 'load'
expect "a child that loads" "$status $(cat maps)" "1 @[of the heap]: 1
sites 1 of 1 armed; dropped 0; unread 1; followed 1"

# A child that loads what its parent has not is traced as a process of its own from then on, and what it recorded before is kept.
traced 'usdt:./app:app:hit { @ = count(); } usdt:*/plugin.so:plugin:hit { @plugin = count(); }' -- ./app 'plugin 30'
expect "a child that loads a library with sites" "$status $(cat maps)" "1 @: 60
@plugin: 30
sites 3 of 3 armed; dropped 0; followed 1; processes 2; found 1"

# Who does not follow says what is missing.
traced 'usdt:./app:app:hit /arg0 < 3/ { @ = count(); }' --no-follow -- ./app 'hits 4' 'children 4 4 1000 0'
expect "not followed" "$status $(cat maps err)" "1 @: 3
sites 1 of 1 armed; dropped 0; forked 3000
fastsdt-trace: 3000 hits of forked children were not counted; --follow counts them"

# A running process.
"${as_user[@]}" ./app <in >out &
pid=$!
exec 3>in 4<out
count='usdt:./app:app:hit { @ = count(); }'
turn() { # COMMAND ANSWER
    echo "$1" >&3
    read -r line <&4
    expect "$1" "${line%% *}" "$2"
}
keep() { # leaves the number of a child that stays, and `active`
    local answers
    echo 'keep 10' >&3
    answers=$(read -r a <&4 && read -r b <&4 && printf '%s\n%s\n' "$a" "$b" | sort) # the child's, and the parent's
    read -r _ child active <<<"$answers"
}
child_hits() { # of a kept child; leaves `active`
    kill -USR1 "$1"
    read -r _ _ active <&4
}
mappings() { grep -vE 'stack|heap|uprobes' "/proc/$1/maps" | sed 's/ [0-9]* *$//'; }
keep
old_child=$child
before=$(mappings "$old_child")
expect "before: the counter" "$active" 0
for follow in --follow --no-follow; do
    attach "$count" $follow
    turn 'hits 5' did
    keep
    expect "$follow: the counter in a child" "$active" 1
    # A child of before is traced too, if children are.
    child_hits "$old_child"
    if [ $follow = --follow ]; then traced=1; else traced=0; fi
    expect "$follow: the counter in a child of before" "$active" $traced
    kill -INT $tracer
    report
    if [ $follow = --follow ]; then
        expect "$follow" "$status $(cat maps err)" "0 @: 25
sites 2 of 2 armed; dropped 0; followed 1; processes 2"
    else
        expect "$follow" "$status $(cat maps err)" "1 @: 5
sites 1 of 1 armed; dropped 0; forked 10
fastsdt-trace: 10 hits of forked children were not counted; --follow counts them"
    fi
    for each in "$child" "$old_child"; do
        child_hits "$each"
        expect "$follow: the counter afterwards" "$active" 0
        expect "$follow: mappings of a child afterwards" "$(mappings "$each")" "$before"
    done
    fastsdt-check --pid "$child" --json >check.json 2>check.err || true
    expect "$follow: sites of a child afterwards" \
        "$(python3 -c 'import json; print(*[s["change"] for f in json.load(open("check.json"))["process"]["files"] for s in f["sites"]])')" \
        "untouched untouched"
    kill "$child"
done

# The process ends, and children of it live on and count; the report comes at once when it is asked for.
attach "$count" --follow
keep
exec 3>&-
wait $pid || fail "the program ended with $?"
child_hits "$child"
kill -INT $tracer
report
expect "an orphan" "$status $(grep -v '^fastsdt-trace: process [0-9]* ended after' err | cat - maps)" "0 @: 20
sites 2 of 2 armed; dropped 0; followed 1; processes 2"
child_hits "$child"
expect "an orphan: the counter afterwards" "$active" 0
kill "$child" "$old_child"

# bpftrace would count one process.
status=0
fastsdt-trace --engine bpftrace --follow -e 'usdt:./app:app:hit { @ = count(); }' -- ./app >out 2>err || status=$?
expect "bpftrace" "$status $(sed 's/\. The command is.*//' err)" \
    "2 fastsdt-trace: --engine bpftrace: bpftrace counts one process, and --follow wants its children too"
