#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Compiles and runs GCC's own torture tests (gcc-c-torture/execute) with a fastprobe plugin. Usage:
#
#   scripts/gcc-torture.sh [-e MODE]... [-x MODE] [-f FLAGS]... [-n N] gcc|clang x86-64|arm64 PLUGIN CC CXX
#
#   -e MODE   entry mode; may be repeated (default: auto, nop10 and frame)
#   -x MODE   exit mode (default: none)
#   -f FLAGS  one set of flags, in one word; may be repeated (default: -O0, -O2, and -O3 -g)
#   -n N      every Nth program only (default: 1, all)
#
# A program that compiles and exits with 0 without the plugin does so with it. Clang also runs its machine verifier after
# every pass of the code generator (-verify-machineinstrs). With exits, every return and tail call of the program has its
# record (tests/fastprobe/entries.py --check-exits). The programs are those of Debian's gcc-N-source, fetched once with
# the machine's own mirror. Exit status 77: they cannot be fetched.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
modes=() flags=() nth=1 exit=none
usage() { sed -n '5,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while getopts e:f:n:x: option; do
    case $option in
        e) modes+=("$OPTARG") ;;
        f) flags+=("$OPTARG") ;;
        n) nth=$OPTARG ;;
        x) exit=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 5 ] || usage
kind=$1 target=$2 plugin=$(realpath "$3") cc=$4
[ ${#modes[@]} -gt 0 ] || modes=(auto nop10 frame)
[ ${#flags[@]} -gt 0 ] || flags=(-O0 -O2 "-O3 -g")

cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/gcc-torture
mkdir -p "$cache"
(
    flock 9
    [ ! -e "$cache/execute" ] || exit 0
    cd "$cache"
    # The newest that the release has; which one does not matter.
    package=$(apt-cache pkgnames gcc- | grep -xE 'gcc-[0-9]+-source' | sort -V | tail -n 1)
    [ -n "$package" ] && apt-get download -q "$package" >fetch.log 2>&1 || { cat fetch.log; exit 1; }
    dpkg-deb --fsys-tarfile "$package"_*.deb | tar xf - --wildcards --strip-components=4 '*.tar.xz'
    mkdir part
    tar xf gcc-*.tar.xz -C part --strip-components=4 --wildcards 'gcc-*/gcc/testsuite/gcc.c-torture/execute/*.c'
    mv part/execute execute
    rm -rf part ./*.deb ./*.tar.xz
) 9>"$cache.lock" || { echo "SKIP: cannot fetch gcc-N-source"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run= objdump=objdump
[ "$target" = x86-64 ] || run="qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu" objdump=aarch64-linux-gnu-objdump
verify=
[ "$kind" = gcc ] || verify="-mllvm -verify-machineinstrs"
# Many of the programs are older than prototypes, which are errors in clang 16 and later.
[ "$kind" = gcc ] || cc+=" -Wno-implicit-function-declaration -Wno-implicit-int -Wno-int-conversion"

# without FLAGS FILE: whether the program works without the plugin. Asked only when it does not with it.
without() {
    # shellcheck disable=SC2086 # a command with options
    $cc -w $1 "$2" -o "$exe" -lm 2>/dev/null && timeout 60 $run "$exe" >/dev/null 2>&1
}

# one FILE: a line for each configuration, "ok", "left out" or "FAIL: ...".
one() {
    local f m why exe=$work/$BASHPID
    for f in "${flags[@]}"; do
        for m in "${modes[@]}"; do
            rm -f "$exe"
            why=
            # shellcheck disable=SC2086
            if ! $cc -w $f $verify "-fplugin=$plugin" "-fplugin-arg-fastprobe-entry=$m" "-fplugin-arg-fastprobe-exit=$exit" "$1" -o "$exe" -lm 2>"$exe.log"; then
                why="entry=$m: does not compile: $(grep -m 1 . "$exe.log" || true)"
            elif ! timeout 60 $run "$exe" >/dev/null 2>&1; then
                why="entry=$m: exit status $?"
            elif [ "$exit" != none ] && ! python3 "$top/tests/fastprobe/entries.py" --check-exits --objdump $objdump "$exe" >"$exe.log" 2>&1 &&
                ! grep -q ': no exits$' "$exe.log"; then # no function of it returns
                echo "FAIL: $1 $f entry=$m exit=$exit: $(tail -n 1 "$exe.log")"
                continue
            fi
            if [ -z "$why" ]; then
                echo ok
            elif without "$f" "$1"; then
                echo "FAIL: $1 $f exit=$exit $why"
            else
                echo "left out"
            fi
        done
    done
}
cd "$work"
mapfile -t files < <(ls "$cache"/execute/*.c "$cache"/execute/*/*.c 2>/dev/null | awk -v n="$nth" 'NR % n == 0')
jobs=${JOBS:-$(nproc)}
for ((job = 0; job < jobs; job++)); do
    for ((i = job; i < ${#files[@]}; i += jobs)); do one "${files[i]}"; done >"result.$job" &
done
wait
grep -h '^FAIL' result.* || true
echo "${#files[@]} programs: $(cat result.* | grep -c "^ok" || true) runs right, $(cat result.* | grep -c "^left out" || true) left out, which fail without the plugin"
! grep -q '^FAIL' result.*
