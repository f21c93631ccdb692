#!/bin/bash
# `fastsdt-trace report`: the numbers of the page are those of the same trace as `export` writes it and `functions` prints it; names that
# would be markup are text; a browser shows it (report.py), where there is one.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
plugin=$(plugin gcc)
[ -n "$plugin" ] || skip "fastprobe was not built for GCC"
need "$plugin" python3 objcopy
rm -rf trace* hostile-trace* large lost small there armed *.html*
cat >calls.cpp <<'END_OF_C'
#include <fastsdt.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#define KEEP extern "C" __attribute__((noinline, noclone))
static __thread jmp_buf place;
KEEP int leaf(int n) { __asm__ volatile(""); FASTSDT(calls, leaf, n); return n; }
KEEP int fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
KEEP void jumps(int n)
{
    if (n == 0)
        longjmp(place, 1);
    jumps(n - 1);
    __asm__ volatile("");
}
KEEP void pauses(void)
{
    timespec time = {0, 2000000};
    nanosleep(&time, nullptr);
}
KEEP void deep(int n)
{
    if (n)
        deep(n - 1);
    __asm__ volatile("");
}
KEEP void* thread(void*)
{
    for (int i = 0; i < 3; ++i) {
        fib(10);
        pauses();
    }
    if (setjmp(place) == 0)
        jumps(2);
    return nullptr;
}
int main(int argc, char** argv)
{
    pthread_t some[3];
    char line[8];
    if (argc > 1 && *argv[1] == 'w' && !fgets(line, sizeof line, stdin))
        return 1;
    if (argc > 1 && *argv[1] == 'm') /* many events */
        for (int i = 0; i < 20; ++i)
            fib(15);
    if (argc > 1 && *argv[1] == 's') /* so long that the tool sees it run: it looks 20 times a second */
        while (clock() < CLOCKS_PER_SEC)
            fib(15);
    for (pthread_t& one : some)
        pthread_create(&one, nullptr, thread, nullptr);
    for (pthread_t one : some)
        pthread_join(one, nullptr);
    deep(300);
    return 0;
}
END_OF_C
compile() { # OUTPUT: of calls.o, with all entries and exits
    "${plugin/gcc/g++}" -O1 -fno-optimize-sibling-calls -pthread calls.o -o "$1"
}
"${plugin/gcc/g++}" -O1 -fno-optimize-sibling-calls -pthread -I"$INCLUDE" -fplugin="$FASTSDT_BUILD/$plugin/fastprobe.so" \
    -fplugin-arg-fastprobe-entry=nop10 -fplugin-arg-fastprobe-exit=nop10 -c calls.cpp -o calls.o
compile calls
report() { # leaves status, out and err
    status=0
    fastsdt-trace report "$@" >out 2>err || status=$?
}

# A trace, and the page of it.
fastsdt-trace functions --json -o trace -- ./calls >json 2>err || fail "functions: $(cat err json)"
fastsdt-trace export trace -o trace.json 2>err || fail "export: $(cat err)"
report trace -o page.html
expect "a trace: status" "$status $(cat out)" "0 "
expect "a trace: what is said" "$(sed -E 's/[0-9]+ bytes/N bytes/' err)" \
    "fastsdt-trace: 5425 events, N bytes: page.html
fastsdt-trace: 9 calls did not return; the page has an end for each"
# The same page of the same trace.
report trace -o page.html.again
cmp page.html page.html.again || fail "two pages of one trace differ"
[ "$(wc -c <page.html)" -lt 400000 ] || fail "a page of 5425 events has $(wc -c <page.html) bytes"

# A command, and a process; probes too; with samples. Nothing but the page is left.
report -o command.html -- ./calls
expect "a command: status" "$status $(sed 's/; left out .*//' out)" "0 sites 15 of 15 armed; dropped 0"
report -o probes.html --probes 'calls:leaf' --functions fib,thread -- ./calls
expect "probes: status" "$status $(cat err | grep -v bytes:)" "0 "
mkfifo in 2>/dev/null || true
./calls w <in &
pid=$!
exec 9>in
until [ "/proc/$pid/exe" -ef calls ]; do [ -d "/proc/$pid" ] || fail "calls does not run"; done
fastsdt-trace report -o process.html \
    -e 'interval:ms:10 { printf("armed\n"); } uprobe:./calls:fib, uretprobe:./calls:fib { print(0); }' -p $pid >armed 2>err &
tracer=$!
until [ -s armed ]; do kill -0 $tracer || fail "a process: $(cat err)"; done
echo >&9
exec 9>&-
wait $tracer || fail "a process: $(cat err armed)"
wait $pid
# An interrupt ends it, with the page; one that is killed makes none, and leaves what it recorded.
for signal in INT KILL; do
    ./calls w <in &
    pid=$!
    exec 9>in
    until [ "/proc/$pid/exe" -ef calls ]; do [ -d "/proc/$pid" ] || fail "calls does not run"; done
    rm -f armed
    fastsdt-trace report -o SIG$signal.html -e 'interval:ms:10 { printf("armed\n"); } uprobe:./calls:fib { print(0); }' -p $pid >armed 2>err &
    tracer=$!
    until [ -s armed ]; do kill -0 $tracer || fail "a process: $(cat err)"; done
    kill -$signal $tracer
    wait $tracer 2>/dev/null || [ $signal = KILL ] || fail "SIG$signal: $(cat err)"
    echo >&9
    exec 9>&-
    wait $pid
