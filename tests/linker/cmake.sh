#!/bin/bash
# find_package(fastsdt), fastsdt_target() and fastsdt.mk from an installed prefix, as users have them: each compiler, LTO
# with each linker, single- and multi-config generators, add_subdirectory, a cross toolchain, and messages.
. "$FASTSDT_SOURCE/tests/common.sh"
need cmake ninja gcc pkg-config make readelf
gcc=$(plugin gcc) gxx=g++${gcc#gcc}
[ -n "$gcc" ] || skip "this build has no plugin for GCC"
unset CC CXX CFLAGS CXXFLAGS LDFLAGS
cmake --install "$FASTSDT_BUILD" --prefix "$PWD/prefix" > install.log || fail "cmake --install: $(tail -3 install.log)"
example=$FASTSDT_SOURCE/examples/cmake-project
export CMAKE_PREFIX_PATH=$PWD/prefix PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig
[ -d "$PKG_CONFIG_PATH" ] || PKG_CONFIG_PATH=$(dirname "$(find "$PWD/prefix" -name fastsdt.pc)")
plugins=$(dirname "$PKG_CONFIG_PATH")/fastsdt

build() { # DIR SOURCE CMAKE-OPTIONS...
    local dir=$1 source=$2
    shift 2
    rm -rf "$dir"
    # -Werror: a plugin flag in the wrong place shows as "unused argument".
    cmake -S "$source" -B "$dir" -DCMAKE_C_FLAGS=-Werror -DCMAKE_CXX_FLAGS=-Werror "$@" > "$dir.log" 2>&1 &&
        cmake --build "$dir" -v >> "$dir.log" 2>&1
}
names() { readelf -nW "$1" | sed -n 's/^ *Name: //p' | sort | tr '\n' ' '; }
counts() { fastsdt-index -n "$1" | sed 's/^[^:]*: //'; }
indexed() { # FILE SITES: an index and nothing else, with that many sites and entries for the functions
    expect "$1: one note, the INDEX" "$(readelf -nW "$1" | grep -c '^  fastsdt.*')" 1
    counts "$1" | matches -E "^$2 sites? and [1-9][0-9]* entr(y|ies), nothing to do" || fail "$1: $(counts "$1")"
}
built() { # DIR TITLE
    expect "$2 runs" "$("$1"/app)" 45
    indexed "$1/app" 1
    indexed "$1/libqueue.so" 3
    expect "$2: probes" "$(names "$1/libqueue.so")" "empty put take "
}

# The newest GCC, the oldest and the newest clang.
for plugin in $gcc $(plugins llvm | sed -n '1p;$p' | uniq); do
    cc=${plugin/llvm/clang}
    cxx=${cc/gcc/g++} cxx=${cxx/clang/clang++}
    have $cc || continue
    build $cc "$example" -G Ninja -DCMAKE_C_COMPILER=$cc -DCMAKE_CXX_COMPILER=$cxx -DCMAKE_BUILD_TYPE=Release || fail "$cc: $(tail -20 $cc.log)"
    built $cc $cc
    # make and pkg-config give the same.
    rm -rf make.$cc && cp -r "$FASTSDT_SOURCE/examples/makefile-project" make.$cc
    make -C make.$cc SOURCE="$example" CC=$cc CXX=$cxx > make.$cc.log 2>&1 || fail "make with $cc: $(tail -5 make.$cc.log)"
    built make.$cc "make with $cc"
    build $cc.debug "$example" -G Ninja -DCMAKE_C_COMPILER=$cc -DCMAKE_CXX_COMPILER=$cxx "-DCMAKE_CXX_FLAGS=-O2 -g" "-DCMAKE_C_FLAGS=-O2 -g" ||
        fail "$cc: $(tail -20 $cc.debug.log)"
    expect "make and CMake: the same in app with $cc" "$(counts make.$cc/app)" "$(counts $cc.debug/app)"
    expect "make and CMake: the same in libqueue.so with $cc" "$(counts make.$cc/libqueue.so)" "$(counts $cc.debug/libqueue.so)"
    # LTO: entries have records, so the plugin ran in the link.
    for linker in bfd gold lld mold; do
        case $cc:$linker in
        gcc*:lld) continue ;; # cannot read GCC's LTO objects
        *:mold) have mold || continue ;;
        *:lld) $cc -fuse-ld=lld -Wl,--version > /dev/null 2>&1 || continue ;;
        *) have ld.$linker || continue ;;
        esac
        build lto "$example" -G Ninja -DCMAKE_C_COMPILER=$cc -DCMAKE_CXX_COMPILER=$cxx -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=$linker -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=$linker ||
            fail "$cc LTO $linker: $(tail -20 lto.log)"
        grep -q -e -flto lto.log || fail "$cc $linker: no LTO"
        built lto "$cc LTO $linker"
    done
    make -C make.$cc clean > /dev/null
    make -C make.$cc SOURCE="$example" CC=$cc CXX=$cxx CFLAGS='-O2 -flto' CXXFLAGS='-O2 -flto' > make.$cc.log 2>&1 ||
        fail "make LTO with $cc: $(tail -5 make.$cc.log)"
    built make.$cc "make LTO with $cc"
