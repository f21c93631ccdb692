#!/bin/bash
# The language: what bpftrace has in BEGIN, END and interval and at probes. The expected lines follow from the programs' own arithmetic,
# and where bpftrace runs it prints the same.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc
has_bpftrace=$([ "$(id -u)" = 0 ] && have bpftrace && [ -e /sys/bus/event_source/devices/uprobe/type ] && echo yes || true)

# prints NAME SCRIPT EXPECTED OPTIONS...: what a script prints, less blank lines and the last one.
prints() {
    status=0
    fastsdt-trace --engine user -e "$2" "${@:4}" >out 2>err </dev/null || status=$?
    expect "$1: status" "$status $(cat err)" "0 "
    expect "$1" "$(grep -v '^sites ' out | sed '/^$/d; s/: $/:/')" "$3"
}
# same NAME SCRIPT EXPECTED OPTIONS...: and so does bpftrace.
same() {
    prints "$@"
    [ -n "$has_bpftrace" ] || return 0
    bpftrace -e "$2" "${@:4}" >kernel.out 2>kernel.err </dev/null || fail "$1: bpftrace: $(cat kernel.err)"
    expect "$1: bpftrace" "$(grep -v '^Attaching ' kernel.out | sed '/^$/d; s/: $/:/')" "$3"
}
# refused SCRIPT MESSAGE: one sentence under the word.
refused() {
    status=0
    fastsdt-trace --engine user -e "$1" -- ./app >out 2>err </dev/null || status=$?
    expect "$1" "$status $(sed -n '1s/^-e:[0-9:]* error: //p' err)" "2 $2"
}

# Without a process.
same "numbers" 'BEGIN { $a = 7; $b = $a++; ++$a; $a += 3; printf("%d %d\n", $a, $b);
    printf("%d %d %d\n", (int8)200, (uint8)-1, (int16)40000);
    @x = 10; @x += 5; @x--; printf("%d", @x++); printf(" %d\n", ++@x); printf("%x %x\n", bswap(0x1122334455667788) >> 32, bswap((uint16)0x1234));
    @x *= 3; exit(); }' '12 7
-56 255 -25536
14 16
88776655 3412
@x: 48'
same "each once, from the left, what is assigned before its keys, keys before what is counted" \
    'BEGIN { $x = 5; printf("%d %d %d\n", $x - ++$x, 0777, 010 + 0_7); @a[$x++] = $x; @b[$x++, "k"] = sum($x); exit(); }' '-1 511 15
@a[6]: 6
@b[7, k]: 8'
same "lengths of conversions" 'BEGIN { printf("%hhd %hd %hhx %hu %d %lx\n", 300, 70000, 511, 70000, 70000, -1); exit(); }' \
    '44 4464 ff 4464 70000 ffffffffffffffff'
# What bpftrace has since 0.17: of its documentation.
prints "let, and ranges" 'begin { let $x = 5; if (true) { let $x = 7; printf("%d ", $x); } printf("%d\n", $x); let $y; $y = "late"; print($y);
    for ($i : 2..6) { if ($i == 3) { continue; } if ($i == 5) { break; } printf("%d ", $i); } printf("\n"); for ($i : 3..3) { print($i); }
    for ($i : -1..1) { for ($j : 0..2) { @[$i, $j] = count(); } } exit(); } end { print("bye"); }' '7 5
late
2 4 
bye
@[-1, 0]: 1
@[-1, 1]: 1
@[0, 0]: 1
@[0, 1]: 1'
prints "keys" 'BEGIN { @a[1, "x"] = 2; @a[2, "y"] = 3; @c["k"] = count(); printf("%d%d%d %d %d\n", has_key(@a, (1, "x")), has_key(@a, (1, "y")), has_key(@c, "k"), len(@a), len(@c));
    delete(@a, (1, "x")); delete(@c, "k"); printf("%d %d\n", len(@a), len(@c)); exit(); }' '101 2 1
1 0
@a[2, y]: 3'
prints "choices, lengths of texts, numbers of threads" 'BEGIN { $x = 5; $k = if ($x > 5) { 1 } else if ($x > 4) { 2 } else { 3 };
    printf("%d %d %d %d %d%d\n", $k, strlen("hello"), strlen(""), tid() == pid(), memcmp("abc", "abd", 2), memcmp("abc", "abd", 3)); exit(); }' \
        '2 5 0 1 01'
