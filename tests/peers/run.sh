#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Other projects' tests of probes, with their header and with ours: `run.sh [-c COMPILER]... NAME...`
#
#     gdb         gdb.base/stap-probe.exp and gdb.arch/amd64-stap-*.exp, run by runtest in the gdb that is installed
#     systemtap   testsuite/systemtap.base/sdt*.c: compiled with their options, notes compared
#     bpftrace    tests/testprogs and tests/testlibs: compiled, notes compared
#     linux       the programs of tools/testing/selftests/bpf, with its sdt.h and usdt.h: compiled, notes compared
#     glibc       every file with a LIBC_PROBE, C and assembly, as glibc's makefiles compile it with --enable-systemtap; GCC only
#     lttng       LTTng-UST's examples, whose tracepoints are probes too (LTTNG_UST_HAVE_SDT_INTEGRATION): compiled, notes compared
#
# Sources are Debian's packages, kept in the cache and never in the tree. The header to compare with is the newest that Debian
# has (tests/header/fetch-peers.sh). Same notes: provider, name, sizes and signs of arguments, whether there is a semaphore.
# Compilers: default gcc; -c clang-19. Prints each difference; exit 1 if there is one. Exit 77: a package is not available.
if [ -z "${FASTSDT_SOURCE:-}" ]; then # by hand
    FASTSDT_SOURCE=$(realpath "$(dirname "$0")/../..")
    mkdir -p "$FASTSDT_SOURCE/build/peers"
    cd "$FASTSDT_SOURCE/build/peers"
fi
. "$FASTSDT_SOURCE/tests/common.sh"
help() { sed -n '3,15s/^# \{0,1\}//p' "$FASTSDT_SOURCE/tests/peers/run.sh" >&2; exit 2; }
names=() compilers=()
while [ $# -gt 0 ]; do
    case $1 in
    -c) [ $# -ge 2 ] || help; compilers+=("$2"); shift 2 ;;
    gdb | systemtap | bpftrace | linux | glibc | lttng) names+=("$1"); shift ;;
    *) help ;;
    esac
