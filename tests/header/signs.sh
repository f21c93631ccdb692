#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Enumerations and std::atomic of signed types in C++: gdb reads negative values from what the note says. A pointer to a data member is its
# offset.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
need gdb
[ "$(uname -m)" = x86_64 ] || skip "the program runs here"

cat > signs.cc <<'E'
#if __cplusplus >= 201103L
#include <atomic>
#endif
#include <sys/sdt.h>
#include "usdt.h"
enum negative { minus_five = -5, three = 3 };
enum positive { five = 5 };
struct pair { int first, second; };
struct twins { typedef int value_type; int first, second; };
__attribute__((noinline)) void run(negative n, positive p, int pair::*member)
{
    FASTSDT(signs, enums, n, p, member, minus_five);
    USDT(signs, usdt, n, p, member);
    STAP_PROBE3(signs, stap, n, p, member);
    twins both = {-1, -1};
    FASTSDT(signs, twins, both);
}
#if __cplusplus >= 201103L
enum class scoped : short { minus = -3 };
enum byte_sized : unsigned char { large = 200 };
__attribute__((noinline)) void later(scoped s, byte_sized b, int i)
{
    std::atomic<int> minus(i - 6);
    std::atomic<unsigned> plus(6);
    std::atomic<signed char> narrow((signed char)(i - 8));
    std::atomic<negative> atomic_enum(minus_five);
    FASTSDT(signs, scoped, s, b);
    FASTSDT(signs, atomics, minus, plus, narrow, atomic_enum);
}
#endif
int main(int argc, char **)
{
    run(minus_five, five, &pair::second);
    (void)argc;
#if __cplusplus >= 201103L
    later(scoped::minus, large, argc);
#endif
}
E
print() { # print PROBE COUNT: gdb's commands for that probe's arguments, on one line
    local n list=
    for ((n = 0; n < $2; n++)); do list="$list, (long)\$_probe_arg$n"; done
    printf 'break -probe-stap signs:%s\ncommands\nsilent\nprintf "%s:%s\\n"%s\ncontinue\nend\n' "$1" "$1" "$(printf ' %%ld%.0s' $(seq "$2"))" "$list"
}
old='enums: -5 5 4 -5
usdt: -5 5 4
stap: -5 5 4'
for c in $(have_of gcc-12 clang-14 clang-19 clang-22); do
    cxx=$(cxx_of "$c")
    have "$cxx" || continue
    for flags in "-std=c++98 -O1" "-std=c++11 -O0" "-std=c++20 -O2"; do
        $cxx $flags -Wall -Wextra -Wpedantic -Werror -I"$INCLUDE" signs.cc -o signs || fail "$cxx $flags"
        expected=$old
        { print enums 4 && print usdt 3 && print stap 3; } >script
        if [[ $flags != *98* ]]; then
            { print scoped 2 && print atomics 4; } >>script
            expected+=$'\nscoped: -3 200\natomics: -5 6 -7 -5'
        fi
        gdb -nx -batch -ex 'set debuginfod enabled off' -x script -ex run ./signs >out 2>&1 || fail "gdb: $(cat out)"
        expect "$cxx $flags" "$(grep -E '^(enums|usdt|stap|scoped|atomics):' out)" "$expected"
        # Two values are none that could be signed.
        notes signs | matches 'signs:twins.*[^-]8@' || fail "$cxx $flags: $(notes signs)"
    done
done

# _BitInt, in C and in C++.
cat >bits.c <<'E'
#include <fastsdt.h>
#include <usdt.h>
int main(int argc, char **argv)
{
    volatile _BitInt(8) small = -3;
    volatile unsigned _BitInt(8) natural = 253;
    volatile _BitInt(37) odd = -5;
    USDT(bits, usdt, (_BitInt(8))small, (unsigned _BitInt(8))natural, (_BitInt(37))odd);
#ifdef __cplusplus /* clang's C takes none for an operand */
    FASTSDT(bits, own, (_BitInt(8))small, (unsigned _BitInt(8))natural);
#endif
    return 0;
}
E
for c in "clang-19 -std=c2x" "clang++-19 -x c++" "clang-22 -std=c2x" "clang++-22 -x c++"; do
    have "${c%% *}" || continue
    $c -w -O1 -I"$INCLUDE" bits.c -o bits || fail "$c: _BitInt"
    expect "$c: _BitInt" "$(notes bits "{probe} {args}" | grep "^bits:" | sed 's/@[^ ]*//g' | sort | grep -v own | xargs)" "bits:usdt -1 1 -8"
    [[ $c != *c++ ]] || expect "$c: _BitInt, FASTSDT" "$(notes bits "{probe} {args}" | sed -n 's/@[^ ]*//g; s/^bits:own //p')" "-1 1"
done
