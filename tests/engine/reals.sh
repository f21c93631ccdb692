#!/bin/bash
# Floating-point numbers: arguments, results, members, in registers and in memory. The program and Python say what they are.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/engine/common.sh"
need gcc python3
need_attachable

# ---- What the tool does with them. Casts and comparisons are those of C, which Python has as int() and <.
python3 - >numbers.bt 2>wanted <<'END'
import math, random, struct, sys
random.seed(7)
numbers = [0.0, 0.5, 1.0, 1.5, 2.75, 4503599627370496.5, 9007199254740993.0, 9.3e18 / 1.1, 123456789.125, 0.1, 99.999, 3.0e-5]
numbers += [random.uniform(0, 1) * 10.0 ** random.randint(-3, 17) for _ in range(60)]
numbers += [-each for each in numbers] # then some that an unsigned integer has
large = [2.0 ** 63, 1e19, 18446744073709549568.0, 9223372036854775808.0 * 1.25]
def literal(number):
    text = f"{abs(number):.25f}"
    return ("-" if math.copysign(1, number) < 0 else "") + text
print("BEGIN {")
for i, number in enumerate(numbers):
    other = numbers[(i * 7 + 3) % len(numbers)]
    print(f'$x = {literal(number)}; $y = {literal(other)}; printf("%ld %d%d%d%d%d%d %.17g\\n", (int64)$x, $x < $y, $x <= $y, $x == $y, $x != $y, $x > $y, $x >= $y, $x);')
    truth = [number < other, number <= other, number == other, number != other, number > other, number >= other]
    print(int(number), "".join(str(int(each)) for each in truth), "%.17g" % number, file=sys.stderr)
for number in large:
    print(f'$z = {number:.1f}; printf("%lu\\n", (uint64)$z);')
    print(int(number), file=sys.stderr)
print("}")
END
timeout 60 fastsdt-trace numbers.bt >out 2>err || fail "$(cat err)"
sed -i '/^sites /d; /^$/d' out
cmp out wanted >/dev/null || fail "numbers: $(diff out wanted | head)"

# ---- Of a program.
cat >app.c <<'END'
#include <fastsdt.h>
#include <math.h>
#include <stdio.h>
struct item { int id; float weight; double price; double more[2]; };
__attribute__((noinline)) double mixed(int a, double b, float c, long d, double e)
{
    __asm__ volatile("" : : "x"(b), "x"(e) : "memory");
    return a + b * c + d + e;
}
__attribute__((noinline)) float half(float x)
{
    __asm__ volatile("" : : : "memory");
    return x / 2;
}
__attribute__((noinline)) long cost(struct item *item)
{
    __asm__ volatile("" : : "r"(item) : "memory");
    return (long)item->price;
}
int main(void)
{
    int i;
    double numbers[] = {0.5, -1.25, 1e300, NAN, INFINITY, -0.0, 3.999, 1e-310};
    for (i = 0; i < 8; ++i) {
        struct item item = {i, 0, 0, {1.5, 2.5}};
        double result = mixed(i, numbers[i], i + 0.5f, 10 * i, numbers[7 - i]);
        item.weight = half((float)numbers[i]);
        item.price = i * 1.5;
        cost(&item);
        FASTSDT(app, step, numbers[i], item.weight);
        fprintf(stderr, "%d %.6g %.6g %.6g %.6g %.6g\n", i, numbers[i], i + 0.5f, numbers[7 - i], result, item.weight);
    }
    return 0;
}
END
gcc -g -O1 -I"$FASTSDT_SOURCE/include" app.c -o app -lm
trace() { timeout 60 fastsdt-trace --engine user -e "$1" -o out "${@:2}" -- ./app 2>err || fail "$1: $(cat err)"; }
own() { sed '/^fastsdt-trace/d' err; } # what the program printed

trace 'uprobe:./app:mixed { printf("%d %.6g %.6g %.6g\n", args.a, args.b, args.c, args.e); }'
expect 'arguments by name' "$(grep -v '^sites' out)" "$(own | cut -d' ' -f1-4)"
trace 'uprobe:./app:mixed { printf("%d %.6g %.6g %.6g\n", arg0, x0, (float)x1, x2); }'
expect 'arguments by register' "$(grep -v '^sites' out)" "$(own | cut -d' ' -f1-4)"
trace 'uretprobe:./app:mixed { printf("%.6g\n", retval); } uretprobe:./app:half { printf("%.6g\n", (float)retval); }'
expect 'results' "$(grep -v '^sites' out)" "$(own | cut -d' ' -f5,6 | tr ' ' '\n')"
trace 'usdt:./app:app:step { printf("%.6g %.6g\n", (double)arg0, (float)arg1); }'
expect 'of a usdt probe' "$(grep -v '^sites' out)" "$(own | cut -d' ' -f2,6)"
trace 'uprobe:./app:cost { $i = args.item; @price[$i.id] = $i.price; @weight[$i.id] = $i.weight; @more = $i.more[1]; @whole[$i.id] = hist((int64)$i.price); print(*$i); }'
python3 - out <<'END' || fail "$(cat out)"
import re, struct, sys
text = open(sys.argv[1]).read()
for i in range(8):
    assert f"@price[{i}]: {i * 1.5:g}\n".replace(f": {i * 1.5:g}\n", ": " + f"{i * 1.5:g}" + "\n") in text, i
