#!/bin/bash
# What bpftrace's language has since 0.18: as bpftrace 0.27's own documentation and runtime tests say it. tests/long/bpftrace-tests.py runs
# those tests as they are.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc

# prints NAME SCRIPT EXPECTED OPTIONS...: what a script prints, less blank lines and the last one.
prints() {
    status=0
    fastsdt-trace -e "$2" "${@:4}" >out 2>err </dev/null || status=$?
    expect "$1: status" "$status $(cat err)" "0 "
    expect "$1" "$(grep -v '^sites ' out | sed '/^$/d; s/: $/:/')" "$3"
}
refused() {
    status=0
    fastsdt-trace -e "$1" "${@:3}" >out 2>err </dev/null || status=$?
    expect "$1" "$status $(sed -n '1s/^-e:[0-9:]* error: //p' err)" "2 $2"
}

# A script of BEGIN and END alone ends by itself.
prints "a map that ++ alone makes" 'begin { if (++@n == 1) { print(@n++ + 10); } }' '11
@n: 2'
prints "loops over maps" 'begin { @a[16, "x"] = 32; @a[17, "y"] = 33; @c["k"] = count(); @c["k"] = count(); for ($kv : @a) { print($kv);
        printf("%d %s %d\n", $kv.0.0, $kv.0.1, $kv.1); }
    for ($kv : @c) { @n[$kv.0] = $kv.1 + 1; } for ($kv : @a) { if ($kv.0.1 == "x") { continue; } print($kv.0); break; }
    for ($kv : @a) { delete(@a, $kv.0); } for ($kv : @a) { print("never"); } clear(@c); }' '((16, x), 32)
16 x 32
((17, y), 33)
17 y 33
(17, y)
@n[k]: 3'
prints "blocks are values, and macros have statements" \
    'macro inc($v) { $v += 1; $v } macro both(x) { let $y = x; $y + $y } macro say(x) { x; x; } macro first(@m) { let $k = 0;
        for ($e : @m) { $k = $e.0; break; } $k }
    macro kind($x) { "variable" } macro kind(x) { "any" }
    begin { $a = 1; $b = inc($a) * 10 + inc($a); print(($a, $b)); $y = 5; print((both($y + 1), $y)); say({ printf("hi ") }); printf("\n"); @m[7] = 1;
        print(first(@m)); clear(@m);
        print(kind($a)); print(kind(1)); $c = $a > 2 ? { $t = $a; $t * 2 } : 0; print($c); $d = if ($a > 5) { 1 } else { $u = 8; $u + 1 }; print($d);
        $w = 0; while ({ $w += 1; $w < 3 }) { printf("%d ", $w); } printf("\n"); if (0 && { printf("never"); 1 }) { } if (1 || { printf("never");
        1 }) { print("or"); }
        print($a ?: 9); print(0 ?: 9); _ = inc($a); print($a); }' '(3, 23)
(12, 5)
hi hi 
7
variable
any
6
9
1 2 
or
3
9
4'
prints "booleans, enums, arrays, records" \
    'enum Color { RED = 1, BLUE = 7 }; struct Foo { int x; struct Bar { int y; } bar; };
    begin { @a[true] = false; print((bool)5); print(has_key(@a, true)); printf("%d %s %s\n", BLUE, BLUE, (enum Color)1); @e = BLUE;
        @f[RED] = RED + 1; print(strcontains("hello", "ell"));
        $r = (x = 1, y = ("a", 2)); print($r); printf("%d %s\n", $r.x, $r.y.0); $r = (y = ("b", 3), x = 4); print($r); $arr = (uint8[4])0x04030201;
        print($arr); print($arr[2]); print((uint32)$arr);
        print((int8[])"ab"); print(offsetof(struct Foo, bar.y)); let $z : uint8 = 300; print($z); print((typeof($z))511); print("abc"[1]);
        $t = (1, "x"); print($t[0]); if (!delete(@a, false)) { print("not there"); } }' \
    'true
