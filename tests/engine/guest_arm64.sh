#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The user engine on arm64: cross-built with the libraries of Debian's arm64 packages, and run in a guest under Debian's kernel. The
# tests' programs are started, armed from outside, killed, and probed by the kernel meanwhile. The stubs of all kinds of statements are
# executed there. fastsdt-trace traces the examples; the expected figures follow from what these do. test.sh --all has more of each.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/kernel/guest.sh"
. "$FASTSDT_SOURCE/tests/engine/unwound.sh"
need qemu-system-aarch64 cpio gzip apt-get dpkg-deb dpkg-query cmake ninja pkg-config aarch64-linux-gnu-gcc aarch64-linux-gnu-g++
cache=${FASTSDT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fastsdt}
[ -x "$FASTSDT_BUILD/bin/engine_stubs_arm64" ] || skip "this build has no stubs for arm64 (libvixl-dev)"
kernel=$("$FASTSDT_SOURCE/tests/kernel/fetch-kernel.sh" arm64 6.12 "$cache" 2>err) || skip "$(tail -n 1 err)"

# ---- Libraries: the arm64 packages of those that this machine has. Files of packages without an architecture are copied.
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
dev="libelf-dev libdw-dev liblzma-dev libiberty-dev libzydis-dev libzycore-dev libfmt-dev libvixl-dev zlib1g-dev libgtest-dev"
common="libcli11-dev libprotozero-dev nlohmann-json3-dev"
if [ "$(cat debs/done 2>/dev/null)" != "$dev $common" ]; then # they stay between runs
    rm -rf root debs
    mkdir root debs
    files=$(ldd "$FASTSDT_BUILD/bin/fastsdt-trace" "$FASTSDT_BUILD/bin/engine_stubs_arm64" | grep -o '/[^ )]*' | grep -v ':$' | sort -u)
    packages=$(for file in $files; do { dpkg-query -S "$(realpath "$file")" || dpkg-query -S "$file"; } 2>/dev/null | sed 's/:.*//'; done | sort -u)
    # Only fastsdt-probe uses libbpf.
    packages=$(grep -v '^libbpf' <<<"$packages")
    # A development package's files for CMake name libraries, and CMake wants all of them, needed here or not.
    packages="$packages $dev $(dpkg-query -W -f '${Depends}, ' $dev | tr , '\n' | sed -nE 's/^ *(lib[^ ]*) .*/\1/p' | grep -v -- '-dev$' | sort -u | xargs) libc6 libgcc-s1 libstdc++6 busybox-static"
    (cd debs && FASTSDT_CACHE=$cache FASTSDT_ARCHS=arm64 "$FASTSDT_SOURCE/scripts/common/debian.sh" "$suite" apt-get download $packages) >err 2>&1 ||
        skip "no arm64 packages of $suite: $(tail -n 1 err)"
    for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
    dpkg-query -L $common | grep -E '^/usr/(include|share/cmake|lib/cmake)/' | while read -r file; do
        [ -d "$file" ] || cp --parents "$file" root/
    done
    find root -type l -lname '/*' | while read -r link; do ln -sf "$PWD/root$(readlink "$link")" "$link"; done
    sed -i '/^Requires.private/d' root/usr/lib/aarch64-linux-gnu/pkgconfig/*.pc
    echo "$dev $common" >debs/done
fi

# ---- Programs
cat >toolchain.cmake <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH $PWD/root $PWD/root/usr)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L$PWD/root/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,$PWD/root/usr/lib/aarch64-linux-gnu:$PWD/root/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "\${CMAKE_EXE_LINKER_FLAGS_INIT}")
END
launcher=()
[ -z "${CCACHE_DIR:-}" ] || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache) # without a cache, precompiled headers are faster
# Of programs without fastsdt, those with landing pads and signed return addresses need most.
tests="outside life launch follow kernel transaction" moved="guarded unmodified" attached=guarded
# What only computes is done by arm64.sh.
rounds=2 passes=20000 orders=2000 # of 20 to 50, of 200,000 and of 20,000
stubs=" --gtest_filter=-OperandArm64.EveryRegisterInEverySize:ExpressionArm64.IsWhatTheInterpreterSays:MeaningArm64.*"
stubs+=":StubArm64.KeysBeyondTheTableAreCountedAsDropped:StubArm64.DeletedKeys*:StubArm64.StringsInLastingMemory:StubArm64.NeverFaultsByRows"
if whole; then
    tests="$tests stress place script killed" moved="$moved unmodified-static slow" attached="guarded unmodified"
    stubs="" rounds=50 passes=200000 orders=20000
fi
(
    export PKG_CONFIG_LIBDIR=$PWD/root/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root
    unset CC CXX CFLAGS CXXFLAGS
    cmake -S "$FASTSDT_SOURCE" -B build -G Ninja \
        -DCMAKE_TOOLCHAIN_FILE="$PWD/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
        "${launcher[@]}" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DFASTSDT_PLUGINS=OFF -DFASTSDT_MAN=OFF \
        -DFASTSDT_BENCHMARKS=OFF -DFASTSDT_TOOLS=ON -DFASTSDT_TESTS=ON
    ninja -C build fastsdt-trace fastsdt_trace_api engine_stubs_arm64 engine_module engine_target engine_target_static \
        engine_starter engine_starter_static engine_starter_static_pie $(printf 'engine_%s_test ' $tests)
) >log 2>&1 || fail "building for arm64: $(grep -E 'error: |^FAILED' log || tail -n 5 log)"

rm -rf guest
mkdir -p guest/bin guest/usr/bin guest/lib
cp build/bin/fastsdt-trace build/bin/engine_* guest/bin/
cp build/bin/libengine_module.so guest/bin/ # where the tests look for it
cp build/bin/libengine_module.so guest/lib/ # where the loader looks for it
cp "$(find build -name 'libfastsdt-trace.so.0' -print -quit)" guest/lib/
cross() { aarch64-linux-gnu-gcc -O2 -I"$INCLUDE" "$@"; }
cross -static -pthread "$FASTSDT_SOURCE/tests/engine/runner_arm64.c" -o guest/bin/runner
cross "$FASTSDT_SOURCE/examples/hello.c" -o guest/bin/app
cross -static "$FASTSDT_SOURCE/examples/hello.c" -o guest/bin/static
cross -static-pie "$FASTSDT_SOURCE/examples/hello.c" -o guest/bin/static-pie
cross -pthread -DPASSES=$orders "$FASTSDT_SOURCE/tests/engine/api.c" guest/lib/libfastsdt-trace.so.0 \
    -Wl,-rpath-link,root/usr/lib/aarch64-linux-gnu:root/lib/aarch64-linux-gnu -o guest/bin/api
plugin=$(find "$FASTSDT_BUILD" -path '*aarch64/fastprobe.so' -print -quit)
[ -z "$plugin" ] || cross -fplugin="$plugin" -fplugin-arg-fastprobe-entry=nop10 -fplugin-arg-fastprobe-exit=nop10 -mbranch-protection=standard \
    "$FASTSDT_SOURCE/examples/entry.c" -o guest/bin/entry || fail "fastprobe"
# Programs that were built without fastsdt, one of them with landing pads and signed return addresses.
cross_cxx() { aarch64-linux-gnu-g++ -O2 "$@"; }
cross_cxx "$FASTSDT_SOURCE/tests/engine/unmodified.cpp" -o guest/bin/unmodified
# Debian's own start files have no landing pads.
cat >start.S <<'END'
	.globl	_start
_start:	bti	c
	mov	x29, 0
	mov	x5, x0
	ldr	x1, [sp]
	add	x2, sp, 8
	mov	x6, sp
	adrp	x0, main
	add	x0, x0, :lo12:main
	mov	x3, 0
	mov	x4, 0
	bl	__libc_start_main
	brk	0
END
cross_cxx -mbranch-protection=standard -Wl,-z,force-bti -nostartfiles start.S \
    "$FASTSDT_SOURCE/tests/engine/unmodified.cpp" -o guest/bin/guarded 2>/dev/null
cross_cxx -static "$FASTSDT_SOURCE/tests/engine/unmodified.cpp" -o guest/bin/unmodified-static
cross_cxx -O0 "$FASTSDT_SOURCE/tests/engine/unmodified.cpp" -o guest/bin/slow
# Calls of which one takes more of the stack than a page, in the main thread and in another.
cat >deep.c <<'END'
#include <fastsdt.h>
#include <pthread.h>
#define PLAIN __attribute__((noinline, noclone))
static volatile long total;
PLAIN long leaf(long n)
{
    FASTSDT(deep, hit, n);
    return n + 1;
}
PLAIN long middle(long n)
{
    char space[20000]; /* more than a page */
    __asm__ volatile("" : : "r"(space) : "memory");
    n = leaf(n);
    __asm__ volatile("" : : "r"(space) : "memory");
    return n + total;
}
PLAIN void* outer(void* times)
{
    for (long i = 0; i < (long)times; ++i)
        total += middle(i) & 1;
    return 0;
}
int main(void)
{
    pthread_t thread;
    outer((void*)300);
    pthread_create(&thread, 0, outer, (void*)200);
    pthread_join(thread, 0);
    return 0;
}
END
cross -pthread -fno-omit-frame-pointer -mbranch-protection=standard deep.c -o guest/bin/deep
# What executes programs in many ways, and what it executes.
ways_to_execute="vfork spawn thread fails watch"
mkdir guest/executes
cross -pthread "$FASTSDT_SOURCE/tests/engine/executes.c" -o guest/executes/app
cp guest/executes/app guest/executes/tool
# Without frame pointers, with signed return addresses, and with its C library in it.
cross $UNWOUND_OPTIONS "$FASTSDT_SOURCE/tests/engine/unwound.c" -o guest/bin/unwound
cross $UNWOUND_OPTIONS -mbranch-protection=standard "$FASTSDT_SOURCE/tests/engine/unwound.c" -o guest/bin/unwound-signed
cross $UNWOUND_OPTIONS -static "$FASTSDT_SOURCE/tests/engine/unwound.c" -o guest/bin/unwound-static 2>/dev/null
cross_cxx -std=c++20 -pthread "$FASTSDT_SOURCE/tests/engine/ways.cpp" -o guest/bin/ways
# Go programs: one without symbols and without C code, whose threads have no thread pointers here, and one with probes of its own. test.sh --all has
# more ways to build the first.
go=()
if have go; then
    export CGO_ENABLED=0 GOFLAGS=-mod=mod GOCACHE=${GOCACHE:-$FASTSDT_BUILD/tests/go-cache}
    build_go() { GOARCH=arm64 go build "$@" >go.log 2>&1 || fail "go build $*: $(cat go.log)"; }
    build_go -ldflags='-s -w' -o guest/bin/goes "$FASTSDT_SOURCE/tests/engine/churn.go"
    go=(goes)
    if whole; then
        build_go -buildmode=pie -o guest/bin/goes-pie "$FASTSDT_SOURCE/tests/engine/churn.go"
        CC=aarch64-linux-gnu-gcc CGO_ENABLED=1 build_go -o guest/bin/goes-c "$FASTSDT_SOURCE/tests/engine/churn.go" \
            "$FASTSDT_SOURCE/tests/engine/churn_c.go"
        go+=(goes-pie goes-c)
    fi
    status=0
    (
        . "$FASTSDT_SOURCE/tests/go/common.sh"
        package busy "$FASTSDT_SOURCE/tests/go/busy.go"
        cd busy && GOARCH=arm64 go build "${indexed[@]}" -o ../guest/bin/busy .
    ) >go.log 2>&1 || status=$?
    case $status in 0 | 77) ;; *) fail "probes of Go: $(cat go.log)" ;; esac
