#!/bin/bash
# The tools that look at functions of libraries, which all programs have: what they say is what the programs did, by their own account.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need valgrind openssl expect
. "$FASTSDT_SOURCE/tests/share/common.sh"

# threadsnoop: who starts a thread, and its routine.
cat >threads.c <<'END_C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void start(void *(*routine)(void *), const char *name)
{
    pthread_t thread;
    printf("%d %d threads %s\n", getpid(), gettid(), name);
    pthread_create(&thread, 0, routine, 0);
    pthread_join(thread, 0);
}
void *inner(void *argument) { return argument; }
void *outer(void *argument)
{
    start(inner, "inner");
    return argument;
}
int main(void)
{
    start(inner, "inner");
    start(outer, "outer");
    return 0;
}
END_C
gcc -O1 threads.c -o threads -lpthread
traced threadsnoop.bt -- ./threads
expect "threadsnoop" "$(table | awk '{ print $2, $3, $4, $5 }')" "$(cat theirs)"

# gethostlatency: names, errors, and no more time than the program saw pass.
cat >names.py <<'END_PY'
import os, socket, time
for name, flags in ("localhost", 0), ("127.0.0.2", 0), ("no.number", socket.AI_NUMERICHOST):
    error, start = 0, time.monotonic_ns()
    try:
        socket.getaddrinfo(name, 80, flags=flags)
    except socket.gaierror as e:
        error = e.errno
    print(os.getpid(), open("/proc/self/comm").read().strip(), error, name, (time.monotonic_ns() - start) / 1e6)
END_PY
traced gethostlatency.bt -- /usr/bin/python3 names.py
expect "gethostlatency" "$(table | awk '{ print $2, $3, $5, $6 }')" "$(cut -d' ' -f 1-4 theirs)"
expect "gethostlatency: longer than it took" "$(paste -d' ' <(table | awk '{ print $4 }') <(cut -d' ' -f 5 theirs) | awk '$1 > $2')" ""
traced gethostlatency.bt -- --ms=1 -- /usr/bin/python3 names.py
expect "gethostlatency --ms" "$(table | awk '$4 < 1')" ""
cat >byname.c <<'END_C'
#define _GNU_SOURCE
#include <netdb.h>
#include <stdio.h>
int main(void)
{
    struct hostent entry, *result;
    char room[1000];
    int error;
    printf("%d localhost\n", gethostbyname("localhost") ? 0 : -1);
    printf("%d no..name\n", gethostbyname2("no..name", AF_INET) ? 0 : -1);
    printf("%d 127.0.0.3\n", gethostbyname_r("127.0.0.3", &entry, room, sizeof room, &result, &error) == 0 ? 0 : -1);
    printf("%d 127.0.0.4\n", gethostbyname_r("127.0.0.4", &entry, room, 1, &result, &error) == 0 ? 0 : -1);
    return 0;
}
END_C
gcc -O1 byname.c -o byname
traced gethostlatency.bt -- ./byname
matches '^-1 no..name' <theirs || fail "a name with an empty part was found: $(cat theirs)"
expect "gethostbyname" "$(table | awk '{ print $5, $6 }')" "$(cat theirs)"