true
7 BLUE RED
true
{ .x = 1, .y = (a, 2) }
1 a
{ .x = 4, .y = (b, 3) }
[1,2,3,4]
3
67305985
[97,98,0]
4
44
255
98
1
not there
@a[true]: false
@e: BLUE
@f[RED]: 2'
prints "a tuple whose strings have other lengths" 'begin { print(("", 1, "")); $a = ("hi", ("hellolongstr", 2)); $a = ("hellolongstr", ("hi", 5));
        print($a); @["hi", ("x", 2)] = 1; @["hello", ("yy", 5)] = 2; }' '(, 1, )
(hellolongstr, (hi, 5))
@[hi, (x, 2)]: 1
@[hello, (yy, 5)]: 2'
prints "options of the script" 'begin { print((getopt("aa", 20), getopt("bb", -1), getopt("cc", true), getopt("dd"), getopt("ee", "hello", "a text"), $1, $2)); }' '(31, -10, false, true, hello, one, two)' one \
    -- --dd --aa=0x1f --bb=-10 --cc=False two
# Of the command line, which has no place in the script.
unexpected() {
    status=0
    fastsdt-trace -e "$1" -- "${@:3}" >out 2>err || status=$?
    expect "$1" "$status $(cat err)" "2 $2"
}
unexpected 'begin { print(getopt("aa", 10)); }' 'error: program command line option --aa invalid integer (value: False)' --aa=False
unexpected 'begin { print(getopt("aa", 10)); }' 'error: unexpected program command line options: --bb
HINT: expected program options: --aa' --bb
unexpected 'begin { print((getopt("aa", 10, "of it"), getopt("bb"))); }' 'error: unexpected program command line options: --help
HINT: expected program options:
--aa: of it
--bb' --help
prints "commands" 'begin { system("echo %d $((3 * %d)) | tr a-z A-Z; kill -0 $$", 1, 14); printf("after\n"); }' '1 42
after' --unsafe
refused 'begin { system("echo no"); }' 'system() runs commands: it needs --unsafe'
prints "clocks" 'begin { $m = nsecs(monotonic); $b = nsecs(boot); $t = nsecs(tai);
        print(($m <= $b, $t > $b, nsecs() >= $b, ncpus > 0, usermode, probetype, __builtin_pid == pid())); }' '(1, 1, 1, 1, 1, special, 1)'
prints "as 0.27 prints" 'struct A { int x; } begin { @p = (int32*)16; @p += 2; @s = stats(2); @s = stats(4); @h = hist(2); @k[(a = 1)] = 1;
        print(@empty); } end { @empty = 0; clear(@empty); }' '@empty: 0
@h:
[2, 4)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
@k[{ .a = 1 }]: 1
@p: 0x18
@s: { .count = 2, .average = 3, .total = 6 }' --like 0.27
refused 'begin { @ = 1; print(len(@)); }' 'call to len() expects a map with explicit keys (non-scalar map)'
refused 'begin { @ = { count(); }; }' 'a block that is a value ends with one, and no ";" is behind that'
refused 'macro two(x) { x; } begin { $a = two(1); }' 'a block that is a value ends with one, and no ";" is behind that'
refused 'macro loop(x) { loop(x) } begin { loop(1); }' 'loop() leads to too many macros: 20 in each other and 10000 in all are the most'

prints "sizes of maps" 'let @l = lruhash(1); let @a = hash(2); begin { @l[1] = 1; @l[2] = 2; @a[1] = 1; @a[2] = 2; @a[1] = 3; @a[3] = 3; }' '@a[2]: 2
@a[1]: 3
@l[2]: 2' --no-warnings
fastsdt-trace -e 'let @u = percpuhash(3); let @a = hash(1); begin { @a[1] = count(); @a[2] = count(); @a[3] = count(); }' >out 2>err
expect "what is said of them" "$(cat err) $(grep '^@' out)" "fastsdt-trace: WARNING: Unused map: @u
fastsdt-trace: WARNING: Map full; can't update element. @a has 1 keys; let @a = hash(N) says how many it may have @a[1]: 1"