fi
aarch64-linux-gnu-strip guest/bin/engine_*_test guest/bin/engine_stubs_arm64 guest/bin/fastsdt-trace
# Libraries, with what they need themselves.
library() { find root/lib root/usr/lib -name "$1" -print -quit; }
needed() { aarch64-linux-gnu-readelf -d "$@" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u; }
cp -L "$(library ld-linux-aarch64.so.1)" guest/lib/
for round in 1 2 3; do
    for name in $(needed guest/bin/* guest/lib/*.so*); do
        [ -e "guest/lib/$name" ] || cp -L "$(library "$name")" guest/lib/ || fail "round $round: no $name"
    done
done
cp root/bin/busybox guest/bin/ 2>/dev/null || cp root/usr/bin/busybox guest/bin/
for tool in sh env sleep kill dd md5sum grep diff cmp cat mkfifo; do ln -sf busybox guest/bin/$tool; done
ln -sf ../../bin/busybox guest/usr/bin/env
$(guest_compiler arm64) "$FASTSDT_SOURCE/tests/kernel/guest-init.c" -o guest/init

# ---- The guest
cat >guest/trace.sh <<'END'
cd /bin
case $1 in
attach)
    ./app 2000000000 >/dev/null &
    fastsdt-trace --engine user -e 'usdt:./app:shop:order { @ = count(); } interval:ms:300 { exit(); }' --pid $!
    kill -9 $!
    ;;
entry)
    fastsdt-trace --engine user -e 'uprobe:./entry:request { @calls = count(); @ids = sum(arg0 & 0xffffffff); } uretprobe:./entry:chain { @results = sum(retval & 0xffffffff); }' -- ./entry 1000
    ;;
deep)
    fastsdt-trace --engine user -e 'usdt:./deep:deep:hit { @hit[ustack(3)] = count(); } uprobe:./deep:middle { @in[ustack(2)] = count(); } uretprobe:./deep:middle { @out[ustack(1)] = count(); }' -- ./deep ;;
executes)
    cd /executes
    fastsdt-trace --engine user -e 'usdt:*:app:tick { @ = count(); }' -- ./tool $2 ;;
unwound*)
    fastsdt-trace --engine user --folded -e "usdt:./$1:app:hit { @[ustack(dwarf)] = count(); } uretprobe:./$1:plain { @out[ustack(dwarf, 1)] = count(); }" -- ./$1 $2 $3 ;;
latency) fastsdt-trace latency --engine user ./entry:chain -- ./entry 1000 ;;
*)
    # A static program's tid takes a system call, which it has to be allowed.
    case $1 in static*) option=--read-memory ;; *) option= ;; esac
    fastsdt-trace --engine user $option -e "usdt:./$1:shop:order /arg2 > 1000/ { @[arg0 % 3] = sum(arg0); @cents = hist(arg2); @n = count(); @who[str(arg1)] = count(); @t[tid] = max(nsecs); @at[cpu, numaid] = count(); }" -- ./$1 2000
    ;;
esac
END
# move.sh WHAT PROGRAM: unmodified.sh has the same on x86-64.
cat >guest/move.sh <<'END'
cd /bin
counts="uprobe:./$2:leaf { @leaf = count(); } uprobe:./$2:calls { @calls = count(); } uprobe:./$2:branches { @branches = count(); }
    uprobe:./$2:throws { @throws = count(); } uprobe:./$2:jumps { @jumps = count(); } uprobe:./$2:loads { @loads = count(); }
    uretprobe:./$2:calls { @returns = count(); } usdt:./$2:old:one { @old = sum(arg0); }"
# The code of the process as it is now.
text() {
    while read -r range rights offset device inode file; do
        [ "$rights$inode" != "r-xp0" ] || continue
        case $rights in r-x*)
            start=0x${range%-*} end=0x${range#*-}
            echo "$range $file $(dd if=/proc/$pid/mem bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) 2>/dev/null | md5sum)" ;;
        esac
    done </proc/$pid/maps
}
did() {
    echo >&3
    read -r line <&4
    [ "$line" = did ] || echo "it answers $line"
}
attach() {
    fastsdt-trace --engine user -p $pid -e "interval:ms:10 { printf(\"armed\\n\"); } $1" >report 2>err &
    tracer=$!
    exec 5<report
    read -r line <&5
    [ "$line" = armed ] || cat err
}
detach() {
    kill -INT $tracer
    grep -v '^armed$' <&5
    wait $tracer || echo "status $?"
    cat err
}
case $1 in
command)
    ./$2 600 2>plain
    fastsdt-trace --engine user -e "$counts" -- ./$2 600 2>err || { echo "status $?"; cat err; }
    cmp plain err || echo "it differs" ;;
all)
    ./$2 600 2>plain
    fastsdt-trace --engine user -e "uprobe:./$2:*, uprobe:*/lib*:* { @in = count(); } uretprobe:./$2:*, uretprobe:*/lib*:* { @out = count(); }
        uprobe:libstdc++.so.6:__cxa_throw { @thrown = count(); } uretprobe:libstdc++.so.6:__cxa_begin_catch { @caught = count(); }" -- ./$2 600 2>err || { echo "status $?"; cat err; }
    grep -v '^fastsdt-trace:' err | cmp plain - || echo "it differs" ;;
ways)
    printf '%s\n' e c x t s j e >lines
    ./ways <lines >plain
    fastsdt-trace --engine user -e 'uprobe:./ways:*, uprobe:*/lib*:* { @in = count(); } uretprobe:./ways:*, uretprobe:*/lib*:* { @out = count(); }' -- ./ways <lines >out 2>err || { echo "status $?"; cat err; }
    grep destroyed out | diff plain - && echo same
    grep '^sites' out ;;
