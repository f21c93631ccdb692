#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Compiles and runs GCC's own torture tests (gcc-c-torture/execute) with a fastprobe plugin. Usage:
#
#   tests/long/gcc-torture.sh [-e MODE]... [-x MODE] [-f FLAGS]... [-r N [-s SEED]] [-n N] [-t SECONDS] [-p FILE]... gcc|clang x86-64|arm64 PLUGIN CC CXX
#
#   -e MODE   entry mode; may be repeated (default: auto, nop10 and frame)
#   -x MODE   exit mode (default: none)
#   -f FLAGS  one set of flags, in one word; may be repeated (default: -O0, -O2, and -O3 -g)
#   -r N      instead of these: N random sets for each program (tests/fastprobe/flags.py)
#   -s SEED   of the random sets (default: the time). It is printed
#   -n N      every Nth program only (default: 1, all)
#   -t SECS   begins no program after so many seconds; those that it begins are any of them, by the seed
#   -p FILE   this program, C or C++, instead of GCC's; may be repeated
#
# A program that compiles and exits with 0 without the plugin does so with it. Clang also runs its machine verifier after
# every pass of the code generator (-verify-machineinstrs). What stands at each recorded entry and exit is compared with its
# record by objdump (tests/fastprobe/entries.py --check). The programs are those of Debian's gcc-N-source, fetched once with
# the machine's own mirror. Exit status 77: they cannot be fetched.
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")
modes=() flags=() files=() nth=1 exit=none sets=0 most='' seed=$(date +%s)
usage() { sed -n '5,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while getopts e:f:n:p:r:s:t:x: option; do
    case $option in
        e) modes+=("$OPTARG") ;;
        f) flags+=("$OPTARG") ;;
        n) nth=$OPTARG ;;
        p) files+=("$(realpath "$OPTARG")") ;;
        r) sets=$OPTARG ;;
        s) seed=$OPTARG ;;
        t) most=$OPTARG ;;
        x) exit=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 5 ] || usage
kind=$1 target=$2 plugin=$(realpath "$3") cc=$4 cxx=$5
[ ${#modes[@]} -gt 0 ] || modes=(auto nop10 frame)
[ ${#flags[@]} -gt 0 ] || flags=(-O0 -O2 "-O3 -g")

entries=$top/tests/fastprobe/entries.py
# Each line of a program's sets: the entry mode, and all flags.
sets_of() {
    local f m
    if [ "$sets" -gt 0 ]; then
        python3 "$top/tests/fastprobe/flags.py" "$kind" "$target" "$plugin" "$cc" "$seed $(basename "$1")" "$sets"
        return
    fi
    for f in "${flags[@]}"; do
        for m in "${modes[@]}"; do echo "$m $f -fplugin-arg-fastprobe-entry=$m -fplugin-arg-fastprobe-exit=$exit"; done
    done
}

cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}/gcc-torture
[ ${#files[@]} -gt 0 ] || mkdir -p "$cache"
[ ${#files[@]} -gt 0 ] || (
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

# build FLAGS FILE OUTPUT
build() {
    local compiler=$cc
    [[ $2 != *.cpp ]] || compiler=$cxx
    $compiler -w -I"$top/include" $1 "$2" -o "$3" -lm 2>"$3.log"
}

# Whether the program works without the plugin. Asked only when it does not with it.
without() {
    local flags
    flags=$(sed 's/-fplugin-arg-fastprobe-[^ ]*//g; s/-Wl,-mllvm,-load=[^ ]*//' <<<"$1")
    build "$verify $flags" "$2" "$exe" && timeout 60 $run "$exe" >/dev/null 2>&1
}

# one FILE: a line for each set of flags, "ok", "left out" or "FAIL: ...".
one() {
    local mode f why status exe=$work/$BASHPID
    while read -r mode f; do
        rm -f "$exe"
        why=
        if ! build "$verify -fplugin=$plugin $f" "$1" "$exe"; then
            why="does not compile: $(grep -m 1 . "$exe.log" || true)"
        else
            status=0
            timeout 60 $run "$exe" >/dev/null 2>&1 || status=$?
            if [ $status != 0 ]; then
                why="exit status $status"
            elif ! python3 "$entries" --check --entry "$mode" --objdump $objdump "$exe" >"$exe.log" 2>&1; then
                echo "FAIL: $1 $f: $(tail -n 1 "$exe.log" | cut -c1-600)"
                continue
            fi
        fi
        # A processor or an assembler without APX meets it sooner with the plugin: a push for it is one, by -mapx-features=ppx.
        if [[ $f == *" -mapx"* ]] && { [ "$why" = "exit status 132" ] || { [[ $f == *" -fno-integrated-as"* ]] &&
            [[ $why == "does not compile"* ]]; }; } &&
            ! grep -qw apx /proc/cpuinfo; then
            echo "left out"
            continue
        fi
        if [ -z "$why" ]; then
            echo "ok $(cat "$exe.log")"
        elif without "$f" "$1"; then
            echo "FAIL: $1 $f: $why"
        else
            echo "left out"
        fi
    done < <(sets_of "$1")
}
cd "$work"
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(ls "$cache"/execute/*.c "$cache"/execute/*/*.c 2>/dev/null)
mapfile -t files < <(printf '%s\n' "${files[@]}" | awk -v n="$nth" 'NR % n == 0')
[ "$sets" = 0 ] || echo "seed $seed"
shuffled() { python3 -c 'import random, sys; lines = sys.stdin.readlines(); random.Random(sys.argv[1]).shuffle(lines); sys.stdout.writelines(lines)' \
    "$seed"; }
[ -z "$most" ] || mapfile -t files < <(printf '%s\n' "${files[@]}" | shuffled)
jobs=${JOBS:-$(nproc)}
for ((job = 0; job < jobs; job++)); do
    for ((i = job; i < ${#files[@]}; i += jobs)); do
        [ -z "$most" ] || [ $SECONDS -lt "$most" ] || break
        echo program
        one "${files[i]}"
    done | tee "result.$job" | sed -n '/^FAIL/p' &
done
wait
awk '/^program/ { programs++ } /^ok/ { ok++; entries += $2; exits += $4 } /^left out/ { out++ }
    END { printf "%d programs: %d runs right with %d entries and %d exits, %d left out, which fail without the plugin\n", programs, ok, entries, exits, out }' result.*
! grep -q '^FAIL' result.* && grep -q '^ok' result.*
