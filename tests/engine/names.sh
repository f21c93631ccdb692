#!/bin/bash
# Functions are found by the names in their sources: of stripped programs in debug files, mini debug information and what a server has, of C++
# and Rust demangled, and inside of functions by an offset. Expected is what nm -C, readelf, objdump, gdb and bpftrace say of the same program.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc g++ objcopy strip nm objdump readelf xz python3
need_attachable
rm -rf ./* .debug # of the run before
try=user
[ "$(id -u)" != 0 ] || [ ! -e /sys/bus/event_source/devices/uprobe/type ] || try="user kernel"

cat >app.c <<'END'
#include <stdio.h>
#include <stdlib.h>
/* Functions whose first instruction has five bytes. */
#define BEGIN __asm__ volatile("movl $7, %%eax" ::: "eax")
__attribute__((noinline)) static int hidden(int x) { BEGIN; return x * 3; }
__attribute__((noinline)) int shown(int x) { BEGIN; return hidden(x) + hidden(x + 1); }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 10; ++i)
        sum += shown(i);
    printf("%d\n", sum);
    return 0;
}
END
gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic app.c -o full
id=$(readelf -n full | sed -n 's/.*Build ID: //p')
objcopy --only-keep-debug full full.debug
# in_folder DIR FILE: FILE as the debug file of full's build id
in_folder() { mkdir -p "$1/.build-id/${id:0:2}" && cp "$2" "$1/.build-id/${id:0:2}/${id:2}.debug"; }
in_folder good full.debug

# found WHAT PROGRAM OPTIONS...: hidden() is called 20 times, and has its name as func, in a stack, and in the lists; its address is nm's.
address=$(nm full | sed -n 's/^0*\([0-9a-f]*\) t hidden$/0x\1/p')
found() {
    local what=$1 program=$2 engine
    shift 2
    for engine in $try; do
        fastsdt-trace --engine "$engine" "$@" -e "uprobe:./$program:hidden { @[func, ustack(1)] = count(); }" -- "./$program" >out 2>err ||
            fail "$what, $engine: $(cat err out)"
        expect "$what, $engine" "$(sed -n '/^@/,/^]/p' out)" "$(printf '@[hidden, \n    hidden+0\n]: 20')"
    done
    fastsdt-trace "$@" -l "uprobe:./$program:hidden" >out 2>err || fail "$what, --list: $(cat err)"
    expect "$what, --list" "$(sed 's/  (.*//' out)" "uprobe:./$program:hidden"
    fastsdt-check "$@" --armable "$program" >out 2>err || fail "$what, --armable: $(cat err)"
    grep -q "^  $address  hidden  " out || fail "$what, --armable has no hidden at $address: $(cat out)"
    fastsdt-check "$@" --functions -v "$program" >out 2>err || fail "$what, --functions: $(cat err)"
    grep -q "^  hidden  $address  " out || fail "$what, --functions has no hidden at $address: $(cat out)"
}
found "the program as it was linked" full
strip -o stripped full
found "--debug-dir with build ids" stripped --debug-dir good
mkdir -p by_name && cp full.debug by_name/stripped.debug
found "--debug-dir with names" stripped --debug-dir "$PWD/by_name"
mkdir -p .debug && cp full.debug linked.debug && cp linked.debug .debug/
objcopy --add-gnu-debuglink=linked.debug stripped linked
rm linked.debug
found ".gnu_debuglink, in .debug" linked
mv .debug/linked.debug .
found ".gnu_debuglink, beside the program" linked
gcc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic -Wl,--build-id=none app.c -o full_without
objcopy --only-keep-debug full_without without.debug
strip -o plain full_without
objcopy --add-gnu-debuglink=without.debug plain without
found "a checksum in place of a build id" without
# Mini debug information, as gdb's manual makes it (gdb/doc/gdb.texinfo, MiniDebugInfo).
nm -D full --format=posix --defined-only | awk '{ print $1 }' | sort >exported
nm full --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' | sort >functions
comm -13 exported functions >kept
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=kept full.debug mini
xz -k mini
objcopy --add-section .gnu_debugdata=mini.xz stripped packed
found ".gnu_debugdata" packed
if have gdb; then
    # gdb has the same function there.
    expect "gdb" "$(gdb -nx -batch -ex 'info address hidden' packed 2>/dev/null | grep -o '0x[0-9a-f]*')" "$address"
