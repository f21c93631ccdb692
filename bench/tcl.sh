#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the header's choices cost a real program: Tcl 8.6, built from Debian's unchanged sources with different paddings and
# argument constraints. Prints the size of libtcl's text (the column of size: code and read-only data) and the instructions
# (valgrind --tool=callgrind) that a small Tcl program takes with no probe attached. `bench/tcl.sh [REGEX]`: only the rows
# whose "COMPILER NAME" matches; about 40 s of CPU a row. Needs valgrind, and what demo.sh tcl needs.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
wanted=${1:-}
work=${FASTSDT_BUILD:-$here/build}/bench-tcl
headers=$here/include
. "$here/scripts/common/versions.sh"
peers=$("$here/tests/header/fetch-peers.sh" "${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}")
mkdir -p "$work"
cd "$work"
if [ ! -d source ]; then
    files=$("$here/scripts/common/debian-source.sh" tcl8.6)
    dpkg-source -x "$files"/tcl8.6_*.dsc source >/dev/null 2>&1
fi
cat >work.tcl <<'END'
proc fib n { if {$n < 2} {return $n}; expr {[fib [expr {$n-1}]] + [fib [expr {$n-2}]]} }
fib 18
set l {}; for {set i 0} {$i < 20000} {incr i} { lappend l [string length "x$i"] }
set d [dict create]; foreach x $l { dict incr d $x }
proc f {a b} { set c [list $a $b]; lindex $c 0 }
for {set i 0} {$i < 20000} {incr i} { f $i [string range abcdef 1 3] }
END

# row NAME COMPILER CONFIGURE CFLAGS...
row() {
    local name=$1 compiler=$2 configure=$3
    shift 3
    [[ "$compiler $name" =~ $wanted ]] || return 0
    rm -rf b && mkdir b
    (
        cd b
        CC=$compiler CPPFLAGS="-I$headers" CFLAGS="$*" ../source/unix/configure $configure >log 2>&1
        make -j"$(nproc)" CC="$compiler" CFLAGS="-O2 $* -I$headers" >log 2>&1
    ) || { tail -3 b/log >&2; exit 1; }
    local text instructions
    text=$(size b/libtcl8.6.so | awk 'NR == 2 {print $1}')
    instructions=$(TCL_LIBRARY=$work/source/library LD_LIBRARY_PATH=$work/b \
        valgrind --tool=callgrind --callgrind-out-file=/dev/null b/tclsh work.tcl 2>&1 | awk '/Collected/ {print $4}')
    printf '%-9s %-34s %9s %12s\n' "$compiler" "$name" "$text" "$instructions"
}
printf '%-9s %-34s %9s %12s\n' compiler build text instructions
for compiler in gcc "$(newest clang)"; do
    row "no probes" $compiler ""
    headers=$peers/systemtap row "systemtap's sys/sdt.h" $compiler --enable-dtrace
    row "default (nr, bound 6)" $compiler --enable-dtrace
    row "bound 0 (no padding, no promise)" $compiler --enable-dtrace -DFASTSDT_BOUND=0
    row "bound 4" $compiler --enable-dtrace -DFASTSDT_BOUND=4
    row "bound 5" $compiler --enable-dtrace -DFASTSDT_BOUND=5
    row "systemtap's constraint, nor" $compiler --enable-dtrace -DSTAP_SDT_ARG_CONSTRAINT=nor
done
row "no probes, -ffunction-sections" gcc "" -ffunction-sections
row "bound 4, -ffunction-sections" gcc --enable-dtrace -ffunction-sections -DFASTSDT_BOUND=4
row "default, -ffunction-sections" gcc --enable-dtrace -ffunction-sections
