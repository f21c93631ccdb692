#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that set a seccomp filter before or after they are attached to, and those that cannot: nobody dies of a stub's system
# call, each string is what the program passed or is counted as unread, and none is empty that was not. What each program
# passes: sandbox.c.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
user_folder
source=$FASTSDT_SOURCE/tests/engine/sandbox.c
build() { # COMPILER NAME FLAGS...
    local compiler=$1 name=$2
    shift 2
    "$compiler" -O2 -I"$INCLUDE" "$@" "$source" -o "$name" -pthread -ldl 2>build.err || fail "$compiler $*: $(cat build.err)"
}

# by_string MAIN THREADS HEAP: the map after so many runs of the main thread and of other threads. HEAP of them, half of each, had all
# their strings read.
by_string() {
    python3 - "$@" <<'END'
import sys
main, threads, heap = map(int, sys.argv[1:])
both = main + threads
texts = {"": both, "No such file or directory": both, "in read-only data": both, "on the stack, near": both,
         "on the stack, far": main + heap // 2, "in the heap": heap, "in data": heap}
print("\n".join(sorted(f"@[{text}]: {count}" for text, count in texts.items() if count)))
END
}
maps() { grep '^@\[' "$1" | LC_ALL=C sort; }
sorted() { LC_ALL=C sort; }
script() { printf 'usdt:./%s:memory:text,usdt:./%s:memory:libc { @[str(arg0)] = count(); }' "$1" "$1"; }

# run PROGRAM "COMMANDS" OPTIONS...: as a COMMAND. Leaves out, err and status.
run() {
    local program=$1 commands=$2
    shift 2
    status=0
    printf '%s\n' $commands | fastsdt-trace --engine user "$@" -e "$(script "$program")" -- "./$program" >out 2>err || status=$?
    expect "$program, $commands: its answers" "$(grep -cx "done" out)" "$(printf '%s\n' $commands | wc -l)"
}
# attach PROGRAM OPTIONS...: the same with --pid. say COMMAND: has it done.
attach() {
    local program=$1
    shift
    rm -f in answers trace
    mkfifo in answers trace
    "./$program" <in >answers &
    pid=$!
    exec 3>in 4<answers
    read -r line <&4
    expect "$program" "$line" ready
    fastsdt-trace --engine user -p $pid \
        "$@" -e "$(script "$program") interval:ms:10 { printf(\"armed\\n\"); exit(); }" --dry-run >/dev/null 2>&1 || true
    fastsdt-trace --engine user -p $pid \
        "$@" -e "$(script "$program") BEGIN { printf(\"begun\\n\"); } interval:ms:10 { printf(\"armed\\n\"); }" >trace 2>err 3>&- 4<&- &
    tracer=$!
    exec 5<trace
    read -r line <&5 # begun
    armed
}
say() {
    echo "$1" >&3
    read -r line <&4 || fail "the program died of $1"
    expect "the answer to $1" "$line" "done"
}
# left: ends the program. Leaves out and status.
left() {
    exec 3>&-
    wait $pid || fail "the program ended with $?"
    grep -vx armed <&5 >out
    status=0
    wait $tracer || status=$?
    exec 4<&- 5<&-
}
# report MAIN THREADS HEAP UNREAD: what the tracer said.
report() {
    expect "the strings" "$(maps out)" "$(by_string "$1" "$2" "$3" | sorted)"
    local end='; dropped 0' wanted=0
    [ "$4" = 0 ] || end="; dropped 0; unread $4" wanted=1
    expect "the last line" "$(grep '^sites' out | tail -1 | sed 's/.* armed//; s/; followed 1$//')" "$end"
    expect "the status ($(cat err))" "$status" "$wanted"
    [ "$4" = 0 ] || matches -E "$4 hits were not recorded: .*only a system call can read" <err || fail "no sentence: $(cat err)"
}

# ---- Who may set a filter is known by the instructions, of whatever compiler.
for flags in -O0 -O2 -Os -fno-plt '-no-pie -fno-pie' '-static-pie' -static -fcf-protection=full '-flto -O3'; do
    build gcc may $flags
    run may strings
    report 1 1 0 5
    case $flags in
        *static*) matches 'is static' <err || fail "$flags: $(cat err)" ;;
        *)
            matches 'calls prctl(PR_SET_SECCOMP)' <err || fail "$flags: $(cat err)"
            build gcc cannot -DNO_FILTER $flags
            run cannot strings
            report 1 1 2 0
            ;;
    esac
done
if have clang-19; then
    build clang-19 may
    run may strings
    report 1 1 0 5
    build clang-19 cannot -DNO_FILTER
    run cannot strings
    report 1 1 2 0
fi

