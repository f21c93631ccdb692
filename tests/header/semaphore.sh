#!/bin/bash
# Semaphores, each kind: where they lie, who shares one, and that a tracer counts them up and down.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"

# The program says what its semaphores are while it runs. Two files share the implicit one of a probe name.
cat > main.c <<'E'
#include <stdio.h>
#define _SDT_HAS_SEMAPHORES
#include <sys/sdt.h>
#include "usdt.h"
__extension__ unsigned short sema_stap_semaphore __attribute__((section(".probes")));
FASTSDT_DEFINE_SEMA(shared);
USDT_DEFINE_SEMA(usdt_shared);
int other(int i);
int main(int argc, char **argv)
{
    int i = 0;
    (void)argv;
    FASTSDT(sema, none, i);
    FASTSDT_WITH(default, implicit, sema, implicit, i);
    FASTSDT_WITH(default, explicit(shared), sema, explicit, i);
    USDT_WITH_SEMA(sema, usdt, i);
    USDT_WITH_EXPLICIT_SEMA(usdt_shared, sema, usdt_explicit, i);
    STAP_PROBE1(sema, stap, i);
    printf("implicit %d explicit %d usdt %d usdt_explicit %d stap %d\n", FASTSDT_IS_ACTIVE(sema, implicit),
           FASTSDT_SEMA_IS_ACTIVE(shared), USDT_IS_ACTIVE(sema, usdt), USDT_SEMA_IS_ACTIVE(usdt_shared), sema_stap_semaphore > 0);
    fflush(stdout);
    return other(argc);
}
E
cat > other.c <<'E'
#include <stdio.h>
#include "fastsdt.h"
FASTSDT_DECLARE_SEMA(shared);
int other(int i);
int other(int i)
{
    FASTSDT_WITH(nop, explicit(shared), sema, explicit2, i);
    FASTSDT_WITH(nop, implicit, sema, implicit, i);
    FASTSDT_WITH(nop, implicit, sema, implicit, i);
    printf("other: implicit %d explicit %d\n", FASTSDT_IS_ACTIVE(sema, implicit), FASTSDT_SEMA_IS_ACTIVE(shared));
    return 0;
}
E
cat > kinds <<'E'
explicit __usdt_sema_shared
explicit2 __usdt_sema_shared
implicit __usdt_sema_sema__implicit
none 0
stap sema_stap_semaphore
usdt __usdt_sema_sema__usdt
usdt_explicit __usdt_sema_usdt_shared
E
look() { # the notes refer to the semaphores the names promise, in writable data that is no code
    notes "$1" '{name} {sema:#x}' | sort -u | while read -r name address; do
        symbol=$(nm "$1" | awk -v a="$(printf '%016x' $((address)))" '$1 == a && $3 ~ /sema/ {print $3}')
        echo "$name ${symbol:-$((address))}"
    done > got
    cmp -s got kinds || fail "$2: semaphores: $(diff kinds got)"
    readelf -SW "$1" | grep ' \.probes ' | matches ' WA ' || fail "$2: .probes is not plain writable data"
    expect "$2: untraced" "$(./"$1")" "implicit 0 explicit 0 usdt 0 usdt_explicit 0 stap 0"$'\n'"other: implicit 0 explicit 0"
}
compiled=
for c in $(have_of gcc-12 gcc-11 clang-14 clang-19); do
    for options in -O0 -O2 "-O2 -flto -fuse-ld=$(case $c in gcc*) echo bfd ;; *) echo lld ;; esac)" \
        "-O2 -ffunction-sections -Wl,--gc-sections" "-O2 -fPIC -pie" "-O2 -static"; do
        $c $options -I"$INCLUDE" main.c other.c -o sema 2> log || { grep -q 'lld' log && continue; fail "$(cat log)"; }
        [[ $options = *flto* ]] || look sema "$c $options"
        [[ $options != *flto* ]] || ./sema > /dev/null
    done
    for lang in c++; do
        have $(cxx_of $c) || continue
        $(cxx_of $c) -x c++ -O2 -I"$INCLUDE" main.c other.c -o sema
    done
    $c -O2 -I"$INCLUDE" main.c other.c -o sema-$c
    compiled="$compiled $c"
done

