#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The configure step: what cannot be built is left out and named, or refused if it was asked for; and C-only projects.
. "$FASTSDT_SOURCE/tests/common.sh"
need cmake make cc readelf
unset CC CXX CFLAGS CXXFLAGS
# One line without line breaks, because CMake wraps messages.
configure() { # OPTIONS...: the output is in log
    rm -rf build
    cmake -S "$FASTSDT_SOURCE" -B build "$@" >raw 2>&1
    local status=$?
    tr -s ' \n' '  ' <raw >log
    return $status
}
says() { matches -F -e "$2" <log || fail "$1: nothing about '$2': $(cat log)"; }
left_out() { sed 's/.*left out: //; s/ -- Configuring done.*//' log; }
light=(-DFASTSDT_PLUGINS=OFF)

CXX=/nonexistent/c++ configure || fail "without a C++ compiler: $(cat log)"
says "without a C++ compiler" "built: headers "
for part in tools fastprobe examples; do
    left_out | matches -E "${part}[^:]*(: fastsdt-check[^:]*)?: missing: a CXX compiler \(Debian: g\+\+\)" ||
        fail "without a C++ compiler, $part: $(left_out)"
done
cmake --build build >log 2>&1 && cmake --install build --prefix "$PWD/prefix" >log 2>&1 || fail "headers alone: $(tail -5 log)"
[ -e prefix/include/fastsdt.h ] || fail "fastsdt.h was not installed"
cmake --build build --target help >targets
if grep -E 'Nightly|Continuous|Experimental' targets; then fail "targets of CTest's dashboard"; fi

configure "${light[@]}" -DCMAKE_DISABLE_FIND_PACKAGE_zydis=ON -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON || fail "without Zydis: $(cat log)"
left_out | matches -E 'libfastsdt: missing: .*zydis \(Debian: libzydis-dev\)' || fail "without Zydis: $(left_out)"
left_out | matches -E 'benchmarks: missing: FASTSDT_TOOLS, benchmark \(Debian: libbenchmark-dev\)' || fail "without Zydis, benchmarks: $(left_out)"
left_out | matches -E 'fastprobe: FASTSDT_PLUGINS is OFF' || fail "what was switched off: $(left_out)"
if configure "${light[@]}" -DFASTSDT_TOOLS=ON -DCMAKE_DISABLE_FIND_PACKAGE_zydis=ON; then fail "FASTSDT_TOOLS=ON without Zydis was accepted"; fi
says "FASTSDT_TOOLS=ON without Zydis" "FASTSDT_TOOLS is ON and cannot be built: missing:"
says "FASTSDT_TOOLS=ON without Zydis" "libzydis-dev"
printf '#!/bin/sh\ncase "$*" in *vixl*) exit 1 ;; esac\nexec pkg-config "$@"\n' >pkg-config
chmod +x pkg-config
PKG_CONFIG=$PWD/pkg-config configure "${light[@]}" || fail "without VIXL: $(cat log)"
left_out | matches -E 'the user engine of fastsdt-trace for arm64: missing: vixl \(Debian: libvixl-dev\)' || fail "without VIXL: $(left_out)"
if configure -DFASTSDT_TOOLS=OFF -DFASTSDT_GCCS=gcc-1; then fail "FASTSDT_GCCS=gcc-1 was accepted"; fi
says "FASTSDT_GCCS" "FASTSDT_GCCS names gcc-1, which is not there"

# A C-only project with everything that fastsdt_target() has.
kind=$(cc --version | sed -n 1p)
major=$(cc -dumpversion | sed 's/\..*//')
case $kind in *clang*) plugin=llvm-$major ;; *) plugin=gcc-$major ;; esac
[ -e "$FASTSDT_BUILD/$plugin/fastprobe.so" ] || skip "this build has no fastprobe for cc ($plugin)"
mkdir -p c
cat >c/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.25)
project(c LANGUAGES C)
add_subdirectory($FASTSDT_SOURCE fastsdt)
add_executable(app app.c)
fastsdt_target(app LAYOUT nop1 ENTRY auto CHECK INDEX)
EOF
printf '#include <sys/sdt.h>\nint main(void) { DTRACE_PROBE(c, on); return 0; }\n' >c/app.c
rm -rf c/build
cmake -S c -B c/build -DFASTSDT_INDEX="$FASTSDT_BUILD/bin/fastsdt-index" -DFASTSDT_CHECK="$FASTSDT_BUILD/bin/fastsdt-check" \
    -DFASTSDT_PLUGIN_DIR="$FASTSDT_BUILD" >log 2>&1 && cmake --build c/build >>log 2>&1 || fail "a C-only project: $(tail -5 log)"
c/build/app
fastsdt-index -n c/build/app | matches -E '1 site and [1-9][0-9]* entr(y|ies), nothing to do' ||
    fail "a C-only project: $(fastsdt-index -n c/build/app)"
if cmake --build c/build --target help | matches -E 'Nightly|fastsdt-check|fastprobe'; then fail "foreign targets in a user's project"; fi

# A search path that puts systemtap's header first: the target asked for our layout, and the build says that it got another.
cat >c/other.h <<'EOF'
#define DTRACE_PROBE(provider, name) __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 8, 994f-993f, 3\n.asciz \"stapsdt\"\n" \
    "993: .8byte 990b, _.stapsdt.base, 0\n.asciz \"" #provider "\"\n.asciz \"" #name "\"\n.asciz \"\"\n994: .balign 4\n.popsection\n" \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.popsection\n")
EOF
mkdir -p c/first/sys && cp c/other.h c/first/sys/sdt.h
cmake --build c/build --clean-first >log 2>&1 || fail "$(tail -5 log)"
! grep -q "another header" log || fail "a warning without cause: $(cat log)"
sed -i "\$a target_include_directories(app BEFORE PRIVATE $PWD/c/first)" c/CMakeLists.txt
cmake --build c/build >log 2>&1 || fail "another header: $(tail -5 log)"
tr -s ' \n' '  ' <log | matches "the sites of c:on in .* are another header's" || fail "another header was not noticed: $(cat log)"
