#!/bin/bash
# What cannot work is a compile-time error that says what to do, and what looks odd but can work compiles.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"

compilers=$(have_of gcc-11 gcc-12 clang-14 clang-19)
# refused WHAT TEXT COMPILER-ARGS... : source on standard input, does not compile, and the message contains TEXT
refused() {
    local what=$1 text=$2 out
    shift 2
    ! out=$("$@" -I"$INCLUDE" -c -o out.o - 2>&1) || fail "$what: compiles: $*"
    grep -q -- "$text" <<< "$out" || fail "$what: $*: no '$text' in"$'\n'"$out"
}
accepted() {
    local what=$1 out
    shift
    out=$("$@" -I"$INCLUDE" -c -o out.o - 2>&1) || fail "$what: $*"$'\n'"$out"
}
nop5=FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1
nop10=FASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2
probe() { # probe LAYOUT: a file with one site of it
    printf '#include "fastsdt.h"\nvoid f(void) { FASTSDT_WITH(%s, none, test, probe); }\n' "$1"
}
for c in $compilers; do
    for lang in c c++; do
        [ $lang = c ] || have ${c/gcc/g++} || continue
        compile="$c -x $lang"
        # Layouts by site and by file.
        for layout in nop1 nop1_nop4 nop1_nop10 nop default; do
            probe $layout | accepted "site $layout" $compile
            [ $layout = default ] || probe default | accepted "file $layout" $compile -DFASTSDT_LAYOUT=$layout
        done
        for layout in nop5 nop1_nop5; do
            probe $layout | refused "site $layout" $nop5 $compile
            probe default | refused "file $layout" $nop5 $compile -DFASTSDT_LAYOUT=$layout
            probe $layout | refused "site $layout, the other opt-in" $nop5 $compile -D$nop10
            probe $layout | accepted "site $layout with its opt-in" $compile -D$nop5
            probe default | accepted "file $layout with its opt-in" $compile -D$nop5 -DFASTSDT_LAYOUT=$layout
        done
        probe nop10 | refused "site nop10" $nop10 $compile
        probe default | refused "file nop10" $nop10 $compile -DFASTSDT_LAYOUT=nop10
        probe nop10 | refused "site nop10, the other opt-in" $nop10 $compile -D$nop5
        probe nop10 | accepted "site nop10 with its opt-in" $compile -D$nop10
        probe nop7 | refused "an unknown layout" nop7 $compile
        probe default | refused "an unknown layout of a file" 'none of nop, nop1' $compile -DFASTSDT_LAYOUT=nop7
        probe default | refused "no layout" 'fastsdt' $compile -DFASTSDT_LAYOUT=
        # Boundaries.
        for bound in 1 2 3 13 -1 64; do probe default |
            refused "bound $bound" 'FASTSDT_BOUND is the log2' $compile -DFASTSDT_BOUND=$bound; done
        for bound in 0 4 5 6 12; do probe default | accepted "bound $bound" $compile -DFASTSDT_BOUND=$bound; done
        # Arguments that do not fit into a register: FASTSDT refuses them, the headers of others accept them as theirs do.
        for type in __int128 "unsigned __int128" "long double" "struct { long a[2]; }" "struct { char a[3]; }" \
            "struct { char a[5]; }"; do
            for macro in "FASTSDT(test, wide, x)" "FASTSDT(test, wide, 1, 2, x, 4)"; do
                printf '#include "fastsdt.h"\nvoid f(void) { static %s x; %s; }\n' "$type" "$macro" |
                    refused "$macro with $type" 'not[_ ]of[_ ]1,*[_ ]2,*[_ ]4[_ ]or[_ ]8[_ ]bytes' $compile
            done
            printf '#include <sys/sdt.h>\n#include "usdt.h"\nvoid f(void) { static %s x; STAP_PROBE1(test, wide, x);
                DTRACE_PROBE2(test, wide, 1, x); USDT(test, wide, x); USDT_WITH_SEMA(test, wide, 1, x); }\n' "$type" |
                accepted "sys/sdt.h and usdt.h with $type" $compile -Wall -Wextra -Werror
        done
        # Names that no tracer could ask for, also where probes are switched off.
        for off in "" -DFASTSDT_DISABLE; do
            for macro in "FASTSDT(app)" "FASTSDT(, name, 1)" "FASTSDT(app, , 1)" "FASTSDT_WITH(default, none, app)" \
                "FASTSDT_WITH(default, implicit, , name)" "FASTSDT_NAMED(, name, (int, x, 1))"; do
                printf '#include "fastsdt.h"\nvoid f(void) { %s; }\n' "$macro" |
                    refused "$macro" "a probe has a provider and a name" $compile $off
            done
            printf '#include "fastsdt.h"\nvoid f(void) { FASTSDT("app", "name", 1); }\n' |
                refused "names in quotes" "past.*_FASTSDT_NAME_" $compile $off
            printf '#include "fastsdt.h"\nvoid f(void) { FASTSDT(my-app, a.b, 1); FASTSDT(default, int); FASTSDT(app, x,\n1); }\n' |
                accepted "odd names" $compile -Wall -Wextra -Werror $off
        done
        printf '#include "fastsdt.h"\nvoid f(void) { FASTSDT(test, thirteen, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13); }\n' |
            refused "thirteen arguments" "at most 12 arguments" $compile
        # No word of the headers' but those that they document is a macro: any other may name a probe.
        printf '#include "fastsdt.h"\n#include "usdt.h"\n#include <sys/sdt.h>\nstruct usdt_sema *p;
            void f(int usdt_sema) { USDT(usdt_sema, fastsdt_sema, usdt_sema); STAP_PROBE1(usdt_sema, fastsdt_sema, usdt_sema); }\n' |
            accepted "a probe named usdt_sema" $compile
        expect "the name of a probe named usdt_sema" "$(grep -cz '^usdt_sema$' out.o)" 2
        # -masm=intel: %rdi would be rdi, and $7 would be 7, which no tracer reads. A probe without arguments has no operands.
        if [ "$(uname -m)" = x86_64 ]; then
            for macro in "FASTSDT(test, intel, x, 7)" "STAP_PROBE1(test, intel, x)" "USDT_WITH_SEMA(test, intel, x)"; do
                printf '#include "fastsdt.h"\n#include "usdt.h"\n#include <sys/sdt.h>\nvoid f(int x) { %s; }\n' "$macro" |
                    refused "$macro with -masm=intel" "use -masm=att" $compile -masm=intel
            done
            printf '#include "fastsdt.h"\n#include <sys/sdt.h>\nvoid f(void) { FASTSDT(test, none); STAP_PROBE(test, none); }\n' |
                accepted "-masm=intel without arguments" $compile -masm=intel
        fi
        printf '#include "fastsdt.h"\nstruct s { long a[2]; };\nvoid f(struct s x) { FASTSDT(test, structure, x); }\n' |
            refused "a large structure" "not.of.1,*.2,*.4.or.8.bytes" $compile
        printf '#include "fastsdt.h"\nvoid f(void) { FASTSDT_WITH(default, sometimes, test, semaphore); }\n' |
            refused "an unknown semaphore" error $compile
        # Bit-fields, in all three headers' macros: any size that holds them.
        cat > fields.h <<'E'