# The same at probes, on both engines.
prints "#define, a probe that is a parameter, parameters with a length" '#define SOME 314 // a comment
#define TWICE(x) ((x) * 2)
#define PRINTS printf
$1 { print((SOME, TWICE(20 + 1), str($2, 6), str($2, 3))); exit(); }' '(314, 42, hello, he)' i:ms:1 hello
prints "the top of a map, by a parameter" 'begin { @[1] = 30; @[2] = 20; @[3] = 10; print(@, $1, getopt("div", 1)); clear(@); }' '@[2]: 2
@[1]: 3' 2 -- --div=10
prints "types for macros" 'struct Foo { char m; } macro sof(a, b) { sizeof(a[2]) + sizeof(b*) + sizeof(b) } macro m(t) { sizeof(t) + 2 } macro n(z) { print(m(typeof(z))); }
    macro cst(a) { (a*)-1 } macro low(t, x) { (t)x } macro sum(x) { (x * 2) + sizeof(x) }
    begin { print(sof(typeof(uint64*), typeof(struct Foo))); n(typeof(uint64*)); print(cst(typeof(uint8))); print(low(typeof(uint8), 0x1234)); print(sum(5)); }' '25
10
18446744073709551615
52
18'
prints "names of signals, asserts, settings" \
    'config = { max_cat_bytes = 3 } begin { printf("%s %s\n", signal_name(9), signal_name(99)); assert(1 == 1, "never");
    print((config().max_strlen, config().stack_mode, config().max_cat_bytes)); cat("/proc/version"); printf("\n"); }' 'Killed N/A
(64, bpftrace, 3)
Lin'
status=0
fastsdt-trace -e 'begin { assert(1 > 2, "one is less"); print("never"); }' >out 2>err || status=$?
expect "an assert" "$status $(cat err) $(grep -c never out)" "1 -e:1:9-37: ERROR: assert failed: one is less 0"
for each in '' 'like 0.27'; do
    prints "what is compared $each" 'begin { $a = 2; print($a > 1); print(sizeof($a == 1)); @t = !$a; $t = (1, 2, 3); print($t[1 + 1]);
        @n = $a > 1; @n = 5; }' "$([ -n "$each" ] && echo true || echo 1)
$([ -n "$each" ] && echo 1 || echo 8)
3
@n: 5
@t: $([ -n "$each" ] && echo false || echo 0)" ${each:+--like 0.27}
done
prints "packed structures" 'struct foo { int x; char y; int z; } struct bar { int x; char y; int z; } __attribute__((packed))
    struct bits { char c; unsigned a : 3; unsigned b : 13; struct foo f; } __attribute__ /* a comment */ ((packed)) __attribute__((aligned(1)));
    struct out { char c; struct { short s; int i; } __attribute__((packed)) in; int last; };
    begin { print((sizeof(struct foo), sizeof(struct bar), sizeof(struct bits), sizeof(struct out), offsetof(struct out, last), offsetof(struct bits, f.z))); }' \
    "($(printf '%s\n' '#include <stddef.h>' '#include <stdio.h>' 'struct foo { int x; char y; int z; }; struct bar { int x; char y; int z; } __attribute__((packed));' \
    'struct bits { char c; unsigned a : 3; unsigned b : 13; struct foo f; } __attribute__((packed));' \
    'struct out { char c; struct { short s; int i; } __attribute__((packed)) in; int last; };' \
    'int main(void) { printf("%zu, %zu, %zu, %zu, %zu, %zu", sizeof(struct foo), sizeof(struct bar), sizeof(struct bits), sizeof(struct out),' \
    'offsetof(struct out, last), offsetof(struct bits, f.z)); return 0; }' \
    >sizes.c && gcc -w sizes.c -o sizes && ./sizes))"
prints "probes that are chosen" \
    'begin { print("begin"); } interval:ms:1 { print("never"); } interval:ms:20 { print("it"); exit(); } end { print("end"); }' 'begin
it
end' --probe-filter ':(20|30)$'
unfiltered() {
    status=0
    fastsdt-trace --probe-filter "$1" -e 'interval:ms:1 { exit(); }' >out 2>err || status=$?
    expect "--probe-filter $1" "$status $(cat err)" "2 fastsdt-trace: --probe-filter: $2"
}
unfiltered 5 'no probe of the script matches "5"'
unfiltered '(' '"(" is no regular expression'
# hist(X, BITS): each power of two has 2^BITS buckets, smaller numbers have one each, and all below 0 one together.
cat >fine.py <<'END'
import json, sys
def bounds(value, bits):
    if value < 0:
        return None, -1
    width = 1 << max(value.bit_length() - 1 - bits, 0)
    return value // width * width, value // width * width + width - 1
