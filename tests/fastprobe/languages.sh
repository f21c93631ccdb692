#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The other front ends of GCC make code with the same back end: entries are added and recorded, and programs run.
# Arguments as for suite.sh; needs gfortran, gnat, gdc or gccgo of the same version as the C compiler.
. "$FASTSDT_SOURCE/tests/common.sh"
plugin=$3 cc=$4
[ -e "$plugin" ] || skip "$plugin was not built"
version=$($cc -dumpversion | cut -d. -f1)
cat >f.f90 <<'E2'
integer function triple(a)
  integer :: a
  triple = a * 3
end function
program main
  integer :: triple
  if (triple(14) /= 42) stop 1
end program
E2
cat >d.d <<'E2'
extern (C) int triple(int a) { pragma(inline, false); return a * 3; }
extern (C) int main() { return triple(14) - 42; }
E2
cat >a.adb <<'E2'
procedure A is
   function Triple (X : Integer) return Integer is (X * 3) with No_Inline;
   V : Integer := 14 with Volatile;
begin
   if Triple (V) /= 42 then raise Program_Error; end if;
end A;
E2
cat >g.go <<'E2'
package main

//go:noinline
func triple(a int) int { return a * 3 }
func main() {
	if triple(14) != 42 {
		panic("triple")
	}
}
E2
tried=0
try() { # SOURCE COMPILER FLAGS...
    local source=$1 compiler=$2
    shift 2
    have "$compiler" || { echo "no $compiler"; return; }
    rm -f report.json
    $compiler "$@" -O1 -fplugin="$plugin" -fplugin-arg-fastprobe-entry=nop -fplugin-arg-fastprobe-report=report.json -c "$source" \
        -o "${source%.*}.o" || fail "$compiler: does not compile"
    readelf -nW "${source%.*}.o" | matches 'fastsdt.*0x00000045' || fail "$compiler: no records"
    grep -iq '"function": "[^"]*triple[^"]*", .*"action": "added"' report.json || fail "$compiler: $(cat report.json)"
    tried=$((tried + 1))
    echo "$compiler: $(wc -l <report.json) entries"
}
try f.f90 gfortran-$version
try d.d gdc-$version
! have gnatmake-$version || try a.adb gcc-$version -gnat12 # gcc calls gnat1 by itself
try g.go gccgo-$version -fno-split-stack # with split stacks, its default, every function is skipped
[ $tried -gt 0 ] || skip "no front end but C and C++ of GCC $version"
if have gfortran-$version; then
    gfortran-$version -O1 -fplugin="$plugin" f.f90 -o f && ./f || fail "the Fortran program"
fi