attach)
    rm -f in answers report
    mkfifo in answers report
    ./$2 6 lines <in >answers &
    pid=$!
    exec 3>in 4<answers
    did
    text >before
    attach "$counts"
    text | cmp -s before - && echo "nothing is armed"
    did
    did
    detach
    text | diff before - && echo "as it was"
    # One that is killed leaves jumps; the next one clears them away.
    attach "$counts"
    kill -KILL $tracer
    wait $tracer
    exec 5<&- # what it had printed is not for the next one, which would get its signal before it listens
    did
    attach "uprobe:./$2:leaf { @again = count(); }"
    did
    detach
    text | diff before - && echo "as it was again"
    exec 3>&-
    wait $pid || echo "the program failed" ;;
esac
END
# go.sh HOW PROGRAM: go_user.sh has the same on x86-64.
cat >guest/go.sh <<'END'
cd /bin
all="uprobe:./$2:* { @in = count(); } uretprobe:./$2:* { @out = count(); }"
trace() { fastsdt-trace --engine user "$@" || echo "status $?"; }
# The code of the process as it is now.
text() {
    while read -r range rights offset device inode file; do
        [ "$rights $file" != "r-xp /bin/$program" ] || {
            start=0x${range%-*} end=0x${range#*-}
            dd if=/proc/$pid/mem bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) 2>/dev/null | md5sum
        }
    done </proc/$pid/maps
}
did() {
    echo "$1" >&3
    read -r answer <&4
}
case $1 in
counts)
    trace -e "uprobe:./$2:main.counted { @in = count(); @value = sum(arg0); } uretprobe:./$2:main.counted { @left = count(); @result = sum(retval); }
        uprobe:./$2:main.pass { @pass = count(); @by[goid] = count(); @thread[tid] = count(); } uretprobe:./$2:main.recovered { @recovered = count(); }" -- ./$2 30 ;;
