#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs clang-tidy (.clang-tidy) over lib/, tools/, linker/ and fastprobe/, or over the files named; exit 1: it found something.
# Needs clang-tidy 19 (FASTSDT_CLANG_TIDY names another) and a configured build (FASTSDT_BUILD, default build/default).
set -euo pipefail
cd "$(dirname "$0")/../.."
tidy=${FASTSDT_CLANG_TIDY:-clang-tidy-19} build=${FASTSDT_BUILD:-build/default}
command -v "$tidy" >/dev/null || { echo "tidy.sh: $tidy is not installed (Debian: clang-tidy-19)" >&2; exit 2; }
[ -e "$build/CMakeCache.txt" ] || { echo "tidy.sh: $build is not configured: cmake --preset default" >&2; exit 2; }
cmake -S . -B "$build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
[ $# -gt 0 ] || mapfile -t files < <(git ls-files 'lib/*.cpp' 'tools/*.cpp' 'linker/*.cpp' 'fastprobe/*.cpp')
[ $# = 0 ] || files=("$@")
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 1 "$tidy" --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option