fi

# All names: those of the program before it was stripped, but for parts and what no function is.
named() { nm "$1" | awk '$2 ~ /^[TtWw]$/ && $1 ~ /^[0-9a-f]+$/ && $3 !~ /^(_DYNAMIC|.*\.cold)/ { print $3 }' | LC_ALL=C sort -u; }
armable() { fastsdt-check --json "$@" --armable |
    python3 -c 'import json, sys; print(*sorted({f["name"] for f in json.load(sys.stdin)["files"][0]["functions"]}), sep="\n")'; }
expect "all functions" "$(armable stripped --debug-dir good)" "$(armable full)"
[ -z "$(comm -13 <(named full) <(armable full))" ] || fail "functions that nm does not have: $(comm -13 <(named full) <(armable full))"

# What is not of the same build is not used, and that is said; neither is what is damaged. Nothing else is harmed.
# refused WHAT PATTERN PROGRAM OPTIONS...
refused() {
    local what=$1 pattern=$2 program=$3
    shift 3
    ! fastsdt-trace --engine user "$@" -e "uprobe:./$program:hidden { @ = count(); }" -- "./$program" >out 2>err || fail "$what was used"
    matches -E "$pattern" <err || fail "$what: $(cat err)"
    matches -E "nothing match(ed|es) uprobe:./$program:hidden( so far)?: .* is stripped, and no debug file of it was found" <err ||
        fail "$what: $(cat err)"
    fastsdt-trace --engine user "$@" -e "uprobe:./$program:shown { @[ustack(1)] = count(); }" -- "./$program" >out 2>err ||
        fail "$what harms: $(cat err)"
    expect "$what: what the program itself has" "$(grep -c '^    shown+0$' out) $(grep -c '^]: 10$' out)" "1 1"
    matches -E "$pattern" <err || fail "$what, for a stack: $(cat err)"
}
sed 's/\* 3/* 5/' app.c >other.c
gcc -O1 -g -rdynamic other.c -o other
objcopy --only-keep-debug other other.debug
other=$(readelf -n other | sed -n 's/.*Build ID: //p')
in_folder wrong other.debug
refused "another build" "wrong/.build-id/.*: a debug file that is not used: its build id is $other, and $id is wanted" stripped --debug-dir wrong
fastsdt-check --debug-dir wrong --armable stripped 2>&1 >out | matches "its build id is $other, and $id is wanted" ||
    fail "fastsdt-check says nothing of it"
rm -rf by_name && mkdir by_name && cp other.debug by_name/without.debug && cp without without2 && mv without.debug gone
refused "another checksum" "without.debug: a debug file that is not used: its checksum is not" without2 --debug-dir by_name
for size in 20 100 2000; do
    head -c $size full.debug >cut && in_folder cut_$size cut
    refused "a file cut at $size" "cut_$size/.*: a debug file that is not used: (not an ELF|truncated|damaged)" stripped --debug-dir cut_$size
done
in_folder fifo full.debug && rm "fifo/.build-id/${id:0:2}/${id:2}.debug" && mkfifo "fifo/.build-id/${id:0:2}/${id:2}.debug"
refused "a FIFO" "not a regular file" stripped --debug-dir fifo
mkdir -p "file/.build-id" && echo >"file/.build-id/${id:0:2}" # no folder
! fastsdt-trace --debug-dir file -e 'uprobe:./stripped:hidden { @ = count(); }' -- ./stripped >out 2>err || fail "a file for a folder"
# Forty kilobytes that are 256 MB when they are unpacked: refused at a bounded cost.
python3 - <<'END'
import lzma, os
packer = lzma.LZMACompressor()
with open("bomb", "wb") as to:
    for _ in range(64):
        to.write(packer.compress(bytes(1 << 22)))
    to.write(packer.flush())