functions) trace functions --functions 'main.turn' -- ./$2 10 ;;
all) trace -e "$all" -- ./$2 10 ;;
probes)
    echo turn | trace -e "usdt:./$2:busy:step { @n = count(); @g[goid] = count(); @t[tid] = count(); } usdt:./$2:busy:step /arg1 != arg0 * 3 + 1/ { @bad = count(); }
        usdt:./$2:busy:all { printf(\"all %d %d %d %d %d\n\", arg0, arg1, arg2, arg3, arg4); }" -- ./$2 ;;
attach)
    program=$2
    rm -f in answers report
    mkfifo in answers report
    ./$2 <in >answers &
    pid=$!
    exec 3>in 4<answers
    did quiet # it is executed
    text >before
    [ -s before ] || echo "no text"
    for round in 1 2 3; do
        did go
        case $round in
        2) # killed when all is armed
            fastsdt-trace --engine user -p $pid -e "interval:ms:10 { printf(\"armed\n\"); } $all" >report 2>err &
            tracer=$!
            read -r line <report
            [ "$line" = armed ] || cat err
            kill -KILL $tracer
            wait $tracer
            text | cmp -s before - && echo "nothing is armed" ;;
        *) trace -p $pid --duration 0.3 -e "$all" ;;
        esac
        did quiet
        echo "$answer"
    done
    text | cmp before - && echo "as it was"
    grep -E 'fastsdt|rwxp' /proc/$pid/maps
    exec 3>&-
    wait $pid || echo "the program failed" ;;
