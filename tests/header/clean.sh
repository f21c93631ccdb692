#!/bin/bash
# The headers compile without a warning wherever their users have them: compilers, standards, options, warnings.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"

compilers=$(have_of gcc-11 gcc-12 clang-14 clang-16 clang-19)
older=clang-14
! whole || older=
cp "$FASTSDT_SOURCE/tests/header/all.c" .
cp all.c all.cc

# Warnings that projects have on. Those of -Weverything that name a choice of language or style, not a fault, are off:
# -Wc++-keyword takes the word in explicit(sema), which FASTSDT_WITH pastes, for an identifier.
common="-Werror -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef -Wredundant-decls \
-Wmissing-declarations -Wfloat-equal -Wdouble-promotion -Wformat=2 -Wunused-macros -Wwrite-strings"
gcc_c="-Wstrict-prototypes -Wmissing-prototypes -Wlogical-op -Wduplicated-cond -Wjump-misses-init"
gcc_cc="-Wold-style-cast -Wuseless-cast -Wextra-semi -Wlogical-op -Wduplicated-cond"
clang_c="-Weverything -Wno-unknown-warning-option -Wno-unsafe-buffer-usage -Wno-declaration-after-statement -Wno-padded -Wno-c++-keyword \
-Wno-reserved-macro-identifier -Wno-reserved-id-macro"
clang_cc="-Weverything -Wno-unknown-warning-option -Wno-c++98-compat -Wno-unsafe-buffer-usage -Wno-padded \
-Wno-reserved-macro-identifier -Wno-reserved-id-macro"

knows() { # knows COMPILER-ARGS...: a compiler of this version has this standard or option; what it does not have is printed
    "$@" -S -o /dev/null /dev/null > /dev/null 2>&1 || { echo "unknown: $*"; return 1; }
}
runs=0 failures=0
bad() { failures=$((failures + 1)); printf 'FAIL: %s\n' "$*" >&2; }
clean() { # clean COMMAND...: it succeeds and says nothing
    local out status=0
    runs=$((runs + 1))
    out=$("$@" 2>&1) || status=$?
    [ $status != 0 ] || [ -n "$out" ] || return 0
    bad "status $status: $*"$'\n'"$(printf '%s\n' "$out" | grep -E 'error|warning' | sed -n 1,4p)"
}

# Standards.
for c in $compilers; do
    case $c in gcc*) extra_c=$gcc_c extra_cc=$gcc_cc ;; *) extra_c=$clang_c extra_cc=$clang_cc ;; esac
    # The first version with this warning has it for what macros of system headers declare, too.
    [ $c != clang-13 ] || extra_c="$extra_c -Wno-reserved-identifier" extra_cc="$extra_cc -Wno-reserved-identifier"
    for std in c89 c99 c11 c17 c2x c2y gnu89 gnu99 gnu11 gnu17 gnu2x gnu2y; do
        knows $c -x c -std=$std || continue
        clean $c -std=$std $common $extra_c -I"$INCLUDE" -c all.c -o all.o
    done
    cxx=$(cxx_of $c)
    have $cxx || continue
    for std in c++98 c++11 c++14 c++17 c++2a c++2b c++2c gnu++98 gnu++11 gnu++14 gnu++17 gnu++2a gnu++2b \
        gnu++2c; do
        knows $cxx -x c++ -std=$std || continue
        clean $cxx -std=$std $common $extra_cc -I"$INCLUDE" -c all.cc -o all.o
    done
done

