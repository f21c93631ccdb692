#!/bin/bash
# Stacks: what is walked, what it is called, and that nothing faults. What the stacks are follows from the program, and bpftrace is asked too.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3
need_attachable
user_folder
cat >app.c <<'END_OF_C'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef CONTEXTS
#include <sched.h>
#include <ucontext.h>
#endif
#define OWN __attribute__((noinline, noclone))
#define NO_TAIL_CALL __asm__ volatile("")
/* It has a frame since it has something in it, which gcc would not take its option's word for. */
OWN void leaf(int i) { char own[32]; __asm__ volatile("" : : "r"(own)); FASTSDT(app, hit, i); NO_TAIL_CALL; }
OWN void one(int i) { leaf(i); NO_TAIL_CALL; }
OWN void two(int i) { one(i); if (i % 2) leaf(i); NO_TAIL_CALL; }
OWN void deep(int calls, int i) { if (calls) deep(calls - 1, i); else leaf(i); NO_TAIL_CALL; }
OWN void handler(int number) { leaf(number); NO_TAIL_CALL; }
OWN void raises(int number) { raise(number); NO_TAIL_CALL; }
static int hits;
static void have_alternate_stack(void)
{
    stack_t stack = {.ss_sp = malloc(32768), .ss_size = 32768};
    sigaltstack(&stack, NULL);
}
OWN void* run(void* unused)
{
    for (int i = 0; i < hits; ++i)
        two(i);
    return unused;
}
OWN void* run_handler(void* unused)
{
    have_alternate_stack();
    raises(SIGUSR1);
    return unused;
}
OWN void* once(void* unused) { two(0); return unused; }
OWN void* linger(void* barrier) { run(NULL); pthread_barrier_wait(barrier); pthread_barrier_wait(barrier); return NULL; }
static pthread_barrier_t barrier;
static pthread_t lingering[2];
OWN void work(void)
{
    /* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    static unsigned char* made;
    if (made) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 2; ++i)
            pthread_join(lingering[i], NULL);
    } else {
        char name[64];
        made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(made, code, sizeof code);
        snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
        FILE* map = fopen(name, "w");
        fprintf(map, "%lx 8 made function\n", (unsigned long)made);
        fclose(map);
        have_alternate_stack();
        pthread_barrier_init(&barrier, NULL, 3);
    }
    run(NULL);
    deep(200, 1);
    deep(5, 1);
    raises(SIGUSR1);
    ((void (*)(void (*)(int)))(void*)made)(leaf);
    for (int i = 0; i < 2; ++i)
        pthread_create(&lingering[i], NULL, linger, &barrier);
    pthread_barrier_wait(&barrier);
    FASTSDT(app, done); /* the threads are still there, so that bpftrace finds their files */
}
#ifdef CONTEXTS
static ucontext_t back, there;
OWN void coroutine(void) { for (int i = 0; i < hits; ++i) one(i); }
OWN int cloned(void* unused) { one(0); (void)unused; return 0; }
OWN void contexts(void)
{
    char* stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = 65536;
    there.uc_link = &back;
    makecontext(&there, coroutine, 0);
    swapcontext(&back, &there);
    for (int i = 0; i < hits; ++i)
        waitpid(clone(cloned, stack + 65536, CLONE_VM | SIGCHLD, NULL), NULL, 0);
    munmap(stack, 65536);
}
#endif
static void library(const char* file)
{
    void* handle = dlopen(file, RTLD_NOW);
    void (*call)(void (*)(int));
    *(void**)&call = dlsym(handle, "call");
    call(leaf);
    dlclose(handle);
}
/* app HITS [threads COUNT | altstack | forks COUNT | contexts | libraries | -]; `-`: it works for each line that it reads */
int main(int argc, char** argv)
{
    const char* mode = argc > 2 ? argv[2] : "";
    const int count = argc > 3 ? atoi(argv[3]) : 0;
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &act, NULL);
    hits = atoi(argv[1]);
    if (strcmp(mode, "-") == 0) {
        setvbuf(stdout, NULL, _IONBF, 0);
        for (char line[8]; fgets(line, sizeof line, stdin);) {
            work();
            puts("did");
        }
        return 0;
    }
    if (strcmp(mode, "threads") == 0) {
        for (int done = 0; done < count; done += 20) {
            pthread_t some[20];
            for (int i = 0; i < 20; ++i)
                pthread_create(&some[i], NULL, once, NULL);
            for (int i = 0; i < 20; ++i)
                pthread_join(some[i], NULL);
        }
        return 0;
    }
    if (strcmp(mode, "altstack") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, run_handler, NULL);
        pthread_join(thread, NULL);
        return 0;
    }
    for (int i = 0; strcmp(mode, "forks") == 0 && i < count; ++i)
        if (fork() == 0) {
            run(NULL);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    for (int i = 0; strcmp(mode, "libraries") == 0 && i < hits; ++i)
        library(i % 2 ? "./libodd.so" : "./libeven.so");
#ifdef CONTEXTS
    if (strcmp(mode, "contexts") == 0)
        contexts();
#endif
    if (!*mode)
        run(NULL);
    return 0;
}
END_OF_C
FRAMES="-O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls"
gcc $FRAMES -DCONTEXTS -pthread -I"$INCLUDE" app.c -ldl -o app
chown -R 65534:65534 . 2>/dev/null || true
HIT=usdt:./app:app:hit
# trace OPTIONS...: leaves status, out and err.
trace() {
    status=0
    "${as_user[@]}" fastsdt-trace --engine user "$@" >out 2>err </dev/null || status=$?
}
# folded: what is in out, without the frames of the C library below main() or a thread's first function, and without the summary.
folded() { sed -En 's/^(.*;)?((main|once|coroutine|cloned);.* [0-9]+)$/\2/p' out; }