END
objcopy --add-section .gnu_debugdata=bomb stripped bombed
head -c 300 mini.xz >cut && objcopy --add-section .gnu_debugdata=cut stripped half
refused "an xz bomb" "bombed: .gnu_debugdata: it cannot be unpacked, or is larger" bombed
refused "a cut one" "half: .gnu_debugdata: it cannot be unpacked" half
python3 - <<'END'
import resource, subprocess
taken = subprocess.run(["fastsdt-check", "--armable", "bombed"], capture_output=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < 100 << 10, f"{peak} KiB"
END

# A server is asked only by --debuginfod. This one notes what it is asked for.
if [ -e "$(ldconfig -p | sed -n '0,/libdebuginfod\.so\.1 /s/.*libdebuginfod\.so\.1 .* => //p')" ]; then
    mkdir -p "served/buildid/$id" && cp full.debug "served/buildid/$id/debuginfo"
    cat >serve.py <<'END'
import functools, http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_request(self, *_):
        print(self.path, file=open("asked", "a"), flush=True)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory="served"))
print(server.server_port, flush=True)
server.serve_forever()
END
    mkfifo port
    python3 serve.py >port &
    server=$!
    trap 'kill $server' EXIT
    read -r number <port
    export DEBUGINFOD_URLS=http://127.0.0.1:$number DEBUGINFOD_CACHE_PATH=$PWD/cache DEBUGINFOD_PROGRESS=
    touch asked
    ! fastsdt-trace -e 'uprobe:./stripped:hidden { @[ustack] = count(); }' -- ./stripped >out 2>err || fail "a name without a debug file"
    fastsdt-check stripped >out && fastsdt-check --functions stripped >out && fastsdt-check --armable stripped >out
    expect "nobody was asked" "$(cat asked)" ""
    found "--debuginfod" stripped --debuginfod
    expect "who was asked" "$(sort -u asked)" "/buildid/$id/debuginfo"
    kill $server
    trap - EXIT
    rm -r cache
    ! fastsdt-trace --debuginfod -e 'uprobe:./stripped:hidden { @ = count(); }' -- ./stripped >out 2>err || fail "a server that is gone"
    matches 'debuginfod (http://127.0.0.1:.*) has not answered' <err || fail "a server that is gone: $(cat err)"
    unset DEBUGINFOD_URLS
fi

