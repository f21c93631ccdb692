#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Several processes in one run: named, found by what they are like, begun later, executed by a descendant. Their hits are in the same maps, and
# nothing stays in them.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv
need_attachable
user_folder
cat >app.c <<'END_OF_C'
#define FASTSDT_IMPLICIT_SEMAPHORES
#include <fastsdt.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline, noclone)) void hits(int n)
{
    for (int i = 0; i < n; ++i)
        FASTSDT_WITH(default, implicit, app, hit, i);
}
int main(void) /* a command for each line, and an answer */
{
    setvbuf(stdin, NULL, _IONBF, 0); /* the rest of the input is for the program that is executed */
    setvbuf(stdout, NULL, _IOLBF, 4096);
    for (char line[64], what[16], file[32]; fgets(line, sizeof line, stdin); printf("did %d\n", getpid())) {
        int n = 0, children = 0;
        if (!strncmp(line, "quit", 4)) /* the end of its input is held open by processes that began later */
            return 0;
        if (sscanf(line, "hit %d", &n) == 1)
            hits(n);
        else if (sscanf(line, "fork %d %d", &children, &n) == 2) {
            for (int i = 0; i < children; ++i)
                if (fork() == 0) {
                    hits(n);
                    _exit(0);
                }
            while (wait(NULL) > 0)
                ;
        } else if (sscanf(line, "filtered %d", &n) == 1) { /* a child with a seccomp filter, which allows all */
            int done[2];
            char byte;
            if (pipe(done) == 0 && fork() == 0) {
                struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
                struct sock_fprog filter = {1, &allow};
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
                hits(n);
                if (write(done[1], "", 1) == 1)
                    pause();
                _exit(1);
            }
            if (read(done[0], &byte, 1) != 1)
                return 1;
        } else if (!strncmp(line, "traced", 6)) { /* answers when it is */
            while (!FASTSDT_IS_ACTIVE(app, hit))
                usleep(1000);
        } else if (!strncmp(line, "alone", 5)) { /* when it is not */
            while (FASTSDT_IS_ACTIVE(app, hit))
                usleep(1000);
        } else if (sscanf(line, "%15s %31s", what, file) == 2 && !strcmp(what, "exec"))
            execl(file, file, (char*)0);
    }
    return 0;
}
END_OF_C
gcc -O2 -I"$INCLUDE" app.c -o app
other=./o$$x ours=./o$$y # no other run of this test has such
cp app "$other"
cp app "$ours"
chown -R 65534:65534 . 2>/dev/null || true
mkfifo report
count='usdt:*:app:hit { @ = count(); @by[pid] = count(); }'

# start NAME FILE: a process; leaves its number in pids, and descriptors of its input and output.
declare -A pids to from
start() {
    local in out
    rm -f "in.$1" "out.$1" && mkfifo "in.$1" "out.$1"
    "${as_user[@]}" "$2" <"in.$1" >"out.$1" 3>&- 4<&- 5<&- &
    pids[$1]=$!
    exec {in}>"in.$1" {out}<"out.$1"
    to[$1]=$in from[$1]=$out
    turn "$1" "hit 0" # it runs, and is what it will be
}
# turn NAME COMMAND: done when it returns.
turn() {
    local line
    echo "$2" >&"${to[$1]}"
    read -r line <&"${from[$1]}" || fail "$1 ended at $2"
    expect "$1: $2" "${line%% *}" did
}
end() {
    echo quit >&"${to[$1]}"
    wait "${pids[$1]}" || fail "$1: status $?"
}
# begin OPTIONS...: traces; leaves tracer. Returns when it is armed.
begin() {
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -e "interval:ms:10 { printf(\"armed\\n\"); } $count" "$@"
}
finish() {
    kill -INT $tracer
    report
}
# untouched NAME...: they have the file's bytes, semaphores and no memory of ours.
untouched() {
    local name
    for name; do
        turn "$name" alone
        ! grep -q fastsdt-trace "/proc/${pids[$name]}/maps" || fail "$name: memory stays"
        ! grep -q 'memfd:fastsdt' "/proc/${pids[$name]}/maps" || fail "$name: tables stay"
        fastsdt-check --pid "${pids[$name]}" >check || fail "$name: $(cat check)"
    done
}