prints "macros" 'macro inc(x) { x + 1 } macro twice(x) { inc(x) + inc(x) } macro take($v, by) { $v++ * by } macro at(@m, k) { has_key(@m, k) ? @m[k] * len(@m) : 0 }
    BEGIN { $x = 3; $n = take($x, 10); printf("%d %d %d %d\n", inc(4), twice($x), $n, $x); @a[1] = 7; @a[2] = 9; @s[inc($x)] = at(@a, inc(1)) * inc(0) + at(@a, 5); exit(); }' '5 10 30 4
@a[1]: 7
@a[2]: 9
@s[5]: 18'
prints "a setting" \
    'config = { print_maps_on_exit = false; missing_probes = "ignore"; max_strlen = 64 } BEGIN { @ = 1; exit(); } interval:10ms { exit(); }' ''
status=0
fastsdt-trace -e 'BEGIN { warnf("odd %d", 3); errorf("bad %s\n", "x"); printf("out\n"); exit(7); }' >out 2>err || status=$?
expect "exit(7)" "$status $(sed -n 1p out)" '7 out'
expect "warnf() and errorf()" "$(cat err)" '-e:1:9-27: WARNING: odd 3
-e:1:29-52: ERROR: bad x'
same "loops" 'BEGIN { $i = 0; while ($i < 10) { $i++; if ($i == 3) { continue; } if ($i == 6) { break; } @n[$i] = $i * $i; }
    printf("%d\n", $i); exit(); }' '6
@n[1]: 1
@n[2]: 4
@n[4]: 16
@n[5]: 25'
same "aggregations" \
    'BEGIN { $i = 0; while ($i < 8) { @c = count(); @s[$i % 3] = sum($i); @a = avg($i); @l = lhist($i, 0, 8, 4); $i++; } exit(); }' '@a: 3
@c: 8
@l:
[0, 4)                 4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[4, 8)                 4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
@s[2]: 7
@s[0]: 9
@s[1]: 12'
same "strings and tuples" 'BEGIN { $t = (1, "two", (3, -4)); printf("%d %s %d\n", $t.0, $t.1, $t.2.1); print($t); @m["a", 1] = ("x", 2);
    printf("%d %d %d\n", strncmp("hello", "help", 3), strncmp("hello", "help", 4) != 0, "a" == "a"); exit(); }' '1 two -4
(1, two, (3, -4))
0 1 1
@m[a, 1]: (x, 2)'
same "bytes" 'BEGIN { printf("%r|%rx|%rh\n", buf("ab\x01", 3), buf("ab", 2), buf("abc", 3)); @ = buf("key", 3);
    printf("%s %s\n", ntop(0x0100007f), ntop(2, pton("10.1.2.3"))); exit(); }' 'ab\x01|\x61\x62|61 62 63
127.0.0.1 10.1.2.3
@: key'
prints "keys that go" \
    'BEGIN { @a[1] = 5; @a[2] = 6; delete(@a[1]); @b["x"] = count(); @b["y"] = count(); @b["y"] = count(); zero(@b); @c = 1; clear(@c);
    @d[3] = 7; print(@d[3]); exit(); }' '7
@a[2]: 6
@b[x]: 0
@b[y]: 0
@d[3]: 7'
prints "a filter, and a timer" \
    'BEGIN /1 == 2/ { printf("no\n"); } BEGIN /@n == 0/ { @n = 2; } interval:ms:5 /@n < 5/ { @n++; } interval:ms:5 /@n >= 5/ { exit(); } END { printf("%s %d\n", probe, @n); clear(@n); }' 'END 5'
expect "a loop without an end" "$(fastsdt-trace -e 'BEGIN { while (1) { @n++; } printf("never\n"); } interval:ms:1 { exit(); }' 2>&1 | sed '/^$/d')" \
    'fastsdt-trace: a loop of BEGIN was ended after 65536 turns, and the rest of the clause left out
@n: 65536
sites 0 of 0 armed; dropped 0'

