#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the sources of a program, applies the patch in upstream/PROGRAM, builds, and runs the tests that the patch adds:
#
#     upstream/build.sh binutils|elfutils|gcc
#
# The source is the newest package of Debian's that the machine's mirror has and the patch applies to, without Debian's own patches. Everything is
# kept in ${XDG_CACHE_HOME:-~/.cache}/fastsdt/upstream and made anew when the patch changes. binutils and elfutils: where fastsdt is
# built (FASTSDT_BUILD, default build/default), the new readelf is compared with fastsdt-check. gcc: 40 minutes of CPU time; GCC_TORTURE is the
# part of gcc.c-torture/execute that is run with the options, a glob (default 2000*.c, '*.c' is all).
# Exit: 0 all tests passed; 1 not; 2 something could not be built; 4 no source package.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/.." && pwd)
program=${1:-}
case $program in
binutils | elfutils) packages=$program ;;
gcc) packages="gcc-16 gcc-15" ;;
*) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt/upstream/$program
fastsdt=${FASTSDT_BUILD:-$top/build/default}
source=$cache/source build=$cache/build log=$cache/log
started=$SECONDS
say() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }
fail() { echo "build.sh: $2" >&2; exit "$1"; }
# logged COMMAND...: into the log; the end of it where it fails
logged() { "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; fail 2 "$1 failed: see $log"; }; }

say "Packages"
"$top/scripts/install-deps.sh" upstream
mkdir -p "$cache/packages"
exec 9>"$cache/lock"
flock 9
: >"$log"

# unpack ARCHIVE PACKAGE_VERSION: the upstream source into $source.
unpack() {
    local archive=$1
    rm -rf "$source" && mkdir -p "$source"
    if [ "$program" = gcc ]; then # an archive in an archive; without what is large and not built
        tar -xOf "$archive" --wildcards '*/gcc-*-dfsg.tar.xz' | tar -xJ --strip-components=1 -C "$source" --exclude='*/libsanitizer' \
            --exclude='*/testsuite/gnat.dg' --exclude='*/testsuite/gfortran.dg' --exclude='*/testsuite/g++.*' --exclude='*/testsuite/gdc.test' \
            --exclude='*/testsuite/rust' --exclude='*/libphobos' --exclude='*/libgo' --exclude='*/libstdc++-v3/testsuite'
        # Debian takes out the manuals, and the build wants them.
        tar -xOf "$cache/packages/$2.debian.tar.xz" debian/patches/gcc-gfdl-build.diff | patch -s -d "$source" -p2
    else
        tar -xf "$archive" --strip-components=1 -C "$source"
    fi
}
patches=("$here/$program"/[0-9]*.patch)
applies() { git -C "$source" apply --check "${patches[@]}" 2>>"$log"; }
inputs=$(cat "${patches[@]}" | sha256sum)
if [ "$(cat "$cache/inputs" 2>/dev/null)" != "$inputs" ]; then
    rm -rf "$cache/inputs" "$build"
    debian() { "$top/scripts/common/debian.sh" "trixie sid" "$@"; }
    found=
    # A mirror may list what it does not have, and a patch is for versions near the one that it was made for.
    while read -r package version; do
        (cd "$cache/packages" && debian apt-get source --download-only "$package=$version" >>"$log" 2>&1) || continue
        archive=$(find "$cache/packages" -name "${package}_${version%-*}.orig.tar.*" ! -name '*.asc' | sort | sed -n 1p)
        [ -n "$archive" ] || continue
        say "$package $version"
        unpack "$archive" "${package}_$version"
        if applies; then found="$package $version"; break; fi
        echo "the patch does not apply"
    done < <(for package in $packages; do debian apt-cache madison "$package" |
        awk -F' *[|] *' '$3 ~ /Sources/ { sub(/^ */, "", $1); print $1, $2 }' | sort -u -k2,2Vr; done)
    [ -n "$found" ] || { echo "SKIP: no source package: see $log"; exit 4; }
    git -C "$source" apply "${patches[@]}"
    echo "$found" >"$cache/version"
    echo "$inputs" >"$cache/inputs"
fi
say "Building $(cat "$cache/version")"
mkdir -p "$build"
cd "$build"
jobs=$(nproc)

# passed FILE: a .sum of DejaGnu with passes and without failures.
passed() {
    grep -E '^# of' "$1"
    if grep -E '^(FAIL|ERROR|UNRESOLVED|XPASS):' "$1"; then return 1; fi
    grep -q '^# of expected passes' "$1"
}

# Linked files of several compilers and architectures, as many as the machine has.
made_files() {
    local cc name plugin
    mkdir -p "$build/files"
    for cc in gcc aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc mips64el-linux-gnuabi64-gcc powerpc64le-linux-gnu-gcc \
        riscv64-linux-gnu-gcc s390x-linux-gnu-gcc "gcc -m32"; do
        name=$build/files/${cc// /}
        $cc -O2 -fPIC -shared -nostdlib -I"$top/include" "$here/notes.c" -o "$name" 2>>"$log" && echo "$name"
    done
    for plugin in "$fastsdt"/gcc-*/fastprobe.so "$fastsdt"/llvm-*/fastprobe.so; do
        name=${plugin%/*} name=${name##*/}
        case $name in
        gcc-*-aarch64) cc=${name#gcc-} cc=aarch64-linux-gnu-gcc-${cc%-aarch64} ;;
        llvm-[0-9]*) cc=clang-${name#llvm-} ;;
        *) cc=$name ;;
        esac
        command -v "$cc" >/dev/null || continue
        $cc -O2 -I"$top/include" -shared -fPIC -nostdlib -fplugin="$plugin" -fplugin-arg-fastprobe-entry=nop -fplugin-arg-fastprobe-exit=nop \
            "$here/notes.c" -o "$build/files/$name" 2>>"$log" || continue
        cp "$build/files/$name" "$build/files/$name.indexed"
        "$fastsdt/bin/fastsdt-index" "$build/files/$name.indexed" >>"$log" 2>&1 || continue
        printf '%s\n' "$build/files/$name" "$build/files/$name.indexed"
    done
}
compare() { # compare READELF
    local files tool
    for tool in check index; do
        [ -x "$fastsdt/bin/fastsdt-$tool" ] || { echo "$fastsdt has no fastsdt-$tool: not compared"; return 0; }
    done
    mapfile -t files < <(made_files)
    "$here/compare.py" "$1" "$fastsdt/bin/fastsdt-check" "${files[@]}"
}

status=0
case $program in
binutils)
    [ -e Makefile ] || logged "$source/configure" --disable-gdb --disable-gprofng --disable-gprof --disable-ld --disable-gold --disable-libctf \
        --disable-nls --without-zstd CFLAGS="-O1 -g" MAKEINFO=true
    logged make -j"$jobs" all-binutils all-gas MAKEINFO=true
    say "binutils/testsuite: readelf.exp and objcopy.exp"
    make -C binutils check RUNTESTFLAGS="readelf.exp objcopy.exp" >>"$log" 2>&1 || status=1
    passed binutils/binutils.sum || status=1
    grep 'fastsdt notes' binutils/binutils.sum || status=1
    say "readelf and fastsdt-check"
    compare "$build/binutils/readelf" || status=1
    ;;