# A stack for each way to the leaf, and a thread's ends as one frame more than its first function.
trace --folded -e "$HIT { @[ustack] = count(); }" -- ./app 10
expect "folded: status" "$status $(cat err)" "0 "
expect "folded" "$(folded)" 'main;run;two;leaf 5
main;run;two;one;leaf 10'
expect "folded: the whole file" "$(grep -cvE '^([^; ]+;)+[^; ]+ [0-9]+$' out) $(tail -1 out)" "1 sites 1 of 1 armed; dropped 0"
# Other keys are frames nearer to the root; other maps print as they always do.
trace --folded -e "$HIT { @[arg0 % 2, ustack(2), comm] = count(); @n[arg0 / 5] = count(); @h[ustack(1)] = hist(arg0); }" -- ./app 10
expect "folded, other keys" "$(sed 's/+[0-9]*$/+N/; s/: $/:/; /^$/d; /^\[.*|/d' out)" '0;app;one;leaf 5
1;app;one;leaf 5
1;app;two;leaf 5
@h[
    leaf+N
]:
@n[0]: 7
@n[1]: 8
sites 1 of 1 armed; dropped 0'

# bpftrace's form, and JSON.
text='leaf+N
one+N
two+N'
printed="
        ${text//$'\n'/$'\n'        }
"
trace -e "$HIT /arg0 == 0/ { printf(\"%s|%d\\n\", ustack(3), arg0); print(ustack(3)); @[ustack(bpftrace, 3), arg0] = count(); }" -- ./app 2
expect "printed" "$(sed 's/+[0-9]*$/+N/' out)" "$printed|0
$printed
@[
    leaf+N
    one+N
    two+N
, 0]: 1
sites 1 of 1 armed; dropped 0"
trace --json -e "$HIT /arg0 == 0/ { print(ustack(3)); @[ustack(2), arg0] = count(); }" -- ./app 2
expect "JSON" "$(sed 's/+[0-9]*"/+N"/g; $d' out)" '{"type": "value", "data": ["leaf+N", "one+N", "two+N"]}
{"type": "map", "data": {"@": [{"key": [["leaf+N", "one+N"], "0"], "value": 1}]}}'
python3 -c 'import json; [json.loads(line) for line in open("out")]'

# An entry has no frame yet: its caller is what the stack pointer leads to. An exit is where it returns to, as for bpftrace.
plugin=$(plugin gcc)
if [ -n "$plugin" ]; then
    cat >calls.c <<'END_OF_C'
#define OWN __attribute__((noinline, noclone))
OWN int inner(int i) { __asm__ volatile(""); return i + 1; }
OWN int outer(int i) { return inner(i) * 2 + inner(i + 1); }
int main(void) { int sum = 0; for (int i = 0; i < 10; ++i) sum += outer(i); return sum == 0; }
END_OF_C
    "$plugin" $FRAMES -fplugin="$FASTSDT_BUILD/$plugin/fastprobe.so" -fplugin-arg-fastprobe-entry=nop10 -fplugin-arg-fastprobe-exit=nop10 \
        calls.c -o calls
    for probe in uprobe uretprobe; do
        trace --folded -e "$probe:./calls:inner { @[ustack] = count(); }" -- ./calls
        expect "$probe" "$status $(cat err) $(sed -n 's/^.*;main;/main;/p' out)" "0  main;outer$([ $probe = uretprobe ] || echo ';inner') 20"
    done
fi

# A map holds the last one.
trace -e "$HIT { @last = ustack(1); @n[ustack(1)] = count(); }" -- ./app 1
expect "assigned" "$status $(cat err) $(grep -A1 '^@last: $' out | tail -1 | sed 's/^ *//')" "0  $(grep -A1 '^@n\[$' out | tail -1 | sed 's/^ *//')"

# Functions that are inlined are shown where there is debug information: the call that comes back to the last instruction of one, and sites in
# two of them. GCC and clang, C++ too; the names are the source's.
cat >inlined.cpp <<'END'
#include <fastsdt.h>
#define INLINE static inline __attribute__((always_inline))
namespace shop {
struct Order {
    INLINE void step(long i) { FASTSDT(app, hit, i); }
};
INLINE void work(long i) { Order::step(i); }
}
__attribute__((noinline)) void leaf(long i)
{
    __asm__ volatile("" : : "r"(__builtin_frame_address(0))); /* it has a frame */
    FASTSDT(app, leaf, i);
}
INLINE void last(long i) { leaf(i); __asm__ volatile(""); }
extern "C" __attribute__((noinline)) void outer(long i)
{
    shop::work(i);
    last(i);
}
int main(void)
{
    for (long i = 0; i < 5; ++i)
        outer(i);
}
END
for compiler in g++ clang++; do
    have $compiler || continue
    for debug in -g -g0; do
        $compiler $FRAMES $debug -I"$INCLUDE" inlined.cpp -o inlined
        trace --folded -e 'usdt:./inlined:app:hit { @hit[ustack] = count(); } usdt:./inlined:app:leaf { @leaf[ustack] = count(); }' -- ./inlined
        if [ $debug = -g ]; then
            # clang gives static functions a name with types, too.
            # clang gives static functions a name with types, too.
            expect "$compiler $debug" "$(sed -n 's/^.*main;/main;/p' out | sed 's/\(work\|last\)(long)/\1/')" \
                "main;outer;shop::work_[i];shop::Order::step(long)_[i] 5
main;outer;last_[i];leaf(long) 5"
        else
            expect "$compiler $debug" "$(sed -n 's/^.*main;/main;/p' out)" "main;outer 5
main;outer;leaf(long) 5"
        fi
    done
done
g++ $FRAMES -g -I"$INCLUDE" inlined.cpp -o inlined
trace -e 'usdt:./inlined:app:hit { @[ustack(1)] = count(); }' -- ./inlined
expect "inlined, as text" "$(sed 's/+[0-9]*$/+N/' out)" '@[
    shop::Order::step(long) (inlined)
    shop::work (inlined)
    outer+N
]: 5
sites 1 of 1 armed; dropped 0'
# What a stack is no value for.
for script in "@ = sum(ustack);" "@ = str(ustack);" "@[ustack == 0] = count();" "@[ustack(0)] = count();" "@[ustack(128)] = count();" \
    "@[ustack(pages)] = count();" "@[ustack(perf), ustack(raw)] = count();"  "@[ustack, ustack(raw)] = count();"; do
    trace -e "$HIT { $script }" -- ./app 1
    expect "$script: status" "$status $(grep -c ' error: ' err)" "2 1"