# At probes: structures on the stack, in the heap and in data; what an address leads to where nothing is.
cat >app.c <<'END_OF_C'
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item {
    int id;
    char name[10];
    short sizes[3];
    struct item* next;
    unsigned low : 4, high : 12;
    long big;
};
unsigned short counter = 4711;
static struct item in_data = {.id = 7, .name = "data", .sizes = {7, 8, 9}};
__attribute__((noinline)) int show(struct item* item, const char* text, int length)
{
    volatile int sum = item->id;
    return sum + length + (text != NULL ? 0 : 1);
}
int main(void)
{
    struct item on_stack = {.next = &in_data};
    for (int i = 1; i <= 3; ++i) {
        struct item* const one = i == 2 ? malloc(sizeof *one) : i == 3 ? &in_data : &on_stack;
        struct item* const next = i == 3 ? NULL : &in_data;
        memset(one, 0, sizeof *one);
        one->id = 10 * i;
        snprintf(one->name, sizeof one->name, "item-%d", i);
        for (short k = 0; k < 3; ++k)
            one->sizes[k] = (short)(k == 2 ? -i : i * (k + 1));
        one->next = next;
        one->low = (unsigned)i;
        one->high = 1000u + (unsigned)i;
        one->big = -i;
        FASTSDT(app, item, one, "a text of some length", 3 * i);
        show(one, "a text of some length", 3 * i);
    }
    return 0;
}
END_OF_C
gcc -g -O1 -fno-omit-frame-pointer -I"$INCLUDE" app.c -o app
ITEM='struct item { int id; char name[10]; short sizes[3]; struct item* next; unsigned low : 4, high : 12; long big; }'
HIT=usdt:./app:app:item
same "each once, from the left, at a probe" "$HIT { \$x = arg2; printf(\"%d %d\\n\", \$x - ++\$x, \$x++ * 2 - \$x); @a[\$x++] = \$x; }" '-1 3
-1 6
-1 9
@a[5]: 5
@a[8]: 8
@a[11]: 11' -c ./app
same "members" "$ITEM $HIT { \$i = (struct item*)arg0; printf(\"%d %s %d %d %d %lld\\n\", \$i->id, \$i->name, \$i->low, \$i->high, \$i->sizes[2], \$i->big); }" '10 item-1 1 1001 -1 -1
20 item-2 2 1002 -2 -2
30 item-3 3 1003 -3 -3' -c ./app
same "pointers" "$ITEM $HIT { \$i = (struct item*)arg0; printf(\"%d %d %d\\n\", \$i->next->id, *(int32*)arg0, *(uint8*)(arg0 + 4)); }" '7 10 105
7 20 105
0 30 105' -c ./app
same "whole ones" "$ITEM $HIT { \$i = (struct item*)arg0; @n[\$i->name] = \$i->sizes; \$s = \$i->sizes; @sum = sum(\$s[1]); print(\$s); @[\$i->id, \$i->sizes] = sum(\$i->id); }" '[1,2,-1]
[2,4,-2]
[3,6,-3]
@[10, [1,2,-1]]: 10
@[20, [2,4,-2]]: 20
@[30, [3,6,-3]]: 30
@n[item-1]: [1,2,-1]
@n[item-2]: [2,4,-2]
@n[item-3]: [3,6,-3]
@sum: 12' -c ./app
same "lengths" "$HIT { printf(\"%s|%s|%r\\n\", str(arg1, 6), str(arg1, arg2), buf(arg1, arg2)); }" 'a text|a t|a t
a text|a text|a text
a text|a text of|a text of' -c ./app
prints "what is new, at a probe" \
    "$ITEM $HIT { let \$i = (struct item*)arg0; @[strlen(\$i->name), strlen(str(arg1))] = count(); for (\$n : 0..arg2) { @n = sum(\$n); }
    if (!has_key(@seen, \$i->id)) { @new = count(); } @seen[20] = 1; @pick = sum(if (\$i->id == 20) { 100 } else { 1 }); delete(@seen, 30); }" \
        '@[6, 21]: 3
@n: 54
@new: 2
@pick: 102
@seen[20]: 1' -c ./app
prints "a list" "$ITEM $HIT { \$i = (struct item*)arg0; \$n = 0; while (\$i != 0) { \$n += \$i->id; \$i = \$i->next; } @[\$n] = count(); }" '@[17]: 1
@[27]: 1
@[30]: 1' -c ./app
prints "nowhere" "$ITEM $HIT { printf(\"%d %d %s|%r\\n\", ((struct item*)0)->id, *(int8*)0xdead0000beef, str(1), buf(8, 2)); exit(); }" \
    '0 0 |\x00\x00' -c ./app
