#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs from Debian's unchanged sources, configured with their dtrace switch, built three times: with systemtap's header
# and dtrace, with ours, and with ours and fastprobe.
#
#     scripts/real-programs.sh [-k] [-c COMPILER]... [-v VARIANT]... NAME...
#
# NAME: tcl cpython postgresql perl php. COMPILER: gcc, clang-19, ... (default: gcc). VARIANT: systemtap, fastsdt, fastprobe
# (default: all; the other two need a run of systemtap to compare with). For each program and compiler:
#   - it builds, and its own tests give what they give with systemtap's header;
#   - it has systemtap's probes, each with as many arguments of the same sizes and signs, and those of its provider file
#     that the sources use; fastsdt-check reports no error;
#   - as root, on a kernel with uprobes: bpftrace and gdb count as many hits as the program says it made;
#   - with fastprobe, no kernel single-steps or refuses a selected entry, but for those that the report lists as missed.
# Results go to build/real-programs/results, and from all of them docs/real-programs.md is written anew.
# -k keeps the build folders, and takes up those that an earlier run has kept. After a build of fastsdt (build/default). With ccache,
# what is the same with both headers is compiled once. FASTSDT_JOBS: for make, default 2.
set -euo pipefail
usage() { sed -n '3,18s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."
top=$PWD
build=$top/build/default
work=$top/build/real-programs
jobs=${FASTSDT_JOBS:-2}
programs=() compilers=() variants=() keep=
while [ $# -gt 0 ]; do
    case $1 in
    -c) compilers+=("$2"); shift 2 ;;
    -k) keep=1; shift ;;
    -v) variants+=("$2"); shift 2 ;;
    tcl | cpython | postgresql | perl | php) programs+=("$1"); shift ;;
    *) usage ;;
    esac