# Options that change registers, sections and addressing. Linked and run where that means something.
for c in $compilers; do
    options="-O1 -O2 -O3 -Os -Og -Oz -fPIC -fPIE#-pie -ffixed-r15 -pg -fno-plt -mcmodel=large
        -fcf-protection=full -fno-omit-frame-pointer -fstack-protector-all -g3 -O2#-flto
        -fsanitize=undefined -march=x86-64-v3 -mno-red-zone
        -fsanitize=address -fsanitize=address#-O2 -fPIC#-O0#-ffixed-r15 -ftrapv -fshort-enums
        -funsigned-char -static -fno-asynchronous-unwind-tables"
    case $c in
    gcc*) options="$options -fwhole-program#-O2 -save-temps#-O2 -fno-toplevel-reorder -O2#-flto=auto#-flto-partition=max
        -mcmodel=large#-O2#-fno-pic#-no-pie" ;;
    *) options="$options -O2#-flto=thin -fintegrated-as#-gsplit-dwarf -O2#-fbasic-block-sections=all
        -fno-integrated-as -O2#-fno-integrated-as -save-temps" ;;
    esac
    case $c in # the rest: older and newer
    gcc-11 | clang-16 | "$older") options="-O2 -fPIC#-O0 -O2#-flto=auto -g3 -pg -fcf-protection=full" ;;
    esac
    for option in $options; do
        args=${option//#/ }
        case $c:$args in
        clang*:*-ffixed-r15*) continue ;; # not an option of clang
        # The header cannot see which assembler clang uses.
        clang*:*-fno-integrated-as*) ! binutils_before 2.36 as || { echo "gas that warns: $c $args"; continue; } ;;
        clang-14:*sanitize*) continue ;;                        # its run-time library is a package of its own
        esac
        case $c:$args in clang*-flto*) args="${args/=auto/} -fuse-ld=lld" ;; esac
        knows $c -x c $args || continue
        for lang in c cc; do
            compiler=$c
            [ $lang = c ] || compiler=$(cxx_of $c)
            have $compiler || continue
            clean $compiler -Wall -Wextra -Werror $args -I"$INCLUDE" all.$lang -o all
            names=$(readelf -n all | sed -n '/Provider: lib[cm]$/{n; d}; s/^ *Name: //p' | sort -u | wc -l) # some are several sites
            [ "$names" = 20 ] && ./all || bad "$names probes of 20, or the program fails: $compiler $args all.$lang"
        done
    done
