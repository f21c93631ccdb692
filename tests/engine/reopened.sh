#!/bin/bash
# Libraries that go and come without a pause, in one place, while tracers come and go: what a tracer saw of one and another in the same look it
# takes for nothing that the program or another tool has changed, and it hears the dynamic linker from the start. What is counted is complete.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
need_attachable
user_folder
cat >library.c <<'END'
#include <fastsdt.h>
void work(int n) { FASTSDT(lib, work, n); }
END
cat >other.c <<'END'
void work(int n) { __asm__ volatile(".fill 256, 1, 0x90" : : "r"(n)); }
END
cat >opens.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) /* rounds, libraries */
{
    for (long i = 0; i < atol(argv[1]); ++i) {
        void* const library = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW);
        ((void (*)(int))dlsym(library, "work"))((int)i);
        dlclose(library);
    }
    return 0;
}
END
gcc -O2 -I"$INCLUDE" -shared -fPIC library.c -o library.so
gcc -O2 -shared -fPIC other.c -o other.so
gcc -O2 opens.c -o opens -ldl
# Root's tracer opens files by /proc/PID/map_files, where they go with the mapping.
for libraries in ./library.so "./library.so ./other.so"; do
    ./opens 1000000000 $libraries &
    pid=$!
    until [ "/proc/$pid/exe" -ef opens ]; do [ -d "/proc/$pid" ] || fail "it does not run"; done
    armed=0
    for _ in $(seq 25); do
        status=0
        fastsdt-trace --engine user -p $pid --duration 0.1 -e 'usdt:*:lib:work { @n = count(); }' >out 2>err || status=$?
        # 2: the library was not there when it began.
        [ $status = 0 ] || { [ $status = 2 ] && grep -q 'nothing in it matches' err; } || fail "status $status: $(cat out err)"
        [ $status = 2 ] || { armed=$((armed + 1)) && grep -qxE 'sites ([01]) of \1 armed; dropped 0' out; } || fail "$libraries: $(cat out err)"
    done
    kill $pid
    wait $pid || true
    [ $armed -gt 0 ] || fail "$libraries: the library was never there"
done

# From the start to the end each call is counted.
"${as_user[@]}" fastsdt-trace --engine user --interval 0.01 -e 'usdt:*:lib:work { @n = count(); }' \
    -- ./opens 200 ./library.so ./other.so >out 2>err || fail "$(cat out err)"
expect "calls" "$(grep '^@n' out | tail -n 1)" "@n: 100"