#include "fastsdt.h"
#include <sys/sdt.h>
#include "usdt.h"
struct fields { unsigned a : 1; int b : 31; unsigned long c : 40; signed char d : 3; _Bool_ e : 1; };
void f(struct fields *p);
void f(struct fields *p) {
    FASTSDT(test, fields, p->a, p->b, p->c, p->d, p->e);
    STAP_PROBE1(test, one, p->b); USDT(test, two, p->c); }
E
        accepted "bit-fields" $compile -D_Bool_=$([ $lang = c ] && echo _Bool || echo bool) -Wall -Wextra -Werror < fields.h
    done
    # Assembly.
    for layout in nop5 nop1_nop5; do
        printf '#include "fastsdt.h"\nFASTSDT_WITH(%s, none, test, probe)\n' $layout |
            refused "assembly, site $layout" $nop5 $c -x assembler-with-cpp
        printf '#include "fastsdt.h"\nFASTSDT_WITH(%s, none, test, probe)\n' $layout |
            accepted "assembly, site $layout" $c -D$nop5 -x assembler-with-cpp
    done
    printf '#include "fastsdt.h"\nFASTSDT_WITH(nop10, none, test, probe)\n' |
        refused "assembly, nop10" $nop10 $c -x assembler-with-cpp
    for macro in "FASTSDT(app)" "FASTSDT(, name)" "FASTSDT_WITH(default, none, app)"; do
        printf '#include "fastsdt.h"\n%s\n' "$macro" |
            refused "assembly, $macro" "a probe has a provider and a name" $c -x assembler-with-cpp
    done
    printf '#include "fastsdt.h"\nFASTSDT(test, probe)\n' |
        refused "assembly, file nop5" $nop5 $c -DFASTSDT_LAYOUT=nop5 -x assembler-with-cpp
done

# Where a layout does not exist.
others=
for c in aarch64-linux-gnu-gcc arm-linux-gnueabihf-gcc riscv64-linux-gnu-gcc s390x-linux-gnu-gcc; do ! have $c ||
    others="$others $c"; done
! echo 'int i;' | gcc -m32 -xc -c -o /dev/null - 2> /dev/null || others="$others gcc#-m32"
! have clang-19 || others="$others clang-19#--target=aarch64-linux-gnu clang-19#--target=loongarch64-linux-gnu"
for c in $others; do
    c=${c//#/ }
    layouts="nop5 nop1_nop4 nop1_nop5 nop10 nop1_nop10"
    case $c in *-m32) ;; *) layouts="$layouts nop1" ;; esac
    for layout in $layouts; do
        probe $layout | refused "site $layout" 'x86-64 only' $c -xc -D$nop5 -D$nop10
        probe default | refused "file $layout" 'x86-64 only' $c -xc -D$nop5 -D$nop10 -DFASTSDT_LAYOUT=$layout
    done
    printf '#include "fastsdt.h"\nFASTSDT_WITH(nop1_nop10, none, test, probe)\n' |
        refused "assembly, nop1_nop10" 'x86-64 only' $c -xassembler-with-cpp
    probe nop | accepted "site nop" $c -xc
    probe default | accepted "default" $c -xc
done