done
[ -s SIGINT.html ] && [ ! -e SIGKILL.html ] && [ -d "$(echo SIGKILL.html.??????)" ] || fail "signals: $(ls)"
rm -r SIGINT.html SIGKILL.html.??????
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || [ "$(id -u)" = 0 ]; then
    report -o samples.html --samples 199 --functions thread -- ./calls spin
    [ "$status" -le 1 ] && grep -q '^samples [0-9]*;' out || fail "samples: $status $(cat out err)" # 1: this came late for some of them
fi
expect "what is left" "$(echo ./*.html* | sed 's, ./samples.html,,')" \
    "./command.html ./page.html ./page.html.again ./probes.html ./process.html"

# What was lost makes the status 1, and the page says it; also a page of the trace that record wrote.
report -o lost.html --buffer 4K --functions 'fib,leaf' -- ./calls many
expect "lost: status" "$status" 1
fastsdt-trace record -o lost --buffer 4K --functions 'fib,leaf' -- ./calls many >out 2>err || true
report lost -o lost2.html
expect "lost, of a trace: status" "$status $(grep -c 'lost when the trace was recorded' err)" "1 1"

# Names that would be markup, of a file with such symbols: in the page they are text. And one of 4 KiB.
long=$(python3 -c 'print("ns::" + "<" * 2000 + "é" * 1000)')
objcopy --redefine-sym leaf="</script><script>document.documentElement.dataset.owned=1</script><!--" \
    --redefine-sym pauses="<img src=x onerror=document.documentElement.dataset.owned=2>\"'&amp;\$(id)" \
    --redefine-sym jumps="$(printf 'a\nb\t\342\200\256c\377\033[31m')" --redefine-sym deep="$long" calls.o hostile.o
"${plugin/gcc/g++}" -O1 -pthread hostile.o -o hostile
report -o hostile.html -- ./hostile
expect "hostile names: status" "$status" 0
# And of a trace that somebody changed: bytes that the tool does not write.
cp -r trace hostile-trace
python3 - <<'END'
data = open("hostile-trace/metadata", "rb").read()
hostile = b"</SCRIPT \xff\x00\xe2\x80\xa8<svg onload=document.documentElement.dataset.owned=3>"
assert data.count(b'"uprobe:fib"') == 1
data = data.replace(b'"uprobe:fib"', b'"uprobe:' + hostile + b'"')
data = data.replace(b'traced = "', b'traced = "</title><script>document.documentElement.dataset.owned=4</script>')
open("hostile-trace/metadata", "wb").write(data)
END
report hostile-trace -o hostile2.html
expect "hostile metadata: status" "$status" 0

# What cannot be: a sentence, and no page; the one that is there stays.
cp page.html there.html
refused() { # SENTENCE OPTIONS...
    report "${@:2}"
    expect "${*:2}" "$status $(tail -1 err)" "2 fastsdt-trace: $1"
    cmp -s page.html there.html || fail "${*:2}: the page that was there is another now"
}
mkdir there
refused "where shall the page go? -o FILE.html" trace
refused "where shall the page go? -o FILE.html" -- ./calls
refused "none is no trace: there is no none/metadata" none -o there.html
refused "name a process with --pid, all that have a file with --exe, or a command after --" -o there.html
refused "report trace reads a trace and records nothing: it takes DIR and --output; a script goes behind -e" trace -o there.html -- ./calls
report trace -o none/page.html
expect "no folder: status" "$status $(wc -l <err) $(grep -c none/page.html err)" "2 1 1"
report trace -o there
expect "a folder: status" "$status $(wc -l <err) $(ls there)" "2 1 "
report -o there -- ./calls
expect "a folder, of a command: status" "$status $(wc -l <err) $(ls there)" "2 1 "
report -o there.html --functions nothing_of_that_name -- ./calls
expect "nothing matches" "$status $(grep -c 'nothing matched --functions nothing_of_that_name' err)" "1 1"
report -o there.html -p 999999999
expect "no such process: status" "$status" 2
expect "nothing else is left" "$(find . -maxdepth 1 -name 'there*' | sort | xargs)" "./there ./there.html"
# A disk that is full: one sentence, and nothing is there.
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
    report -o small/page.html --functions fib -- ./calls
    in_small=$(ls small)
    umount small
    expect "a full disk: status" "$status $(grep -c 'No space left' err) $in_small" "2 1 "
fi
# Damaged traces: a sentence or a page, and no crash.
python3 - <<'END'
import random, shutil, subprocess
random.seed(7)
for i in range(30):
    shutil.rmtree("trace-damaged", ignore_errors=True)
    shutil.copytree("trace", "trace-damaged")
    name = random.choice(["metadata", "stream_0", "stream_1"])
    data = bytearray(open("trace-damaged/" + name, "rb").read())
    for _ in range(random.choice([1, 3, 30])):
        data[random.randrange(len(data))] = random.choice([0, 255, random.randrange(256)])
    open("trace-damaged/" + name, "wb").write(data)
    done = subprocess.run(["fastsdt-trace", "report", "trace-damaged", "-o", "damaged.html"], capture_output=True, text=True)
    assert done.returncode in (0, 1, 2) and done.stderr.count("\n") <= 4, done
END

# More of everything than a page takes.
python3 -B "$FASTSDT_SOURCE/tests/engine/report.py" large
report large -o large.html
expect "a large trace" "$status $(cut -d, -f1 err)" "0 fastsdt-trace: 160000 events"

python3 -B "$FASTSDT_SOURCE/tests/engine/report.py" numbers || fail "the numbers of a page"
have chromium || { echo "SKIP: chromium is not installed, which would show the pages"; exit 0; }
python3 -B "$FASTSDT_SOURCE/tests/engine/report.py" browser || fail "a page in the browser"