# C++: all overloads by the name in the source, one by its parameters, templates with and without arguments.
cat >cxx.cpp <<'END'
#include <cstdio>
#define BEGIN __asm__ volatile("movl $7, %%eax" ::: "eax")
namespace ns {
struct Class {
    __attribute__((noinline)) int f(int x);
    __attribute__((noinline)) int f(double x);
};
int Class::f(int x) { BEGIN; return x + 1; }
int Class::f(double x) { BEGIN; return int(x) + 2; }
template <class T> __attribute__((noinline)) T twice(T x) { BEGIN; return x + x; }
namespace {
__attribute__((noinline)) int hidden(int x) { BEGIN; return x * 3; }
} // namespace
} // namespace ns
extern "C" __attribute__((noinline)) int plain(int x) { BEGIN; return x - 1; }
int main()
{
    ns::Class c;
    int sum = 0;
    for (int i = 0; i < 10; ++i)
        sum += c.f(i) + c.f(double(i)) + c.f(i) + ns::twice(i) + int(ns::twice(1.5 * i)) + ns::hidden(i) + plain(i);
    std::printf("%d\n", sum);
}
END
g++ -O1 -g cxx.cpp -o cxx
# meant PROGRAM PATTERN NAME=HITS...: what a probe of the pattern counts, by the names that nm -C has
meant() {
    local program=$1 pattern=$2 engine
    shift 2
    for engine in $try; do
        fastsdt-trace --engine "$engine" -e "uprobe:./$program:$pattern { @[func] = count(); }" -- "./$program" >out 2>err ||
            fail "$pattern, $engine: $(cat err out)"
        expect "$pattern, $engine" "$(sed -n 's/^@\[\(.*\)\]: /\1=/p' out | LC_ALL=C sort)" "$(printf '%s\n' "$@" | LC_ALL=C sort)"
    done
    for name in "$@"; do
        nm -C "$program" | matches -F " ${name%=*}" || fail "nm -C has no ${name%=*}"
    done
}
meant cxx 'cpp:"ns::Class::f"' "ns::Class::f(int)=20" "ns::Class::f(double)=10"
meant cxx '"ns::Class::f"' "ns::Class::f(int)=20" "ns::Class::f(double)=10"
meant cxx 'cpp:"ns::Class::f(int)"' "ns::Class::f(int)=20"
meant cxx 'cpp:"ns::C*"' "ns::Class::f(int)=20" "ns::Class::f(double)=10"
meant cxx 'cpp:"*::twice"' "int ns::twice<int>(int)=10" "double ns::twice<double>(double)=10"
meant cxx 'cpp:"ns::twice<double>"' "double ns::twice<double>(double)=10"
meant cxx 'cpp:"ns::(anonymous namespace)::hidden(int)"' "ns::(anonymous namespace)::hidden(int)=10"
meant cxx 'cpp:"plain"' "plain=10"
meant cxx '_ZN2ns5Class1fEi' "ns::Class::f(int)=20"
fastsdt-trace -l 'uprobe:./cxx:cpp:"ns::*"' >out 2>err || fail "--list: $(cat err)"
expect "--list" "$(sed 's/  (.*//' out | LC_ALL=C sort)" "$(nm -C cxx | sed -n 's/.* [TtWw] \(.*ns::.*\)/uprobe:.\/cxx:cpp:"\1"/p' | LC_ALL=C sort)"
while read -r listed; do
    fastsdt-trace -e "${listed%%  (*} { @ = count(); }" -- ./cxx >one 2>err || fail "what is listed is no probe: $listed: $(cat err)"
    matches -E '^@: [12]0$' <one || fail "$listed: $(cat one)"
done <out
expect "--list --no-demangle" "$(fastsdt-trace --no-demangle -l 'uprobe:./cxx:*ns*' | sed 's/  (.*//' | LC_ALL=C sort)" \
    "$(nm cxx | sed -n 's/.* [TtWw] \(_ZN.*\)/uprobe:.\/cxx:\1/p' | grep ns | LC_ALL=C sort)"
fastsdt-trace --no-demangle -e 'uprobe:./cxx:cpp:"ns::Class::f(int)" { @[func, ustack(1)] = count(); }' -- ./cxx >out 2>err ||
    fail "--no-demangle: $(cat err)"