done
# Other forms of a frame. Where a function is, nm says.
cat >forms.c <<'END'
__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop; nop; nop; nop; nop; nop"); }
int main(void)
{
    leaf();
    return 0;
}
END
gcc $FRAMES -O1 -no-pie forms.c -o forms
address=$(nm forms | sed -n 's/^0*\([0-9a-f]*\) T leaf$/\1/p')
in_form() {
    status=0
    fastsdt-trace --engine "$engine" -e "$1" -- ./forms >out 2>err </dev/null || status=$?
}
for engine in user$([ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] || echo ' kernel'); do
    in_form 'uprobe:./forms:leaf { @[ustack(perf, 1)] = count(); }'
    expect "perf: $engine" "$status $(grep '^ ' out)" "0     $address leaf+0 ($PWD/forms)"
    in_form 'config = { stack_mode = raw } uprobe:./forms:leaf { @[ustack(1)] = count(); }'
    expect "raw: $engine" "$status $(sed -n 2p out)" "0 $address"
    BPFTRACE_STACK_MODE=perf in_form 'config = { stack_mode = raw } uprobe:./forms:leaf { @[ustack(1)] = count(); }'
    expect "the environment's: $engine" "$status $(grep '^ ' out)" "0     $address leaf+0 ($PWD/forms)"
    BPFTRACE_STACK_MODE=perf in_form 'uprobe:./forms:leaf { @[ustack(raw, 1)] = count(); }'
    expect "its own before the environment's: $engine" "$status $(sed -n 2p out)" "0 $address"
    in_form 'uprobe:./forms:leaf { @[ustack(build_id, 1)] = count(); }'
    expect "build id: $engine" "$status $(sed -n 2p out)" \
        "0 $(readelf -n forms | sed -n 's/.*Build ID: //p') 0x$(printf %x $((0x$address - 0x400000)))"