esac
END
touch guest/empty
{
    for program in $moved; do echo "move-$program /empty /bin/sh /move.sh command $program"; done
    for program in $attached; do echo "all-$program /empty /bin/sh /move.sh all $program"; done
    for program in $attached; do echo "attach-$program /empty /bin/sh /move.sh attach $program"; done
    echo "ways /empty /bin/sh /move.sh ways ways"
    for test in $tests; do echo "$test /empty /bin/engine_${test}_test"; done
    echo "stubs /empty /bin/engine_stubs_arm64$stubs"
    for way in maps function busy; do echo "api-$way /empty /bin/api $way"; done
    for program in app static static-pie attach deep; do echo "$program /empty /bin/sh /trace.sh $program"; done
    for way in $ways_to_execute; do echo "executes-$way /empty /bin/sh /trace.sh executes $way"; done
    for program in unwound unwound-signed unwound-static; do echo "$program /empty /bin/sh /trace.sh $program"; done
    echo "unwound-threads /empty /bin/sh /trace.sh unwound threads 50"
    for program in "${go[@]}"; do
        for how in counts functions all attach; do # behind the text of goes-c there is perhaps no room for an errand, and its threads stand there
            [ $how-$program = attach-goes-c ] || echo "go-$how-$program /empty /bin/sh /go.sh $how $program"
        done
    done
    [ ! -e guest/bin/busy ] || echo "go-probes /empty /bin/sh /go.sh probes busy"
    [ ! -e guest/bin/entry ] || printf '%s /empty /bin/sh /trace.sh %s\n' entry entry latency latency
} >guest/commands
sed -i "s,/bin/engine_\(life\|transaction\)_test,/bin/env FASTSDT_ROUNDS=$rounds &,
    s,/bin/engine_stress_test,/bin/env FASTSDT_TOGGLES=20000 &,
    s,/bin/engine_stubs_arm64,/bin/env FASTSDT_RUNNER=/bin/runner FASTSDT_CODE=/tmp FASTSDT_PASSES=$passes &," guest/commands
