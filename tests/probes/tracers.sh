#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A C program's probes of run time under fastsdt-trace (both engines), bpftrace and gdb, in memory and in a file: the same hits, the same values. The
# program is an ordinary user's, and so is fastsdt-trace.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
. "$FASTSDT_SOURCE/tests/probes/common.sh"
user_folder
cp "$library/libfastsdt-probes.so.0" .
gcc -O2 -Wall -Wextra -Werror -I"$INCLUDE" "$here/target.c" -o target -L"$library" -lfastsdt-probes -Wl,-rpath,"$PWD"
chmod 777 .
export TMPDIR=$PWD
tracers 12 ./target memory
tracers 12 ./target file
expect "files that are left" "$(ls fastsdt-* 2>/dev/null || true)" ""