# By number. One that is not there is told of, and the others are traced.
for name in a b c; do start $name ./app; done
begin -p "${pids[a]},${pids[b]}" -p "${pids[c]}"
turn a "hit 10" && turn b "hit 20" && turn c "hit 30"
finish
expect "three numbers" "$status $(sort maps | grep -v sites)
$(grep sites maps)$(cat err)" "0 $(printf '%s\n' "@: 60" "@by[${pids[a]}]: 10" "@by[${pids[b]}]: 20" "@by[${pids[c]}]: 30" | sort)
sites 3 of 3 armed; dropped 0; processes 3"
untouched a b c
count='usdt:*:app:hit { @ = count(); }' # the number of a child takes a system call, which is not made in a program that sets filters
begin -p "${pids[a]}" -p 2147483647
turn a "hit 1"
finish
expect "one of two" "$status $(grep -E '^@:|^sites' maps)" "1 @: 1
sites 1 of 1 armed; dropped 0; processes 1; refused 1"
expect "the reason" "$(cat err)" "fastsdt-trace: process 2147483647: there is no such process; it is not traced"

# One ends: its hits stay, and the others go on.
begin -p "${pids[b]},${pids[c]}"
turn b "hit 5" && end b
turn c "hit 7"
finish
expect "one ends" "$status $(grep -E '^@:|^sites' maps)" "0 @: 12
sites 2 of 2 armed; dropped 0; processes 2"
expect "it is said" "$(sed 's/after .*/after/' err)" "fastsdt-trace: process ${pids[b]} ended after"
untouched a c

# By a file: those that run, one that begins later, and what they fork. Another program with the same probes is not meant.
start o "$other"
begin --exe ./app
turn a "hit 100" && turn o "hit 1000"
turn a "filtered 20"
start d ./app
turn d traced
turn d "hit 10000"
turn d "fork 4 1000"
turn c "fork 2 500"
end d
turn a "hit 1"
finish
expect "by file" "$status $(grep -E '^@:|^sites' maps | sed 's/sites . of ./sites/')" "1 @: 15121
sites armed; dropped 0; followed 7; processes 3; found 1"
grep -qE '^fastsdt-trace: 1 process was found after it had begun: hits of the first 0\.[0-9]* s are missing, or less$' err || fail "found: $(cat err)"
untouched a c o

# By name, a pattern too, and by user. Nobody of that kind is there yet.
begin --comm "o$$[x]"
turn a "hit 1" && turn o "hit 3"
finish
expect "by name" "$status $(grep -E '^@:|^sites' maps)" "0 @: 3
sites 1 of 1 armed; dropped 0"
status=0
"${as_user[@]}" fastsdt-trace --comm nobody-has-it -t 0.2 -e "$count" >maps 2>err || status=$?
expect "nobody" "$status $(cat maps err | grep .)" "1 @: 0
sites 0 of 0 armed; dropped 0
fastsdt-trace: no process is traced so far: there is none for --comm nobody-has-it
fastsdt-trace: nothing matched usdt:*:app:hit"
fastsdt-trace --container 0123456789ab -t 0.2 -e "$count" >maps 2>err || true
grep -qx 'fastsdt-trace: no process is traced so far: there is none for --container 0123456789ab' err || fail "no such container: $(cat err)"

# By user: root's is another's. By control group, and by a container's, which has its number in its name. All that was asked for has to hold.
if [ "$(id -u)" = 0 ]; then
    ordinary=("${as_user[@]}") as_user=()
    start r "$ours"
    start r2 "$ours"
    # An ordinary user may trace neither: that is said once, and both are counted.
    status=0
    "${ordinary[@]}" fastsdt-trace --comm "${ours#./}" -t 0.2 -e "$count" >maps 2>err || status=$?
    expect "not allowed" "$status $(grep ^sites maps) $(grep -c 'not allowed' err)" "1 sites 0 of 0 armed; dropped 0; refused 2 1"
    end r2
    begin --user nobody --comm "o$$?"
    turn o "hit 2" && turn r "hit 50"
    finish
    expect "by user" "$status $(grep -E '^@:|^sites' maps)" "0 @: 2