guest_pack guest initramfs
guest_boot arm64 "$kernel/vmlinuz" initramfs 1500 | tr -d '\r' >console || true
grep -q '^@guest done' console || { tail -n 20 console >&2; fail "the guest did not come to its end"; }
lines() { sed -n "s/^@$1 //p" console; }
sed -n 's/^# \(.*\) took \(.*\)/\2 s in the guest: \1/p' console | sort -rn

for test in $tests stubs; do
    [ "$(lines "$test" | sed -n 's/^exit //p')" = 0 ] || fail "$test: $(lines "$test")"
    skipped=$(lines "$test" | sed -nE 's/^\[  SKIPPED \] ([A-Za-z]+\.[A-Za-z0-9]+) \(.*/\1/p')
    # Sites have no nop1 here.
    case $skipped in "" | WithKernel.BothCountAtTheNop1) ;; *) fail "$test: skipped: $skipped" ;; esac
done

# Orders 751 to 2000 cost more than 1000 cents: 250 and their number.
sum=(0 0 0)
for ((id = 751; id <= 2000; ++id)); do sum[id % 3]=$((sum[id % 3] + id)); done
for program in app static static-pie; do
    expect "$program" "$(lines $program | grep -E '^(@\[|@n|@who|@at|sites|exit)')" "@[0]: ${sum[0]}
@[1]: ${sum[1]}
@[2]: ${sum[2]}
@at[0, 0]: 1250
@n: 1250
@who[coffee]: 625
@who[tea]: 625
sites 2 of 2 armed; dropped 0
exit 0"
    expect "$program: histogram" "$(lines $program | sed -n 's/^\(\[[0-9K]*, [0-9K]*)\) *\([0-9]*\) .*/\1 \2/p')" "[512, 1K) 23
