#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a COMMAND and its descendants execute is armed before its first instruction, as an ordinary user too, and no process sees that.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc setpriv python3 make perl
need_attachable
user_folder
gcc -O2 -I"$INCLUDE" "$FASTSDT_SOURCE/tests/engine/executes.c" -o app -pthread
ln app tool

# counts WHAT HITS COMMAND...: all its hits are counted, nothing is late or missing, and it prints what it prints by itself.
counts() {
    local what=$1 hits=$2 status=0
    shift 2
    "$@" >alone 2>&1 || fail "$what: by itself: $(cat alone)"
    "${who[@]}" fastsdt-trace --engine user -e 'usdt:*:app:tick { @ = count(); }' -- "$@" >out 2>err || status=$?
    expect "$what: status, $(cat err; tail -n 1 out)" $status 0
    expect "$what" "$(grep -v '^sites\|^$' out)" "$(cat alone && echo "@: $hits")"
    grep -qE '^sites ([0-9]+) of \1 armed; dropped 0(; processes [0-9]+)?$' out || fail "$what: $(cat out err)"
}
chmod 777 .
who=()
counts "root" 9 sh -c './app 3; ./app 4'
who=("${as_user[@]}")
counts "a shell" 9 sh -c './app 3; ./app 4'
counts "a shell that executes one in its place" 9 sh -c './app 3; exec ./app 4'
counts "shells below it" 25 sh -c 'sh -c "env A=1 ./app 4; true"; (nice ./tool vfork); ./app 9; true'
counts "at once" 42 bash -c 'for i in 1 2 3 4 5 6; do ./app 6 & done; wait'
for way in vfork spawn; do counts "$way" 10 ./tool $way; done
counts "a thread" 10 sh -c './tool thread; true'
counts "one that fails first" 20 sh -c './tool fails; ./tool fails'
counts "the parent hears of no stop" 20 sh -c './tool watch; ./tool watch'
grep -qx '0 stops, status 0' out || fail "the parent: $(cat out)"
counts "python" 40 python3 -c 'import os, subprocess
for i in range(2):
    subprocess.run(["./app", "9"], check=True)
    os.waitpid(os.posix_spawn("./app", ["app", "9"], {}), 0)'
printf 'all: %s\nt%%: ; @./app 9\n' "$(seq -s' ' 1 30 | sed 's/[0-9]*/t&/g')" >Makefile
counts "make -j" 300 make -s -j8
# perl can make any system call, and so set a seccomp filter. Then its stubs make none, unless one says that it sets none.
status=0
"${who[@]}" fastsdt-trace --engine user --read-memory -e 'usdt:*:app:tick { @ = count(); }' \
    -- perl -e 'for (1..3) { system("./app", 9) }' >out 2>err || status=$?
expect "perl with --read-memory" "$status $(grep @ out)" "0 @: 30"

# A program that has more rights than its user has them, where the tracer has not.
[ "$(id -u)" != 0 ] || { cp "$(command -v id)" rights && chmod 4755 rights; }
if [ "$(id -u)" = 0 ] && [ "$("${as_user[@]:0:4}" ./rights -u)" = 0 ]; then # not where files give no rights (nosuid)
    "${as_user[@]:0:4}" fastsdt-trace --engine user -e 'usdt:*:app:tick { @ = count(); }' -- sh -c './app 3; ./rights -u; ./app 4' >out 2>err ||
        fail "with more rights: $(cat out err)"
    expect "with more rights" "$(grep -v ^sites out | grep .)" "$(printf '0\n@: 9')"
fi

# One that executes a program while the tracer does not answer does not wait for it, and that is said.
mkfifo begin said
"${as_user[@]}" fastsdt-trace --engine user -e 'usdt:*:app:tick { @ = count(); }' -- ./tool asked <begin >said 2>err &
tracer=$!
exec 7>begin 8<said
read -r line <&8 && expect "a tracer that does not answer" "$line" reads
kill -STOP $tracer
echo go >&7
read -r line <&8 && expect "a tracer that does not answer" "$line" did
kill -CONT $tracer
echo end >&7
status=0
wait $tracer || status=$?
exec 7>&- 8>&-
expect "a tracer that does not answer" "$status $(grep -c 'other programs were executed while this tool did not answer' err)" "1 1"

# In a pid namespace of its own.
who=()
if [ "$(id -u)" = 0 ] && unshare --pid --fork true 2>/dev/null; then
    counts "a pid namespace" 9 unshare --pid --fork sh -c './app 3; ./app 4'
fi

# The tracer is killed: what it held goes on, and whoever asks it waits once. The COMMAND ends with its tracer, so it is a child of it.
cat >long.sh <<'END'
i=0
while [ $i -lt 100 ]; do
    ./app 3 || echo "status $?"
    i=$((i + 1))
    [ $i != 20 ] || echo 20 >reached
done
echo "done $i" >reached
END
mkfifo reached
exec 6<>reached # each line has its writer
for _ in 1 2 3; do
    fastsdt-trace --engine user -e 'usdt:*:app:tick { @ = count(); }' -- sh -c 'setsid sh long.sh >long.out 2>&1 & wait' >out 2>err 6>&- &
    tracer=$!
    read -r line <&6
    expect "a killed tracer: before" "$line" 20
    kill -KILL $tracer
    wait $tracer 2>/dev/null || true
    read -r line <&6
    expect "a killed tracer" "$line$(cat long.out)" "done 100"
done
