#!/bin/bash
# clear(@map): everything that was there is gone, for what is printed and for the clauses that read the map; what comes later is whole.
# One script on both engines, hit by hit.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
cat >app.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int over;
static void* many(void* unused)
{
    long n = 0;
    for (; !__atomic_load_n(&over, __ATOMIC_RELAXED); ++n)
        for (int i = 0; i < 3; ++i)
            FASTSDT(t, many, i);
    return (void*)n;
}
int main(int argc, char** argv) /* hit N, drop or stop for each line, and an answer; or THREADS FILE, which go on until a line comes */
{
    if (argc > 2) {
        pthread_t threads[64];
        long sum = 0;
        const int count = atoi(argv[1]);
        for (int i = 0; i < count; ++i)
            pthread_create(&threads[i], NULL, many, NULL);
        getchar();
        __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < count; ++i) {
            void* n;
            pthread_join(threads[i], &n);
            sum += (long)n;
        }
        FILE* file = fopen(argv[2], "w");
        fprintf(file, "%ld\n", sum);
        return fclose(file);
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    for (char line[16]; fgets(line, sizeof line, stdin); puts("did"))
        if (strncmp(line, "drop", 4) == 0)
            FASTSDT(t, drop, 0);
        else if (strncmp(line, "stop", 4) == 0)
            FASTSDT(t, stop, 0);
        else
            FASTSDT(t, hit, atol(line + 4), "text");
    return 0;
}
END
gcc -O2 -pthread -I"$INCLUDE" app.c -o app
rm -f in out report && mkfifo in out report
./app <in >out &
pid=$!
exec 3>in 4<out
turn() {
    local line
    echo "$1" >&3 && read -r line <&4
    expect "the program" "$line" "did"
}
# begin ENGINE SCRIPT MAP: attaches; each 100 ms the map is printed and cleared.
begin() {
    local line stop="" statements="print($3); clear($3);"
    [ "$1" != bpftrace ] || stop="usdt:./app:t:stop { exit(); }" # an interrupt may be lost by bpftrace
    fastsdt-trace --engine "$1" -p $pid -e "interval:ms:100 { $statements printf(\"--\\n\"); } $2 $stop END { $statements }" >report 2>err 3>&- 4<&- &
    tracer=$!
    exec 5<report
    until read -r line <&5 && [ "$line" = -- ]; do [ -n "$line" ] || kill -0 $tracer 2>/dev/null || fail "--engine $1: $(cat err)"; done
}
# shows LINE: what is printed next that is something is this; and then the round is over, in which it was cleared.
shows() {
    local line
    while read -r line <&5; do
        [ "$line" = -- ] || [ -z "$line" ] || [[ $line == *": 0" ]] || break
    done
    expect "$engine" "$line" "$1"
    until [ "$line" = -- ]; do read -r line <&5 || fail "$engine: it ended: $(cat err)"; done
}
end() {
    if [ "$engine" != bpftrace ]; then kill -INT $tracer; else turn stop; fi
    cat <&5 >rest
    wait $tracer || fail "$engine: status $?: $(cat err)"
    ! grep '^@' rest | matches -v ': 0$' || fail "$engine: something is left: $(cat rest)"
}
for engine in $(engines); do
    # The largest comes first: the next is not hidden by it. The same value is assigned again, and is there again.
    for kind in "max:9 4 6" "min:2 7 5"; do
        begin "$engine" "usdt:./app:t:hit { @e = ${kind%%:*}(arg0); }" @e
        for value in ${kind#*:}; do
            turn "hit $value"
            shows "@e: $value"
        done
        end
        begin "$engine" "usdt:./app:t:hit { @k[1] = ${kind%%:*}(arg0); }" "@k"
        for value in ${kind#*:}; do
            turn "hit $value"
            shows "@k[1]: $value"
        done
        end
    done
    begin "$engine" 'usdt:./app:t:hit { @x = arg0; }' @x
    for value in 5 5 0 5; do
        turn "hit $value"
        [ $value = 0 ] || shows "@x: $value"
    done
    end
    begin "$engine" 'usdt:./app:t:hit { @m[arg0] = arg0 + 1; }' @m
    for value in 5 5; do
        turn "hit $value"
        shows "@m[5]: 6"
    done
    end
    begin "$engine" 'usdt:./app:t:hit { @s[arg0] = str(arg1); }' @s
    for value in 5 5; do
        turn "hit $value"
        shows "@s[5]: text"
    done
    end
    # What was counted, by a string, too. An aggregation that is deleted after it was cleared.
    begin "$engine" 'usdt:./app:t:hit { @n[str(arg1)] = count(); }' @n
    for value in 1 2; do
        turn "hit $value"
        shows "@n[text]: 1"
    done
    end
    begin "$engine" 'usdt:./app:t:hit { @d[tid] = count(); } usdt:./app:t:drop { delete(@d[tid]); }' @d
    for value in 1 2; do
        turn "hit $value"
        shows "@d[$pid]: 1"
        turn drop
    done
    end
    # Filters that read a map which is cleared meanwhile.
    begin "$engine" 'usdt:./app:t:hit /@seen[arg0] == 0/ { @seen[arg0] = 1; }' @seen
    for value in 8 8; do
        turn "hit $value"
        shows "@seen[8]: 1"
    done
    end
    begin "$engine" 'usdt:./app:t:hit /@one == 0/ { @one = arg0; }' @one
    for value in 8 9; do
        turn "hit $value"
        shows "@one: $value"
    done
    end
    begin "$engine" 'usdt:./app:t:hit /@since[tid] == 0/ { @since[tid] = arg0; }' @since
    for value in 3 4; do
        turn "hit $value"
        shows "@since[$pid]: $value"
    done
    end
done
exec 3>&-
wait $pid

# Nothing is lost between what is printed and what is cleared, while 4 threads go on: the rounds add up. To print @w takes
# so long that there are hits meanwhile.
fastsdt-trace --engine user -e 'usdt:./app:t:many { @n = count(); @k[arg0] = count(); @s = sum(arg0 + 1); @h = hist(arg0); @w[nsecs % 1000] = count(); }
    interval:ms:2 { print(@w); clear(@w); print(@n); clear(@n); print(@k); clear(@k); print(@s); clear(@s); print(@h); clear(@h); }' \
        -- ./app 4 count <in >report 2>err &
tracer=$!
exec 3>in 5<report
for ((rounds = 0; rounds < 5;)); do
    read -r line <&5 || fail "threads: it ended: $(cat err)"
    echo "$line"
    [[ $line != "@n: "* ]] || rounds=$((rounds + 1))
done >report.txt
echo >&3
cat <&5 >>report.txt
wait $tracer || fail "threads: status $?: $(cat err)"
n=$(cat count) # of each key
total() { sed -n "s/^$1: //p" report.txt | awk '{ n += $1 } END { printf "%d\n", n }'; }
expect "counts of the rounds" "$(total @n) $(total '@k\[0\]') $(total '@k\[1\]') $(total '@k\[2\]') $(total @s) $(total '@w\[[0-9]*\]')" \
    "$((n * 3)) $n $n $n $((n * 6)) $((n * 3))"
expect "buckets of the rounds" "$(sed -n 's/^\[0\] *\([0-9]*\) .*/0 \1/p; s/^\[1\] *\([0-9]*\) .*/1 \1/p; s/^\[2, 4) *\([0-9]*\) .*/2 \1/p' report.txt | awk '{ n[$1] += $2 } END { printf "%d %d %d\n", n[0], n[1], n[2] }')" "$n $n $n"