# memleak: bytes by function, as valgrind finds them.
cat >leaks.c <<'END_C'
#include <stdlib.h>
#include <string.h>
#define FUNCTION __attribute__((noinline))
static void *volatile last;
FUNCTION void *keeps(size_t n) { void *p = malloc(n); last = p; return p; }
FUNCTION void *keeps_zeroes(size_t n) { void *p = calloc(n, 3); last = p; return p; }
FUNCTION void *grows(void *old, size_t n) { void *p = realloc(old, n); last = p; return p; }
FUNCTION void *copies(const char *text) { void *p = strdup(text); last = p; return p; }
FUNCTION void *loses(size_t n) { void *p = malloc(n); last = p; return p; }
int main(void)
{
    for (size_t i = 0; i < 100; ++i) {
        void *p = grows(0, 10);
        keeps(1000);
        keeps_zeroes(7);
        copies("a text");
        free(loses(500));
        for (size_t j = 1; j < 8; ++j)
            p = grows(p, 300 * j);
        if (i % 2)
            free(p);
    }
    last = 0;
    return 0;
}
END_C
gcc -g -O1 leaks.c -o leaks
cat >leaks.py <<'END_PY'
import collections, re, sys
valgrind, tool = open("valgrind.txt").read(), open("out").read()
want, got = collections.Counter(), collections.Counter()
for size, by in re.findall(r"([\d,]+) (?:\([^)]*\) )?bytes in [\d,]+ blocks are definitely lost.*\n((?:==\d+==    .*\n)+)", valgrind):
    want[re.search(r"(\w+) \(leaks.c:", by)[1]] += int(size.replace(",", ""))
for stack, size in re.findall(r"@bytes\[\n(.*?)\]: (\d+)", tool, re.S):
    got[next(n for n in re.findall(r"(\w+)", stack) if n in ("keeps", "keeps_zeroes", "grows", "copies", "loses"))] += int(size)
if want != got or len(want) != 4:
    sys.exit(f"valgrind: {want}, memleak: {got}\n{valgrind}\n{tool}")
END_PY
valgrind --leak-check=full ./leaks 2>valgrind.txt || fail "valgrind: $(cat valgrind.txt)"
# realloc() goes on to malloc() at some of its exits, which have no result then; malloc() tells it.
memleak() {
    "${as_user[@]}" fastsdt-trace --engine user -o out memleak.bt "$@" ./leaks 2>err || [ $? = 1 ] || fail "memleak: $(cat err)"
    tail -n 1 out | matches -E '^sites [0-9]+ of [0-9]+ armed \([0-9]+ have no result yet, being tail calls\); dropped 0$' || tail -n 1 out |
        matches -E '^sites ([0-9]+) of \1 armed; dropped 0$' || fail "memleak: $(tail -n 1 out)"
}
memleak --
python3 leaks.py || fail "memleak"
memleak -- --min=2100 --
expect "memleak --min" "$(grep -o '\]: [0-9]*' out)" "]: $((50 * 2100))"

# mutexwait: a thread waits from before the other one sees it wait until after that one unlocks.
cat >mutex.c <<'END_C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long before, after;
static volatile int tid;
static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}
void *waits(void *argument)
{
    tid = gettid();
    before = now();
    pthread_mutex_lock(&mutex);
    after = now();
    pthread_mutex_unlock(&mutex);
    return argument;
}
static int is_waiting(void)
{
    char name[100], call[100] = "", want[100];
    FILE *file;
    snprintf(name, sizeof name, "/proc/self/task/%d/syscall", tid);
    snprintf(want, sizeof want, "202 %p ", (void *)&mutex); /* futex */
    file = tid ? fopen(name, "r") : 0;
    if (file) {
        if (!fgets(call, sizeof call, file))
            call[0] = 0;
        fclose(file);
    }
    for (int i = 0; want[i]; ++i)
        if (call[i] != want[i])
            return 0;
    return 1;
}
int main(void)
{
    pthread_t thread;
    long seen, unlocked;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, waits, 0);
    while (!is_waiting())
        continue;
    for (seen = now(); (unlocked = now()) < seen + 3000000;)
        continue;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    printf("%p %ld %ld\n", (void *)&mutex, (unlocked - seen) / 1000, (after - before) / 1000 + 1);
    return 0;
}
END_C
gcc -O1 mutex.c -o mutex -lpthread
if "${as_user[@]}" fastsdt-trace --dry-run -e 'uprobe:libc:__lll_lock_wait { @ = count(); }' -- ./mutex 2>&1 | matches 'nothing match'; then
    echo "mutexwait: glibc's debug file is not installed"