sites 1 of 1 armed; dropped 0"
    group=/sys/fs/cgroup
    [ -e $group/cgroup.procs ] || group=$group/unified # version 2 beside version 1
    id=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
    if mkdir "$group/fastsdt-$id" 2>/dev/null; then
        trap 'leave_user_folder; kill "${pids[@]}" 2>/dev/null || true; wait
            find "$group/fastsdt-$id" -depth -type d -exec rmdir {} +' EXIT
        # One whose folder comes when the tracer runs.
        was=$(sed -n 's/^0:://p' "/proc/${pids[o]}/cgroup")
        begin --cgroup "$group/fastsdt-$id/later"
        mkdir "$group/fastsdt-$id/later"
        echo "${pids[o]}" >"$group/fastsdt-$id/later/cgroup.procs"
        turn o traced
        turn o "hit 2" && turn r "hit 50"
        finish
        expect "a group that comes later" "$status $(grep -E '^@:|^sites' maps)" "1 @: 2
sites 1 of 1 armed; dropped 0; processes 1; found 1"
        echo "${pids[o]}" >"$group$was/cgroup.procs"
        rmdir "$group/fastsdt-$id/later"
        mkdir "$group/fastsdt-$id/docker-$id.scope"
        echo "${pids[r]}" >"$group/fastsdt-$id/docker-$id.scope/cgroup.procs"
        for by in "--cgroup fastsdt-$id" "--cgroup $group/fastsdt-$id/" "--container ${id:0:12}"; do
            begin $by
            turn o "hit 2" && turn r "hit 50"
            finish
            expect "$by" "$status $(grep -E '^@:|^sites' maps)" "0 @: 50
sites 1 of 1 armed; dropped 0"
        done
        untouched r
    fi
    as_user=("${ordinary[@]}")
fi

# What a COMMAND's child executes is held until it is armed. It may set a seccomp filter, so its stubs make no system calls, and what it
# executes in its own place is found later.
mkfifo -m 666 in.s out.s
"${as_user[@]}" fastsdt-trace --engine user -e "$count" -- sh -c './app <in.s >out.s & wait' >maps 2>err 3>&- 4<&- 5<&- &
tracer=$!
exec {in}>in.s {out}<out.s
to[s]=$in from[s]=$out
turn s traced
turn s "hit 40"
echo "exec $other" >&"$in"
turn s traced
turn s "hit 2"
echo quit >&"$in"
status=0
wait $tracer || status=$?
expect "executed by a child" "$status $(grep -E '^@:|^sites' maps)" "1 @: 42
sites 2 of 2 armed; dropped 0; processes 2; found 1"
# A running process executes another program, and does not.
for follow in --follow --no-follow; do
    start e ./app
    begin -p "${pids[e]}" $follow
    turn e "hit 8"
    echo "exec $other" >&"${to[e]}"
    if [ $follow = --follow ]; then
        turn e traced
        turn e "hit 30"
        finish
        expect "follows" "$status $(grep -E '^@:|^sites' maps)" "1 @: 38
sites 2 of 2 armed; dropped 0; processes 2; found 1"
        untouched e
    else
        report
        expect "does not follow" "$status $(grep -E '^@:|^sites' maps)" "1 @: 8
sites 1 of 1 armed; dropped 0"
    fi
    end e
done

# Usage.
refused() {
    status=0
    "${as_user[@]}" fastsdt-trace -e "$count" "${@:2}" >all 2>&1 || status=$?
    expect "${*:2}" "$status $(cat all)" "2 fastsdt-trace: $1"
}
refused "--pid cannot be combined with --exe, --comm, --cgroup, --container or --user" -p 1 --comm x
refused "--exe, --comm, --cgroup, --container and --user cannot be combined with a command" --comm x -- ./app
refused "--exe ./none: No such file or directory" --exe ./none
refused "--user nobody-has-it: there is no such user; a number is taken too" --user nobody-has-it
refused "--container abc: at least 6 characters of its number are wanted" --container abc
refused "--dry-run shows one process: name it with --pid" --comm x --dry-run
refused "process 2147483646: there is no such process; it is not traced
fastsdt-trace: process 2147483647: there is no such process; it is not traced
fastsdt-trace: none of the processes can be traced" -p 2147483646,2147483647
for name in a c o r; do
    [ -z "${pids[$name]:-}" ] || end $name
done