[1K, 2K) 1024
[2K, 4K) 203"
    expect "$program: threads" "$(lines $program | grep -c '^@t\[[0-9]*\]: [1-9][0-9]*$')" 1
done
lines attach | matches -xE '@: [1-9][0-9]+' || fail "attach: $(lines attach)"
lines attach | matches -x 'sites 2 of 2 armed; dropped 0' || fail "attach: $(lines attach)"

# leaf() has no frame: x29 leads to that of middle(), which called it, and behind 20,000 bytes to that of outer().
stacks=$(lines deep | sed -E 's/^ +//; s/\+[0-9]+$//' | tr '\n' ' ')
for stack in '@hit\[ leaf outer main \]: 300' '@hit\[ leaf outer [^ ]+ \]: 200' '@in\[ middle outer \]: 500' '@out\[ outer \]: 500' \
    'sites ([0-9]+) of \1 armed; dropped 0'; do
    matches -E " $stack " <<<" $stacks " || fail "stacks: $stack: $stacks"
done

# By tables, as on x86-64. A function is left with its caller's frame.
for program in unwound unwound-signed unwound-static unwound-threads; do
    lines $program >out
    from=main count=1
    [ $program != unwound-threads ] || from=once count=50
    expect "$program" "$(folded | grep ';leaf ')" "$(each $from $count)"
    expect "$program: the last line" "$(grep '^sites' out | sed -E 's/^sites ([0-9]+) of \1 /all /')" "all armed; dropped 0"
    expect "$program: exits" "$(sed -nE 's/^(@out;)?(aligned|all|compare|deep|handler|large|variable) ([0-9]+)$/\2 \3/p' out | sort)" \
        "$(for caller in aligned all compare deep handler large variable; do echo "$caller $count"; done)"
done

# As executes.sh has it: no hit of the program is missed, nine and its constructor's.
for way in $ways_to_execute; do
    expect "executes: $way" "$(lines "executes-$way" | grep -vE '^sites ([0-9]+) of \1 armed; dropped 0(; processes [0-9]+)?$' | grep .)" \
        "$(case $way in fails) echo "-1, errno 2" ;; watch) echo "0 stops, status 0" ;; esac; echo "@: 10"; echo "exit 0")"
done

# Moved: as unmodified.sh has it for 600 turns, half of which throw.
for program in $moved; do
    expect "moved: $program" "$(lines "move-$program" | grep -vE '^sites ([0-9]+) of \1 armed; dropped 0$' | sort)" "@branches: 600
@calls: 1800
@jumps: 600
@leaf: 2000
@loads: 600
@old: 179700
@returns: 1800
@throws: 600
exit 0"
done
for program in $attached; do
    expect "all functions: $program" \
        "$(lines "all-$program" | sed -E 's/^(@in|@out): [0-9]{5,}$/\1/; s/^sites ([0-9]{5,}) of \1 armed; dropped 0; left out [0-9]+$/sites/')" \
        "@caught: 300
@in
@out
@thrown: 300
sites
exit 0"
    expect "attached: $program" "$(lines "attach-$program")" "@branches: 12
@calls: 32
@jumps: 12
@leaf: 36
@loads: 12
@old: 30
@returns: 32
@throws: 12
sites 9 of 9 armed; dropped 0
as it was
@again: 18
sites 1 of 1 armed; dropped 0
as it was again
exit 0"
done
expect "ways" "$(lines ways | sed -E 's/^sites ([0-9]{5,}) of \1 armed; dropped 0; left out [0-9]+$/sites/')" "same
sites
exit 0"