done
# Places in the sources, as addr2line has them: behind a call the line of the call, and of what is inlined each its own.
cat >lines.c <<'END'
static volatile int sink;
static inline __attribute__((always_inline)) void inner(void)
{
    sink = 1;
    __asm__ volatile("here: nop; nop; nop; nop; nop; nop");
}
static inline __attribute__((always_inline)) void outer(void)
{
    sink = 2;
    inner();
    sink = 3;
}
__attribute__((noinline)) void leaf(void)
{
    sink = 4;
    outer();
}
int main(void)
{
    sink = 5;
    leaf();
    return 0;
}
END
gcc -g -O0 -no-pie lines.c -o lines
offset=$(($(nm lines | sed -n 's/^\([0-9a-f]*\) t here$/0x\1/p') - $(nm lines | sed -n 's/^\([0-9a-f]*\) T leaf$/0x\1/p')))
fastsdt-trace --engine user -e "config = { show_debug_info = 1 } uprobe:./lines:leaf+$offset { @[ustack(4)] = count(); }" -- ./lines >out 2>err ||
    fail "$(cat err)"
expect "lines" "$(sed -n '2,5{s/^ *//; s/+[0-9]*@/@/; p}' out)" "[inlined] inner@$PWD/lines.c:5
[inlined] outer@$PWD/lines.c:10
leaf@$PWD/lines.c:16
main@$PWD/lines.c:21"
trace record -o trace -e "$HIT { printf(\"%s\", ustack); }" -- ./app 1
expect "record" "$status $(cat err)" "2 fastsdt-trace: a trace has no stacks: ustack is a map's key, or printed by a script without record"

# Each thread's stack is whole, and none faults, while 1,000 come and go.
trace --folded -e "$HIT { @[ustack] = count(); }" -- ./app 0 threads 1000
expect "threads" "$status $(cat err) $(folded)" "0  once;two;one;leaf 1000"

# Forked children are followed, from a stack that is as it was when they were forked.
trace --folded -e "$HIT { @[ustack] = count(); }" -- ./app 10 forks 20
expect "children" "$status $(cat err) $(folded)" "0  main;run;two;leaf 100
main;run;two;one;leaf 200"

# Stacks that nobody knows end where the page ends, and the report tells.
trace --folded -e "$HIT { @[ustack] = count(); @n = count(); }" -- ./app 10 contexts
expect "contexts" "$status $(grep '^@n' out) $(folded | sed 's/ [0-9]*$//' | xargs) $(folded | awk '{ all += $NF } END { print all }')" \
    "0 @n: 20 cloned;one;leaf coroutine;one;leaf 20"
trace --folded -e "$HIT { @[ustack] = count(); }" -- ./app 1 altstack
expect "a thread's handler" "$status $(grep -oE 'handler;leaf [0-9]+' out) $(tail -1 out)" "0 handler;leaf 1 sites 1 of 1 armed; dropped 0; cut 1"
grep -q '^fastsdt-trace: 1 stack was cut: ' err || fail "cut: $(cat err)"

