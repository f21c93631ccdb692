# Sourced by the scripts of this folder after tests/common.sh and tests/engine/common.sh. They run the tools of share/tools as an ordinary user.
need gcc /usr/bin/python3
need_attachable
user_folder
chown 65534:65534 . 2>/dev/null || true
cp "$FASTSDT_SOURCE"/share/tools/*.bt .

# traced TOOL [OPTIONS...] [-- TOOL'S OPTIONS] -- COMMAND...: what the tool prints is in out, what the command prints in theirs. The tool's first line
# are the names of its columns, or says what its table has; the last one says that nothing is missing.
traced() {
    "${as_user[@]}" fastsdt-trace --engine user -o out "$@" >theirs 2>err </dev/null || fail "$*: status $?: $(cat err out)"
    complete "$@"
}
complete() {
    tail -n 1 out | matches -E '^sites ([0-9]+) of \1 armed; dropped 0(; (followed|processes) [0-9]+)*$' || fail "$*: $(tail -n 1 out) $(cat err)"
}
# attached TOOL PID [OPTIONS...]: the same for a process that runs, whose work is done by the caller. Returns when its sites are armed.
attached() {
    [ -e report ] || mkfifo report
    { cat "$1"; echo 'interval:ms:10 { printf("armed\n"); }'; } >attached.bt
    "${as_user[@]}" fastsdt-trace --engine user -p "$2" attached.bt "${@:3}" >report 2>err 3>&- 4<&- &
    tracer=$!
    exec 5<report
    read -r header <&5 || fail "the tracer ended: $(cat err)"
    armed
}
# detached: ends that. What it has printed is in out.
detached() {
    kill -INT $tracer
    { echo "$header"; grep -v '^armed$' <&5; } >out || true
    wait $tracer || fail "status $?: $(cat err out)"
    complete attached
}
# table: the lines of out between the first and the last.
table() { sed '1d; $d' out | grep -v '^$'; }