same "numbers at a probe" \
    "$HIT { \$a = arg2; \$b = \$a++ + ++\$a; printf(\"%d %d %x %d\\n\", \$a, \$b, bswap((uint32)arg2), (int8)(arg2 * 50)); @last *= 2; @last += 1; }" '5 8 3000000 -106
8 14 6000000 44
11 20 9000000 -62
@last: 7' -c ./app
prints "the process" "$HIT { @[uid, gid, cpu < 4096, rand != rand] = count(); }" "@[$(id -u), $(id -g), 1, 1]: 3" -c ./app

# Types and arguments by debug information; registers and symbols.
prints "by name" 'uprobe:./app:show { printf("%d %s %s %d\n", args->item->id, args.item->name, str(args->text, args->length), args->item->sizes[1]);
    @[reg("di") == arg0, *uaddr("counter")] = count(); } uretprobe:./app:show { @r = sum(retval); }' '10 item-1 a t 2
20 item-2 a text 4
30 item-3 a text of 6
@[1, 4711]: 3
@r: 78' -- ./app
prints "a structure by its name" "$HIT { @[((struct item*)arg0)->high] = count(); }" '@[1001]: 1
@[1002]: 1
@[1003]: 1' -c ./app
prints "symbols" 'uprobe:./app:show { @[usym(reg("ip"))] = count(); printf("%s\n", usym(reg("ip"))); }' 'show
show
show
@[show]: 3' -- ./app

# BEGIN, END and interval beside probes.
same "maps of both" \
    "BEGIN { @from = 15; @n[20] = count(); @all = 100; } $HIT { @n[20] = count(); @over = sum(arg2 > 4); @all += arg2; } END { printf(\"%d\\n\", @from); clear(@from); }" '15
@all: 118
@n[20]: 4
@over: 2' -c ./app
prints "what BEGIN assigned" "BEGIN { @from = 5; } $HIT /arg2 > @from/ { @ = count(); }" '@: 2
@from: 5' -c ./app
prints "deleted at the end" \
    "$HIT { @a[arg2] = arg2; @b[arg2, 1] = sum(1); @c = count(); } END { delete(@a[6]); delete(@b[3, 1]); zero(@c); }" '@a[3]: 3
@a[9]: 9
@b[6, 1]: 1
@b[9, 1]: 1
@c: 0' -c ./app
expect "many turns" \
    "$(fastsdt-trace --engine user -e "$HIT { \$i = 0; while (1) { \$i++; } printf(\"never\\n\"); } $HIT { @n = count(); }" -- ./app 2>/dev/null || true)" '@n: 3
sites 1 of 1 armed; dropped 3'

# What is printed as JSON has the types.
expect "JSON" "$(fastsdt-trace --json -e "$ITEM $HIT /arg2 == 3/ { print(((struct item*)arg0)->sizes); print((1, \"a\")); print(*(struct item*)arg0); exit(); }" -c ./app |
    sed '$d; s/"next": "0x[0-9a-f]*"/"next": "*"/')" '{"type": "value", "data": [1,2,-1]}
{"type": "value", "data": [1,"a"]}
{"type": "value", "data": { "id": 10, "name": "item-1", "sizes": [1,2,-1], "next": "*", "low": 1, "high": 1001, "big": -1 }}'

# One sentence each.
refused "$HIT { @ = ((struct other*)arg0)->x; }" 'struct other is not declared in the script, and no debug information of ./app tells it'
refused "$HIT { @ = ((struct item*)arg0)->x; }" 'struct item has no member x'
refused "$HIT { @ = ((struct item*)arg0)->sizes[3]; }" 'the index 3 is out of bounds for array of size 3'
refused "$HIT { @ = arg0->x; }" 'this is no pointer to a structure: a cast says which it is, ((struct x*)arg0)->member'
refused "uprobe:./app:show { @ = args->other; }" 'uprobe:./app:show has no argument named other; its arguments are item, text, length'
refused "$HIT { @ = reg(\"xmm0\"); }" '"xmm0" is no register that a program has'
refused "$HIT { @[kstack] = count(); }" "\"kstack\" is the kernel's stack, which no program can tell: only bpftrace can"
refused "BEGIN { @[1] = 2; } $HIT /@[1]/ { @n = count(); }" \
    '@ is assigned or read at probes of programs; BEGIN, END and interval assign such a map only if it holds one integer, without keys'
refused "BEGIN { break; }" '"break" belongs into a loop'
