#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds build/static/fastsdt-VERSION-ARCH, all tools in one static file (docs/install.md, "One file to copy"):
#
#     static.sh [--twice] [--roots] [--tests REGEX] [ARCH...]       ARCH: x86_64, aarch64; default: both where the cross compiler is
#
# --twice builds each again, of a copy of the tree in another folder and from nothing, and compares the bytes. The others are for this
# machine's architecture: --roots has the file work in bare roots of distributions, in one with nothing but busybox and in an empty one;
# --tests runs those tests of build/default that are scripts and match REGEX, with the file in the place of the tools.
#
#     static.sh --libraries DIR [ARCH]    only the static libraries that CMake's target fastsdt-static wants, in DIR
#
# Libraries that Debian packages as shared ones only are built from its source packages, the others for another architecture are taken from
# its packages; both are fetched once and kept in the cache (FASTSDT_CACHE, default ~/.cache/fastsdt). Exit 4: they cannot be had.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
common=$top/scripts/common
usage() { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
fail() { echo "static.sh: $*" >&2; exit 1; }
cannot() { echo "static.sh: $*" >&2; exit 4; }
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
distribution=$(. /etc/os-release && echo "$ID")
export LC_ALL=C.UTF-8
# The same compiler for each build, whatever the caller's are: with ccache there are no precompiled headers.
unset CMAKE_CXX_COMPILER_LAUNCHER CMAKE_C_COMPILER_LAUNCHER CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
umask 022
version=$(sed -n 's/^#define FASTSDT_VERSION_STRING "\(.*\)"$/\1/p' "$top/include/fastsdt.h")
flags=(-O2 -fPIE -fstack-protector-strong -D_FORTIFY_SOURCE=2 -w)

# source_of PACKAGE HEADERS: unpacks the source package into a folder of that name. The headers that the tools are compiled with are
# another package's, which has to be of the same version.
source_of() {
    local folder of_source of_headers
    folder=$(FASTSDT_SUITE=$suite FASTSDT_ARCHIVE=$distribution "$common/debian-source.sh" "$1") || cannot "no source package $1 of $suite"
    of_source=$(sed -n 's/^Version: \(.*\)-.*/\1/p' "$folder"/*.dsc)
    of_headers=$(dpkg-query -W -f '${Version}' "$2" 2>/dev/null) || cannot "$2 is not installed (scripts/install-deps.sh)"
    [ "$of_source" = "${of_headers%-*}" ] || cannot "$2 is of version $of_headers, and the source package $1 of $of_source"
    dpkg-source -x "$folder"/*.dsc "$1" >"$1.log" 2>&1 || fail "$1: $(tail -n 1 "$1.log")"
}
# archive NAME DIR FILES...: libNAME.a in DIR, of sources in this folder, compiled by "${compiler[@]}". Names within are relative, so that
# the bytes do not depend on where this is.
archive() {
    local name=$1 to=$2
    shift 2
    printf '%s\n' "$@" |
        xargs -P "$(nproc)" -I {} sh -c 'mkdir -p "out/$(dirname "$0")" && "$@" -c "$0" -o "out/$0.o"' {} "${compiler[@]}" >log 2>&1 ||
        fail "lib$name: $(grep -m 1 error log || tail -n 1 log)"
    rm -f "$to/lib$name.a" # ar would keep what is in it
    find out -name '*.o' | LC_ALL=C sort | xargs "${tools}ar" rcD "$to/lib$name.a"
}
# libraries DIR ARCH
libraries() {
    local to arch=$2 tools="" made compiler options package others one
    to=$(realpath "$1")
    [ "$arch" = "$(uname -m)" ] || tools=$arch-linux-gnu-
    made=$(dpkg-query -W libzydis-dev libfmt-dev libmicrohttpd-dev libcurl4-openssl-dev 2>/dev/null && cksum <"$top/packaging/static.sh") ||
        cannot "libraries are missing (scripts/install-deps.sh)"
    [ "$(cat "$to/made" 2>/dev/null)" != "$made" ] || return 0
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    source_of zydis libzydis-dev
    source_of fmtlib libfmt-dev
    source_of libmicrohttpd libmicrohttpd-dev
    source_of curl libcurl4-openssl-dev
    # Debian's own static library wants GnuTLS, which has none. fastsdt-trace serves plain HTTP only.
    (
        cd libmicrohttpd
        { ./configure ${tools:+--host=${tools%-}} --disable-shared --enable-static --disable-https --disable-doc --disable-examples \
            --disable-curl --disable-dauth --disable-bauth --disable-postprocessor CFLAGS="${flags[*]}" AR="${tools}ar" ARFLAGS=rcD &&
            make -C src/microhttpd -j "$(nproc)" libmicrohttpd.la; } >log 2>&1 || fail "libmicrohttpd: $(grep -m 1 error log || tail -n 1 log)"
        cp src/microhttpd/.libs/libmicrohttpd.a "$to/"
    ) &
    others=($!)
    # Debian's wants 20 other libraries. TLS would want certificates, which a file that is copied has none of: plain HTTP only.
    (
        cd curl
        { ./configure ${tools:+--host=${tools%-}} --disable-shared --enable-static --without-ssl --without-zlib --without-brotli --without-zstd \
            --without-libpsl --without-libidn2 --without-nghttp2 --without-librtmp --without-libssh2 --without-libgsasl --disable-ldap \
            --disable-manual --disable-ares --disable-{ftp,file,dict,telnet,tftp,rtsp,pop3,imap,smtp,gopher,mqtt,smb,cookies,netrc,alt-svc,hsts} \
            CFLAGS="${flags[*]}" AR="${tools}ar" ARFLAGS=rcD &&
            make -C lib -j "$(nproc)" libcurl.la; } >log 2>&1 || fail "libcurl: $(grep -m 1 error log || tail -n 1 log)"
        cp lib/.libs/libcurl.a "$to/"
    ) &
    others+=($!)
    compiler=("${tools}gcc" "${flags[@]}" -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -Iinclude -Isrc)
    (cd zydis && archive Zydis "$to" src/*.c)
    compiler=("${tools}g++" "${flags[@]}" -std=c++20 -Iinclude)
    (cd fmtlib && archive fmt "$to" src/format.cc)
    for one in "${others[@]}"; do wait "$one"; done
    if [ "$arch" = aarch64 ]; then
        # Debian's part of VIXL's source package is the build of a shared library. Ubuntu has the same archive.
        mkdir vixl
        (cd vixl && { FASTSDT_ARCHIVE=$distribution "$common/debian.sh" "$suite" apt-get source --download-only --tar-only vixl ||
            FASTSDT_ARCHIVE=ubuntu "$common/debian.sh" jammy apt-get source --download-only --tar-only vixl; } >log 2>&1 &&
            tar --strip-components 1 -xf "vixl_$(pkg-config --modversion vixl).orig.tar.gz") || cannot "no source of VIXL: $(tail -n 1 vixl/log)"
        read -ra options < <(pkg-config --cflags-only-other vixl)
        compiler=("${tools}g++" "${flags[@]}" -std=c++17 -Isrc "${options[@]}")
        (cd vixl && archive vixl "$to" src/*.cc src/aarch64/[!ls]*.cc) # without the simulator
    fi
    if [ -n "$tools" ]; then
        case $arch in aarch64) package=arm64 ;; *) package=amd64 ;; esac
        mkdir debs
        (cd debs && FASTSDT_ARCHIVE=$distribution FASTSDT_ARCHS=$package "$common/debian.sh" "$suite" apt-get download \
            libelf-dev libdw-dev libbpf-dev zlib1g-dev libzstd-dev liblzma-dev libbz2-dev libiberty-dev) >log 2>&1 ||
            cannot "no packages for $arch: $(tail -n 1 log)"
        for package in debs/*.deb; do dpkg-deb -x "$package" root; done
        find root -name '*.a' -exec cp {} "$to/" \;
    fi
    printf '%s\n' "$made" >"$to/made"
}
# build TREE FOLDER ARCH: FOLDER/fastsdt-static, stripped.
build() {
    local tree=$1 folder=$2 arch=$3 tools="" cross=() config
    if [ "$arch" != "$(uname -m)" ]; then
        tools=$arch-linux-gnu-
        # Of these packages only the headers are used, which are the same everywhere.
        config=/usr/lib/$(gcc -print-multiarch)/cmake
        cross=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$arch" -Dzydis_DIR="$config/zydis" -DZycore_DIR="$config/zycore"
            -Dfmt_DIR="$config/fmt" -DFASTSDT_LIBRARY_iberty="$folder/libraries/libiberty.a")
    fi
    mkdir -p "$folder/libraries"
    "$top/packaging/static.sh" --libraries "$folder/libraries" "$arch" || exit # a function behind which || stands would go on after errors
    {
        CC=${tools}gcc CXX=${tools}g++ cmake -S "$tree" -B "$folder" -G Ninja "${cross[@]}" \
            -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -DNDEBUG" \
            -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$tree=. -fstack-protector-strong -D_FORTIFY_SOURCE=2" \
            -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,relro,-z,now -DFASTSDT_STATIC_LIBRARIES="$folder/libraries" \
            -DFASTSDT_TOOLS=ON -DFASTSDT_SERVE=ON -DFASTSDT_OTLP=ON -DFASTSDT_PROBES=OFF -DFASTSDT_PLUGINS=OFF -DFASTSDT_MAN=OFF -DFASTSDT_TESTS=OFF \
            -DFASTSDT_BENCHMARKS=OFF \
            -DFASTSDT_EXAMPLES=OFF &&
            cmake --build "$folder" -j "$(nproc)" --target fastsdt-static
    } >"$folder/log" 2>&1 || fail "$arch: $(grep -m 1 -E 'error|missing' "$folder/log" || tail -n 1 "$folder/log"); all of it: $folder/log"
    "${tools}strip" -o "$folder/fastsdt-static" "$folder/bin/fastsdt-static"
}
twice="" roots="" tests="" archs=() out=$top/build/static
while [ $# -gt 0 ]; do
    case $1 in
    --libraries)
        [ $# = 2 ] || [ $# = 3 ] || usage
        mkdir -p "$2"
        libraries "$2" "${3:-$(uname -m)}"
        exit
        ;;
    --twice) twice=1 ;;
    --roots) roots=1 ;;
    --tests) [ $# -gt 1 ] || usage; tests=$2; shift ;;
    x86_64 | aarch64) archs+=("$1") ;;
    *) usage ;;
    esac
    shift
done
if [ ${#archs[@]} = 0 ]; then
    for arch in x86_64 aarch64; do
        [ "$arch" != "$(uname -m)" ] && ! command -v "$arch-linux-gnu-g++" >/dev/null || archs+=("$arch")
    done
fi
for arch in "${archs[@]}"; do
    file=$out/fastsdt-$version-$arch
    build "$top" "$out/$arch" "$arch"
    cp "$out/$arch/fastsdt-static" "$file"
    echo "$file: $(stat -c %s "$file") bytes"
    [ -n "$twice" ] || continue
    rm -rf "$out/again"
    mkdir -p "$out/again/somewhere/else"
    git -C "$top" ls-files -z --cached --others --exclude-standard | tar -C "$top" --null -T - -c | tar -C "$out/again/somewhere/else" -x
    build "$out/again/somewhere/else" "$out/again/build-$arch" "$arch"
    cmp "$file" "$out/again/build-$arch/fastsdt-static" ||
        fail "$arch: not the same bytes when built elsewhere; $out/again/build-$arch has the others"
    rm -rf "$out/again"
    echo "$arch: built twice, the same bytes"
done
file=$out/fastsdt-$version-$(uname -m)
[ -z "$roots$tests" ] || [ -e "$file" ] || fail "$file: not built"
status=0
if [ -n "$roots" ]; then
    [ "$(id -u)" = 0 ] || fail "roots need root"
    export FASTSDT_SOURCE=$top
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/fastsdt-static.XXXXXX")
    trap 'rm -rf --one-file-system "$work"' EXIT
    for root in empty busybox bullseye bookworm trixie sid focal jammy noble plucky questing resolute; do
        mkdir -p "$work/run" "$work/made"
        code=0
        case $root in
        empty) mkdir "$work/made/root" ;;
        busybox) mkdir -p "$work/made/root/bin" && cp "$(command -v busybox)" "$work/made/root/bin/sh" ;;
        *) "$common/make-root.sh" "$root" "$work/made/root" 2>"$work/said" || code=$? ;;
        esac
        if [ $code = 4 ]; then result="the mirror does not have it"
        elif [ $code != 0 ]; then result="no root: $(tail -n 1 "$work/said")" status=1
        elif (cd "$work/run" && "$top/tests/static/in_root.sh" "$file" "$work/made/root") >"$work/said" 2>&1; then
            result="ok$(sed -n 's/^PRETTY_NAME="\(.*\)"/, \1/p' "$work/made/root/etc/os-release" 2>/dev/null)"
        else result="failed: $(cat "$work/said")" status=1
        fi
        printf '%-10s %s\n' "$root" "$result"
        rm -rf --one-file-system "$work/made" "$work/run"
    done
fi
if [ -n "$tests" ]; then
    # The build, with other tools in its bin.
    rm -rf "$out/tests"
    mkdir -p "$out/tests/bin" "$out/tests/scratch"
    for entry in "$top"/build/default/*; do [ "${entry##*/}" = bin ] || ln -s "$entry" "$out/tests/"; done
    for entry in "$top"/build/default/bin/*; do
        case ${entry##*/} in fastsdt-check | fastsdt-dtrace | fastsdt-index | fastsdt-probe | fastsdt-trace) ;;
        *) ln -s "$entry" "$out/tests/bin/" ;;
        esac
    done
    "$file" install "$out/tests/bin"
    ctest --test-dir "$top/build/default" --show-only=json-v1 -R "$tests" >"$out/tests/list" || fail "$top/build/default: no tests (CONTRIBUTING.md)"
    python3 - "$top/build/default" "$out/tests" <<'END' || status=1
import json, os, subprocess, sys
build, place = sys.argv[1:]
results = {}
for test in json.load(open(f"{place}/list"))["tests"]:
    name, command = test["name"], test["command"]
    if not command[0].endswith("bash"):
        continue
    properties = {p["name"]: p["value"] for p in test["properties"]}
    variables = dict(v.replace(build, place).split("=", 1) for v in properties["ENVIRONMENT"])
    scratch = f"{place}/scratch/{name}"
    os.makedirs(scratch)
    with open(f"{scratch}.log", "w") as log:
        try:
            code = subprocess.run(command, cwd=scratch, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=subprocess.STDOUT, timeout=properties["TIMEOUT"]).returncode
        except subprocess.TimeoutExpired:
            code = "timeout"
    result = {0: "passed", 77: "skipped"}.get(code, "failed")
    results.setdefault(result, []).append(name)
    if result != "passed":
        print(f"{result} {name}: {(open(f'{scratch}.log').read().strip() or str(code)).splitlines()[-1]}", flush=True)
print(", ".join(f"{len(names)} {result}" for result, names in results.items()) or "no test that is a script matches")
sys.exit(0 if results.keys() <= {"passed", "skipped"} and "passed" in results else 1)
END
fi
exit $status