how=('' 'calls seccomp' 'calls seccomp' 'calls prctl.. for what cannot be told' 'calls prctl.. for what cannot be told' 'calls prctl(PR_SET_SECCOMP)')
for ((i = 1; i < ${#how[@]}; ++i)); do
    build gcc may -DHOW=$i -mno-red-zone
    run may "strings kill main"
    report 2 1 0 7
    matches "${how[i]}" <err || fail "$i: $(cat err)"
done

# ---- A filter that comes later, from the start or from the middle on; and the option.
build gcc may
build gcc hidden -DHIDDEN
# (To make a thread, C libraries call what the filter refuses.)
for action in kill errno; do
    run may "strings $action main"
    report 2 1 0 7
    run may "$action main"
    report 1 0 0 2
    attach may
    say strings
    say $action
    say main
    left
    report 2 1 0 7
done
run may strings --read-memory
report 1 1 2 0
# Nothing tells that this one sets a filter. It refuses one call, and no more are made.
run hidden "strings errno main"
report 2 1 2 2
attach hidden
say strings
say errno
say main
left
report 2 1 2 2
# It is seen, too, before a hit meets it, within a tenth of a second.
attach hidden
say strings
say kill
while ! grep -q 'the process has a seccomp filter' err; do kill -0 $tracer || fail "the tracer ended: $(cat err)"; done
say main
left
report 2 1 2 2
# A child that is forked sets one. Where the program may do so, its stubs make no call; where it is not followed, it records nothing.
run may "fork strings"
report 2 1 0 7
run hidden "fork strings" --no-follow
expect "the strings" "$(maps out)" "$(by_string 1 1 2 | sorted)"
expect "not followed" "$status $(grep '^sites' out | sed 's/.* armed//')" "1 ; dropped 0; forked 7"

# ---- Before: it is refused.
rm -f in answers
mkfifo in answers
./may <in >answers &
pid=$!
exec 3>in 4<answers
read -r line <&4
say kill
status=0
fastsdt-trace --engine user -p $pid -e "$(script may)" >out 2>err || status=$?
expect "status" "$status" 2
matches 'has a seccomp filter' <err || fail "$(cat err)"
say main
exec 3>&- 4<&-
wait $pid || fail "it ended with $?"

# ---- A library that comes, and sets one: seen within a tenth of a second. Its strings lie in its own read-only data.
gcc -O2 -shared -fPIC -DMODULE -I"$INCLUDE" "$source" -o filter.so
build gcc cannot -DNO_FILTER
attach cannot --interval 0.02
say strings
say "open $PWD/filter.so"
for (( ; ; )); do # until a hit of the heap is unread
    say main
    read -r line <&5
    while [[ $line != sites* ]]; do read -r line <&5; done
    [[ $line != *unread* ]] || break
done
say kill
say main
left
matches 'filter.so calls prctl(PR_SET_SECCOMP)' <err || fail "$(cat err)"

# One whose constructor does it is seen before that: the dynamic linker waits.
gcc -O2 -shared -fPIC -DMODULE -DCONSTRUCTOR -I"$INCLUDE" "$source" -o constructor.so
attach cannot
say strings
say "open $PWD/constructor.so"
say main
left
report 2 1 2 2
matches 'constructor.so calls prctl(PR_SET_SECCOMP)' <err || fail "$(cat err)"

# ---- Threads' numbers without system calls.
tids() { # PROGRAM
    local program=$1
    status=0
    printf 'errno\ntids\n' |
        fastsdt-trace --engine user -e "usdt:./$program:memory:thread { @[tid] = count(); }" -- "./$program" >out 2>err || status=$?
    expect "$program: threads" "$(maps out)" "$(sed -n 's/^tid \(.*\)/@[\1]: 1/p' out | sorted)"
    expect "$program: threads seen" "$(maps out | wc -l)" 2
    expect "$program: status ($(cat err))" "$status" 0
}
tids may
build gcc static -static
tids static
if have musl-gcc; then
    kernel=(-idirafter /usr/include -idirafter "/usr/include/$(gcc -print-multiarch)")
    build musl-gcc musl "${kernel[@]}"
    build musl-gcc musl-static "${kernel[@]}" -static
    tids musl
    tids musl-static
    run musl "strings kill main"
    report 2 1 0 7
    run musl-static "strings kill main"
    report 2 1 0 7
    build musl-gcc musl-cannot "${kernel[@]}" -DNO_FILTER
    run musl-cannot strings
    report 1 1 2 0
fi

# ---- A program that traces itself, and sets a filter.
cat >self.c <<'END'
#include <fastsdt.h>
#include <fastsdt/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int set_filter(unsigned action);

int main(void)
{
    fastsdt_trace_error error;
    fastsdt_trace* const self = fastsdt_trace_open(0, &error);
    fastsdt_trace_attachment* const strings =
        self ? fastsdt_trace_attach(self, "usdt:*:memory:own { @[str(arg0)] = count(); }", &error) : NULL;
    if (!strings || set_filter(0x80000000)) /* SECCOMP_RET_KILL_PROCESS */
        return 1;
    char* const heap = malloc(64);
    strcpy(heap, "in the heap");
    for (int i = 0; i < 10; ++i) {
        FASTSDT(memory, own, "in read-only data");
        FASTSDT(memory, own, heap);
    }
    fastsdt_trace_maps* const maps = fastsdt_trace_maps_read(strings, &error);
    const fastsdt_trace_entry* const entry = fastsdt_trace_maps_entry(maps, 0, 0);
    printf("%s %lu, %lu entries, unread %lu\n", entry->key[0].text, (unsigned long)entry->count,
           (unsigned long)fastsdt_trace_maps_get(maps, 0)->entries, (unsigned long)fastsdt_trace_maps_unread(maps));
    return 0;
}
END
gcc -O2 -I"$INCLUDE" -DMODULE -DFASTSDT_BOUND=4 self.c \
    "$source" -o self -L"$FASTSDT_BUILD/lib" -lfastsdt-trace -Wl,-rpath,"$FASTSDT_BUILD/lib" -ldl ||
    fail "the program does not compile"
expect "a program that traces itself" "$(./self)" "in read-only data 10, 1 entries, unread 10"