assert "@more: 2.5\n" in text
rows = re.findall(r"\{ \.id = (\d), \.weight = (\S+), \.price = (\S+), \.more = \[1.5,2.5\] \}", text)
assert [row[0] for row in rows] == list("01234567"), rows
halves = [0.25, -0.625, float("inf"), float("nan"), float("inf"), -0.0, struct.unpack("f", struct.pack("f", 3.999))[0] / 2, 0.0]
for row, half in zip(rows, halves):
    assert row[1] == f"{half}".replace(".0", "") or abs(float(row[1]) - half) < 1e-6, (row, half)
END
# Numbers of 4 bytes that are almost 0.
cat >least.c <<'END'
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) double same(float x, double y)
{
    __asm__ volatile("" : : : "memory");
    return x * y + 2;
}
int main(void)
{
    unsigned bits, left = 0, equal = 0;
    for (bits = 1; bits < 1U << 24; bits = bits * 3 + 1) {
        float x;
        double y;
        memcpy(&x, &bits, sizeof x);
        y = left++ % 3 == 0 ? x : left % 3 == 1 ? x * 1.0000001 : x / 1.0000001;
        same(x, y);
        same(-x, y);
        equal += x == y;
    }
    printf("%u\n", equal);
    return 0;
}
END
gcc -g -O1 least.c -o least
timeout 60 fastsdt-trace --engine user -o out -e 'uprobe:./least:same { @[args.x > 0, args.x < 0, args.x < args.y, args.x == args.y] = count(); }' \
    -- ./least >said 2>err || fail "$(cat err)"
equal=$(cat said) all=$(grep -c . <<<"$(python3 -c '
bits = 1
while bits < 1 << 24:
    print(bits)
    bits = bits * 3 + 1')")
[ "$equal" -gt 0 ] || fail 'none is equal'
expect 'almost 0' "$(grep -o '^@\[1, 0, 0, 1\]: .*\|^@\[0, 1, 1, 0\]: .*' out | sort)" "@[0, 1, 1, 0]: $all
@[1, 0, 0, 1]: $equal"
# What is compared with what is no number is neither less nor greater, and unequal.
trace 'uprobe:./app:mixed /args.b > 0.4/ { @greater = count(); } uprobe:./app:mixed /args.b <= 0.4/ { @not = count(); }
    uprobe:./app:mixed /args.b != args.b/ { @none = count(); } uprobe:./app:mixed /args.c >= 3 && args.c < 5.5/ { @some = count(); }
    uprobe:./app:mixed { @sum = sum((int64)args.c); @kept = args.b; @by[args.c] = count(); }'
expect 'comparisons' "$(grep -v 'sites\|^$' out)" '@by[0.5]: 1
@by[1.5]: 1
@by[2.5]: 1
@by[3.5]: 1
@by[4.5]: 1
@by[5.5]: 1
@by[6.5]: 1
@by[7.5]: 1
@greater: 4
@kept: 1e-310
@none: 1
@not: 3
@some: 2
@sum: 28'
trace 'uprobe:./app:cost { print(((struct item*)arg0)->price); @p = ((struct item*)arg0)->weight; }' --json
python3 -c '
import json
lines = [json.loads(line) for line in open("out")]
assert [line["data"] for line in lines if line["type"] == "value"] == [1.5 * i for i in range(8)], lines
assert [line["data"] for line in lines if line["type"] == "map"] == [{"@p": 0}], lines' || fail "$(cat out)"
refused() {
    local status=0
    timeout 60 fastsdt-trace --engine user -e "$1" -- ./app >out 2>err || status=$?
    expect "$1" "$status $(sed -n '1s/^-e:[0-9:]* error: //p' err)" "2 $2"
}
refused 'uprobe:./app:mixed { @ = args.b + 1.5; }' \
    'floating-point numbers are printed, kept, compared with others and cast to integers, (int64)x; nothing is calculated with them here'
refused 'uprobe:./app:mixed { @ = hist(args.b); }' 'a hist() takes integers, and this is a floating-point number'
refused 'uprobe:./app:mixed { printf("%d", args.b); }' '%d prints an integer, and this is a floating-point number; %s prints it'
refused 'uprobe:./app:mixed { printf("%f", args.a); }' '%f prints a floating-point number, and this is an integer'
refused 'uprobe:./app:mixed { @a = args.b; @a = args.c; }' '@a is of another kind or size elsewhere'
# An argument of 8 bytes is no float.
status=0
timeout 60 fastsdt-trace --engine user -e 'usdt:./app:app:step { @ = (float)arg0; @n = arg1; }' -- ./app >out 2>err || status=$?
expect 'a site without such an argument' "$status $(grep -c 'that is no float (.*)' out)" '1 1'
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ]; then
    # The kernel's programs see no such register: memory they read.
    status=0
    timeout 60 fastsdt-trace --engine kernel -e 'uprobe:./app:mixed { @ = args.b; }' -- ./app >out 2>err || status=$?
    expect 'the kernel' "$status $(grep -c "floating-point numbers in registers are not what its programs see" out)" '1 1'
    timeout 60 fastsdt-trace --engine kernel -e 'uprobe:./app:cost /((struct item*)arg0)->price > 4/ { @[((struct item*)arg0)->price] = count(); }' \
        -- ./app >out 2>err ||
        fail "$(cat out err)"
    expect 'memory in the kernel' "$(grep '^@' out | tr '\n' ' ')" '@[4.5]: 1 @[6]: 1 @[7.5]: 1 @[9]: 1 @[10.5]: 1 '
fi