expect "--no-demangle" "$(grep -c '_ZN2ns5Class1fEi' out) $(grep -c 'ns::' out || true)" "2 0"
fastsdt-trace functions --functions 'ns::*' --json -- ./cxx >out 2>err || fail "functions: $(cat err)"
expect "functions" "$(sed -n 's/.*"function": *"\([^"]*\)".*/\1/p' out | LC_ALL=C sort)" \
    "$(nm -C cxx | sed -n 's/.* [TtWw] \(.*ns::.*\)/\1/p' | LC_ALL=C sort)"
fastsdt-trace record -o trace --functions './cxx:ns::Class::f' -- ./cxx >out 2>err || fail "record: $(cat err)"
fastsdt-trace export trace -o trace.json
expect "record" "$(grep -o '"name": *"[^"]*"' trace.json | grep -o 'ns::[^"]*' | sort -u)" "$(printf 'ns::Class::f(double)\nns::Class::f(int)')"
if have bpftrace && [ "$(id -u)" = 0 ]; then
    # As bpftrace lists it: by the quoted form, which 0.17 has too. It names what the linker names.
    for pattern in 'ns::Class::f' 'ns::Class::f(int)' '_ZN2ns5C*'; do
        expect "bpftrace lists $pattern" "$(fastsdt-trace -d ast -e "uprobe:./cxx:\"$pattern\" { @[probe] = count(); }" >/dev/null &&
            fastsdt-trace --engine "${try##* }" -e "uprobe:./cxx:\"$pattern\" { @[probe] = count(); }" -- ./cxx 2>/dev/null | sed -n 's/^@\[\(.*\)\]: .*/\1/p' | sort)" \
            "$(bpftrace -l "uprobe:./cxx:\"$pattern\"" 2>/dev/null | sort)"
    done
fi

# Rust: both manglings, and v0 by hand for a compiler that has none.
cat >v0.c <<'END'
#include <stdio.h>
#define BEGIN __asm__ volatile("movl $7, %%eax" ::: "eax")
int order(int) __asm__("_RNvNtCs1234_4shop5store5order");
int twice(int) __asm__("_RINvNtCs1234_4shop5store5twicelEB4_");
__attribute__((noinline)) int order(int x) { BEGIN; return x + 1; }
__attribute__((noinline)) int twice(int x) { BEGIN; return x * 2; }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 10; ++i)
        sum += order(i) + twice(i) + order(i);
    printf("%d\n", sum);
    return 0;
}
END
gcc -O1 v0.c -o v0
meant_by_us() { # as meant(), where nm writes a crate's hash too
    local try_nm
    try_nm=$(nm -C v0 | sed -n 's/.* T \(shop.*\)/\1/p' | sed 's/\[[0-9a-f]*\]//g' | sort | paste -sd' ')
    expect "nm -C without hashes" "$try_nm" "shop::store::order shop::store::twice::<i32>"
}
meant_by_us
for engine in $try; do
    fastsdt-trace --engine "$engine" -e 'uprobe:./v0:rust:"shop::store::*" { @[func, ustack(1)] = count(); }' -- ./v0 >out 2>err ||
        fail "v0: $(cat err)"
    expect "v0, $engine" "$(grep -v '^$' out | grep -v '^sites\|^[0-9]')" \
        "$(printf '@[shop::store::%s, \n    shop::store::%s+0\n]: %d\n' 'twice::<i32>' 'twice::<i32>' 10 order order 20)"
    fastsdt-trace --engine "$engine" -e 'uprobe:./v0:cpp:"shop::store::twice" { @[func] = count(); }' -- ./v0 >out 2>err || fail "v0: $(cat err)"
    expect "v0 without arguments, $engine" "$(grep '^@' out)" "@[shop::store::twice::<i32>]: 10"
done
if have rustc; then
    cat >shop.rs <<'END'
mod store {
    #[inline(never)]
    pub fn order(x: &mut Vec<u64>) { x.push(1) }
    pub struct Till { pub sum: u64 }
    impl Till {
        #[inline(never)]
        pub fn close(&mut self, x: &[u64]) { for v in x { self.sum += unsafe { std::ptr::read_volatile(v) } } }
    }
}
fn main() {
    let mut all = Vec::new();
    let mut till = store::Till { sum: 0 };
    for _ in 0..10 {
        store::order(&mut all);
        till.close(&all);
    }
    println!("{}", till.sum);
}
END
    for mangling in legacy v0; do
        # The older one is no stable option, though it was what everybody had.
        RUSTC_BOOTSTRAP=1 rustc -O -Z unstable-options -C symbol-mangling-version=$mangling shop.rs -o shop 2>log || fail "rustc: $(cat log)"
        case $mangling in legacy) linked=' _ZN4shop5store5order17h' ;; v0) linked=' _RNv.*4shop5store5order$' ;; esac
        nm shop | matches "$linked" || fail "rustc has not mangled as $mangling: $(nm shop | grep order)"
        for engine in $try; do
            # Rust's runtime handles SIGSEGV.
            fastsdt-trace --engine "$engine" --move-faulting -e 'uprobe:./shop:rust:"shop::store::order" { @[func] = count(); }
                uprobe:./shop:rust:"*Till*close" { @closed = count(); }' \
                -- ./shop >out 2>err || fail "rustc $mangling, $engine: $(cat err)"
            expect "rustc $mangling, $engine" "$(grep '^@' out)" "$(printf '@[shop::store::order]: 10\n@closed: 10')"
        done
    done
else
    echo "not tried: a program of rustc, which is not installed"
fi