elfutils)
    # The patch adds a test to tests/Makefile.am.
    [ "$source/tests/Makefile.in" -nt "$source/tests/Makefile.am" ] || logged autoreconf -fi "$source"
    [ -e Makefile ] || logged "$source/configure" --disable-debuginfod --disable-libdebuginfod --disable-nls --without-zstd --without-bzlib \
        CFLAGS="-O1 -g"
    logged make -j"$jobs"
    say "tests of readelf -n"
    # The rest of the test programs is not needed.
    make -C tests check check_PROGRAMS= TESTS="run-readelf-n.sh run-readelf-fastsdt.sh" >>"$log" 2>&1 || status=1
    for test in run-readelf-n run-readelf-fastsdt; do echo "$test: $(sed -n 's/^:test-result: //p' "tests/$test.sh.trs")"; done
    grep -q ':test-result: PASS' tests/run-readelf-fastsdt.sh.trs || status=1
    say "eu-readelf and fastsdt-check"
    export LD_LIBRARY_PATH=$build/libelf:$build/libdw:$build/libasm
    compare "$build/src/readelf" || status=1
    ;;
gcc)
    [ -e Makefile ] || logged "$source/configure" --disable-bootstrap --enable-languages=c --disable-multilib --disable-libsanitizer \
        --disable-libgomp \
        --disable-libquadmath --disable-libssp --disable-libvtv --disable-libatomic --disable-libitm --disable-nls --disable-lto \
        --without-isl --without-zstd --enable-checking=yes \
        CFLAGS="-O1 -g0" CXXFLAGS="-O1 -g0" MAKEINFO=true
    logged make -j"$jobs" all-gcc MAKEINFO=true
    logged make -j"$jobs" all-target-libgcc MAKEINFO=true
    # check NAME FLAGS: runs DejaGnu and keeps its summary as NAME.sum.
    check() {
        say "$1"
        make -C gcc check-gcc RUNTESTFLAGS="$2" >>"$log" 2>&1 || true
        cp gcc/testsuite/gcc/gcc.sum "$1.sum"
    }
    check new-tests "i386.exp=patchable-function-*"
    passed new-tests.sum || status=1
    check old-tests "dg.exp=patchable_function_entry-* i386.exp=pr9[23]*"
    passed old-tests.sum || status=1
    options=" -fpatchable-function-entry=1 -fpatchable-function-exit -fpatchable-function-nop=10,64"
    check torture "execute.exp=${GCC_TORTURE:-2000*.c}"
    # A board, because the options of RUNTESTFLAGS pass through two shells.
    check torture-options "--target_board=unix${options// //} execute.exp=${GCC_TORTURE:-2000*.c}"
    grep -E '^# of' torture.sum
    # The same tests pass without and with the options.
    diff <(grep -E '^[A-Z]+: ' torture.sum | sort) <(grep -E '^[A-Z]+: ' torture-options.sum | sort) || status=1
    ;;
esac
exit $status
