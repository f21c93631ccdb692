# Sourced by every shell test: `. "$FASTSDT_SOURCE/tests/common.sh"`.
# FASTSDT_SOURCE and FASTSDT_BUILD are set by ctest; the current directory is a scratch directory.
set -euo pipefail
INCLUDE=$FASTSDT_SOURCE/include
export PYTHONDONTWRITEBYTECODE=1 # modules of tests lie in the sources
. "$FASTSDT_SOURCE/scripts/common/versions.sh"

fail() { printf 'FAIL: %s\n' "$*" >&2; exit 1; }
# What a test leaves in its folder would be committed with the sources.
[ ! "$PWD" -ef "$FASTSDT_SOURCE" ] || fail "run this in an empty folder, not in the sources"
# Skips the whole test; the reason is printed at the end of the test run.
skip() { printf 'SKIP: %s\n' "$*"; exit 77; }
have() { command -v "$1" >/dev/null 2>&1; }
need() { local c; for c in "$@"; do have "$c" || skip "$c is not installed"; done; }
# need_go: go, as these programs of one file want it; CGO_ENABLED=1 in front of a command has C in it. It compiles its library once for all tests.
need_go() {
    need go
    export CGO_ENABLED=0 GOFLAGS=-mod=mod GOCACHE=${GOCACHE:-$FASTSDT_BUILD/tests/go-cache}
}
# matches PATTERN: grep -q at the end of a pipeline, reading to the end. grep -q leaves at its first match, and under
# pipefail a writer that still has something to say then dies of SIGPIPE and fails the test, once in a few hundred runs.
matches() { grep "$@" | cat >/dev/null; }
# whole: the run takes all of what it could (scripts/test.sh --all), not a sample.
whole() { [ "${FASTSDT_ALL_TESTS:-}" = ON ]; }
# typed_into_bash: types.exp, in which somebody types "echo one", "true two" and the end into an interactive bash. expect -f runs it.
typed_into_bash() {
    cat >types.exp <<'END_EXP'
set timeout 300
spawn -noecho env PS1=ready> /bin/bash --norc --noprofile -i
foreach line {"echo one" "true two"} {
    expect "ready>"
    send "$line\r"
}
expect "ready>"
send "\004"
expect eof
END_EXP
}
need_uprobes() {
    [ "$(id -u)" = 0 ] || skip "attaching uprobes needs root"
    [ -e /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no uprobes"
}
# perf_records: perf can record what all processes do, and read it. If not, with no event of ours at all, it says why.
perf_records() {
    have perf || { echo "no perf"; return 1; }
    timeout 100 perf record -a -o try.data -e dummy:u true >try.log 2>&1 && timeout 100 perf script -i try.data >try.out 2>>try.log && return 0
    echo "perf records nothing here, not even its dummy: $(tail -n 3 try.log)"
    return 1
}
# guest_passed STATUS PROGRAMS: bench/in-guest.sh ended with this status, and left the files out and err; so many GoogleTest programs ran and passed.
guest_passed() {
    [ "$1" != 125 ] || skip "$(tail -n 1 err)"
    [ "$1" = 0 ] || fail "status $1: $(cat err) $(grep -E 'Failure|FAILED|exception' out)"
    ! grep -q SKIPPED out || fail "skipped in the guest: $(cat out)"
    expect "programs that passed" "$(grep -c '^\[  PASSED  \]' out)" "$2"
}
# expect NAME ACTUAL EXPECTED: both are text.
expect() {
    [ "$2" = "$3" ] && return 0
    printf 'FAIL: %s\n--- expected\n%s\n--- got\n%s\n' "$1" "$3" "$2" >&2
    exit 1
}
