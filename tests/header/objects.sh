#!/bin/bash
# Objects and wide values as arguments: through sys/sdt.h and usdt.h whatever the peers accept, and the note says where it is:
# gdb reads each value back from there.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/header/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "the operands are those of x86-64"
need gdb

cat > objects.cc <<'E'
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/sdt.h>
#include "usdt.h"
struct Copied { int value; explicit Copied(int v) : value(v) {} Copied(const Copied &o) : value(o.value) {} };
struct Pinned { long value; explicit Pinned(long v) : value(v) {} Pinned(const Pinned &) = delete; };
struct Three { char c[3]; };
__attribute__((noinline)) int run(int i)
{
    std::atomic<int> atomic(i + 41);
    std::unique_ptr<int> pointer;
    std::optional<int> optional(i + 1);
    Copied copied(i + 6);
    Pinned pinned(i + 7);
    std::string string("text");
    std::string_view view("seen", 4);
    Three three = {{(char)i, 2, 3}};
    __int128 wide = i + 8;
    long double real = i;
    STAP_PROBE5(objects, stap, atomic, pointer, optional, copied, pinned);
    USDT(objects, usdt, atomic, pointer, optional, copied, pinned);
    FASTSDT(objects, own, atomic, pointer, optional, copied, pinned);
    STAP_PROBE4(objects, stap_wide, wide, three, string, i);
    USDT(objects, usdt_wide, view, real, three, wide, copied, i);
    USDT_WITH_SEMA(objects, sema_wide, wide);
    return i;
}
int main(int argc, char **) { return run(argc) - 1; }
E
cat > objects.c <<'E'
#include <sys/sdt.h>
#include "usdt.h"
struct two { long a, b; };
struct four { char a, b[3]; };
__attribute__((noinline)) int run(int i)
{
    struct two two = {i, i + 1};
    struct four four = {(char)i, {2, 3, 4}};
    __int128 wide = i + 8;
    STAP_PROBE4(objects, stap_wide, wide, two, four, i);
    USDT(objects, usdt_wide, i, two, wide);
    USDT(objects, four, four);
    return i;
}
int main(int argc, char **argv) { (void)argv; return run(argc) - 1; }
E
value() { # value ARGUMENT: a gdb expression: its first 8 bytes at most, from where the note says, or the constant
    local size=${1%%@*} at=${1#*@} type
    size=${size#-}
    case $size in 1 | 3) type=char ;; 2) type=short ;; 4) type=int ;; *) type=long ;; esac
    at=${at//%/\$}
    case $at in
    \(*) echo "*($type *)$at" ;;
    \$[0-9-]*) echo "($type)${at#\$}" ;;
    *) echo "($type)$at" ;;
    esac
}
judge() { # judge WHAT PROGRAM [PROBE VALUES]...: probes in the order in which they run; one gdb for all of them
    local what=$1 program=$2 args a probe wanted=
    shift 2
    echo 'set confirm off' > gdb.in
    for probe in $(printf '%s\n' "$@" | sed -n 'p;n'); do echo "break -probe-stap objects:$probe" >> gdb.in; done
    echo run >> gdb.in
    while [ $# -gt 0 ]; do
        args=$(notes $program '{name} {args}' | sed -n "s/^$1 //p" | sed -n 1p)
        echo "printf \"READ $1\"" >> gdb.in
        for a in $args; do echo "printf \" %ld\", (long)($(value "$a")) & 0xffffffffff"; done >> gdb.in
        printf 'echo \\n\ncontinue\n' >> gdb.in
        wanted="${wanted}READ $1 $2"$'\n'
        shift 2
    done
    # 40 bits: an optional<int> has nothing in its last three bytes. Nothing here needs the debug information of libraries, nor the probes of libc
    # and libstdc++.
    gdb -nx -batch -iex 'set auto-solib-add off' -x gdb.in ./$program > gdb.out 2>&1 || true
    ! grep -q 'ptrace: Operation not permitted\|not being run' gdb.out || { echo "gdb cannot run programs here"; return 0; }
    expect "$what: $(notes $program '{name} {args}')" "$(grep READ gdb.out)" "${wanted%$'\n'}"
}
for c in $(have_of gcc-12 clang-19); do
    for level in -O0 -O2; do
        $c $level -I"$INCLUDE" objects.c -o objects-c || fail "$c $level"
        judge "$c $level" objects-c stap_wide "9 1 67305985 1" usdt_wide "1 1 9" # 67305985: 01 02 03 04
        expect "$c $level: sizes" "$(notes objects-c '{args}' | grep -oE -- '-?[0-9]+@' | xargs)" "-16@ 16@ 4@ -4@ -4@ 16@ -16@ 4@"
        have $(cxx_of $c) || continue
        $(cxx_of $c) -std=c++17 $level -I"$INCLUDE" objects.cc -o objects-cc || fail "$(cxx_of $c) $level"
        for probe in stap usdt own; do
            args=$(notes objects-cc '{name} {args}' | sed -n "s/^$probe //p" | sed 's/@[^ ]*//g')
            expect "$c $level: sizes of $probe" "$args" "-4 8 8 4 8"
        done
        expect "$c $level: wide sizes" "$(notes objects-cc '{name} {args}' | sed -n 's/^usdt_wide //p' | sed 's/@[^ ]*//g')" "16 16 3 16 4 -4"
        judge "$(cxx_of $c) $level" objects-cc own "42 0 4294967298 7 8" sema_wide "9"
    done
done

# Beside an argument that is in memory, an array or a function is still the pointer that it decays to, in C and in C++.
cat >beside.c <<'E'
#include <stdio.h>
#include <sys/sdt.h>
#include "usdt.h"
struct wide { long a, b; };
char text[8] = "hello";
const char *const words[] = {"a", "b"};
static int callee(int a) { return a; }
static int variadic(const char *a, ...) { return !a; }
#ifdef __cplusplus
template <typename T> void generic(T &t, wide w) { USDT(beside, generic, t, w); }
#else
#define generic(t, w) USDT(beside, generic, t, w)
#endif
int main(int argc, char **argv)
{
    struct wide w = {5, 6};
    long l = argc;
    printf("expected %p %p %p %p 7 %p %p 1\n", (void *)callee, (void *)variadic, (void *)text, (void *)words, (void *)text, (void *)callee);
    fflush(stdout);
    STAP_PROBE5(beside, stap, callee, variadic, text, words, w);
    USDT(beside, usdt, l + 6, w);
    generic(text, w);
    generic(callee, w);
    generic(l, w);
    return 0;
}
E
cat >beside.py <<'E'
import gdb, re, subprocess
sites = {int(pc, 16): text for pc, text in re.findall(r"Location: 0x([0-9a-f]+).*\n\s*Arguments: (.*)",
         subprocess.run(["readelf", "-nW", "beside"], capture_output=True, text=True).stdout)}
for pc in sites:
    gdb.execute("break *%d" % pc, to_string=True)
values = []
gdb.execute("run")
while gdb.selected_inferior().pid:
    for size, register in re.findall(r"(-?\d+)@\(%(\w+)\)", sites[gdb.selected_frame().pc()]):
        if size in ("8", "-8"):
            values.append(int(gdb.parse_and_eval("*(long *)$" + register)))
    gdb.execute("continue")
print("seen", *("0x%x" % v if v > 9 else v for v in values))
E
for c in $(have_of gcc-12 clang-14 clang-19); do
    for compiler in "$c" "$(cxx_of "$c") -x c++ -std=c++98" "$(cxx_of "$c") -x c++ -std=c++17"; do
        for level in -O0 -O2; do
            $compiler -w $level -no-pie -fno-pie -I"$INCLUDE" beside.c -o beside || fail "$compiler $level"
            gdb -q -nx -batch -iex 'set debuginfod enabled off' -x beside.py ./beside >out 2>&1 || fail "gdb: $(cat out)"
            expect "$compiler $level" "$(sed -n 's/^seen //p' out)" "$(sed -n 's/^expected //p' out)"
        done
    done
done

# A probe in an exported inline function of a module.
printf 'module;\n#include <sys/sdt.h>\nexport module m;\nexport inline int traced(int x) { DTRACE_PROBE1(md, inl, x); return x + 1; }\n' >m.cc
printf 'import m;\nint main() { return traced(1) != 2; }\n' >u.cc
for cxx in g++-11 g++-12; do
    have $cxx || continue
    rm -rf gcm.cache
    $cxx -std=c++20 -fmodules-ts -O1 -isystem "$INCLUDE" -c m.cc -o m.o && $cxx -std=c++20 -fmodules-ts -O1 u.cc m.o -o u || fail "$cxx: a module"
    ./u || fail "$cxx: the module's program"
    expect "$cxx: probes of a module" "$(readelf -n u | grep -c 'Provider: md')" 1
done
