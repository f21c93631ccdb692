# SPDX-License-Identifier: BSD-2-Clause
package=perl provider=perldtrace.d file=perl
in_tree=1
tests_are="its tests in base, cmd and comp, a third of those in op, and run/dtrace.t, which is skipped: it wants a dtrace that traces"
configure() { # with the modules that these tests and the build need
    local modules="attributes B Carp constant Cwd Data/Dumper Errno Exporter ExtUtils/ParseXS Fcntl File/Find File/Glob File/Path File/Temp Filter/Util/Call FindBin Getopt/Long Hash/Util IO IPC/Open3 lib List/Util mro parent base PathTools PerlIO/scalar POSIX re Scalar/List/Utils Sys/Hostname Test/Harness Test/Simple Text/ParseWords Text/Tabs Tie/Hash/NamedCapture Time/HiRes Time/Local Unicode/Normalize version XSLoader"
    sh ./Configure -des "-Dusedtrace=$(command -v dtrace)" "-Dcc=$CC" "-Doptimize=$CFLAGS" \
        "-Accflags=$CPPFLAGS" -Uversiononly "-Dprefix=$PWD/installed" "-Donlyextensions=$modules"
}
build() { make -j"$jobs"; }
recompile() { # dtrace -G is given copies in folders
    local objects
    mapfile -t objects < <(printf '%s\n' "$@" | grep -v /)
    make "${objects[@]}"
}
own_tests() {
    make -j"$jobs" test_prep >/dev/null 2>&1
    (cd t && ./perl harness base/*.t cmd/*.t comp/*.t run/dtrace.t op/s*.t op/c*.t op/d*.t) 2>&1 |
        grep -E '^[a-z]+/.* \.+|^Result|^  Failed' | sed 's/ \.\.* */ /; s/ *[0-9]* ms *//; s/skipped: .*/skipped/' | sort
}
live_setup() {
    live_probe=perl:sub__entry live_argument=arg0 live_value=twice live_count=200
    live_more_probe=perl:sub__return live_more_count=400
    live_command=(./perl -Ilib live.pl)
    echo 'sub twice { 2 * $_[0] } sub other { 1 } my $l = <STDIN>; for my $i (1..200) { twice($i); other() }' >live.pl
}