for line, bits in zip(open("out"), (1, 3, 5)):
    wanted = {}
    values = [(1 << i) + j * j - 7 for i in range(62) for j in range(12)] + [-1, -2**62]
    for value in values:
        wanted[bounds(value, bits)] = wanted.get(bounds(value, bits), 0) + 1
    got = {(each.get("min"), each.get("max")): each["count"] for each in json.loads(line)["data"][f"@b{bits}"] if each["count"]}
    if got != wanted:
        sys.exit(f"{bits}: {sorted(set(got.items()) ^ set(wanted.items()), key=str)[:8]}")
END
fastsdt-trace --json -e 'macro all(x) { @b1 = hist(x, 1); @b3 = hist(x, 3); @b5 = hist(x, 5); }
    BEGIN { for ($i : 0..62) { for ($j : 0..12) { all((1 << $i) + $j * $j - 7); } } all(-1); all(-(1 << 62)); }' >out 2>err || fail "$(cat err)"
python3 fine.py || fail "finer buckets"
prints "finer buckets as text" 'begin { @ = hist(9, 1); @ = hist(13, 1); @ = hist(0, 1); @ = hist(-5, 1); print(@); clear(@); @zero = hist(9, 0); }' \
    "@:
(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[0]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[1]                    0 |                                                    |
[2]                    0 |                                                    |
[3]                    0 |                                                    |
[4, 6)                 0 |                                                    |
[6, 8)                 0 |                                                    |
[8, 12)                1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[12, 16)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
@zero:
[8, 16)                1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|"
prints "the last of the finer buckets" 'begin { @ = hist(0x7fffffffffffffff, 1); }' "@:
[6597069766656M, ...)       1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|"
refused 'begin { @ = hist(9, 6); }' 'hist(VALUE, BITS) takes a number from 0 to 5 for the second'
# C's headers, as the compiler reads them.
mkdir -p own
echo 'struct own { char a; long b; }; enum { OWN_ONE = 7 }; typedef struct own own_t; #define OWN_TEXT "text"' | sed 's/; #/;\n#/' >own/own.h
printf '%s\n' '#include <errno.h>' '#include <stdio.h>' '#include <sys/stat.h>' \
    'int main(void) { printf("%d %d %zu %d", ENOENT, S_IFDIR, sizeof(struct stat), EOF); return 0; }' >headers.c
gcc headers.c -o headers
prints "headers" '#include <errno.h>
#include <sys/stat.h>
#include <stdio.h>
#include "own.h"
begin { printf("%d %d %d %d\n", ENOENT, S_IFDIR, sizeof(struct stat), EOF); print((strerror(ENOENT), OWN_ONE + 0, sizeof(own_t), offsetof(struct own, b))); }' \
    "$(./headers)
(No such file or directory, 7, 16, 8)" -I own
prints "headers by an option" 'begin { print(strerror(EPERM)); }' 'Operation not permitted' --include errno.h
status=0
fastsdt-trace -e '#include <lol/no.h>
begin { }' >out 2>err || status=$?
expect "no such header" "$status $(sed -n '$p' err)" "2 fastsdt-trace: the C compiler refuses <lol/no.h>; -I DIR says where headers are"
grep -q 'lol/no.h' err || fail "$(cat err)"
# Ended while the compiler runs: its folder does not stay.
mkdir -p own/tmp
printf '%s\n' '#!/bin/sh' 'kill -TERM $PPID' 'exit 1' >own/cc
chmod +x own/cc
status=0
CC=own/cc TMPDIR=own/tmp fastsdt-trace --include errno.h -e 'begin { }' >out 2>err || status=$?
expect "ended" "$status $(ls own/tmp)" "143 "
status=0
CC='' PATH=/none "$(command -v fastsdt-trace)" --include errno.h -e 'begin { }' >out 2>err || status=$?
expect "no compiler" "$status $(cat err)" "2 fastsdt-trace: #include needs a C compiler, and there is none; CC names one"
cat >app.c <<'END_OF_C'
struct item {
    int id;
    char name[10];
};
__attribute__((noinline)) int show(struct item* item, int length, char letter)
{
    __asm__ volatile("" : : "r"(item) : "memory"); /* its name is there */
    return item->id + length + letter;
}
int main(void)
{
    struct item item = {0, "tea"};
    int sum = 0;
    for (item.id = 1; item.id <= 4; ++item.id)
        sum += show(&item, 2 * item.id, 'x');
    return sum == 514 ? 0 : 1;
}
END_OF_C
gcc -g -O1 app.c -o app
engines=user
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    engines='user kernel'
fi
for engine in $engines; do
    prints "at probes: $engine" 'macro half($v) { if ($v % 2) { $v -= 1; } $v / 2 } struct item { int id; char name[10]; };
        uprobe:./app:show { $i = (struct item*)arg0; $v = $i.id; @h[$i.id] = half($v); @odd[$i.id % 2 ? true : false] = count();
        @names[$i.name, $i.name[0]] = sum({ let $d = arg1; $d * 2 }); }
        uprobe:./app:show /arg1 == 8/ { $r = (len = args.length, who = (str((uint64)args.item + 4), 1)); print($r); print($r.who.0); @r = $r;
        $a = args; print(($a.length, $a.letter, args.letter)); }
        uprobe:./app:show { @fine = hist(arg1 * 100, 2); }
        uprobe:./app:show /{ $k = arg1; $k > 6 }/ { @big = count(); }' '{ .len = 8, .who = (tea, 1) }
tea
(8, 120, 120)
@big: 1
@fine:
[192, 224)             1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[224, 256)             0 |                                                    |
[256, 320)             0 |                                                    |
[320, 384)             0 |                                                    |
[384, 448)             1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[448, 512)             0 |                                                    |
[512, 640)             1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[640, 768)             0 |                                                    |
[768, 896)             1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
@h[1]: 0
@h[2]: 1
@h[3]: 1
@h[4]: 2
@names[tea, 116]: 40
@odd[false]: 2
@odd[true]: 2
@r: { .len = 8, .who = (tea, 1) }' --engine "$engine" -- ./app
    prints "stacks and symbols of maps in END: $engine" 'uprobe:./app:show { @s[1] = ustack(1); @u[1] = usym(reg("ip")); @f = func; }
        END { print(@s[1]); printf("%s, %s%s", @f, @u[1], @s[1]); @copy[@s[1], @u[1]] = count(); @one = @s[1]; clear(@s); clear(@u); clear(@f); }' \
            '        show+0
show, show
        show+0
@copy[
    show+0
, show]: 1
@one:
        show+0' --engine "$engine" -- ./app
done
prints "from a member to its structure" 'struct item { int id; char name[10]; };
    uprobe:./app:show { $name = (char*)arg0 + offsetof(struct item, name); $i = container_of($name, typeof(struct item), name); @ = sum($i->id); }' \
        '@: 10' \
    --engine user -- ./app
refused 'uprobe:./app:show { @a[1] = 1; for ($kv : @a) { print($kv);
        } }' 'a probe cannot loop over a map; BEGIN, END and interval can' --engine user -- ./app