done
[ ${#names[@]} -gt 0 ] || help
[ ${#compilers[@]} -gt 0 ] || compilers=(gcc)
need readelf "${compilers[@]}"
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}
peers=$("$FASTSDT_SOURCE/tests/header/fetch-peers.sh" "$cache" 2>peers.err) || skip "no headers to compare with: $(tail -n 1 peers.err)"
differences=0
differs() { printf 'DIFFERENCE: %s\n' "$*"; differences=$((differences + 1)); }

# source_of PACKAGE: sets folder to its unpacked upstream source, of which only files that match one of the patterns are kept.
source_of() {
    local package=$1 files
    shift
    folder=$cache/peers-sources/$package
    [ ! -e "$folder" ] || return 0
    files=$("$FASTSDT_SOURCE/scripts/common/debian-source.sh" "$package" 2>fetch.err) ||
        { missing="no source package $package: $(tail -n 1 fetch.err)"; return 1; }
    rm -rf "$folder.$$"
    mkdir -p "$folder.$$"
    local tar
    for tar in "$files"/*.orig.tar.*; do
        case $tar in *.asc) continue ;; esac
        tar -C "$folder.$$" --strip-components=1 --wildcards -xf "$tar" "$@"
    done
    mv "$folder.$$" "$folder" 2>/dev/null || rm -rf "$folder.$$" # somebody else was faster
}

# probes OBJECT: provider:name, sizes and signs, and whether there is a semaphore, of each site.
probes() {
    readelf -nW "$1" | awk '
        /Provider: / { provider = $NF } /^ *Name: / { name = $2 }
        /^ *Arguments:/ { sub(/^ *Arguments: */, ""); gsub(/f?@[^ ]*/, ""); print provider ":" name " " $0 }' | sort
    readelf -rW "$1" | grep -oE '[A-Za-z_0-9]+_semaphore|__usdt_sema_[A-Za-z_0-9]+' | sort -u || true # of relocations
}
# compile NAME INCLUDE-OF-THEIRS OPTIONS FILE...: each file with both headers: it compiles with both or neither, to the same notes.
compile() {
    local name=$1 theirs=$2 options=$3 file c jobs=0 count=0
    shift 3
    for c in "${compilers[@]}"; do
        for file in "$@"; do
            local language=c a=0 b=0
            case $file in *.cxx | *.cpp | *.cc) language=c++ ;; esac
            $c -x $language -w "-I$theirs" $options -I"$(dirname "$file")" -c "$file" -o theirs.o 2>theirs.log || a=1
            $c -x $language -w "-I$INCLUDE" $options -I"$(dirname "$file")" -c "$file" -o ours.o 2>ours.log || b=1
            if [ $a != $b ]; then
                differs "$c ${file#"$cache"/peers-sources/} $options: with their header $([ $a = 0 ] && echo compiles || sed -n 's/.*error: //p' theirs.log | sed -n 1p), with ours $([ $b = 0 ] && echo compiles || sed -n 's/.*error: //p' ours.log | sed -n 1p)"
            elif [ $a = 0 ]; then
                probes theirs.o >theirs.probes
                probes ours.o >ours.probes
                diff theirs.probes ours.probes >difference ||
                    differs "$c ${file#"$cache"/peers-sources/} $options: $(head -n 5 difference | tr '\n' ' ')"
                count=$((count + $(wc -l <ours.probes))) jobs=$((jobs + 1))
            else
                neither="${neither:-} $(basename "$file")"
            fi
        done
    done
    [ $count -gt 0 ] || fail "$name: no file with a probe compiles"
    compiled_jobs=$((${compiled_jobs:-0} + jobs)) compiled_probes=$((${compiled_probes:-0} + count))
}
report() {
    echo "$1: $compiled_jobs compile jobs, $compiled_probes probes${neither:+; not with either header: $(tr ' ' '\n' <<<"${neither# }" | sort -u | xargs)}"
}
with_probes() { grep -lE "$1" "${@:2}" 2>/dev/null || true; } # with_probes REGEX FILE...

run_gdb() {
    need gdb runtest
    [ "$(uname -m)" = x86_64 ] || skip "gdb's amd64-stap tests"
    source_of gdb '*/gdb/testsuite/lib/*' '*/gdb/testsuite/config/*' '*/gdb/testsuite/boards/*' \
        '*/gdb/testsuite/gdb.base/stap-probe*' '*/gdb/testsuite/gdb.arch/amd64-stap-*' || return 77
    local c header include tests=()
    for c in "$folder"/gdb/testsuite/gdb.arch/amd64-stap-*.exp; do tests+=("gdb.arch/$(basename "$c")"); done
    for c in "${compilers[@]}"; do
        for header in theirs ours; do
            include=$INCLUDE
            [ $header = ours ] || include=$peers/systemtap
            rm -rf "gdb.$header"
            mkdir "gdb.$header"
            (
                cd "gdb.$header"
                runtest --srcdir "$folder/gdb/testsuite" --tool gdb GDB="$(command -v gdb)" CC_FOR_TARGET="$c -I$include" \
                    gdb.base/stap-probe.exp "${tests[@]}" </dev/null >log 2>&1 || true
                grep -E '^(PASS|FAIL|XFAIL|KPASS|KFAIL|UNTESTED|UNSUPPORTED|UNRESOLVED|ERROR): ' gdb.sum >results || true
            )
            grep -q '^PASS' "gdb.$header/results" || fail "gdb's tests with $c, $header: $(tail -n 3 "gdb.$header/log")"
        done
        diff gdb.theirs/results gdb.ours/results >difference ||
            differs "gdb, $c: $(grep -c '^[<>]' difference) results: $(head -n 6 difference | tr '\n' ' ')"
        if grep -E '^(FAIL|ERROR|UNRESOLVED)' gdb.ours/results >failed; then
            # With either header, "breakpoints not deleted" is gdb 16's own.
            if [ "$(gdb --version | sed -n '1s/^.* \([0-9]*\)\..*$/\1/p')" -ge 16 ]; then
                echo "gdb, $c: not with either header: $(head -n 3 failed | tr '\n' ' ')"
            else
                differs "gdb, $c: $(head -n 3 failed | tr '\n' ' ')"
            fi
        fi
        echo "gdb, $c: $(grep -c '^PASS' gdb.ours/results) of $(grep -cE '^(PASS|FAIL|ERROR|UNRESOLVED)' gdb.ours/results) pass; with systemtap's header $(grep -c '^PASS' gdb.theirs/results)"
    done
}
run_systemtap() {
    source_of systemtap '*/testsuite/systemtap.base/*sdt*' || return 77
    compiled_jobs=0 compiled_probes=0 neither=''
    local options files
    mapfile -t files < <(with_probes 'STAP_PROBE|DTRACE_PROBE' "$folder"/testsuite/systemtap.base/*sdt*.{c,cxx,cpp})
    for options in "-O0 -g" "-O2" "-O2 -fPIC" "-O2 -DSTAP_SDT_ARG_CONSTRAINT=nr"; do
        compile systemtap "$peers/systemtap" "$options" "${files[@]}"
    done
    report systemtap
}
run_bpftrace() {
    source_of bpftrace '*/tests/testprogs/*' '*/tests/testlibs/*' || return 77
    compiled_jobs=0 compiled_probes=0 neither=''
    local options files
    mapfile -t files < <(with_probes 'DTRACE_PROBE|STAP_PROBE|USDT' "$folder"/tests/test{progs,libs}/*.c)
    for options in "-O0 -g" "-O2" "-O2 -fPIC"; do
        compile bpftrace "$peers/systemtap" "$options -DHAVE_SYSTEMTAP_SYS_SDT_H=1" "${files[@]}"
    done
    report bpftrace
}
run_linux() {
    local packages package options files
    folder=$cache/peers-sources/linux
    if [ ! -e "$folder" ]; then
        packages=$(FASTSDT_CACHE=$cache "$FASTSDT_SOURCE/scripts/common/debian.sh" sid apt-cache pkgnames linux-source- 2>/dev/null) ||
            { missing="no mirror"; return 77; }
        package=$(grep -E '^linux-source-[0-9.]+$' <<<"$packages" | sort -V | tail -n 1)
        rm -rf linux.part
        mkdir linux.part
        (cd linux.part && FASTSDT_CACHE=$cache "$FASTSDT_SOURCE/scripts/common/debian.sh" sid apt-get download "$package") >fetch.log 2>&1 ||
            { missing="no package $package"; return 77; }
        dpkg-deb --fsys-tarfile linux.part/*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
            tar -C linux.part --strip-components=1 -xJ --wildcards --exclude='*/progs/*' \
                '*/tools/testing/selftests/bpf/*.[ch]' '*/tools/lib/bpf/*.h' '*/tools/include/uapi/*.h'
        mkdir -p "$(dirname "$folder")"
        rm -f linux.part/*.deb
        mv linux.part "$folder"
    fi
    compiled_jobs=0 compiled_probes=0 neither=''
    local bpf=$folder/tools/testing/selftests/bpf
    # The programs. Their copies of the headers lie beside them and would be found first.
    mapfile -t files < <(with_probes '(STAP_PROBE|USDT)[A-Z0-9_]*\(' "$bpf"/*.c)
    rm -rf linux.files linux.theirs
    mkdir -p linux.files linux.theirs/sys
    cp "${files[@]}" linux.files/
    sed -i 's|^#include "sdt.h"|#include <sys/sdt.h>|; s|^#include "usdt.h"|#include <usdt.h>|' linux.files/*.c
    cp "$bpf/sdt.h" linux.theirs/sys/
    cp "$peers/libbpf/usdt.h" linux.theirs/
    cp "$peers/systemtap/sys/sdt-config.h" linux.theirs/sys/
    for options in "-O0 -g" "-O2" "-O2 -fPIC"; do
        compile linux "$PWD/linux.theirs" "$options -D_GNU_SOURCE -I$folder/tools/lib -I$folder/tools/include/uapi" linux.files/*.c
    done
    report linux
}
run_glibc() {
    local tool header include c object
    for tool in gawk bison make; do command -v $tool >/dev/null || { missing="glibc's makefiles need $tool"; return 77; }; done
    source_of glibc '*' || return 77
    for c in "${compilers[@]}"; do
        [[ $c == gcc* ]] || { echo "glibc: not with $c, which this glibc does not know"; continue; }
        rm -rf glibc.build
        mkdir glibc.build
        (cd glibc.build && "$folder/configure" --prefix=/usr --enable-systemtap --disable-werror CC="$c -I$peers/systemtap") >configure.log 2>&1 ||
            fail "glibc's configure with $c: $(tail -n 1 configure.log)"
        # The files; arena.c is a part of malloc.c, pthread_join_common.c is compiled for both of its callers.
        local objects=() provided=0
        mapfile -t objects < <(cd "$folder" && grep -lE 'LIBC_PROBE' nptl/*.c elf/*.c malloc/malloc.c | sed 's/\.c$//')
        objects+=(setjmp/setjmp setjmp/__longjmp debug/____longjmp_chk)
        # What dl-load.c and ____longjmp_chk.S include, and another folder's makefile makes.
        make -r PARALLELMFLAGS= -C "$folder/csu" objdir="$PWD/glibc.build" "$PWD"/glibc.build/{csu/abi-tag,sigaltstack-offsets}.h >make.log 2>&1 ||
            fail "glibc, $c: $(grep -m 1 -E 'error|\*\*\*' make.log)"
        for header in theirs ours; do
            include=$INCLUDE
            [ $header = ours ] || include=$peers/systemtap
            for object in "${objects[@]}"; do
                rm -f "glibc.build/$object.os"
                make -r PARALLELMFLAGS= -C "$folder/${object%/*}" objdir="$PWD/glibc.build" \
                    CC="$c -I$include" "$PWD/glibc.build/$object.os" >make.log 2>&1 ||
                    fail "glibc, $c, $header: $object: $(grep -m 1 -E 'error|\*\*\*' make.log)"
                echo "$object"
                probes "glibc.build/$object.os" | sort -u # GCC copies a block with a site at its own discretion: malloc.c's memory_sbrk_more
            done >"glibc.$header"
        done
        diff glibc.theirs glibc.ours >difference || differs "glibc, $c: $(head -n 5 difference | tr '\n' ' ')"
        provided=$(grep -c : glibc.ours)
        [ "$provided" -gt 0 ] || fail "glibc, $c: no probe"
        echo "glibc, $c: ${#objects[@]} files, $provided probes"
    done
    rm -rf glibc.build
}
run_lttng() {
    local options files package
    folder=$cache/peers-sources/lttng
    if [ ! -e "$folder" ]; then
        rm -rf lttng.part
        mkdir lttng.part
        (cd lttng.part && FASTSDT_CACHE=$cache "$FASTSDT_SOURCE/scripts/common/debian.sh" sid apt-get download liblttng-ust-dev liburcu-dev &&
            for package in *.deb; do dpkg -x "$package" . || exit; done) >fetch.log 2>&1 ||
            { missing="no packages liblttng-ust-dev and liburcu-dev"; return 77; }
        mkdir -p "$(dirname "$folder")"
        rm -f lttng.part/*.deb
        mv lttng.part "$folder"
    fi
    compiled_jobs=0 compiled_probes=0 neither=''
    mapfile -t files < <(with_probes 'tracepoint\(|tracef\(|tracelog\(' "$folder"/usr/share/doc/liblttng-ust-dev/examples/*/*.{c,cpp})
    for options in "-O0 -g" "-O2" "-O2 -fPIC"; do
        compile lttng "$peers/systemtap" \
            "$options -DLTTNG_UST_HAVE_SDT_INTEGRATION -D_GNU_SOURCE -I$folder/usr/include -I$folder/usr/include/$(gcc -dumpmachine)" "${files[@]}"
    done
    report lttng
}

left_out=()
for name in "${names[@]}"; do
    missing='' status=0
    run_$name || status=$?
    [ $status = 0 ] || { [ $status = 77 ] || exit $status; left_out+=("$name: $missing"); echo "left out: $name: $missing"; }
done
[ $differences = 0 ] || fail "$differences differences"
[ ${#left_out[@]} -lt ${#names[@]} ] || skip "${left_out[*]}"
echo "no difference"