# FUNCTION+OFFSET and an address inside: exactly where objdump has instructions.
cat >walk.c <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long walk(long x, long y)
{
    long z = x * 3 + y;
    for (long i = 0; i < 5; ++i)
        z = z * x + (y ^ i);
    __asm__ volatile("movl $1000, %%ecx\n\tmovl $2000, %%edx\n\taddl %%ecx, %%edx" ::: "ecx", "edx");
    return z + 12345678;
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 10; ++i)
        sum += walk(i, i + 1);
    printf("%ld\n", sum);
    return 0;
}
END
gcc -O1 walk.c -o walk
begin=$((0x$(nm walk | sed -n 's/ T walk$//p'))) size=$((0x$(nm -S walk | sed -n 's/^[0-9a-f]* \([0-9a-f]*\) T walk$/\1/p')))
objdump -d --no-show-raw-insn --disassemble=walk walk | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p' |
    while read -r at; do echo $((0x$at - begin)); done >begins
plain=$(./walk)
# The end of the loop is hit 50 times, all else 10 times, as the kernel counts with bpftrace or as we do.
at=$(objdump -d --no-show-raw-insn --disassemble=walk walk | sed -n 's/^ *\([0-9a-f]*\):\t.*0x3e8,%ecx.*/\1/p') at=$((0x$at - begin))
for engine in $try; do
    for probe in "walk+$((at + 5))" "walk+$(printf 0x%x $((at + 5)))" "$(printf 0x%x $((begin + at + 5)))"; do
        fastsdt-trace --engine "$engine" -e "uprobe:./walk:$probe { @[reg(\"cx\"), func] = count(); }" -- ./walk >out 2>err ||
            fail "$probe, $engine: $(cat err)"
        expect "$probe, $engine" "$(grep -v '^$\|^sites' out)" "$(printf '%s\n@[1000, walk]: 10' "$plain")"
    done
done
for offset in $(seq 1 $((size - 1))); do
    s=0
    fastsdt-trace --engine "${try##* }" -e "uprobe:./walk:walk+$offset { @ = count(); }" -- ./walk >out 2>err || s=$?
    runs=
    ! grep -qx "$offset" begins || runs=$plain
    expect "walk+$offset: what the program prints" "$(head -n 1 out)" "$runs"
    before=$(awk -v at=$offset '$1 < at { last = $1 } END { print last }' begins) after=$(awk -v at=$offset '$1 > at { print $1; exit }' begins)
    if grep -qx "$offset" begins; then
        matches -E '^@: (10|40|50)$' <out || fail "walk+$offset, where an instruction begins: $(cat out err)"
    else
        expect "walk+$offset, where none begins" "$(grep -o 'walk+[0-9]* is inside.*' err)" \
            "walk+$offset is inside of an instruction: they begin at walk+$before and walk+${after:-$size}"
    fi
done
! fastsdt-trace -e "uprobe:./walk:walk+$size { @ = count(); }" -- ./walk >out 2>err || fail "behind the end"
matches "walk has only $size bytes" <err || fail "behind the end: $(cat err)"
for bad in walk+x walk+1x 'walk+0x' walk+99999999999999999999; do
    s=0
    fastsdt-trace -e "uprobe:./walk:$bad { @ = count(); }" -- ./walk >out 2>err || s=$?
    [ $s != 0 ] || fail "$bad was taken"
done
! fastsdt-trace -e 'uretprobe:./walk:walk+4 { @ = count(); }' -- ./walk >out 2>err || fail "an exit with an offset"
matches "a function's exits have no offset" <err || fail "an exit with an offset: $(cat err)"
strip -o walk_stripped walk # an address needs no name
fastsdt-trace --engine "${try##* }" -e "uprobe:./walk_stripped:$(printf 0x%x $((begin + at + 5))) { @[reg(\"cx\")] = count(); }" \
    -- ./walk_stripped >out 2>err ||
    fail "an address of a stripped program: $(cat err)"
expect "an address of a stripped program" "$(grep '^@' out)" "@[1000]: 10"

