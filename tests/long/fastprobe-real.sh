#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds real programs without and with a fastprobe plugin and runs their tests on both. Usage:
#
#   tests/long/fastprobe-real.sh [OPTION...] gcc|clang x86-64|arm64 PLUGIN CC CXX
#
#   -p PROGRAM   zlib, lua or sqlite; may be repeated (default: all)
#   -f FLAGS     one set of flags, in one word; may be repeated (default: -O0, -O2, -Os, -O3 and "-O2 -flto")
#   -e MODE      entry mode; may be repeated (default: auto and nop10)
#   -x MODE      exit mode (default: none). fastsdt-check has to find every exit, and the kernel hits all entries and
#                exits alike in a run of each program (tests/fastprobe/pairs.py; x86-64, needs root)
#   --full       SQLite's veryquick.test as well (x86-64; needs tcl8.6-dev, takes minutes for each build)
#
# The sources are Debian's (bookworm), fetched once with the machine's own mirror. Exit status 0: everything passes, and
# fastsdt-check finds no xol entry among the selected functions that the plugin's report does not list as missed.
# 77: the sources cannot be fetched.
#   zlib    test/example.c and a round trip through minigzip: what its `make test` runs
#   lua     tests/fastprobe/real.lua: Debian's package has no test suite
#   sqlite  fuzzcheck over its fuzzdata (`make fuzztest`), and speedtest1 --verify, which must print the same hashes
set -euo pipefail
usage() { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
top=$(realpath "$(dirname "$0")/../..")
build=$(realpath "${FASTSDT_BUILD:-$top/build/default}")
work=${FASTPROBE_REAL_WORK:-$build/fastprobe-real}
programs=() flags=() modes=() full= exit=none
while [ $# -gt 0 ]; do
    case $1 in
        -p) programs+=("$2"); shift 2 ;;
        -f) flags+=("$2"); shift 2 ;;
        -e) modes+=("$2"); shift 2 ;;
        -x) exit=$2; shift 2 ;;
        --full) full=1; shift ;;
        -*) usage ;;
        *) break ;;
    esac