done
[ ${#programs[@]} -gt 0 ] || usage
[ ${#compilers[@]} -gt 0 ] || compilers=(gcc)
[ ${#variants[@]} -gt 0 ] || variants=(systemtap fastsdt fastprobe)
fail() { echo "FAIL: $*" >&2; exit 1; }
for tool in fastsdt-check fastsdt-dtrace; do [ -x "$build/bin/$tool" ] || fail "build fastsdt first: $build/bin/$tool is missing"; done
mkdir -p "$work/results" "$work/sources" "$work/bin"
ln -sf "$build/bin/fastsdt-dtrace" "$work/bin/dtrace" # what builds call
can_trace=
[ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] || can_trace=1

# fetch PACKAGE: the upstream sources with Debian's patches unpacked in sources/PACKAGE, writable for other users.
fetch() {
    [ ! -e "$work/sources/$1" ] || return 0
    echo "== $1: fetching the source package"
    local files
    rm -rf "$work/sources/$1.part"
    files=$("$top/scripts/debian-source.sh" "$1") && dpkg-source -x "$files"/*.dsc "$work/sources/$1.part" >"$work/fetch.log" 2>&1 ||
        fail "cannot fetch $1: $(tail -n 1 "$work/fetch.log" 2>/dev/null)"
    mv "$work/sources/$1.part" "$work/sources/$1"
}

# ---- The programs. Each runs in its build folder, with CC, CFLAGS, CPPFLAGS and PATH in the environment.
# package_X is Debian's source package; provider_X the file of it that describes the probes, file_X what is built and has them.
# configure_X, build_X; test_X prints results that do not depend on time and order; live_X sets what the live test needs: see live().
package_tcl=tcl8.6 provider_tcl=generic/tclDTrace.d file_tcl=libtcl8.6.so
configure_tcl() { "$source/unix/configure" -C --enable-dtrace --enable-threads; }
build_tcl() { make -j"$jobs" CC="$CC"; make -j"$jobs" tcltest CC="$CC"; }
test_tcl() {
    TCL_LIBRARY=$source/library LD_LIBRARY_PATH=$PWD ./tcltest "$source/tests/all.tcl" -singleproc 0 -file "append.test basic.test cmdAH.test compExpr.test compile.test dict.test execute.test expr.test for.test foreach.test if.test info.test lindex.test list.test lsearch.test namespace.test oo.test parse.test proc.test proc-old.test regexp.test set.test string.test subst.test switch.test trace.test uplevel.test upvar.test var.test while.test" 2>&1 |
        grep -E '^[a-zA-Z-]+\.test|Total|^==== .* FAILED'
}
live_tcl() {
    live_probe=tcl:proc__entry live_filter='str(arg0) == "twice"' live_gdb='$_streq((char*)$_probe_arg0, "twice")' live_count=400 # two sites in a row (tclProc.c, TclObjInterpProcCore)
    live_command=(env "TCL_LIBRARY=$source/library" "LD_LIBRARY_PATH=$PWD" ./tclsh live.tcl)
    cat >live.tcl <<'END'
proc twice {x} {expr {2 * $x}}
proc other {} {}
gets stdin
for {set i 0} {$i < 200} {incr i} {twice $i; other}
END
}

package_cpython=python3.11 provider_cpython=Include/pydtrace.d file_cpython=python
configure_cpython() { "$source/configure" -C OPT=-DNDEBUG --with-dtrace --disable-test-modules --without-ensurepip; }
build_cpython() { make -j"$jobs" CC="$CC"; }
test_cpython() {
    ./python -m test -w -j2 test_dtrace test_gc test_functools test_generators test_list test_dict test_import test_class test_json test_re test_math test_sys_settrace 2>&1 |
        grep -E '^test_|^[0-9]+ tests? |^Tests result|^  *test_' | sed 's/ (.*//; s/^ *//' | sort
}
live_cpython() {
    live_probe=python:function__entry live_filter='str(arg1) == "fib"' live_gdb='$_streq((char*)$_probe_arg1, "fib")' live_count=465
    live_more_probe=python:gc__start live_more_count=7
    live_command=(./python live.py)
    cat >live.py <<'END'
import gc, os, sys
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
gc.disable()
sys.settrace(lambda frame, event, arg: None)  # 3.11 passes function__entry only while somebody traces (ceval.c, DO_TRACING)
sys.stdin.readline()
fib(12)
for i in range(7):
    gc.collect()
os._exit(0)  # at its end the interpreter collects too
END
}

package_postgresql=postgresql-15 provider_postgresql=src/backend/utils/probes.d file_postgresql=src/backend/postgres
configure_postgresql() { "$source/configure" -C --enable-dtrace --without-readline --without-zlib --without-icu "--prefix=$PWD/installed"; }
build_postgresql() { # the server, and what its regression tests need: no ecpg, no dump tools
    make -C src/backend -j"$jobs" generated-headers
    make -C src/backend -j"$jobs"
    for part in src/timezone src/interfaces/libpq src/backend/snowball src/pl/plpgsql/src src/fe_utils src/bin/initdb src/bin/pg_ctl src/bin/psql; do make -C $part -j"$jobs"; done
    make -C src/test/regress -j"$jobs"
    for part in src/backend src/timezone src/interfaces/libpq src/backend/snowball src/pl/plpgsql/src src/bin/initdb src/bin/pg_ctl src/bin/psql; do make -C $part install; done
}
test_postgresql() { # it refuses to be run by root
    rm -rf tmp_check
    as_user src/test/regress/pg_regress --temp-instance=tmp_check "--inputdir=$source/src/test/regress" "--bindir=$PWD/installed/bin" --dlpath=src/test/regress --max-connections=4 --no-locale \
        test_setup boolean char int4 int8 float8 numeric text strings date create_table create_index create_view select select_into select_distinct subselect union case join aggregates transactions arrays \
        btree_index update delete prepare plpgsql copy2 temp domain with truncate alter_table sequence rowtypes returning json jsonb 2>&1 |
        grep -E '^test .*(ok|FAILED|failed)|^ All |tests passed|tests failed' | sed 's/ *[0-9]* ms$//; s/^ *//'
}
live_postgresql() {
    [ -d live ] || {
        as_user "$PWD/installed/bin/initdb" -D "$PWD/live" --no-locale -A trust >initdb.log 2>&1
    }
    live_probe=postgresql:query__start live_filter='str(arg0) == "select 7;\n"' live_gdb='$_streq((char*)$_probe_arg0, "select 7;\n")' live_count=300
    live_more_probe=postgresql:query__done live_more_count=600
    live_command=("$PWD/src/backend/postgres" --single -D "$PWD/live" postgres) live_as_user=1
    live_input() { for _ in $(seq 300); do printf 'select 7;\nselect 8;\n'; done; }
}

package_perl=perl provider_perl=perldtrace.d file_perl=perl
in_tree_perl=1
configure_perl() { # with the modules that these tests and the build need
    local modules="attributes B Carp constant Cwd Data/Dumper Errno Exporter ExtUtils/ParseXS Fcntl File/Find File/Glob File/Path File/Temp FindBin Getopt/Long Hash/Util IO IPC/Open3 lib List/Util mro parent base PathTools PerlIO/scalar POSIX re Scalar/List/Utils Sys/Hostname Test/Harness Test/Simple Text/ParseWords Text/Tabs Tie/Hash/NamedCapture Time/HiRes Time/Local Unicode/Normalize version XSLoader"
    sh ./Configure -des "-Dusedtrace=$(command -v dtrace)" "-Dcc=$CC" "-Doptimize=$CFLAGS" "-Accflags=$CPPFLAGS" -Uversiononly "-Dprefix=$PWD/installed" "-Donlyextensions=$modules"
}
build_perl() { make -j"$jobs"; }
test_perl() {
    make -j"$jobs" test_prep >/dev/null 2>&1
    (cd t && ./perl harness base/*.t cmd/*.t comp/*.t run/dtrace.t op/s*.t op/c*.t op/d*.t) 2>&1 | grep -E '^[a-z]+/.* \.+|^Result|^  Failed' | sed 's/ \.\.* */ /; s/ *[0-9]* ms *//' | sort
}
live_perl() {
    live_probe=perl:sub__entry live_filter='str(arg0) == "twice"' live_gdb='$_streq((char*)$_probe_arg0, "twice")' live_count=200
    live_more_probe=perl:sub__return live_more_count=400
    live_command=(./perl -Ilib live.pl)
    echo 'sub twice { 2 * $_[0] } sub other { 1 } my $l = <STDIN>; for my $i (1..200) { twice($i); other() }' >live.pl
}

package_php=php8.2 provider_php=Zend/zend_dtrace.d file_php=sapi/cli/php
configure_php() { "$source/configure" -C --disable-all --enable-dtrace --enable-cli --disable-cgi --disable-phpdbg; }
build_php() { make -j"$jobs"; }
test_php() {
    TEST_PHP_EXECUTABLE=$PWD/sapi/cli/php NO_INTERACTION=1 ./sapi/cli/php "$source/run-tests.php" -q "-j$jobs" "$source"/Zend/tests/{closures,generators,traits,namespaces} 2>&1 |
        grep -E '^(PASS|FAIL|SKIP|XFAIL|BORK) ' | sed 's/ reason:.*//' | sort
}
live_php() {
    live_probe=php:function__entry live_filter='str(arg0) == "twice"' live_gdb='$_streq((char*)$_probe_arg0, "twice")' live_count=200
    live_more_probe=php:exception__thrown live_more_count=5
    live_command=(env USE_ZEND_DTRACE=1 ./sapi/cli/php live.php)
    echo '<?php function twice($x) { return 2 * $x; } function other() {} fgets(STDIN); for ($i = 0; $i < 200; $i++) { twice($i); other(); } for ($i = 0; $i < 5; $i++) { try { throw new Exception("x"); } catch (Exception $e) {} }' >live.php
}

# ---- What is asked of all of them
as_user() { # COMMAND...: as nobody, who gets this folder
    if [ "$(id -u)" = 0 ]; then
        chown -R nobody .
        setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$PWD" "$@"
    else
        "$@"
    fi
}

# PROVIDER:NAME and sizes and signs of the arguments, as readelf prints them.
probes_of() {
    readelf -nW "$1" | awk '/Provider: / { provider = $NF } /^ *Name: / { name = $2 } /^ *Arguments:/ { sub(/^ *Arguments: */, ""); gsub(/f?@[^ ]*/, ""); print provider ":" name " " $0 }' | sort -u
}

# live: starts live_command, which waits for a line on its standard input; attaches bpftrace, sends the line, and compares
# the hits of live_probe that pass live_filter with live_count; then the same in gdb.
live() {
    local pid count what user=()
    live_more_probe='' live_more_count='' live_as_user=''
    live_input() { echo; }
    "live_$program"
    [ -z "$live_as_user" ] || [ "$(id -u)" != 0 ] || user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    rm -f live.in trace.out
    mkfifo live.in
    "${user[@]}" "${live_command[@]}" <live.in >live.out 2>&1 &
    pid=$!
    exec 7>live.in
    # Attached when it says so: BEGIN runs when all probes are in place.
    local script="BEGIN { printf(\"attached\\n\"); } usdt:$PWD/$file:$live_probe /$live_filter/ { @hits++; }"
    [ -z "$live_more_probe" ] || script="$script usdt:$PWD/$file:$live_more_probe { @more++; }"
    # env, setpriv: the process is the program when its file is mapped.
    until grep -q "$(basename "$file")" "/proc/$pid/maps" 2>/dev/null; do kill -0 $pid || fail "$where: the program for the live test ended: $(tail -n 3 live.out)"; done
    BPFTRACE_STRLEN=32 bpftrace -p $pid -e "$script" >trace.out 2>&1 &
    local tracer=$!
    until grep -qx attached trace.out 2>/dev/null; do kill -0 $tracer 2>/dev/null || { kill $pid; fail "$where: bpftrace: $(tail -n 3 trace.out)"; }; done
    live_input >&7
    exec 7>&-
    wait $pid || true
    wait $tracer || true
    count=$(sed -n 's/^@hits: //p' trace.out)
    [ "$count" = "$live_count" ] || fail "$where: bpftrace counts '$count' of $live_probe, the program does $live_count: $(tail -n 5 trace.out)"
    [ -z "$live_more_probe" ] || { count=$(sed -n 's/^@more: //p' trace.out); [ "$count" = "$live_more_count" ] || fail "$where: bpftrace counts '$count' of $live_more_probe, the program does $live_more_count"; }
    live_input >live.txt
    local words=("${live_command[@]}") setenv=()
    if [ "${words[0]}" = env ]; then
        words=("${words[@]:1}")
        while [[ ${words[0]} = *=* ]]; do setenv+=("${words[0]}") words=("${words[@]:1}"); done
    fi
    {
        for what in "${setenv[@]}"; do echo "set environment ${what/=/ }"; done
        printf 'set pagination off\nhandle SIGUSR1 SIGCHLD nostop noprint\nbreak main\n'
        echo "run$(printf ' %q' "${words[@]:1}") <live.txt >gdb.out"
        # In gdb 13 a condition behind the probe's name is lost, and one that waits for the library too.
        printf 'delete\nbreak -probe-stap %s\ncondition 2 %s\nignore 2 1000000\ncontinue\ninfo breakpoints\n' "$live_probe" "$live_gdb"
    } >gdb.commands
    "${user[@]}" gdb -nx -batch -x gdb.commands --args "${words[@]}" >gdb.log 2>&1 </dev/null || true
    count=$(sed -n 's/.*breakpoint already hit \([0-9]*\) times*/\1/p' gdb.log | sed -n 1p)
    [ "$count" = "$live_count" ] || fail "$where: gdb counts '$count' of $live_probe, the program does $live_count: $(tail -n 5 gdb.log)"
}

plugin_of() { # COMPILER
    case $1 in
    clang-*) echo "$build/llvm-${1#clang-}/fastprobe.so" ;;
    *) echo "$build/gcc-$("$1" -dumpversion | cut -d. -f1)/fastprobe.so" ;;
    esac
}

one() { # program, compiler, variant: built and judged; its row goes to results
    where="$program, $compiler, $variant"
    local result=$work/results/$program-$compiler-$variant dir=$work/$program-$compiler-$variant
    local peer=$work/results/$program-$compiler-systemtap
    rm -f "$result".*
    [ -n "$keep" ] && [ -e "$dir/built" ] || { rm -rf "$dir" && mkdir "$dir"; }
    cd "$dir"
    export CC=$compiler CFLAGS=-O2 CPPFLAGS="" PATH=$clean_path
    if command -v ccache >/dev/null; then
        mkdir -p "$work/ccache/$compiler"
        ln -sf "$(command -v ccache)" "$work/ccache/$compiler/$compiler"
        export CCACHE_BASEDIR=$dir CCACHE_NOHASHDIR=1
        [ "$variant" != fastprobe ] || export CCACHE_DISABLE=1 # what it answers is in no report
    fi
    case $variant in
    systemtap)
        [[ $(sed -n 1p "$(command -v dtrace)") = *python* ]] || fail "the dtrace on the PATH is not systemtap's"
        ;;
    *) CPPFLAGS="-I$top/include" PATH=$work/bin:$clean_path ;;
    esac
    [ ! -d "$work/ccache/$compiler" ] || PATH=$work/ccache/$compiler:$PATH
    if [ "$variant" = fastprobe ]; then
        [ -e "$(plugin_of "$compiler")" ] || fail "$(plugin_of "$compiler") is not built"
        CFLAGS="$CFLAGS -fplugin=$(plugin_of "$compiler") -fplugin-arg-fastprobe-report=$dir/report.json"
    fi
    if [ ! -e built ]; then
        echo "== $where: building"
        local in_tree=in_tree_$program
        [ -z "${!in_tree:-}" ] || cp -a "$source/." .
        # What configure found out with systemtap's header, but for the environment and all that is about probes.
        [ "$variant" = systemtap ] || [ ! -e $peer.cache ] || grep -Evi '^ac_cv_env|dtrace|sdt' $peer.cache >config.cache
        "configure_$program" >configure.log 2>&1 || fail "$where: configure: $(tail -n 3 configure.log)"
        [ "$variant" != systemtap ] || [ ! -e config.cache ] || cp config.cache $peer.cache
        rm -f report.json # of what configure compiled
        "build_$program" >make.log 2>&1 || fail "$where: make: $(tail -n 5 make.log)"
        touch built
    fi
    local file=file_$program text
    file=${!file}
    probes_of "$file" >$result.probes
    text=$(size -A "$file" | awk '$1 == ".text" {print $2}')
    echo "== $where: its own tests"
    "test_$program" >$result.tests 2>&1 || true
    [ -s $result.tests ] || fail "$where: its tests print nothing"
    local sites layouts entries=-
    sites=$(readelf -nW "$file" | grep -c 'Provider: ' || true)
    layouts=nop1
    if [ "$variant" != systemtap ]; then
        [ -e $peer.probes ] || fail "run the variant systemtap before"
        diff $peer.probes $result.probes >difference || fail "$where: other probes than with systemtap's header: $(head -n 5 difference)"
        diff $peer.tests $result.tests >difference || fail "$where: its tests give other results: $(head -n 5 difference)"
        "$build/bin/fastsdt-check" --no-lines "$file" >check.log 2>&1 || fail "$where: fastsdt-check $file: $(tail -n 5 check.log)"
        layouts=$("$build/bin/fastsdt-check" --json --no-lines "$file" |
            grep -E '^ "layout": ' | cut -d'"' -f4 | sort | uniq -c | awk '{ printf "%s%d %s", (NR > 1 ? ", " : ""), $1, $2 }')
    fi
    if [ "$variant" = fastprobe ]; then
        "$build/bin/fastsdt-check" --functions --json --no-lines "$file" >functions.json || fail "$where: fastsdt-check --functions $file"
        entries=$("$top/scripts/check-entries.py" functions.json report.json) || fail "$where: entries of $file: $entries"
    fi
    local traced=no
    if [ -n "$can_trace" ] && [ "$variant" != systemtap ]; then
        echo "== $where: live"
        live
        traced="$live_count of ${live_probe#*:}${live_more_count:+, $live_more_count of ${live_more_probe#*:}}"
    fi
    # Probes of the provider file, and how many of them the sources use.
    local described used
    described=$("$build/bin/fastsdt-dtrace" -h -s "$source/$(eval echo "\$provider_$program")" -o /dev/stdout | grep -c 'DTRACE_PROBE')
    used=$(cut -d' ' -f1 $result.probes | sort -u | wc -l)
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$program" "$compiler" "$variant" "$used of $described" "$sites" "$layouts" "$text" "$entries" "$(wc -l <"$result.tests")" "$traced" >$result.row
    echo "ok: $where: $sites sites of $used probes, layouts: $layouts, .text $text, entries: $entries, live: $traced"
    cd "$work"
    [ -n "$keep" ] || rm -rf "$dir"
}

document() {
    {
        echo "# Real programs"
        echo
        echo "Written by \`scripts/real-programs.sh ${programs_done[*]}\`: Debian 12's unchanged sources, configured with their dtrace"
        echo "switch, -O2. Each row is a build that passed: the program's own tests (a part of them: the script says which) give the same results"
        echo "as with systemtap's header, it has the same probes with the same sizes and signs of arguments, fastsdt-check reports no error, and"
        echo "bpftrace and gdb count what the program did. With fastprobe, every selected entry is cheap on all kernels that fastsdt-check knows, or reported as missed."
        echo
        echo "The last column has the hits of the live test. The test's script (\`live_NAME\`) fixes their number: at the first probe those of one function,"
        echo "at the second all. bpftrace has to count both numbers, and gdb the first."
        echo
        local name not_run=
        for name in tcl cpython postgresql perl php; do [ -e "$work/results/$name-gcc-fastsdt.row" ] || not_run="$not_run $name"; done
        [ -z "$not_run" ] || { echo "The script has recipes that have not passed here yet:$not_run." && echo; }
        echo "A function that is inlined has its site in each copy. With our header gcc takes a site for a small one (\`asm inline\`), so it inlines more."
        echo
        echo "| program | compiler | built with | probes used | sites | layouts | .text over systemtap's | fastprobe's entries | hits, live |"
        echo "|---|---|---|---|---|---|---|---|---|"
        # Those to compare with first.
        { cat "$work"/results/*-systemtap.row; cat "$work"/results/*-fastsdt.row "$work"/results/*-fastprobe.row 2>/dev/null || true; } | awk -F'\t' '
            $3 == "systemtap" { text[$1, $2] = $7 }
            { row[++n] = $0 }
            END { for (i = 1; i <= n; i++) { split(row[i], r, "\t"); k = r[1] SUBSEP r[2]
                printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r[1], r[2], r[3], r[4], r[5], r[6],
                    r[3] == "systemtap" ? r[7] " bytes" : sprintf("%+d (%+.2f %%)", r[7] - text[k], 100 * (r[7] / text[k] - 1)), r[8], r[10] } }' | sort -s -t'|' -k2,3
    } >"$work/real-programs.md"
    mv "$work/real-programs.md" "$top/docs/real-programs.md"
}

clean_path=$PATH
for program in "${programs[@]}"; do
    package=package_$program
    fetch "${!package}"
    source=$work/sources/${!package}
    for compiler in "${compilers[@]}"; do
        for variant in "${variants[@]}"; do
            (one) || exit 1
        done
    done
done
cd "$work"
mapfile -t programs_done < <(for row in results/*.row; do cut -f1 "$row"; done | sort -u)
document
echo "all passed: docs/real-programs.md"