prints "the address of a variable" 'struct pair { int a : 4; int b : 4; short c; int d; };
    begin { $n = 1; $p = &$n; $n = 7; print(*$p); print($p == &$n); $v = (uint64)0x300020021; $s = *(struct pair*)(&$v); print($s);
        $t = (1, "hello", 2); print(*(&$t)); $text = "abcdef"; $c = (int8*)&$text; printf("%c%c%c ", *$c, *++$c, $c[3]); print(*&$text);
        for ($i : 3..6) { printf("%d ", $text[$i]); } print($text[99 + *$p]); $bytes = (uint8[4])0x04030201;
        for ($i : 0..6) { printf("%d", $bytes[$i - 1]); } printf("\n"); }' '7
1
{ .a = 1, .b = 2, .c = 2, .d = 3 }
(1, hello, 2)
abe abcdef
100 101 102 0
012340'
prints "the address of a variable, at a probe" 'struct item { int id; char name[10]; };
    uprobe:./app:show { $n = arg1; $p = &$n; $n = $n + 1; @n = sum(*$p); $i = *(struct item*)arg0; $at = &$i; @id = sum($at->id);
        $text = $at->name; @[$text[arg1 / 2 - 1]] = count(); @none = sum($text[arg1 + 62]); }' '@[0]: 1