# Several functions of one name: all of them.
printf '__attribute__((noinline)) static int same(int x) { __asm__ volatile("movl $7, %%%%eax" ::: "eax"); return x + %d; }\nint %s(int x) { return same(x) + 1; }\n' 1 one >one.c
printf '__attribute__((noinline)) static int same(int x) { __asm__ volatile("movl $7, %%%%eax" ::: "eax"); return x + %d; }\nint %s(int x) { return same(x) + same(x) + 1; }\n' 2 two >two.c
printf 'int one(int), two(int);\nint main(void) { int s = 0; for (int i = 0; i < 5; ++i) s += one(i) + two(i); return s == 1; }\n' >both.c
gcc -O1 one.c two.c both.c -o both
expect "of that name" "$(nm both | grep -c ' t same$')" 2
for engine in $try; do
    fastsdt-trace --engine "$engine" -e 'uprobe:./both:same { @ = count(); }' -- ./both >out 2>err || fail "two of one name: $(cat err)"
    expect "two of one name, $engine" "$(grep '^@' out)" "@: 15"
done
# One function by two names.
printf '__attribute__((noinline)) int first(int x) { __asm__ volatile("movl $7, %%%%eax" ::: "eax"); return x; }\nint second(int) __attribute__((alias("first")));\nint main(void) { return first(0) + second(0); }\n' >alias.c
gcc -O1 alias.c -o alias
fastsdt-trace -e 'uprobe:./alias:first { @first = count(); } uprobe:./alias:second { @second = count(); }' -- ./alias >out 2>err ||
    fail "two names: $(cat err)"
expect "two names of one function" "$(grep '^@' out)" "$(printf '@first: 2\n@second: 2')"

# What was meant.
meaning() { # WHAT EXPECTED COMMAND...
    local what=$1 expected=$2
    shift 2
    ! "$@" >out 2>err || fail "$what: taken"
    matches -F "did you mean \"$expected\"?" <err || fail "$what: $(cat err)"
}
meaning "a function" walk fastsdt-trace -e 'uprobe:./walk:wlak { @ = count(); }' -- ./walk
meaning "a function of C++" ns::Class::f fastsdt-trace -e 'uprobe:./cxx:cpp:"ns::Clas::f" { @ = count(); }' -- ./cxx
meaning "an option" --duration fastsdt-trace --duraton 1 -e 'BEGIN { exit(); }'
meaning "an option of a subcommand" --functions fastsdt-trace functions --function x -- ./walk
meaning "an option of fastsdt-check" --functions fastsdt-check --funcions walk
meaning "a subcommand" functions fastsdt-trace fuctions -p $$
# more than are listed
printf '#include <fastsdt.h>\nint main(void) { %s FASTSDT(shop, order); return 0; }\n' "$(printf 'FASTSDT(shop, a%d); ' 1 2 3 4 5 6 7 8 9)" >usdt.c
gcc -I"$INCLUDE" usdt.c -o usdt
meaning "a probe" order fastsdt-trace -e 'usdt:./usdt:shop:odrer { @ = count(); }' -- ./usdt

# Code that a program has made: by a jitdump, which V8 writes here, and which it maps so that others find it.
if have node && nm -D --defined-only "$(realpath "$(command -v node)")" 2>/dev/null | matches ' T uv_fs_fstat$'; then
    cat >calls.js <<'END'
const fs = require('fs');
function innermost_one(i) { fs.fstatSync(1); return i; }
function outer_one(n) { let s = 0; for (let i = 0; i < n; ++i) s += innermost_one(i); return s; }
for (let k = 0; k < 50; ++k) outer_one(100);
END
    for engine in $try; do
        fastsdt-trace --engine "$engine" -e 'uprobe:node:uv_fs_fstat { @[ustack] = count(); }' \
            -- node --perf-prof --no-opt --interpreted-frames-native-stack calls.js >out 2>err ||
            fail "node, $engine: $(cat err)"
        matches 'innermost_one .*calls.js' <out || fail "node, $engine: $(cat out)"
        matches 'outer_one .*calls.js' <out || fail "node, $engine: $(cat out)"
        rm -f jit-*.dump isolate-*.log
    done
fi