done
rm -f gmon.out ./*.i ./*.ii ./*.s ./*.bc

# Included with -I, where the headers are no system's until they say so: reserved names of guards, and semaphores that are defined without
# having been declared.
cat >everything.c <<'E'
#include <sys/sdt.h>
#include <usdt.h>
#include <fastsdt.h>
USDT_DEFINE_SEMA(everything);
FASTSDT_DEFINE_SEMA(own);
void f(int a);
void f(int a)
{
    FASTSDT_WITH(default, explicit(own), t, own, a);
    USDT_WITH_EXPLICIT_SEMA(everything, t, usdt, a);
    STAP_PROBE1(t, stap, a);
}
E
cp everything.c everything.cc
for c in $compilers; do
    [[ $c = clang* ]] || continue
    for off in "" -DFASTSDT_DISABLE; do
        clean $c -Werror ${clang_c%-Wno-reserved-macro*} $off -I"$INCLUDE" -c everything.c -o everything.o
        ! have "$(cxx_of $c)" || clean "$(cxx_of $c)" -Werror ${clang_cc%-Wno-reserved-macro*} $off -I"$INCLUDE" -c everything.cc -o everything.o
    done
done

# Preprocessed first, as compiler caches do: the header is a system's only as far as the markers of lines say so, and not at all with -P. What is
# left are names and casts, of which clang warns for the headers of systemtap and libbpf too.
for c in $compilers; do
    case $c in
    clang*) more="-Weverything -Wno-unknown-warning-option -Wno-gnu-line-marker -Wno-unreachable-code -Wno-reserved-identifier -Wno-old-style-cast
        -Wno-c++98-compat -Wno-c++98-compat-pedantic" ;;
    gcc-12) more= ;;
    *) continue ;; # gcc 11 cannot be told that variadic templates are meant in C++98
    esac
    for std in c89 gnu17 c++98 gnu++17; do
        case $std in *++*) compiler=$(cxx_of $c) lang=cc out=everything.ii ;; *) compiler=$c lang=c out=everything.i ;; esac
        have "$compiler" || continue
        for markers in "" -P; do
            clean $compiler -std=$std -Werror $more $markers -E -I"$INCLUDE" everything.$lang -o $out
            clean $compiler -std=$std -Werror $more -c $out -o everything.o
        done
    done
done

# Alone, in every order, twice, and as one copied file.
for order in "fastsdt.h" "sys/sdt.h" "usdt.h" "sys/sdt-config.h" "fastsdt/note.h" "fastsdt.h sys/sdt.h usdt.h" \
    "fastsdt.h usdt.h sys/sdt.h" \
    "sys/sdt.h fastsdt.h usdt.h" "sys/sdt.h usdt.h fastsdt.h" "usdt.h fastsdt.h sys/sdt.h" "usdt.h sys/sdt.h fastsdt.h" \
    "fastsdt/note.h fastsdt.h sys/sdt.h usdt.h" "usdt.h usdt.h sys/sdt.h sys/sdt.h fastsdt.h fastsdt.h" \
    "fastsdt.h fastsdt/note.h fastsdt/recognize.h"; do
    for lang in c cc S; do
        : > order.$lang
        for header in $order; do echo "#include <$header>" >> order.$lang; done
        if [ $lang = S ]; then
            case $order in *recognize.h*) continue ;; esac
            tail=
            [[ $order != *fastsdt.h* ]] || tail="FASTSDT(test, own, -4@%eax)"$'\n'
            [[ $order != *sys/sdt.h* ]] || tail="${tail}STAP_PROBE1(test, stap, -4@%eax)"$'\n'
        else
            echo 'int main(void) { int i = 3;' >> order.$lang
            tail='(void)i; return 0; }'
            [[ $order != *fastsdt.h* ]] || tail="FASTSDT(test, own, i); $tail"
            [[ $order != *sys/sdt.h* ]] || tail="STAP_PROBE1(test, stap, i); $tail"
            [[ $order != *\ usdt.h* && $order != usdt.h* ]] || tail="USDT(test, usdt, i); $tail"
        fi
        printf '%s\n' "$tail" >> order.$lang
        for c in $compilers; do
            compiler=$c
            [ $lang != cc ] || compiler=$(cxx_of $c)
            have $compiler || continue
            clean $compiler -Wall -Wextra -Werror -I"$INCLUDE" -c order.$lang -o order.o
        done
    done
done
rm -rf single && mkdir single && cp "$INCLUDE/fastsdt.h" single/
printf '#include "fastsdt.h"\nint main(void) { FASTSDT(test, single); return 0; }\n' > single/single.c
(cd single && clean gcc -nostdinc -std=c89 -Wall -Wextra -Wpedantic -Werror single.c -o single)
readelf -n single/single | matches 'Name: single' || fail "the copied header gives no probe"

# Programs have macros of their own.
words="byte weak size hidden nop nop1 nop5 nop10 nop1_nop4 none note asm reloc site layout semaphore name
    provider args value code section visibility annotate fastprobe implicit explicit named systemtap custom sema can
    kind shape bound flags signed_
    T N x n c p space type ifndef endif balign pushsection popsection x86 PLAIN CALL
    R_X86_64_NONE R_AARCH64_NONE"
for word in $words; do printf '#define %s 17 + struct oops\n' $word; done > hostile.h
# Names that the program itself writes as arguments expand like any argument, so that part of the source is left out.
sed -e 's/^#include "fastsdt.h"/#include "hostile.h"\n&/; /FASTSDT_WITH/d; s/FASTSDT_IS_ACTIVE(test, implicit)/i > 1/' \
    -e 's/test, none/test, nothing/; s/test, active/test, act/; s/text/words/g' all.c > hostile.c
cp hostile.c hostile.cc
for c in $compilers; do
    clean $c -I"$INCLUDE" -I. -c hostile.c -o hostile.o
    ! have $(cxx_of $c) || clean $(cxx_of $c) -I"$INCLUDE" -I. -c hostile.cc -o hostile.o
done
[ $failures = 0 ] || fail "$failures of $runs compilations"
echo "$runs compilations without a word"
