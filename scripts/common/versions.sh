# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced by scripts and tests, which name no version of a compiler: what this machine has.
#
# installed NAME: the programs NAME-N on the PATH, oldest version first. newest NAME: the last of them, or NAME itself.
installed() { compgen -c "$1-" | awk -v p="$1-" 'substr($0, length(p) + 1) ~ /^[0-9]+$/' | sort -Vu || true; }
newest() { local all; all=$(installed "$1"); if [ -n "$all" ]; then echo "${all##*$'\n'}"; else echo "$1"; fi; }
#
# preset: how build/default is configured. All who build there do so alike, and nothing is compiled twice.
preset() { if [ -n "${CI:-}" ]; then echo ci; else echo default; fi; }
#
# plugin gcc|llvm [SUFFIX]: the newest compiler that fastprobe was built for, as its directory in the build is called: gcc-12,
# llvm-19, gcc-12-aarch64 (SUFFIX -aarch64). Nothing when there is none. plugins: all of them, oldest first.
plugins() {
    local file
    for file in "$FASTSDT_BUILD/$1"-*/fastprobe.so; do
        file=${file%/fastprobe.so} file=${file##*/}
        [[ ! $file =~ ^$1-[0-9]+${2:-}$ ]] || echo "$file"
    done | sort -V
}
plugin() { plugins "$@" | sed -n '$p'; }
