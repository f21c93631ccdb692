#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs cases/ with one compiler, in lit (cases/lit.cfg.py).
#
#   suite.sh KIND TARGET PLUGIN CC CXX [LIT'S ARGUMENTS...]
#
# KIND    gcc or clang
# TARGET  x86-64 or arm64
# PLUGIN  the fastprobe.so for -fplugin=
# CC CXX  commands, with their own options (clang-19 --target=aarch64-linux-gnu)
# FLAGS   in the environment: further flags for each compilation
# --param run=no compares the entries only, and runs no program
# FASTPROBE_SYSROOT  programs run with the libraries of that chroot (tests/long/test-gcc-versions.sh)
. "$FASTSDT_SOURCE/tests/common.sh"
kind=$1 target=$2 plugin=$3 cc=$4 cxx=$5
shift 5
need python3 "${cc%% *}" "${cxx%% *}"
[ -e "$plugin" ] || skip "$plugin was not built"
[ "$target" != arm64 ] || need qemu-aarch64 aarch64-linux-gnu-objdump
filecheck=$(newest FileCheck)
need "$filecheck"
# Debian has lit in llvm-N-tools.
lit=$(command -v lit || ls /usr/lib/llvm-*/build/utils/lit/lit.py 2>/dev/null | sort -V | tail -n 1)
[ -n "$lit" ] || skip "lit is not installed (Debian: llvm-N-tools)"
version=$(python3 "$lit" --version)
[[ $version =~ ([0-9]+)\. && ${BASH_REMATCH[1]} -ge 16 ]] || skip "$version is too old: DEFINE came with lit 16"
mkdir -p lit
exec python3 "$lit" --verbose --show-unsupported --no-progress-bar --order=lexical -j "${JOBS:-1}" \
    --param kind="$kind" --param target="$target" --param plugin="$plugin" --param cc="$cc" --param cxx="$cxx" \
    --param filecheck="$filecheck" --param flags="${FLAGS:-}" --param sysroot="${FASTPROBE_SYSROOT:-}" --param work="$PWD/lit" \
    --param name="fastprobe $(basename "$PWD")" "$@" "$FASTSDT_SOURCE/tests/fastprobe/cases"
