#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Engine, lib, tools and api under sanitizers: AddressSanitizer and UndefinedBehaviorSanitizer (preset sanitize), then
# ThreadSanitizer (preset threads), for the tests in which the engine arms its own process; only what these need is built. A test that takes
# minutes is left out or made shorter. `sanitize.sh [address|thread]`: only one of the two. `sanitize.sh recent`: ThreadSanitizer only if the last 20
# commits changed code that it covers.
# clang is taken where it is, since it needs half of gcc's time.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common/versions.sh
which=${1:-all}
case $which in
all | address | thread) ;;
recent)
    which=all seen=(engine/process engine/arming engine/session.cpp api tests/engine/{self,stress}_test.cpp tests/engine/api.{c,sh} tests/sanitize.sh)
    if git rev-parse --quiet --verify HEAD~20 >/dev/null && git diff --quiet HEAD~20 -- "${seen[@]}"; then
        which=address
        echo "threads: left out, since the last 20 commits did not change ${seen[*]}"
    fi
    ;;
*) sed -n '3,/^[^#]/s/^# //p' "$0" >&2 && exit 2 ;;
esac
[ "$(uname -m)" = x86_64 ] || { echo "sanitize.sh: its list of tests is for x86-64" && exit 0; }
options=()
compiler=gcc
for v in $(installed clang++ | sed 's/.*-//' | sort -rn); do
    library=$("clang-$v" -print-resource-dir)/lib/linux
    [ -e "$library/libclang_rt.asan-$(uname -m).so" ] || continue
    shared="-shared-libsan -Wl,-rpath,$library" # a library has no part of the sanitizer in it
    options=(-DCMAKE_CXX_COMPILER="clang++-$v" -DCMAKE_C_COMPILER="clang-$v" -DCMAKE_SHARED_LINKER_FLAGS="$shared")
    compiler="clang-$v $shared"
    break
done
[ -z "${CCACHE_DIR:-}" ] || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
status=0
# build PRESET JOBS TARGETS...
build() {
    local preset=$1 jobs=$2 started=$SECONDS
    shift 2
    cmake --preset "$preset" "${options[@]}" >/dev/null || return 1
    cmake --build --preset "$preset" -j "$jobs" --target "$@" >"build/$preset.log" 2>&1 || { tail -n 50 "build/$preset.log"; return 1; }
    echo "$preset: built in $((SECONDS - started)) s"
}
# check PRESET TESTS
check() {
    local preset=$1 tests=$2 started=$SECONDS
    if ctest --preset "$preset" -j $(($(nproc) + 1)) -R "^($tests)\$" >"build/$preset/test.log" 2>&1; then
        echo "$preset: $(grep -c ' Passed ' "build/$preset/test.log") programs and scripts ran in $((SECONDS - started)) s, nothing was found"
    else
        status=1
        cat "build/$preset/test.log"
    fi
}
mkdir -p build
# One processor waits while the other compiles the engine, which is one file, and while tests wait: this build is beside them.
threads=
if [ $which != address ]; then
    build threads 1 engine_self_test engine_stress_test engine_target engine_module fastsdt_trace_api &
    threads=$!
fi
if [ $which != thread ]; then
    export FASTSDT_API_COMPILER="$compiler -fsanitize=address,undefined" # for the program of api.sh
    # Locals stay on the stack, where tests look for them. Three tests are left out. In one the handler becomes slower than the timer that calls it.
    # Two step through stubs for two minutes, and stubs are not instrumented.
    export ASAN_OPTIONS=detect_stack_use_after_return=0
    export GTEST_FILTER=-Stub.SignalHandlersMayHitTheSameSite:Growth.HandlersAtEachInstruction:Growth.OneTextOfTwoThatComeAtOnceStays
    export FASTSDT_ATTACHMENTS=20 FASTSDT_TOGGLES=10000 FASTSDT_CHURN=10 FASTSDT_CLAUSES=300
    engine='allowed|attachments|blocked|call|clauses|failed|follow|hostile|kernel|launch|life|meaning|outside|parked|place|reads|refuse|script|self|sequence|stack|stress|stubs|tracers|transaction'
    lib='findings|kernel|live|plan|printable'
    scripts='api|churn|clear|containers|errors|first|forks|loaded|maps|options|processes|twice'
    others='check\.(bounds|names|output)|reader\.use|fuzz\.(corpus|mutations)|dtrace\.grammar'
    targets=(fuzz_reader fastsdt-check fastsdt-trace fastsdt-dtrace fastsdt_trace_api fastsdt_reader_api lib_calls engine_target engine_target_static
        engine_blocked engine_module
        engine_sequence engine_starter engine_starter_static engine_starter_static_pie)
    for unit in ${engine//|/ }; do targets+=("engine_${unit}_test"); done
    for unit in ${lib//|/ }; do targets+=("lib_${unit}_test"); done
    build sanitize "$(nproc)" "${targets[@]}" || { wait; exit 1; }
    check sanitize "engine\.($engine|$scripts)|lib\.($lib|calls)|$others"
    unset ASAN_OPTIONS GTEST_FILTER
fi
if [ -n "$threads" ]; then
    wait "$threads" || exit 1
    export FASTSDT_API_COMPILER="$compiler -fsanitize=thread" FASTSDT_TOGGLES=20000
    check threads 'engine\.(self|stress|api)'
fi
exit $status