# A Go program's own counts: passes, what was wrong, entries and returns. go_user.sh says what the values are.
for program in "${go[@]}"; do
    lines "go-counts-$program" >out
    read -r passes wrong entered left < <(sed -n 's/^did //p' out)
    read -r value result < <(python3 -c "
all = [1000 * g + n for g in range(8) for n in range(30)]
all += [v for v in all if v % 64 == 0]
print(sum(all), sum(v + (v % 4 == 2) for v in all))")
    expect "$program" "$(grep -E '^@(in|left|value|result|pass|recovered): ' out | sort | xargs)" \
        "@in: $entered @left: $left @pass: $passes @recovered: $passes @result: $result @value: $value"
    expect "$program: wrong" "$wrong" 0
    for map in by thread; do
        expect "$program: @$map" "$(sed -nE "s/^@$map\[[1-9][0-9]*\]: //p" out | python3 -c 'import sys; print(sum(map(int, sys.stdin)))')" "$passes"
    done
    lines "go-functions-$program" >out
    read -r passes wrong _ < <(sed -n 's/^did //p' out)
    expect "$program: functions" "$wrong $(awk '$NF == "main.turn" { print $1 }' out)" "0 $passes"
    lines "go-all-$program" >out
    expect "$program: all functions" \
        "$(sed -nE 's/^did [0-9]+ ([0-9]+) .*/wrong \1/p; s/^(@in|@out): [0-9]{5,}$/\1/p
            s/^sites ([0-9]{4,}) of \1 armed; dropped 0; left out [0-9]+$/sites/p; s/^(exit .*|status .*)/\1/p' out | xargs)" \
        "wrong 0 @in @out sites exit 0"
    [ $program != goes-c ] || continue
    lines "go-attach-$program" >out
    expect "$program: while it runs" \
        "$(sed -E 's/^quiet [0-9]+ 0 0$/right/; s/^@(in|out): [0-9]+$/\1/; s/^sites ([0-9]{4,}) of \1 armed; dropped 0; left out [0-9]+$/sites/' out | xargs)" \
        "in out sites right right in out sites right as it was exit 0"
done
if [ -e guest/bin/busy ]; then
    lines go-probes >out
    read -r steps wrong < <(grep -E '^[0-9]+ [0-9]+$' out)
    expect "probes of Go" "$wrong $(grep -E '^(@n|@bad): ' out | sort | xargs) $(grep '^all ' out)" "0 @bad: 0 @n: $steps all -1 255 -2 65535 -3"
    for map in g t; do
        expect "probes of Go: @$map" "$(sed -nE "s/^@$map\[[1-9][0-9]*\]: //p" out | python3 -c 'import sys; print(sum(map(int, sys.stdin)))')" \
            "$steps"
    done
fi

# A program that traces itself: 8 threads, so many orders each: shop thread % 4, items i % 1000.
each=$((2 * orders)) all=$((8 * orders)) thousands=$((8 * orders / 1000))
expect "api" "$(lines api-maps | grep -E '^(@n|@sum|@min|@max|exit)')" "$(for shop in 0 1 2 3; do echo "@n 1 [$shop] $each $each $each"; done)
@sum 2 $((thousands * 999 * 1000 / 2)) $((thousands * 999 * 1000 / 2)) $all
@min 3 0 0 $all
@max 4 999 999 $all
exit 0"

# It has its own function called for each order with 500 items and more, and for a thousand of one more: api.sh.
called=$((each / 2)) items=$((thousands * (500 + 999) * 500 / 2 + 1000 * 500))
expect "api: functions" "$(lines api-function)" "$called $called $called $((called + 1000)) sum $items dropped $((4 * called + 1000))
$called
exit 0"
matches -x 'exit 0' <<<"$(lines api-busy)" || fail "api: $(lines api-busy)"

[ -n "$plugin" ] || exit 0
results=0
for ((id = 2; id < 1002; ++id)); do # argc is 2
    for ((x = id, total = 0, i = 0; i < 3; ++i)); do
        x=$(((x ^ (x >> 15)) * 0x2c1b3c6d & 0xffffffff)) total=$((total + x & 0xffffffff))
    done
    results=$((results + total))
done
expect "functions" "$(lines entry | grep -E '^(@|exit)')" "@calls: 1000
@ids: $((1000 * 1003 / 2))
@results: $results
exit 0"
lines latency | matches '^@total: count 1000, ' || fail "latency: $(lines latency)"