else
    traced mutexwait.bt -- ./mutex
    read -r address least most <theirs
    # Of that mutex there is one line with the stack of waits().
    python3 - "$address" "$least" "$most" <<'END_PY' || fail "mutexwait"
import re, sys
address, least, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
found = re.findall(r"@us\[(0x[0-9a-f]+), \n(.*?)\]: count (\d+), average \d+, total (\d+)", open("out").read(), re.S)
found = [(stack, int(count), int(total)) for which, stack, count, total in found if which == address]
if len(found) != 1 or "waits+" not in found[0][0] or found[0][1] != 1 or not least <= found[0][2] <= most:
    sys.exit(f"{sys.argv[1:]}: {found} {open('out').read()}")
END_PY
    traced mutexwait.bt -- --us=1000000000 -- ./mutex
    expect "mutexwait --us" "$(table)" ""
fi

# funcarg: no less than the function sees pass, no more than its caller does.
cat >function.c <<'END_C'
#include <stdio.h>
#include <time.h>
static long inside[4], outside[4];
static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}
__attribute__((noinline)) long work(long which, long turns)
{
    long start = now(), end;
    while ((end = now()) < start + turns * 100000)
        continue;
    inside[which] += end - start;
    return end;
}
int main(void)
{
    for (long i = 0; i < 12; ++i) {
        long start = now();
        work(i % 3 + 1, i % 2);
        outside[i % 3 + 1] += now() - start;
    }
    for (int i = 1; i < 4; ++i)
        printf("%d 4 %ld %ld\n", i, inside[i] / 1000 - 4, outside[i] / 1000 + 4);
    return 0;
}
END_C
gcc -O1 function.c -o function
traced funcarg.bt "$PWD/function" work -- ./function
sed -n 's/^@us\[\([0-9]*\)\]: count \([0-9]*\), average [0-9]*, total \([0-9]*\)$/\1 \2 \3/p' out | sort | paste -d' ' - theirs >both
[ "$(awk 'NF == 7 && $1 == $4 && $2 == $5 && $3 >= $6 && $3 <= $7' both | wc -l)" = 3 ] || fail "funcarg: $(cat both out)"
traced funcarg.bt "$PWD/function" work -- --arg=1 -- ./function
expect "funcarg --arg" "$(sed -n 's/^\(@us\[[0-9]*\]: count [0-9]*\).*/\1/p' out | sort)" "@us[0]: count 6
@us[1]: count 6"

# bashreadline: lines that somebody types.
typed_into_bash
HOME=$PWD traced bashreadline.bt -- expect -f types.exp
expect "bashreadline" "$(table | sed 's/^[0-9:]* *[0-9]* *//')" "bash             echo one
bash             true two"

# sslsniff and ssllatency: a program's own account of what it has written and read, and how often.
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>openssl.log || fail "$(cat openssl.log)"
chmod 644 key.pem
cat >tls.py <<'END_PY'
import json, ssl, time
calls, took = [], 0
def call(name, function, argument):
    global took
    start = time.monotonic_ns()
    try:
        result = function(argument)
        calls.append([name, result if name == "write" else len(result), "done", "" if name == "write" else result.decode()])
    except ssl.SSLWantReadError:
        calls.append([name, 0, "again", ""])
    took += time.monotonic_ns() - start
server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server_context.load_cert_chain("cert.pem", "key.pem")
client_context = ssl.create_default_context(cafile="cert.pem")
up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
client = client_context.wrap_bio(down, up, server_hostname="localhost")
server = server_context.wrap_bio(up, down, server_side=True)
shaking = [client, server]
while shaking:
    for side in list(shaking):
        try:
            side.do_handshake()
            shaking.remove(side)
        except ssl.SSLWantReadError:
            pass
for i in range(5):
    call("read", server.read, 1000)
    call("write", client.write, b"request %d" % i)
    call("read", server.read, 1000)
    call("write", server.write, b"answer " * 100 * i + b"%d" % i)
    call("read", client.read, 5)