@[97]: 1
@[101]: 1
@[116]: 1
@id: 10
@n: 24
@none: 0' --engine user -- ./app
prints "how many frames a stack has" 'uprobe:./app:show { @all[len(ustack)] = count(); $s = ustack(1); @one = len($s); @s = $s; }
    END { $kept = @s; print(len($kept)); clear(@s); clear(@all); }' '1
@one: 1' --engine user -- ./app
refused 'uprobe:./app:show { @ = len(arg0); }' 'len() is of a map or a stack, and this is an integer' --engine user -- ./app
refused 'begin { @a = 1; $p = &@a; }' '"&" is of variables in this subset of bpftrace'"'"'s language: &$x'
prints "as bpftrace prints it" 'begin { printf("%s|", "a\nb\tc\033[1m"); @[(1, "x")] = 2; @k[1, "y"] = 3; }' 'a
b	c\x1b[1m|
@[1, x]: 2
@k[1, y]: 3' --like 0.27
prints "one line for each" 'begin { printf("%s\n", "a\nb"); @[(1, "x")] = 2; }' 'a\x0ab
@[(1, x)]: 2'
prints "integers that let gives a size" 'begin { let $y: uint8 = 255; $y++; print($y);
        let $z: int8 = 127; $z += 1; print($z); let $w: uint8 = 0; print($w--); print($w);
        let $v: uint32 = 4294967295; $v = $v + 2; print($v); $wide = (uint8)200; $wide = $wide * 2; print($wide); }' '0
-128
0
255
1
400'
for engine in $engines; do
    prints "addresses that are known: $engine" \
        'uprobe:./app:show { @[ntop(pton("1.2.3.4")), ntop(pton("::1"))] = count(); @n = (uint32)pton("1.2.3.4"); }' \
        '@[1.2.3.4, ::1]: 4
@n: 67305985' --engine $engine -- ./app
done
prints "an index is found once" 'uprobe:./app:show { $t = "abcdef"; $i = 0; $x = $t[$i++]; @ = ($x, $i); @in[$t[rand % 6] == 0] = count(); }' \
    '@: (97, 1)
@in[0]: 4' --engine user -- ./app
prints "where a text is in another" 'begin { print(strstr("hello", "lo")); print(strstr("hello", "world")); print(strstr("x", "")); }' '3
-1
0'
prints "addresses of both families in one map" \
    'begin { @a[ntop(0x0100007f)] = 1; @a[ntop(pton("::1"))] = 2; @a[ntop(pton("10.0.0.1"))] = 3; @v = ntop(1);
        @v = ntop(pton("fe80::2")); printf("%s %s\n", ntop(pton("127.0.0.1")), @v); if (ntop(0x0100007f) == ntop(pton("127.0.0.1"))) { print("the same"); } }' \
    '127.0.0.1 fe80::2
the same
@a[127.0.0.1]: 1
@a[::1]: 2
@a[10.0.0.1]: 3
@v: fe80::2'
expect "bpftrace's own words" "$(fastsdt-trace -f json -e 'begin { @a = 1; }' | grep -v '"sites"')" '{"type": "map", "data": {"@a": 1}}'
expect "bpftrace's own list" "$(fastsdt-trace -lv uprobe:./app:show)" "$(fastsdt-trace --list uprobe:./app:show)"
cat >nine.c <<'END'
long texts[3];
__attribute__((noinline, noclone)) long nine(long a, long b, long c, long d, long e, long f, const char* g, int h, long i)
{
    __asm__ volatile("" : : "r"(g) : "memory");
    return a + b + c + d + e + f + h + i;
}
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 3; ++i)
        sum += nine(1, 2, 3, 4, 5, 6, i == 1 ? "one" : "other", -i, 100 + i);
    return sum != 363;
}
END
gcc -g -O1 nine.c -o nine
for engine in $engines; do
    prints "arguments on the stack and their texts: $engine" 'uprobe:./nine:nine { @[str(args.g)] = sum(args.h);
        @s[str(sarg0)] = sum((int64)((int32)sarg1 * 1000 + sarg2)); }' '@[other]: -2
@[one]: -1
@s[other]: -1798
@s[one]: -899' --engine $engine -- ./nine
done
