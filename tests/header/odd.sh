#!/bin/bash
# Odd arguments and targets that systemtap's header accepts are accepted by all names of ours, with the same sizes, and
# macros of the program that are called like our words change nothing.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the registers are those of x86-64"

cat > odd.c <<'E'
#ifdef OURS
#define nop 1
#define nop1 bad bad
#define none (0)
#define implicit {
#define explicit )
#define active is_active
#define byte 1
#define own 7
#define any 8
#define custom 9
#endif
#include <sys/sdt.h>
#ifdef OURS
#include "usdt.h"
#endif
#ifndef OURS
#define USE(name, x) STAP_PROBE1(odd, name, x)
#elif defined(VECTOR) /* more than FASTSDT takes in C */
#define USE(name, x) STAP_PROBE1(odd, name, x); USDT(odd, name, x)
#else
#define USE(name, x) STAP_PROBE1(odd, name, x); USDT_WITH_SEMA(odd, name, x); FASTSDT(odd, name, x)
#endif
#ifdef XMM
void odd(int a);
void odd(int a) { register int x __asm__("xmm0") = a; USE(xmm, x); }
#elif defined(VECTOR)
typedef int two __attribute__((vector_size(8)));
void odd(two v);
void odd(two v) { USE(vector, v); }
#elif defined(FIELDS)
struct fields { int a : 3; unsigned b : 5; long long c : 40; };
void odd(struct fields *p);
void odd(struct fields *p) { USE(a, p->a); USE(b, p->b); USE(c, p->c); }
#else
void odd(int a, short b, long long l, signed char c, unsigned u);
void odd(int a, short b, long long l, signed char c, unsigned u)
{
    USE(a, a); USE(b, b); USE(l, l); USE(c, c); USE(u, u); USE(k, -3);
}
#endif
E
sizes() { readelf -n odd.o | sed -n 's/^ *Arguments: //p' | sed 's/@.*//' | uniq | xargs; }
peer= # systemtap's header where it is installed
for dir in /usr/include /usr/include/"$(gcc -print-multiarch)"; do [ ! -e "$dir/sys/sdt.h" ] || peer=$dir; done
for c in $(have_of gcc-12 clang-14 clang-19); do
    for lang in c c++; do
        for job in SIGNED "SIGNED -mx32" "SIGNED -m32" VECTOR XMM FIELDS "FIELDS -m32" "FIELDS -mx32"; do
            for level in -O0 -O2; do
                read -ra args <<<"$c -x $lang $level -w -c odd.c -o odd.o -D$job"
                "${args[@]}" -DOURS -I"$INCLUDE" 2> log || fail "${args[*]}: $(head -5 log)"
                ours=$(sizes)
                if [ -n "$peer" ] && "${args[@]}" -I"$peer" 2> /dev/null; then
                    expect "sizes, ${args[*]}" "$ours" "$(sizes)"
                fi
            done
        done
    done
done
