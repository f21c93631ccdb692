# SPDX-License-Identifier: BSD-2-Clause
package=tcl8.6 provider=generic/tclDTrace.d file=libtcl8.6.so
tests_are="27 of its 150 test files"
configure() { "$source/unix/configure" -C --enable-dtrace --enable-threads; }
build() {
    make -j"$jobs" CC="$CC"
    make -j"$jobs" tcltest CC="$CC"
}
recompile() { make CC="$CC" "$@"; }
own_tests() {
    local files="append basic cmdAH compExpr compile dict execute expr for foreach if info lindex list lsearch namespace oo parse proc proc-old regexp set string subst switch trace uplevel upvar var while"
    TCL_LIBRARY=$source/library LD_LIBRARY_PATH=$PWD ./tcltest "$source/tests/all.tcl" -singleproc 0 -file "$(printf '%s.test ' $files)" 2>&1 |
        grep -E '^[a-zA-Z-]+\.test|Total|^==== .* FAILED'
}
live_setup() {
    live_probe=tcl:proc__entry live_argument=arg0 live_value=twice live_count=400 # two sites in a row (tclProc.c, TclObjInterpProcCore)
    live_command=(env "TCL_LIBRARY=$source/library" "LD_LIBRARY_PATH=$PWD" ./tclsh live.tcl)
    cat >live.tcl <<'TCL'
proc twice {x} {expr {2 * $x}}
proc other {} {}
gets stdin
for {set i 0} {$i < 200} {incr i} {twice $i; other}
TCL
}