print(json.dumps({"calls": calls, "us": took // 1000 + 1}))
END_PY
cat >tls_check.py <<'END_PY'
import collections, json, re, sys
theirs = json.load(open("theirs"))
out = open("out").read().split("\n")
if sys.argv[1] == "sslsniff":
    done = [c for c in theirs["calls"] if c[2] == "done"]
    got = [line.split(None, 6) for line in out[1:] if re.match(r"\d\d:", line)]
    if len(got) != len(done) or not all(g[4] == d[0] and int(g[5]) == d[1] and (d[0] == "write" or g[6] == d[3][:63]) for g, d in zip(got, done)):
        sys.exit(f"{done}\n{got}")
    writes = [g[6] for g in got if g[4] == "write"]
    if writes != [w for i in range(5) for w in (f"request {i}", ("answer " * 100 * i + f"{i}")[:63])]:
        sys.exit(f"writes: {writes}")
else:
    want = collections.Counter((c[0], c[2]) for c in theirs["calls"])
    found = [re.fullmatch(r"@us\[SSL_(\w+)_ex, (\w+)\]: count (\d+), average \d+, total (\d+)", line) for line in out]
    got = {(m[1], m[2]): int(m[3]) for m in found if m}
    if got != want or sum(int(m[4]) for m in found if m) > theirs["us"]:
        sys.exit(f"{theirs}\n{out}")
END_PY
for tool in sslsniff ssllatency; do
    traced $tool.bt -- /usr/bin/python3 tls.py
    python3 tls_check.py $tool || fail "$tool"
done
# The functions without _ex, in openssl itself: the client's reads are what it prints.
cat >tls.sh <<'END_TLS'
openssl s_server -unix socket -key key.pem -cert cert.pem -www -naccept 1 -quiet &
until [ -S socket ]; do :; done
printf 'GET / HTTP/1.0\r\n\r\n' | openssl s_client -unix socket -quiet 2>client.log
wait
END_TLS
traced sslsniff.bt -- bash tls.sh
expect "sslsniff: the request" "$(table | awk '$5 == "write" && $6 == 18 { print $7, $8, $9 }')" 'GET / HTTP/1.0\x0d\x0a\x0d\x0a'
expect "sslsniff: bytes" "$(table | awk '$5 == "read" { sum += $6 } END { print sum }')" "$(wc -c <theirs)"

# Each of them on a process that runs already.
cat >looks.py <<'END_PY'
import socket, sys
for line in sys.stdin:
    socket.getaddrinfo("127.0.0.5", 80)
    print("did", flush=True)
END_PY
cp "$(readlink -f /usr/bin/python3)" python3.copy
PYTHONHOME=/usr driven ./python3.copy -S -E looks.py
for tool in gethostlatency threadsnoop; do
    did
    attached $tool.bt "$pid"
    did
    detached
    expect "$tool of a process" "$(table | awk '{ print $2, $NF }')" "$([ $tool = threadsnoop ] || echo "$pid 127.0.0.5")"
done
exec 3>&-
wait "$pid"

# All that is there is installed, on the page, and tried by a script of this folder.
cmake -DCMAKE_INSTALL_PREFIX="$PWD/prefix" -DCMAKE_INSTALL_COMPONENT=fastsdt-tools -P "$FASTSDT_BUILD/share/cmake_install.cmake" >install.log ||
    fail "$(cat install.log)"
expect "what is installed" "$(ls prefix/share/fastsdt/tools)" "$(ls "$FASTSDT_SOURCE/share/tools")"
for tool in *.bt; do
    [ $tool != attached.bt ] || continue
    grep -q "^| \`$tool\` |" "$FASTSDT_SOURCE/docs/tools.md" || fail "docs/tools.md has no $tool"
    grep -q "${tool%.bt}" "$FASTSDT_SOURCE"/tests/share/*.sh || fail "no test of $tool"
done
