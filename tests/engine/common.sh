# Sourced by the scripts of this folder after tests/common.sh.

[ "$(uname -m)" = x86_64 ] || skip "only on x86-64; guest_arm64.sh has such runs for arm64"

# Makes bpftrace's strings as long as ours, and cut without a mark, as before its 0.20.
export BPFTRACE_MAX_STRLEN=64 BPFTRACE_STR_TRUNC_TRAILER=

# engines: those that can be tried here.
engines() {
    echo user
    [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] || return 0
    echo kernel
    ! have bpftrace || echo bpftrace
}

# all_engines OPTIONS...: runs fastsdt-trace on both of its engines and in bpftrace, and fails where their maps differ. Leaves them in user.txt,
# kernel.txt and bpftrace.txt.
all_engines() {
    local engine
    for engine in bpftrace user kernel; do
        fastsdt-trace --engine "$engine" "$@" >$engine.out 2>$engine.err || fail "--engine $engine $*: $(cat $engine.err $engine.out)"
        # Not compared: bpftrace's line on what it attaches to and our line on what is armed, blank lines before the maps,
        # and the blank behind a histogram's name, which bpftrace 0.23 no longer prints.
        grep -vE '^Attaching [0-9]+ probes?\.\.\.$|^sites [0-9]+ of [0-9]+ armed|"type": "(attached_probes|sites)"' $engine.out |
            sed -e '/./,$!d; s/: $/:/' >$engine.txt
        diff bpftrace.txt $engine.txt >difference || fail "engine $engine differs (< bpftrace, > $engine) for $*
$(cat difference)"
    done
    [ -s user.txt ] || fail "no maps for $*"
}

# "${as_user[@]}" COMMAND...: runs it as an ordinary user without any right of root's, who has to own the scratch directory. An
# array, so that $! is the command's own number.
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all)

# user_folder: goes to an empty folder that an ordinary user can reach, unlike a scratch directory below somebody's home. The
# folder is removed at the end. If the test has failed, processes end that it has left there: ctest waits for all that have its output.
user_folder() {
    user=$(mktemp -d "${TMPDIR:-/tmp}/fastsdt-engine.XXXXXX")
    trap leave_user_folder EXIT
    chmod 755 "$user"
    user=$(realpath "$user")
    cd "$user" || fail "cannot go to $user"
}

leave_user_folder() {
    local status=$? process
    if [ $status != 0 ]; then
        for process in /proc/[0-9]*; do
            [ "$process" = "/proc/$$" ] || [ "$(readlink "$process/cwd")" != "$user" ] || kill -KILL "${process#/proc/}" || true
        done
    fi
    rm -rf "$user"
}

# attachable: an ordinary user may trace his own processes here. need_attachable: or the whole test is skipped.
attachable() { [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]; }
need_attachable() { attachable || skip "kernel.yama.ptrace_scope is not 0"; }

# driven PROGRAM ARGUMENTS...: starts, as an ordinary user, a program of this folder that does its work once for each line that it reads,
# and answers "did". Leaves its pid, descriptors 3 and 4 that lead to it, and a fifo called report.
driven() {
    program=$PWD/${1#./}
    mkfifo in answers report
    chown 65534:65534 in answers report 2>/dev/null || true
    "${as_user[@]}" "$@" <in >answers &
    pid=$!
    exec 3>in 4<answers
    until [ "/proc/$pid/exe" -ef "$program" ]; do [ -d "/proc/$pid" ] || fail "$1 does not run"; done # setpriv's process nobody else may read
}
# did: it does its work once. text: its code as it is now.
did() { local line; echo >&3 && read -r line <&4 && expect "the program" "$line" did; }
text() { python3 -c "import sys
for line in open(f'/proc/{sys.argv[1]}/maps'):
    at, what = line.split()[:2]
    if 'x' in what and line.rstrip().endswith(' ' + sys.argv[2]):
        start, end = (int(x, 16) for x in at.split('-'))
        with open(f'/proc/{sys.argv[1]}/mem', 'rb') as memory:
            memory.seek(start)
            sys.stdout.buffer.write(memory.read(end - start))" "$pid" "$program"; }

# bytes_of FUNCTION: the first five bytes of a function of that program, as they are now. Its name as nm has it; a pattern of sed.
bytes_of() { python3 -c "import sys
for line in open(f'/proc/{sys.argv[1]}/maps'):
    if line.rstrip().endswith(' ' + sys.argv[2]):
        memory = open(f'/proc/{sys.argv[1]}/mem', 'rb')
        memory.seek(int(line.split('-')[0], 16) + int(sys.argv[3], 16))
        print(memory.read(5).hex())
        break" "$pid" "$program" "$(nm "$program" | sed -n "s/ T $1\$//p")"; }

# armed: waits until a tracer has armed its sites. Reads its output from descriptor 5 until the `interval:ms:10 { printf("armed\n"); }` of
# its script has printed.
armed() {
    local line
    read -r line <&5 && [ "$line" = armed ] || fail "the tracer ended: $line $(cat err)"
}

# start_tracer COMMAND...: starts a tracer whose script prints that, and returns when it is armed. Leaves tracer; needs a fifo called report.
start_tracer() {
    "$@" >report 2>err 3>&- 4<&- &
    tracer=$!
    exec 5<report
    armed
}

# attach SCRIPT OPTIONS...: traces the process $pid, which descriptors 3 and 4 lead to, as an ordinary user. Returns when it is armed.
# Leaves tracer; needs a fifo called report.
attach() {
    start_tracer "${as_user[@]}" fastsdt-trace --engine user -p "$pid" "${@:2}" -e "interval:ms:10 { printf(\"armed\\n\"); } $1"
}
# report: what comes until the tracer's end. Leaves status, and the files maps and err.
report() {
    grep -v '^armed$' <&5 >maps || true
    status=0
    wait $tracer || status=$?
}