done

# Multi-config: both configurations of one build tree.
build multi "$example" -G "Ninja Multi-Config" -DCMAKE_C_COMPILER=$gcc -DCMAKE_CXX_COMPILER=$gxx || fail "multi-config: $(tail -20 multi.log)"
cmake --build multi --config Release >> multi.log 2>&1
built multi/Debug "multi-config Debug"
built multi/Release "multi-config Release"

# add_subdirectory, with the programs and plugins of an installation.
mkdir -p sub && cp "$example"/* sub/
sed -i "s#find_package(fastsdt REQUIRED)#add_subdirectory($FASTSDT_SOURCE fastsdt)#" sub/CMakeLists.txt
build sub.build "$PWD/sub" -G Ninja -DFASTSDT_INDEX="$PWD/prefix/bin/fastsdt-index" -DFASTSDT_CHECK="$PWD/prefix/bin/fastsdt-check" \
    -DFASTSDT_PLUGIN_DIR="$plugins" -DCMAKE_C_COMPILER=$gcc -DCMAKE_CXX_COMPILER=$gxx || fail "add_subdirectory: $(tail -20 sub.build.log)"
built sub.build add_subdirectory
! cmake -S sub -B sub.bare -G Ninja > sub.bare.log 2>&1 || fail "add_subdirectory without plugins and programs was accepted"
grep -q 'FASTSDT_PLUGINS' sub.bare.log || fail "unclear: $(grep -A5 'CMake Error' sub.bare.log)"

# Cross to arm64.
cross=$(plugin gcc -aarch64) cross=${cross%-aarch64}
if [ -n "$cross" ]; then
    cat > arm64.cmake <<E
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-$cross)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-${cross/gcc/g++})
E
    sed 's/ LAYOUT nop1_nop10//' "$example/CMakeLists.txt" > a64.txt && mkdir -p a64 && cp "$example"/* a64/ && cp a64.txt a64/CMakeLists.txt
    build cross "$PWD/a64" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/arm64.cmake" -DCMAKE_BUILD_TYPE=Release || fail "arm64: $(tail -20 cross.log)"
    readelf -h cross/app | matches AArch64 || fail "not an arm64 program"
    indexed cross/app 1
    indexed cross/libqueue.so 3
fi

# What is wrong is said at configuration.
refused() { # ARGUMENTS MESSAGE [SOURCE-TARGET]
    mkdir -p wrong && cat > wrong/CMakeLists.txt <<E
cmake_minimum_required(VERSION 3.20)
project(wrong LANGUAGES C)
find_package(fastsdt REQUIRED)
add_executable(app $example/main.c)
add_library(things STATIC $example/main.c)
fastsdt_target($1)
E
    rm -rf wrong.build
    ! cmake -S wrong -B wrong.build -G Ninja > wrong.log 2>&1 || fail "fastsdt_target($1) was accepted"
    tr '\n' ' ' < wrong.log | tr -s ' ' | matches -e "$2" || fail "fastsdt_target($1): $(grep -A5 'CMake Error' wrong.log)"
}
refused "apps INDEX" "there is no such target"
refused "app INDEX FASTER" "unknown arguments: FASTER"
refused "app ENTRY" "values are missing after: ENTRY"
refused "app KERNELS 6.1.." "say ENTRY too"
refused "things INDEX" "INDEX is for the result of a link"
refused "app INDEX CHECK_KERNELS 6.1" "CHECK_KERNELS without CHECK"
sed -i 's/fastsdt_target(.*/fastsdt_target(app ENTRY auto)/' wrong/CMakeLists.txt
! cmake -S wrong -B wrong.none -G Ninja -DFASTSDT_PLUGIN_DIR=/nowhere > wrong.log 2>&1 || fail "a missing plugin was accepted"
tr '\n' ' ' < wrong.log | tr -s ' ' | matches 'no fastprobe for .* there is no /nowhere/' || fail "unclear: $(cat wrong.log)"
