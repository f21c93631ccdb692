#!/bin/bash
# --engine auto where the kernel's engine is taken, for all or some of the sites: probes as scripts write them, and what it cannot read.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
need_uprobes
cat >mixed.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void plain(int i)
{
    __asm__ volatile("" : : "r"(i));
}
int main(void)
{
    for (long i = 1; i <= 10; ++i) {
        FASTSDT(t, wide, i);
        FASTSDT_WITH(nop1, none, t, narrow, i);
        /* A note as other headers make it, of an argument of 16 bytes. */
        __asm__ volatile("1: nop\n"
                         ".pushsection .note.stapsdt,\"\",\"note\"\n"
                         ".balign 4\n"
                         ".4byte 3f-2f, 5f-4f, 3\n"
                         "2: .asciz \"stapsdt\"\n"
                         "3: .balign 4\n"
                         "4: .8byte 1b, 0, 0\n"
                         ".asciz \"big\"\n"
                         ".asciz \"vector\"\n"
                         ".asciz \"16@%rax\"\n"
                         "5: .balign 4\n"
                         ".popsection");
        plain((int)i);
        free(malloc(8));
    }
    puts("ran");
    return 0;
}
END_OF_C
gcc -O1 -fno-builtin -I"$INCLUDE" mixed.c -o mixed++
# trace OPTIONS...: leaves status, out and err. The pipe ends when every process has ended that has it.
trace() {
    status=0
    timeout 60 fastsdt-trace --no-move "$@" 2>err </dev/null | cat >out || status=$?
    expect "$*: how often the program ran" "$(grep -c '^ran$' out)" 1
}
maps() { grep '^@' out | sort | xargs; }

# An argument of 16 bytes: the others are traced.
trace -e 'usdt:./mixed++:*:* { @[probe] = sum(arg0); }' -- ./mixed++
expect "a pattern" "$status $(maps)" "1 @[usdt:./mixed++:t:narrow]: 55 @[usdt:./mixed++:t:wide]: 55"
grep -qE '^sites 2 of 3 armed \(1 by the kernel, 1 has arg0 of a size that no integer has \(16@%rax\)\); dropped 0$' out ||
    fail "a pattern: $(cat out)"
trace -e 'usdt:./mixed++:*:* { @[probe] = count(); }' -- ./mixed++
expect "a pattern without arguments" "$status $(maps)" \
    "0 @[usdt:./mixed++:big:vector]: 10 @[usdt:./mixed++:t:narrow]: 10 @[usdt:./mixed++:t:wide]: 10"
# What hits leave for each other stays on one engine: the one that has more of the sites.
trace -e 'usdt:./mixed++:*:* { @last[tid] = arg0; } usdt:./mixed++:t:wide /@last[tid]/ { @by[len(ustack)] = count(); }' -- ./mixed++
expect "most of them" "$status $(grep -c '^@by.*: 10$' out) $(grep -c '^fastsdt-trace: engine user: .* can have 1 of the 3$' err) $(grep -c 'may do all' err)" "1 1 1 0"
trace -e 'usdt:./mixed++:*:* { @last[tid] = arg0; } usdt:./mixed++:t:wide /@last[tid]/ { @by = sum(@last[tid]); }' -- ./mixed++
expect "all but one" "$status $(grep '^@by' out) $(grep -c '^fastsdt-trace: engine kernel: ' err)" "1 @by: 55 1"
# Each engine has one.
trace -e 'usdt:./mixed++:t:wide, usdt:./mixed++:t:narrow { @[probe] = sum(arg0); }' -- ./mixed++
expect "two probes" "$status $(maps)" "0 @[usdt:./mixed++:t:narrow]: 55 @[usdt:./mixed++:t:wide]: 55"
grep -q '^fastsdt-trace: engine user, and kernel where it cannot: ' err || fail "two probes: $(cat err)"
# Probes without room between them: a pattern means all of them, and what no jump can take is the kernel's.
cat >close.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
int main(void)
{
    for (long i = 1; i <= 10; ++i) {
        FASTSDT_WITH(nop1, none, close, one, i);
        FASTSDT_WITH(nop1, none, close, two, i);
        FASTSDT_WITH(nop1, none, close, three, i);
    }
    puts("ran");
    return 0;
}
END_OF_C
gcc -O1 -I"$INCLUDE" close.c -o close
moves() { # trace() with jumps
    status=0
    timeout 60 fastsdt-trace "$@" 2>err </dev/null | cat >out || status=$?
}
moves -e 'usdt:./close:close:* { @[probe] = sum(arg0); }' -- ./close
expect "probes side by side" "$status $(maps) $(grep -o '^sites 3 of 3 armed ([12] by the kernel); dropped 0$' out | grep -c .)" \
    "0 @[usdt:./close:close:one]: 55 @[usdt:./close:close:three]: 55 @[usdt:./close:close:two]: 55 1"
