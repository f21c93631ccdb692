#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Sound files, of which fastsdt-check says nothing and in which fastsdt-index keeps every record: functions without names, parts of
# functions elsewhere, code that is overridden. Arguments as for suite.sh.
. "$FASTSDT_SOURCE/tests/common.sh"
kind=$1 plugin=$3 cc=$4 cxx=$5
need "${cc%% *}" "${cxx%% *}" fastsdt-check fastsdt-index strip python3
[ -e "$plugin" ] || skip "$plugin was not built"
exit=-fplugin-arg-fastprobe-exit

# sound FILE RECORDS: no finding of a level above info, and so many entries and exits with a record, before fastsdt-index and after it.
records() { fastsdt-check --json --functions "$1" | python3 -c 'import json, sys
file = json.load(sys.stdin)["files"][0]
print(sum(f["selected"] for f in file["functions"]), sum(len(f["exits"]) for f in file["functions"]))'; }
sound() {
    fastsdt-check --functions --fail-on warning "$1" >out || fail "$1: $(cat out)"
    [[ $(records "$1") =~ ^$2$ ]] || fail "$1: $(records "$1") entries and exits, not $2"
    cp "$1" indexed && fastsdt-index -v indexed >out || fail "fastsdt-index $1: $(cat out)"
    ! grep removed out || fail "$1: the index removes records"
    [[ $(records indexed) =~ ^$2$ ]] || fail "$1 indexed: $(records indexed) entries and exits, not $2"
}

# An object whose static functions lost their names, beside one that has them.
cat >hidden.c <<'X'
__attribute__((noinline)) static int hidden(int a) { return a * 3; }
int api(int a) { return hidden(a) + hidden(a + 1); }
X
cat >named.c <<'X'
int api(int);
__attribute__((noinline)) static int loc(int a) { return a + 1; }
int main(int c, char **v) { return api(c) + loc(c) - 11; }
X
for source in hidden named; do $cc -O2 -fplugin="$plugin" $exit=nop10 -c $source.c -o $source.o; done
strip -x hidden.o
$cc hidden.o named.o -o stripped_object
./stripped_object || fail "stripped_object: status $?"
sound stripped_object '4 4'

# A weak definition that a strong one overrides: its code stays, without a symbol.
echo '__attribute__((weak)) int hook(int a) { return a; } int api(int a) { return hook(a) + 1; }' >weak.c
echo 'int api(int); int hook(int a) { return a * 2; } static int loc(int a) { return a + 1; } int main(int c, char **v) { return api(c) + loc(c) - 5; }' >strong.c
$cc -O0 -fplugin="$plugin" $exit=nop weak.c strong.c -o overridden
./overridden || fail "overridden: status $?"
sound overridden '5 [45]'

# A function's own cold part, once its name is gone.
cat >cold.cpp <<'X'
#include <string>
extern "C" int api(int a, const char *s) { try { std::string t(s); if (a < 0) throw t; return (int)t.size() + a; } catch (std::string &e) { if (a < -5) throw; return -1; } }
extern "C" int api2(int a, const char *s) { std::string t(s); if (a < 0) throw 5; t += s; return (int)t.size(); }
extern "C" void complain(const char *, int) __attribute__((cold, visibility("default")));
extern "C" int api3(int a, const char *s) { if (__builtin_expect(a > 77, 0)) { complain(s, a); return 4; } return a * 3; }
void complain(const char *s, int a) { static volatile int sink; sink = s[0] + a; }
X
$cxx -O2 -fPIC -shared -fplugin="$plugin" $exit=nop10 cold.cpp -o libcold.so
sound libcold.so '[4-9] [4-9]'
cp libcold.so libcold_stripped.so && strip libcold_stripped.so
sound libcold_stripped.so '[4-9] [4-9]'

# Flags under which a return is no instruction by itself: entries, and no exits, or right ones.
cat >hard.c <<'X'
__attribute__((noinline)) int f(int a) { return a * 3; }
__attribute__((noinline)) int tail(int (*p)(int), int a) { return p(a + 1); }
__attribute__((noinline)) int calls(int (*p)(int), int a) { return p(a) + p(a + 1); }
__attribute__((noinline)) int pick(int a) { switch (a) { case 0: return f(3); case 1: return 7; case 2: return f(a) + 1; case 3: return 5; case 4: return 99; default: return a; } }
signed char a, b; int c; short d;
__attribute__((noinline)) int loops(void) { d = 0; back: a = 9; for (; a; ++a) { c = 8; if (b) goto back; } return 0; }
int main(int c, char **v) { return f(c) + tail(f, c) + calls(f, c) + pick(c) + loops(); }
X
if [ "$kind" = gcc ]; then
    set -- "-fcf-protection=none -mfunction-return=thunk-inline -mindirect-branch=thunk-inline" \
        "-fcf-protection=none -mfunction-return=thunk-inline" \
        "-fcf-protection=none -mindirect-branch=thunk-inline" "-fcf-protection=none -mindirect-branch=thunk-inline -fPIC -fno-plt"
else
    set -- "-fxray-instrument -fxray-instruction-threshold=1" "-mllvm -align-all-blocks=4" "-Os -mllvm -align-all-blocks=4" \
        "-mllvm -align-all-blocks=5 -fsanitize=function" "-mllvm -align-all-nofallthru-blocks=5"
fi
for flags; do
    for modes in "entry=nop exit=nop" "entry=auto exit=nop10" "entry=nop10 exit=nop10"; do
        $cc -O2 -w $flags -fplugin="$plugin" $(printf -- '-fplugin-arg-fastprobe-%s ' $modes) hard.c -o hard || fail "$flags"
        fastsdt-check --functions --fail-on warning hard >out || fail "$flags, $modes: $(cat out)"
        expect "$flags, $modes: entries" "$(records hard | cut -d' ' -f1)" 6
    done
done

if [ "$kind" = clang ]; then
    # Private names: parts of coroutines.
    cat >coroutine.cpp <<'X'
#include <coroutine>
struct task { struct promise_type { task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; } std::suspend_always initial_suspend() { return {}; } std::suspend_always final_suspend() noexcept { return {}; } void return_void() {} void unhandled_exception() {} }; std::coroutine_handle<promise_type> h; };
struct aw { bool await_ready() { return false; } void await_suspend(std::coroutine_handle<>) {} int await_resume() { return 3; } };
int sum; task co(int a) { sum += a; sum += co_await aw{}; }
int main() { task t = co(4); t.h.resume(); t.h.resume(); t.h.destroy(); return sum - 7; }
X
    $cxx -std=c++20 -O0 -fplugin="$plugin" $exit=nop coroutine.cpp -o coroutine
    ./coroutine || fail "coroutine: status $?"
    sound coroutine '[0-9]+ [0-9]+'

    # Parts whose symbols have no type.
    cat >parts.c <<'X'
