#!/bin/bash
# Every reader takes every probe: argument strings hold nothing but constants and registers, whatever was passed, and gdb,
# bpftrace, perf and libbpf list, parse and attach them all.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the operands are those of x86-64"

# surface.c passes every type; these are what other headers cannot pass: globals, thread-local and vector values.
cat > hard.c <<'E'
#include "fastsdt.h"
#include <sys/sdt.h>
#include "usdt.h"
extern int external, table[16];
extern __thread long external_tls;
static __thread int tls = 3;
static long hidden_global = 4;
extern double external_double;
extern float floats[4];
int external, table[16];
__thread long external_tls;
double external_double = 2.5;
float floats[4] = {1, 2, 3, 4};
struct record { char c; short s; double d; struct record *next; };
int hard(struct record *r, double d, float f, int i);
int hard(struct record *r, double d, float f, int i)
{
    long on_stack[4] = {1, 2, 3, i};
    FASTSDT(hard, globals, external, table[i], table[3], hidden_global, &external, &table[i], table);
    STAP_PROBE4(hard, tls, external_tls, tls, &external_tls, &tls);
    USDT(hard, reals, external_double, floats[i], d, f, d * f, floats[2], 1.5, 2.5f, r->d);
    FASTSDT(hard, memory, r->c, r->s, r->next, r->next->s, on_stack[i & 3], on_stack, *r->next);
    DTRACE_PROBE2(hard, computed, (char)(i >> 8), (unsigned short)(i * 3));
    FASTSDT(hard, twelve, external, external_tls, external_double, floats[1], r->c, r->s, on_stack[i & 3], tls, d, f, i,
            hidden_global);
    external += i;
    hidden_global += i;
    return (int)on_stack[i & 3];
}
int main(int argc, char **argv)
{
    static struct record one, two = {'c', 2, 3.5, &one};
    (void)argv;
    one.next = &two;
    return hard(&two, 4.5, 5.5f, argc) < 0;
}
E
sed -i 's/, \*r->next)/)/' hard.c
register='%([re]?([abcd]x|[sd]i|[bs]p)|r([89]|1[0-5])[dwb]?|[abcd]l|[sd]il|[bs]pl)'
argument="-?[1248]@(\\\$-?[0-9]+|$register)"
own=(-include fastsdt.h '-DP0(n)=FASTSDT(t,n)' '-DP1(n,a)=FASTSDT(t,n,a)'
    '-DP3(n,a,b,c)=FASTSDT(t,n,a,b,c)' '-DP12(n,...)=FASTSDT(t,n,__VA_ARGS__)')
for c in $(have_of gcc-11 gcc-12 clang-14 clang-19); do
    for options in -O0 -O1 -O2 -O3 -Os "-O2 -fPIC" "-O3 -fomit-frame-pointer -march=x86-64-v3" "-O2 -m64 -mcmodel=large"; do
        $c $options -fno-lto -I"$INCLUDE" hard.c -o hard
        notes hard '{args}' > arguments
        case $options in -O[02] | -Os)
            for lang in c c++; do
                compiler=$c
                [ $lang = c ] || compiler=$(cxx_of $c)
                have $compiler || continue
                $compiler -x $lang $options "${own[@]}" -I"$INCLUDE" "$here/surface.c" -o types
                notes types '{args}' >> arguments
            done ;;
        esac
        ! grep -vE "^($argument( $argument)*)?$" arguments > odd ||
            fail "$c $options: arguments that not every tracer takes: $(cat odd)"
    done
done

for c in $(have_of gcc-12 clang-19); do
    $c -g -O2 -I"$INCLUDE" hard.c -o hard
    $c -x c -O2 "${own[@]}" -I"$INCLUDE" "$here/surface.c" -o types
    for file in hard types; do
        notes $file '{probe}' | sort -u > probes
        [ "$(wc -l < probes)" -ge 6 ] || fail "too few probes"
        if have gdb; then
            gdb -nx -batch -ex 'info probes stap' $file 2> /dev/null | awk '$1 == "stap" {print $2 ":" $3}' |
                sort -u > got
            cmp -s got probes || fail "$c: gdb does not list: $(comm -13 got probes)"
        fi
        if have bpftrace; then
            bpftrace -l "usdt:$PWD/$file:*" 2> bpftrace.err | sed 's/.*:\([^:]*:[^:]*\)$/\1/' | sort -u > got
            cmp -s got probes || fail "$c: bpftrace does not list: $(comm -13 got probes) $(cat bpftrace.err)"
        fi
        if have perf && perf list sdt > /dev/null 2>&1; then
            perf --buildid-dir "$PWD/buildid" buildid-cache --purge "$PWD/$file" > /dev/null 2>&1 || true
            perf --buildid-dir "$PWD/buildid" buildid-cache --add "$PWD/$file"
            perf --buildid-dir "$PWD/buildid" list sdt 2> /dev/null |
                sed -n 's/^ *sdt_\([^ @]*\).*/\1/p' | sort -u > got
            comm -13 got probes > missing
            [ ! -s missing ] || fail "$c: perf does not list: $(cat missing)"
        fi
    done
    # gdb stops there and evaluates the arguments.
    if have gdb; then
        gdb -nx -batch -ex 'set confirm off' -ex 'break -probe-stap hard:memory' -ex run \
            -ex 'printf "%d %d %d %d\n", $_probe_argc, $_probe_arg0, $_probe_arg1, $_probe_arg4' \
            ./hard > gdb.out 2>&1 || true
        if grep -q 'ptrace: Operation not permitted\|not being run' gdb.out; then
            echo "gdb cannot run programs here"
        else
            expect "$c: arguments in gdb" "$(tail -1 gdb.out)" "6 99 2 2"
        fi
    fi
done

# libbpf parses every argument string when it attaches, and refuses the probe otherwise.
build_attach
for job in "gcc-12 -O0" "gcc-12 -O2" "clang-14 -O2" "clang-19 -O2"; do
    read -r c level <<< "$job"
    have $c || continue
    $c $level -I"$INCLUDE" hard.c -o hard
    $c -x c $level "${own[@]}" -I"$INCLUDE" "$here/surface.c" -o types
    files="hard types"
    [ "$level" = -O2 ] && [ $c != clang-14 ] || files=hard # each attached probe costs the kernel a while
    for file in $files; do
        attach $file $(notes $file '{probe}' | sort -u) -- ./$file > got 2> err ||
            fail "$job: libbpf: $(grep refused got; cat err)"
        [ "$(awk '$2 >= 1' got | wc -l)" = "$(wc -l < got)" ] || fail "$job: not hit: $(awk '$2 < 1' got)"
    done
done
