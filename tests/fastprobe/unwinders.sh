#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libunwind and libgcc's unwinder at every exit site: exit_callers.c, preloaded, single-steps cases/through.cpp and compares their callers, at
# each instruction of a site, with the calls that were made. libunwind's names of the callers are compared with the symbol table.
# gdb at exits: unwind.sh. Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
plugin=$3 cxx=$5
need gcc "${cxx%% *}" python3 nm
[ -e "$plugin" ] || skip "$plugin was not built"
folder=$FASTSDT_SOURCE/tests/fastprobe
gcc -O2 -Wall -Wextra -Werror -shared -fPIC "$folder/exit_callers.c" -o exit_callers.so -lgcc_s -lunwind 2>err ||
    { grep -q "libunwind.h: No such\|cannot find -lunwind" err && skip "libunwind is not installed (Debian: libunwind-dev)"; fail "$(cat err)"; }

check() { # FLAGS...
    $cxx -w -I"$INCLUDE" -fplugin="$plugin" "$@" -S "$folder/cases/through.cpp" -o t.s || fail "$*: does not compile"
    [ -z "$damage" ] || sed -i "$damage" t.s
    $cxx -no-pie t.s -o t || fail "$*: does not link"
    python3 - "$folder" t >places <<'P' || fail "$*: no places"
import sys
sys.path.insert(0, sys.argv[1])
import entries
for at, _, _, _, patch, length in entries.records(sys.argv[2])[1]:
    print("%x %x" % (at, patch + length - at))
P
    local status=0
    PLACES=places LD_BIND_NOW=1 LD_PRELOAD=$PWD/exit_callers.so ./t 2>log || status=$?
    echo "$*: exit status $status, $(tail -n 1 log)"
    if [ -n "$damage" ]; then # libgcc's reads the code at what it takes for a return address: the program may die of that
        grep -q "^WRONG .* libunwind: " log || fail "libunwind: wrong unwind information goes unnoticed"
        grep -q "^WRONG .* libgcc: " log || [ $status = 139 ] || fail "libgcc: wrong unwind information goes unnoticed"
        return
    fi
    [ $status = 0 ] || fail "$*: exit status $status: $(tail -n 3 log)"
    grep -q '^RESULT [1-9][0-9]* stops at [1-9][0-9]* of [0-9]* sites, 0 wrong$' log || fail "$*: $(grep '^WRONG\|^RESULT' log)"
    # All but those of main(): it returns elsewhere when something is wrong.
    set -- $(sed -n 's/^RESULT .* at \([0-9]*\) of \([0-9]*\) sites.*/\1 \2/p' log)
    [ $(($2 - $1)) -le 5 ] && [ "$1" -ge 28 ] || fail "only $1 of $2 sites were reached"
    nm t >symbols
    sort -u log | python3 -c '
import bisect, collections, sys
at = collections.defaultdict(set)
for line in open("symbols"):
    fields = line.split()
    if len(fields) == 3 and fields[1] in "tTwW":
        at[int(fields[0], 16)].add(fields[2])
starts, compared = sorted(at), 0
for line in sys.stdin:
    if line.startswith("caller"):
        address, name = int(line.split()[1], 16), line.split()[2]
        if address < starts[-1]: # not of a library
            names = at[starts[bisect.bisect(starts, address) - 1]]
            assert name in names, (line, names)
            compared += 1
assert compared >= 50, compared' || fail "names of callers"
}

exit=-fplugin-arg-fastprobe-exit
# Shows that this test can fail: it does without the directive that follows the last pop.
damage='/cfi_def_cfa_offset 8$/d'
check -O2 $exit=nop10
damage=
frames="-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"
check -O2 $frames $exit=nop
check -O3 -g -fcf-protection=full $exit=nop10
# Tables for synchronous exceptions only: GCC's are right at exits even so; clang then has none for functions that throw
# nothing.
[ "$1" = clang ] || check -O2 -fno-asynchronous-unwind-tables $exit=nop10
check -O2 -fstack-protector-all -fstack-clash-protection -fplugin-arg-fastprobe-entry=frame $exit=nop
whole || exit 0
check -O2 $exit=nop10
check -O2 $exit=nop
check -O0 $exit=nop10
check -Os $exit=nop
check -O2 $frames $exit=nop10