# A template or an inline function seen in two files has one semaphore; a shared library and its user have each their own.
cat > inline.h <<'E'
#include "fastsdt.h"
template <typename T> int inside(T value)
{
    FASTSDT_WITH(default, implicit, sema, templated, value);
    return FASTSDT_IS_ACTIVE(sema, templated);
}
inline int outside(int value)
{
    FASTSDT_WITH(default, implicit, sema, inlined, value);
    return FASTSDT_IS_ACTIVE(sema, inlined);
}
E
printf '#include "inline.h"\nint second(); int main() { return inside(1) + outside(2) + second(); }\n' > first.cc
printf '#include "inline.h"\nint second() { return inside(1) + outside(2) + inside(3L); }\n' > second.cc
for c in $(have_of gcc-12 clang-14 clang-19); do
    for level in -O0 -O2; do
        have $(cxx_of $c) || continue
        $(cxx_of $c) $level -I"$INCLUDE" first.cc second.cc -o inlined
        ./inlined || fail "$c $level: active without a tracer"
        expect "$c $level: one semaphore per probe" "$(notes inlined '{name} {sema:#x}' | sort -u | wc -l)" 2
    done
done

# A provider file translated by systemtap's dtrace: its header and its object with the semaphores, over our sys/sdt.h.
if have dtrace; then
    cat > prov.d <<'E'
provider prov {
    probe start(int, char *);
    probe plain();
    probe done__now(long);
};
E
    cat > user.c <<'E'
#include "prov.h"
int main(int argc, char **argv)
{
    if (PROV_START_ENABLED())
        PROV_START(argc, argv[0]);
    PROV_PLAIN();
    PROV_DONE_NOW(5L);
    return PROV_PLAIN_ENABLED() + PROV_DONE_NOW_ENABLED();
}
E
    CFLAGS="-I$INCLUDE" dtrace -h -s prov.d -o prov.h
    for c in $(have_of gcc-12 clang-19); do
        CC=$c CFLAGS="-O2 -I$INCLUDE" dtrace -G -s prov.d -o prov.o
        $c -O2 -Wall -Werror -I"$INCLUDE" user.c prov.o -o translated
        ./translated || fail "$c: semaphores of dtrace are active without a tracer"
        expect "$c: probes of a provider file" "$(notes translated '{probe} {args}' | sed 's/@[^ ]*//g' | sort)" \
            "$(printf 'prov:done__now -8\nprov:plain \nprov:start -4 8')"
        notes translated '{sema:#x} {name}' | sort -u | while read -r address name; do
            nm translated |
                grep -q "$(printf '%016x' $((address))) . prov_${name}_semaphore" || fail "$c: semaphore of $name"
        done
    done
fi

# Tracees: libbpf and bpftrace count the semaphore up where the note says, for the time they are attached.
[ -z "${FASTSDT_COMPILERS:-}" ] || { echo "where they lie and who shares one:$compiled"; exit 0; } # the rest is not the compiler's
build_attach
for c in $compiled; do
    for probe in implicit:implicit explicit:explicit usdt:usdt usdt_explicit:usdt_explicit stap:stap; do
        word=${probe#*:} probe=${probe%:*}
        attach sema-$c sema:$probe -- ./sema-$c > got
        active=$(head -1 got | tr ' ' '\n' | paste - - | awk '$2 == 1 {print $1}')
        expect "$c: active while $probe is traced" "$active" "$word"
        # In the other file as well.
        case $probe in
        implicit) expect "$c: other file" "$(sed -n 2p got)" "other: implicit 1 explicit 0" ;;
        explicit) expect "$c: other file" "$(sed -n 2p got)" "other: implicit 0 explicit 1" ;;
        esac
    done
    attach sema-$c sema:none -- ./sema-$c > got
    expect "$c: the probe without" "$(head -1 got)" "implicit 0 explicit 0 usdt 0 usdt_explicit 0 stap 0"
    attach sema-$c sema:implicit -- ./sema-$c > got
    expect "$c: hits of one name in two files" "$(tail -1 got | cut -d' ' -f1,2)" "sema:implicit 3"
done
if have bpftrace; then
    set -- $compiled
    bpftrace -e "usdt:$PWD/sema-$1:sema:implicit { @ = count(); } usdt:$PWD/sema-$1:sema:stap { @ = count(); }" \
        -c "$PWD/sema-$1" > got 2> err || fail "$(cat err)"
    grep -q '^implicit 1 explicit 0 usdt 0 usdt_explicit 0 stap 1$' got || fail "bpftrace: $(cat got)"
    grep -q '^@: 4$' got || fail "bpftrace: $(cat got)"
fi