#include <stdio.h>
__attribute__((noinline)) int f(int n, int *p) { if (n > 1000) { for (int i = 0; i < n; i++) p[i & 3] += i * n; printf("%d\n", p[0]); return p[1]; } return n * 3; }
int main(int c, char **v) { int p[4] = {0}, s = 0; for (int i = 0; i < 900; i++) s += f(i + c, p); return s & 1; }
X
    $cc -O2 -fbasic-block-sections=all -fplugin="$plugin" $exit=nop10 parts.c -o blocks
    readelf -sW blocks | matches 'NOTYPE .* f\.__part\.1' || fail "clang names its blocks otherwise: $(readelf -sW blocks)"
    sound blocks '2 3'
    strip blocks && sound blocks '2 3'
    profdata=$(newest llvm-profdata)
    if $cc -O2 -fprofile-instr-generate parts.c -o profiled 2>/dev/null && have "$profdata"; then
        LLVM_PROFILE_FILE=raw ./profiled || true
        version=${cc%% *} version=${version##*-}
        have "llvm-profdata-$version" && profdata=llvm-profdata-$version
        "$profdata" merge -o profile raw
        $cc -O2 -fprofile-instr-use=profile -fsplit-machine-functions -fplugin="$plugin" $exit=nop10 parts.c -o split
        readelf -sW split | matches 'NOTYPE .* f\.cold' || fail "clang has not split the function: $(readelf -sW split)"
        sound split '2 3'
        strip split && sound split '2 3'
    fi
    # What the decoder does not know is called so.
    echo 'int g(int); __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }' >apx.c
    if $cc -O2 -mapxf -fplugin="$plugin" $exit=nop -c apx.c -o apx.o 2>/dev/null; then
        fastsdt-check --functions --fail-on warning apx.o >out || fail "apx.o: $(cat out)"
        expect "apx.o: entries and exits" "$(records apx.o)" "1 1"
    fi
fi
