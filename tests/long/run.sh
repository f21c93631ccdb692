#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What takes longer than somebody waits for: `run.sh PART [ARGUMENT...]` runs one part, `run.sh nightly` those marked *, one after the other:
#
#   *tests         scripts/test.sh --all
#   *sanitizers    tests/sanitize.sh
#   *fuzz          damaged files: an hour with sanitizers, and 20 minutes without, for the programs too; another seed each day. -t SECONDS
#   *kernels       all kernels in QEMU, against the model
#   *mutants       safeguards taken out of the engine: a test has to fail each time
#   *soak          an hour of threads, forks, libraries and signals under tracers that are killed
#   *differ        hundreds of made-up scripts on the user engine and in bpftrace
#   *torture       GCC's torture tests with the plugins of both compilers
#   *move-torture  the same programs with all functions armed
#    move-cpython, move-postgresql    programs as installed, with all functions armed
#    move-go       the standard library's tests of the installed Go, the same way
#    move-go-programs   Debian's prometheus, etcd, caddy, containerd and dockerd under load, the same way
#   *links         compilers, linkers, LTO, section collection
#   *packages      Debian's, RPM's and Conan's
#   *static        the static file, built twice, in roots of distributions
#    litmus        the algorithms of stubs on arm64's memory model, by herd7
#    page          what others wrote of the page of `fastsdt-trace report`, made again from npm: the same bytes
#    otlp          spans of `export`, by the reader of OpenTelemetry's collector
#    bpftrace      bpftrace's own tests on the user engine
#    programs, servers, services      real programs with our headers, and under load
#    plugins       real programs with the compiler plugins
#    distros, gccs, llvms, headers    other distributions, and other compilers in chroots
#
# What a part printed is in build/long/PART.log. A line for each says how it ended and after how many seconds; exit 1: one failed. As root.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/common/versions.sh
nightly=(tests sanitizers fuzz kernels mutants soak differ torture move-torture links packages static)
export FASTSDT_BUILD=$PWD/build/default
# with_plugins SCRIPT ARGUMENT...: SCRIPT for the newest compilers that there are plugins for.
with_plugins() {
    local name script=$1 status=0
    shift
    for name in $(plugin gcc) $(plugin llvm); do
        case $name in
        gcc-*) "$script" "$@" gcc x86-64 "$FASTSDT_BUILD/$name/fastprobe.so" "$name" "${name/gcc/g++}" || status=$? ;;
        llvm-*) "$script" "$@" clang x86-64 "$FASTSDT_BUILD/$name/fastprobe.so" "${name/llvm/clang}" "${name/llvm/clang++}" || status=$? ;;
        esac
    done
    return $status
}
# part NAME ARGUMENT...
part() {
    local name=$1 here=tests/long
    shift
    case $name in
    tests) scripts/test.sh --all "$@" ;;
    sanitizers) tests/sanitize.sh "$@" ;;
    fuzz)
        [ -x build/sanitize/bin/fuzz_reader ] || { echo "build/sanitize is not built: run.sh sanitizers" && return 1; }
        cd build/long # what fails is left there
        ../sanitize/bin/fuzz_reader -t 3600 -s "$(date +%Y%m%d)" "$@" ../../tests/fuzz/corpus
        ../default/bin/fuzz_reader -t 1200 -s "$(date +%Y%m%d)" "$@" -p ../default/bin ../../tests/fuzz/corpus
        ;;
    kernels) tests/kernel/run-matrix.sh "$@" ;;
    torture) with_plugins $here/gcc-torture.sh "$@" ;;
    plugins) with_plugins $here/fastprobe-real.sh "$@" ;;
    links) $here/link-matrix.sh "$@" ;;
    packages) scripts/package.sh "$@" ;;
    static) packaging/static.sh --twice --roots "$@" ;;
    otlp) tests/long/otlp.sh ;;
    litmus) tests/long/litmus.sh ;;
    page) tools/fastsdt-trace/page/parts/make.sh --check ;;
    bpftrace) $here/bpftrace-tests.py "$@" ;;
    programs) $here/real-programs.sh "${@:-tcl}" ;;
    servers) $here/real-servers.sh "$@" ;;
    distros) $here/test-distros.sh "$@" ;;
    gccs) $here/test-gcc-versions.sh "$@" ;;
    llvms) $here/test-llvm-versions.sh "$@" ;;
    headers) $here/test-header-compilers.sh "$@" ;;
    *) "$here/$name.sh" "$@" ;;
    esac
}
known() { sed -nE '/^#   ?[ *]/s/^#   ?[ *]([a-z, -]*[a-z])  .*/\1/p' tests/long/run.sh | tr -d , | xargs; }
parts=("${1:-}")
[ $# = 0 ] || shift
case " $(known) nightly " in *" ${parts[*]} "*) ;; *) sed -n '3,26s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;; esac
[ "${parts[*]}" != nightly ] || parts=("${nightly[@]}")
mkdir -p build/long
status=0
for name in "${parts[@]}"; do
    started=$SECONDS
    part "$name" "$@" >"build/long/$name.log" 2>&1 & # a function behind which || stands would go on after errors
    if wait $!; then ended=ok; else ended="failed, status $?" status=1; fi
    printf '%-16s %6d s  %s: %s\n' "$name" $((SECONDS - started)) "$ended" "$(tail -n 1 "build/long/$name.log")"
done
exit $status
