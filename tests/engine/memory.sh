#!/bin/bash
# The memory that tracing takes in the process: little at first, little of what a limit leaves, none of what is locked, and all of it
# goes with the tracer. The program's own mallocs never fail for it.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >app.c <<'END'
#define _GNU_SOURCE
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
static long status(const char* name) /* KiB */
{
    FILE* const in = fopen("/proc/self/status", "re");
    char line[256];
    long value = 0;
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, name, strlen(name)))
            value = strtol(line + strlen(name) + 1, NULL, 10);
    fclose(in);
    return value;
}
/* app free | limit KIB (so much address space is left) | lock (what comes) | locked (all), MIB of each round's mallocs. For each line 6400
   hits and the mallocs; answers "failed N locked KIB size KIB". */
int main(int argc, char** argv)
{
    static char name[64], line[8];
    static char* blocks[4096];
    if (argc < 4)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 4096);
    if (!strcmp(argv[1], "limit")) {
        const rlim_t all = (rlim_t)(status("VmSize") + atol(argv[2])) << 10;
        if (setrlimit(RLIMIT_AS, &(struct rlimit){all, all}))
            return 3;
    } else if (strcmp(argv[1], "free") && mlockall(argv[1][4] ? MCL_CURRENT | MCL_FUTURE : MCL_FUTURE)) {
        return 3;
    }
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        int failed = 0;
        for (int i = 0; i < 6400; ++i) {
            snprintf(name, sizeof name, "name %d", i % 64);
            FASTSDT(memory, hit, i % 64, name);
        }
        const int count = atoi(argv[3]) * 4;
        for (int i = 0; i < count; ++i) {
            blocks[i] = malloc(200000); /* by mmap */
            failed += !blocks[i];
            if (blocks[i])
                blocks[i][0] = 1;
        }
        for (int i = 0; i < count; ++i)
            free(blocks[i]);
        printf("failed %d locked %ld size %ld\n", failed, status("VmLck"), status("VmSize"));
    }
    return 0;
}
END
gcc -O2 -I"$INCLUDE" app.c -o app
chown -R 65534:65534 . 2>/dev/null || true
mkfifo in out report
script='usdt:./app:memory:hit { @keys[str(arg1)] = count(); @sizes[arg0] = hist(arg0); @n = count(); }'

start() { # ARGUMENTS...: of app
    "$@" <in >out &
    pid=$!
    exec 3>in 4<out
    read -r line <&4 && [ "$line" = ready ] || fail "the program: $line"
}
round() { # leaves failed, locked, size
    echo >&3
    read -r _ failed _ locked _ size <&4 || fail "the program has ended"
    size=$((size - 4 * $(wc -l <"/proc/$pid/maps") + 4 * $(mappings)))
}
# Without the page that the kernel maps where another test's uprobe on the C library was hit.
mappings() { grep -cv '\[uprobes\]' "/proc/$pid/maps"; }
ends() { exec 3>&- 4<&-; wait $pid || fail "the program ended with $?"; }
# traced MOST-SIZE MOST-LOCKED COMMAND...: two rounds of COMMAND are traced, and may take so much more (KiB) than without.
traced() {
    local most_size=$1 most_locked=$2 tracer before
    shift 2
    start "$@"
    round
    round # what the C library maps once
    expect "$*: mallocs, untraced" "$failed" 0
    local size_before=$size locked_before=$locked
    before=$(mappings)
    start_tracer fastsdt-trace --engine user -p "$pid" -e "interval:ms:10 { printf(\"armed\n\"); } $script"
    round
    expect "$*: mallocs that failed" "$failed" 0
    [ $((size - size_before)) -le "$most_size" ] || fail "$*: $size KiB instead of $size_before"
    [ $((locked - locked_before)) -le "$most_locked" ] || fail "$*: locked: $locked KiB instead of $locked_before"
    # The tables; stubs and their mark near the program, and near the dynamic linker; constants of the program and of its C library once more.
    [ "$(mappings)" -le $((before + 7)) ] || fail "$*: $(mappings) mappings instead of $before"
    round
    kill -INT $tracer
    grep -v '^armed$' <&5 >maps || true
    exec 5<&-
    wait $tracer || fail "$*: the tracer: $(cat maps err)"
    expect "$*: hits" "$(grep -E '^(@n|sites)' maps)" "@n: 12800
sites 1 of 1 armed; dropped 0"
    expect "$*: keys" "$(grep -c '^@keys.*: 200$' maps) $(grep -c '^@sizes' maps)" "64 64"
    round
    expect "$*: afterwards" "$failed $locked $size $(mappings)" "0 $locked_before $size_before $before"
    ends
}
megabyte=1024
traced $((65 * megabyte)) 0 "${as_user[@]}" ./app free 0 400
traced $((17 * megabyte)) 0 "${as_user[@]}" ./app limit $((900 * megabyte)) 400
traced $((2 * megabyte)) 0 "${as_user[@]}" ./app limit $((16 * megabyte)) 4
# What an ordinary user may lock is not much, and root may lock all.
if (ulimit -l) | matches -xE '[0-9]{4,}|unlimited'; then
    traced $((2 * megabyte)) $((2 * megabyte)) "${as_user[@]}" ./app lock 0 0
fi
if [ "$(id -u)" = 0 ]; then
    traced $((2 * megabyte)) $((2 * megabyte)) ./app lock 0 100
    traced $((2 * megabyte)) $((2 * megabyte)) ./app locked 0 100
    # A small memory control group, of version 1 or 2.
    for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        group=$root/fastsdt-memory.$$
        mkdir "$group" 2>/dev/null || continue
        trap 'leave_user_folder; rmdir "$group"' EXIT
        for limit in "$group/memory.limit_in_bytes" "$group/memory.max"; do
            [ ! -w "$limit" ] || { echo $((400 << 20)) >"$limit" && limited=$group; }
        done
        [ -z "${limited:-}" ] || break
        rmdir "$group"
        trap leave_user_folder EXIT
    done
    if [ -n "${limited:-}" ]; then
        traced $((2 * megabyte)) $((2 * megabyte)) sh -c 'echo $$ >"$0/cgroup.procs" && exec ./app lock 0 100' "$limited"
    fi
fi

# Where there is not even that much, one sentence and no probe.
start "${as_user[@]}" ./app limit 3000 0
round
before="$size $(mappings)"
status=0
fastsdt-trace --engine user -p "$pid" -e "$script" >out.txt 2>err 3>&- 4<&- || status=$?
expect "refused: status" "$status" 2
expect "refused: lines" "$(wc -l <err)" 1
matches -E "process $pid: [0-9]+ KiB of its address space are left \(ulimit -v\)" <err || fail "$(cat err)"
round
expect "refused: the program" "$size $(mappings)" "$before"
fastsdt-check --pid "$pid" --json >check.json 2>check.err || true # findings do not matter here
expect "refused: untouched" "$(grep -c '"change": "untouched"' check.json)" 1
ends
