#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Demo, build and tests in bare roots of other systems: `test-distros.sh [--build-only] [SUITE...]`, as root; default: trixie
# sid noble (Debian 13, Debian unstable, Ubuntu 24.04). Each root is made by bare.sh, with uprobes hidden, so that nothing is
# attached to this machine's kernel. --build-only builds with each GCC from 12 and each clang from 14 that the release has, warnings
# being errors, and runs no test. Prints a row per root and step; what each printed is in build/distros/.
# Exit 1 when a step failed; a suite that the mirror does not have is a row, not a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
steps="demo build tests"
case ${1:-} in
--build-only) steps=compilers; shift ;;
-*) sed -n '3,/^[^#]/s/^# //p' "$0" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- trixie sid noble
out=build/distros
mkdir -p "$out"
# What runs inside. Each step ends in a line "@step ok|failed|..., and what else is to be said".
inside='
step() {
    local name=$1 said
    shift
    if said=$("$@" 3>&1 1>&2); then echo "@$name ok${said:+, $said}"; else echo "@$name failed${said:+: $said}"; return 1; fi
}
demo() { ./scripts/demo.sh; }
build() {
    ./scripts/install-deps.sh && cmake --preset default && cmake --build --preset default &&
        echo "gcc $(gcc -dumpfullversion)" >&3
}
tests() {
    local status=0
    ctest --preset default -j "$(nproc)" -LE kernel >build/ctest.log || status=$?
    cat build/ctest.log
    sed -n "/tests passed/p; s/^.*[0-9] - \(.*\) ([FTN].*/  \1/p" build/ctest.log | tr "\n" " " >&3
    return $status
}
# Warnings in our code are errors; the headers of GCC and LLVM are system headers. Warnings of clang do not depend on
# optimization.
compilers() {
    ./scripts/install-deps.sh || return
    local found="" all=1 v type
    for v in $(apt-cache pkgnames | grep -xE "g\+\+-1[2-9]|clang-(1[4-9]|2[0-9])" | sort -V); do
        apt-get install -y -qq --no-install-recommends "$v" >/dev/null 2>&1 || { echo "no $v"; continue; }
        rm -rf build/compiler
        case $v in g*) type=RelWithDebInfo ;; *) type=Debug ;; esac
        if CC=${v/g++/gcc} CXX=${v/clang/clang++} cmake -S . -B build/compiler -G Ninja -DCMAKE_C_FLAGS=-Werror -DCMAKE_CXX_FLAGS=-Werror \
            -DCMAKE_BUILD_TYPE=$type -DFASTSDT_TESTS=OFF -DFASTSDT_BENCHMARKS=OFF && cmake --build build/compiler
            then found="$found $v"; else found="$found $v(FAILED)"; all=0; fi
    done
    echo "$found" >&3
    [ $all = 1 ]
}
for step in '"$steps"'; do step $step $step || { [ $step != build ] || break; }; done'

status=0
printf '%-10s %-10s %s\n' SUITE STEP RESULT
for suite in "$@"; do
    code=0
    FASTSDT_ROOT_WITHOUT_UPROBES=1 scripts/common/bare.sh "$suite" bash -c "$inside" >"$out/$suite.log" 2>&1 || code=$?
    if grep -q '^make-root.sh: the machine.s mirror has no' "$out/$suite.log"; then
        printf '%-10s %-10s %s\n' "$suite" root "the mirror does not have it"
        continue
    fi
    for step in $steps; do
        result=$(sed -n "s/^@$step //p" "$out/$suite.log")
        printf '%-10s %-10s %s\n' "$suite" "$step" "${result:-not reached: $(tail -n 1 "$out/$suite.log")}"
        [[ $result == ok* ]] || status=1
    done
    [ "$code" = 0 ] || status=1
done
exit $status
