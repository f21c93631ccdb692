#!/bin/bash
# libfastsdt-trace as C and C++ programs use it: compiled by strict compilers, linked, run. Every expected figure is worked out here from
# what the program api.c does.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc nm
library=$FASTSDT_BUILD/lib
header=$INCLUDE/fastsdt/trace.h
build() { # build COMPILER OPTIONS...: api
    # A bound of 16 bytes: no site lies where a program cannot arm it itself.
    "$@" -O2 -g -Wall -Wextra -Werror -DFASTSDT_BOUND=4 -I"$INCLUDE" -o api \
        -L"$library" -lfastsdt-trace -Wl,-rpath,"$library" -lpthread -ldl || fail "$*"
}
run() { timeout 120 ./api "$@" >out 2>err || fail "api $*: status $?: $(cat err out)"; }

# The library exports exactly what the header declares.
grep -v '^typedef' "$header" | grep -oE '\bfastsdt_trace_[a-z_]+\(' | tr -d '(' | sort -u >declared
nm -D --defined-only "$library/libfastsdt-trace.so" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort >exported
diff declared exported || fail "the header and the library differ (< header, > library)"
expect "SONAME" "$(readelf -d "$library/libfastsdt-trace.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" libfastsdt-trace.so.0

cp "$FASTSDT_SOURCE/tests/engine/api.c" api.cc
compilers=("g++ -std=c++98" "clang++-19 -std=c++98" "g++ -std=c++20" "clang-19 -std=c89 -pedantic" "gcc -std=c89 -pedantic")
# With a library that was built for a sanitizer only programs go that were built for it too: tests/sanitize.sh.
[ -z "${FASTSDT_API_COMPILER:-}" ] || compilers=("$FASTSDT_API_COMPILER -std=c89 -pedantic")
for compiler in "${compilers[@]}"; do
    have "${compiler%% *}" || continue
    source=$FASTSDT_SOURCE/tests/engine/api.c
    case $compiler in *++*) source=api.cc ;; esac
    build $compiler "$source"
done

# 8 threads, 20,000 orders each: shop thread % 4, items i % 1000.
run maps
{
    for shop in 0 1 2 3; do echo "@n 1 [$shop] 40000 40000 40000"; done
    echo "@sum 2 $((160 * 999 * 1000 / 2)) $((160 * 999 * 1000 / 2)) 160000"
    echo "@min 3 0 0 160000"
    echo "@max 4 999 999 160000"
    echo "@avg 5 499 $((160 * 999 * 1000 / 2)) 160000"
    echo "@stats 6 499 $((160 * 999 * 1000 / 2)) 160000"
    line="@h 7 0 0 160000 0..0=160"
    for ((low = 1; low < 1000; low *= 2)); do
        high=$((low * 2 - 1)) end=$((low * 2 < 1000 ? low * 2 : 1000))
        line+=" $low..$high=$(((end - low) * 160))"
    done
    echo "$line"
    echo "@l 8 0 0 160000 -9223372036854775808..99=16000 100..199=16000 200..299=16000 300..9223372036854775807=112000"
    echo "@last 9 999 0 0"
    for shop in 0 1 2 3; do echo "@text 10 [$shop] text 0 0"; done
} >wanted
diff wanted out || fail "maps: (< wanted, > read)"

# The function gets items from 500 up, and 1000 more for shop 3. Each call makes a hit from inside, which is dropped.
run function
each=$((40000 / 2)) sum=$((160 * (500 + 999) * 500 / 2 + 1000 * 500))
expect "function" "$(cat out)" "$each $each $each $((each + 1000)) sum $sum dropped $((4 * each + 1000))
$each"
run busy
run cancelled
run refused
expect "refused" "$(sort -u out)" "plain has no nop10
twice taken by another script of the same tracer"
run module "$FASTSDT_BUILD/bin/libengine_module.so"
expect "a module that comes three times, 100 hits each" "$(cat out)" 300
run events
run descriptor
run forked
expect "a fork" "$(cat out)" 1
run texts
grep -q '^2:3 "no_such"\|^2:7 "no_such"' out || fail "a wrong name: $(cat out)"
grep -q '^1:20 only fastsdt-trace --unsafe runs commands' out || fail "what bpftrace has: $(cat out)"
run loop 30
expect "attached and detached" "$(cat out)" "no more mappings"

# As an ordinary user; and without memory leaks.
scratch=$PWD
user_folder
cp "$scratch/api" "$library/libfastsdt-trace.so.0" .
"${as_user[@]}" env LD_LIBRARY_PATH=. ./api maps >out 2>err || fail "as an ordinary user: status $?: $(cat err out)"
diff "$scratch/wanted" out || fail "as an ordinary user"
cd "$scratch"
if [ -n "${FASTSDT_API_COMPILER:-}" ]; then
    echo "built by $FASTSDT_API_COMPILER"
elif echo 'int main(void) { return 0; }' | gcc -fsanitize=address -x c - -o probe 2>/dev/null && ./probe; then
    build gcc -std=c89 -fsanitize=address "$FASTSDT_SOURCE/tests/engine/api.c"
    run loop 5
    run maps
    diff wanted out
    run texts
else
    echo "gcc -fsanitize=address does not work here: leaks are not looked for"
fi

attachable || { echo "kernel.yama.ptrace_scope is not 0: another process is not tried"; exit 0; }
build ${FASTSDT_API_COMPILER:-gcc} -std=c89 "$FASTSDT_SOURCE/tests/engine/api.c"
run outside
expect "another process" "$(cat out)" "$((1000 * 999 / 2))
1000
there is no such process"

# A program that was built without fastsdt. @r: of each i below 1000, 3 * (i % 4) + (i % 4 + 1) + i.
[ "$(uname -m)" = x86_64 ] || exit 0
gcc -O2 -fno-omit-frame-pointer "$FASTSDT_SOURCE/tests/engine/plain.c" -o plain
run plain "$PWD/plain" profile.pb
sum=0
for ((i = 0; i < 1000; ++i)); do sum=$((sum + 3 * (i % 4) + i % 4 + 1 + i)); done
expect "functions of a program without probes" "$(cat out)" "$sum
was armed until the process handled SIGSEGV or SIGBUS, and its code accesses memory
has no nop10, and only another process can move its instructions"
gcc -O2 -fno-omit-frame-pointer -fPIC -shared "$FASTSDT_SOURCE/tests/engine/plain.c" -o libplain.so
run late "$PWD/plain"
! have go || ! go tool pprof -raw profile.pb >raw 2>errors ||
    expect "the profile" "$(sed -n '/^Samples:/{n;p}' raw) $(grep -c " work $PWD" raw)" "hits/count[dflt] 0"