# A library that is gone has its names, also if another one is in its place.
for kind in even odd; do
    echo "__attribute__((noinline)) void in_$kind(void (*leaf)(int)) { leaf(0); __asm__ volatile(\"\"); }
        void call(void (*leaf)(int)) { __asm__ volatile(\"$([ $kind = even ] || echo .skip 64, 0x90)\"); in_$kind(leaf); __asm__ volatile(\"\"); }" >$kind.c
    gcc $FRAMES -shared -fPIC $kind.c -o lib$kind.so
done
trace --folded -e "$HIT { @[ustack(3)] = count(); }" -- ./app 200 libraries
expect "libraries" "$status $(cat err) $(sed '$d' out)" "0  call;in_even;leaf 100
call;in_odd;leaf 100"

# Static programs, and those of musl.
static() {
    "$@" -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -pthread -I"$INCLUDE" app.c -ldl -o app 2>warnings ||
        fail "$*: $(cat warnings)"
    trace --folded -e "$HIT { @[ustack] = count(); }" -- ./app 10
    expect "$*" "$status $(cat err) $(folded)" "0  main;run;two;leaf 5
main;run;two;one;leaf 10"
    trace --folded -e "$HIT { @[ustack] = count(); }" -- ./app 0 threads 100
    expect "$*: threads" "$status $(cat err) $(folded)" "0  once;two;one;leaf 100"
}
mv app dynamic
static gcc -static
if have musl-gcc; then
    static musl-gcc -idirafter /usr/include
    static musl-gcc -static
fi

# Without frame pointers callers are left out, or the walk ends. Every hit is counted, with the place where it is.
gcc -O2 -fomit-frame-pointer -DCONTEXTS -pthread -I"$INCLUDE" app.c -ldl -o app
for mode in "" "threads 500" "forks 5" contexts altstack; do
    trace --folded -e "$HIT { @[ustack] = count(); @n = count(); }" -- ./app 100 $mode
    expect "no frame pointers: $mode" \
        "$status $(sed -n 's/.*;leaf \([0-9]*\)$/\1/p; s/^leaf \([0-9]*\)$/\1/p' out | awk '{ all += $1 } END { print all }')" \
        "0 $(sed -n 's/^@n: //p' out)"
done
mv dynamic app

# The same process under both engines: the same stacks, so often.
if [[ $(engines | xargs) = *bpftrace ]]; then
    driven ./app 10 -
    did
    map=/tmp/perf-$pid.map
    script="$HIT { @[ustack] = count(); @three[ustack(3), arg0 % 2] = count(); } usdt:./app:app:done { exit(); }"
    for engine in $(engines); do
        fastsdt-trace --engine $engine -p "$pid" -e "interval:ms:10 { printf(\"armed\\n\"); } $script" >report 2>err 3>&- 4<&- &
        tracer=$!
        exec 5<report
        while read -r line <&5 && [ "$line" != armed ]; do :; done
        did
        report
        mv maps $engine.maps
        [ $engine = bpftrace ] || expect "$engine: status" "$status $(cat err)" "0 "
    done
    exec 3>&-
    wait "$pid"
    rm "$map"
    python3 - <<'END_OF_PYTHON' || fail "the engines differ"
import collections, re
def stacks(file):
    found = collections.Counter()
    text = open(file).read()
    for name, frames, keys, count in re.findall(r"^(@\w*)\[\n((?: +.*\n)+)(, .*)?\]: (\d+)$", text, re.M):
        found[name, tuple(frames.split("\n")[:-1]), keys] += int(count)
    return found
user, others = stacks("user.maps"), {engine: stacks(f"{engine}.maps") for engine in ("kernel", "bpftrace")}
assert len(user) > 10
for engine, other in others.items():
    assert user == other, f"user:\n{user - other}\n{engine}:\n{other - user}"
deepest = max(len(frames) for _, frames, _ in user)
assert deepest == 127, deepest
assert any("made function" in frame for _, frames, _ in user for frame in frames)
# A handler on a stack of its own: raise() has no frame, so its caller is left out.
assert any(len(frames) > 4 and "handler" in frames[1] and "work" in frames[3] for _, frames, _ in user), user
END_OF_PYTHON
fi