done
[ $# = 5 ] || usage
kind=$1 target=$2 plugin=$(realpath "$3") cc=$4 cxx=$5
[ ${#programs[@]} -gt 0 ] || programs=(zlib lua sqlite)
[ ${#flags[@]} -gt 0 ] || flags=(-O0 -O2 -Os -O3 "-O2 -flto")
[ ${#modes[@]} -gt 0 ] || modes=(auto nop10)
run= objdump=objdump
[ "$target" = x86-64 ] || run="qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu" objdump=aarch64-linux-gnu-objdump
: "$kind" "$cxx"
fail() { echo "FAIL: $*" >&2; exit 1; }

mkdir -p "$work/sources"
cd "$work"
fetch() { "$top/scripts/common/upstream-source.sh" "$1" "$work/sources"; }

# build PROGRAM DIR COMMAND...: compiles and links with COMMAND (compiler, flags, plugin) in the new folder DIR.
build_zlib() {
    local s=$work/sources/zlib p
    for p in example minigzip; do
        "$@" -w -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -I"$s" \
            "$s"/{adler32,compress,crc32,deflate,gzclose,gzlib,gzread,gzwrite,infback,inffast,inflate,inftrees,trees,uncompr,zutil}.c \
            "$s/test/$p.c" -o $p
    done
}
test_zlib() {
    $run ./example tmp.gz
    cat "$work"/sources/zlib/*.[ch] "$work/sources/zlib/ChangeLog" >input
    $run ./minigzip <input >input.gz
    $run ./minigzip -d <input.gz | cmp - input
    sha256sum <input.gz
}
check_zlib() { echo minigzip; }
pairs_zlib() { ./minigzip <../base/input >pairs.gz && cmp pairs.gz ../base/input.gz; }
build_lua() {
    local s=$work/sources/lua5.4/src
    "$@" -w -std=gnu99 -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -DLUA_USE_DLOPEN -Wl,-E $(ls "$s"/*.c | grep -v luac.c) -o lua -lm -ldl
}
test_lua() { $run ./lua "$top/tests/fastprobe/real.lua"; }
check_lua() { echo lua; }
pairs_lua() { ./lua "$top/tests/fastprobe/real.lua" >/dev/null; }
build_sqlite() {
    local s=$work/sources/sqlite3
    "$@" -w -I"$s/bld" -DSQLITE_THREADSAFE=0 "$s/test/speedtest1.c" "$s/bld/sqlite3.c" -o speedtest1 -lm -ldl
    "$@" -w -I"$s/bld" -I"$s/test" -I"$s/ext/recover" -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_MEMSYS5 -DSQLITE_OSS_FUZZ \
        -DSQLITE_MAX_MEMORY=50000000 -DSQLITE_PRINTF_PRECISION_LIMIT=1000 -DSQLITE_ENABLE_FTS4 \
        -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_GEOPOLY -DSQLITE_ENABLE_DBSTAT_VTAB \
        -DSQLITE_ENABLE_BYTECODE_VTAB -DSQLITE_THREADSAFE=0 \
        "$s"/test/{fuzzcheck,ossfuzz,fuzzinvariants,vt02}.c "$s"/ext/recover/{dbdata,sqlite3recover}.c "$s/bld/sqlite3.c" -o fuzzcheck -lm -ldl
}
test_sqlite() {
    local s=$work/sources/sqlite3 data=("$work"/sources/sqlite3/test/fuzzdata{1,2,3,4,5,6,7,8}.db)
    [ -z "$run" ] || data=("$s/test/fuzzdata4.db") # qemu-user is slow
    $run ./fuzzcheck -q "${data[@]}" >fuzz.log 2>&1 || { tail -5 fuzz.log >&2; return 1; }
    grep -o '[0-9]* errors.*tests' fuzz.log | tail -1 || true
    $run ./speedtest1 --verify --size 5 :memory: | sed -n 's/.*Verification Hash: //p'
    if [ -n "$full" ] && [ -z "$run" ]; then
        mkdir -p full && cd full
        [ -e Makefile ] || "$s/configure" --disable-readline CC="$1" >configure.log 2>&1
        make testfixture >make.log 2>&1
        # As root some permission tests fail by themselves: SQLite's own tests want an ordinary user.
        chown -R nobody . && su -s /bin/sh nobody -c "./testfixture $s/test/veryquick.test --verbose=file --output=test.out" >veryquick.log 2>&1 ||
            { tail -5 veryquick.log >&2; return 1; }
        grep ' errors out of ' veryquick.log >&2
        cd ..
    fi
}
check_sqlite() { echo speedtest1; }
pairs_sqlite() { ./speedtest1 --verify --size 1 :memory: >/dev/null; }

check_entries() { # BINARY REPORT
    "$build/bin/fastsdt-check" --functions --json --no-lines "${kernels[@]}" "$1" >check.json
    "$top/tests/long/check-entries.py" check.json "$2"
}
# Hits of all entries and exits in one run; longjmp(), exceptions and exit() leave fewer exits.
check_pairs() { # PROGRAM
    [ "$exit" != none ] || return 0
    python3 "$top/tests/fastprobe/entries.py" --check-exits --entry "$mode" --objdump "$objdump" "$(check_$1)" || return 1
    [ "$target" = x86-64 ] && [ "$(id -u)" = 0 ] || return 0
    export -f pairs_$1
    export top
    local jumps=
    [ "$1" != lua ] || jumps=--jumps # errors and yields
    "$top/tests/fastprobe/pairs.py" $jumps "$(check_$1)" -- bash -c pairs_$1
}
kernels=()
[ "$target" = x86-64 ] || kernels=(--kernel 6.13,6.18,7.2) # no older kernel emulates a nop

for program in "${programs[@]}"; do
    package=$program
    case $program in lua) package=lua5.4 ;; sqlite) package=sqlite3 ;; zlib) ;; *) fail "no program '$program'" ;; esac
    fetch $package || { echo "SKIP: cannot fetch the source package $package"; exit 77; }
    for f in "${flags[@]}"; do
        dir=$work/$program-$$
        rm -rf "$dir" && mkdir -p "$dir/base" && cd "$dir/base"
        build_$program $cc $f || fail "$program $f does not build without the plugin"
        test_$program "$cc $f" >out || fail "$program $f fails without the plugin: no verdict"
        for mode in "${modes[@]}"; do
            mkdir "$dir/$mode" && cd "$dir/$mode"
            with=("-fplugin=$plugin" "-fplugin-arg-fastprobe-entry=$mode" "-fplugin-arg-fastprobe-report=$PWD/report.json")
            [ "$exit" = none ] || with+=("-fplugin-arg-fastprobe-exit=$exit")
            [ "$target" = x86-64 ] || with+=("-fplugin-arg-fastprobe-kernels=6.13-")
            if [ "$kind" = clang ] && [[ $f = *-flto* ]]; then # the linker makes the code, and loads the pass
                with+=(-fuse-ld=lld "-B$(dirname "$(realpath "$(command -v "${cc%% *}")")")" "-Wl,-mllvm,-load=${plugin%.so}-pass.so")
            fi
            build_$program $cc $f "${with[@]}" || fail "$program $f entry=$mode does not build"
            test_$program "$cc $f ${with[*]}" >out || fail "$program $f entry=$mode: tests fail"
            cmp -s out ../base/out || { diff ../base/out out | sed -n 1,10p >&2; fail "$program $f entry=$mode: other results"; }
            entries=$(check_entries "$(check_$program)" report.json) || fail "$program $f entry=$mode: $entries"
            pairs=$(check_pairs $program) || fail "$program $f entry=$mode exit=$exit: exits: $pairs"
            echo "ok: $program $f entry=$mode: tests pass, entries: $entries${pairs:+; exit=$exit: $(tr '\n' ' ' <<<"$pairs")}"
        done
        rm -rf "$dir"
    done
done