moves --engine user -e 'usdt:./close:close:* { @[probe] = sum(arg0); }' -- ./close
expect "by jumps alone" "$status $(grep -cE "^sites [12] of 3 armed .* another probe's site" out)" "1 1"

# Functions that fastprobe did not record, by a pattern that has symbols without a size.
readelf -sW ./mixed++ | matches -E ' 0 FUNC .* register_tm_clones$' || fail "the compiler's start files have no function without a size"
trace -e 'uprobe:./mixed++:* { @[probe] = count(); }' -- ./mixed++
expect "functions by a pattern: status" "$status" 0
grep -qx '@\[uprobe:./mixed++:plain\]: 10' out || fail "functions by a pattern: $(cat out err)"
# A pattern of files means those of the process, and not what is in the folder.
rm -f fifo && mkfifo fifo
for probe in 'uprobe:*:plain' 'uprobe:*mixed++:plai*'; do
    trace -e "$probe { @ = count(); }" -- ./mixed++
    expect "$probe" "$status $(maps)" "0 @: 10"
done
trace latency plain -- ./mixed++
expect "latency" "$status $(grep -o '^@total: count [0-9]*' out)" "0 @total: count 10"
# A function that is nothing but its return: at that one instruction the entry is first, however the script has it.
objdump -d mixed++ | grep -A1 '<plain>:' | matches 'ret' || fail "plain() is more than a return"
entry='uprobe:./mixed++:plain { @at[tid] = arg0; }' exit='uretprobe:./mixed++:plain /@at[tid]/ { @ = sum(@at[tid]); delete(@at[tid]); }'
for script in "$entry $exit" "$exit $entry"; do
    trace --engine kernel -e "$script" -- ./mixed++
    expect "$script" "$status $(maps)" "0 @: 55"
done
rm fifo
# JSON, and BEGIN.
trace --json -e 'BEGIN { printf("begin\n"); } uprobe:./mixed++:plain { @ = count(); }' -- ./mixed++
expect "JSON" "$status $(grep -v -e '"type": "sites"' -e '^ran$' -e '^$' out)" '0 {"type": "printf", "data": "begin\n"}
{"type": "map", "data": {"@": 10}}'
# A file that is only a name is the one that is mapped.
trace -e 'uprobe:libc.so.6:malloc { @[arg0] = count(); }' -- ./mixed++
expect "a library: status" "$status" 0
grep -qx '@\[8\]: 10' out || fail "a library: $(cat out err)"
# A function that is nowhere is not looked for in the kernel.
trace -e 'uprobe:libc.so.6:mallocc { @ = count(); }' -- ./mixed++
expect "no such function" "$status $(maps)" "1 @: 0"
# A program that lasts for a tenth of a second is told of before its end.
grep -qxE 'fastsdt-trace: nothing match(ed|es) uprobe:libc.so.6:mallocc( so far)?: (libc.so.6 has no such function; did you mean "malloc"\?|.*libc.so.6 is stripped, and no debug file of it was found.*)' err || fail "$(cat err)"

# An interrupt gets the report, of a process that goes on.
rm -f in answers report && mkfifo in answers report
exec 3<>in 4<>answers
cat <in >answers 3>&- 4>&- &
pid=$!
echo begun >&3
read -r line <&4
for signal in INT ALRM; do
    fastsdt-trace -p $pid -e 'BEGIN { printf("begun\n"); } uprobe:libc.so.6:read { @ = count(); }' >report 2>err 3>&- 4>&- &
    tracer=$!
    exec 5<report
    until read -r line <&5 && [ "$line" = begun ]; do [ -n "$line" ] || kill -0 $tracer 2>/dev/null || fail "SIG$signal: $(cat err)"; done
    echo once >&3
    read -r line <&4
    kill -$signal $tracer
    grep '^@' <&5 >maps || fail "SIG$signal: no map: $(cat err)"
    wait $tracer || fail "SIG$signal: status $?: $(cat err)"
done
kill $pid
