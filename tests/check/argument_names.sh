#!/bin/bash
# Names and types of arguments: written by FASTSDT_NAMED and by dtrace -G, kept by linkers, strip and fastsdt-index, shown by
# fastsdt-check, and printed by the bpftrace programs that --plan makes.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc g++ python3 fastsdt-check fastsdt-dtrace
cat >shop.c <<'E'
#include "fastsdt.h"
#include <stdlib.h>
void dead(int x);
void dead(int x) { FASTSDT_NAMED(shop, never, (int, x, x)); }
static inline __attribute__((always_inline)) void buy(int id, const char *item)
{
    (void)*(volatile const char *)item; /* a page that nobody has touched cannot be read by bpftrace */
    FASTSDT_NAMED(shop, order, (int, id, id), (const char *, item, item), (unsigned char, count, 300));
}
int main(int argc, char **argv)
{
    int i, n = argc > 1 ? atoi(argv[1]) : 1;
    for (i = 0; i < n; i++)
        buy(i, "tea");
    buy(n, "coffee");
    FASTSDT_NAMED(shop, twelve, (char, a, 1), (char, b, 2), (char, c, 3), (char, d, 4), (char, e, 5), (char, f, 6), (char, g, 7), (char, h, 8), (char, i, 9), (char, j, 10), (char, k, 11), (char, l, 12));
    FASTSDT_NAMED(shop, sum, (double, x, n * 1.5), (void *, p, argv), (unsigned long, big, -1));
    FASTSDT(shop, plain, n);
    return 0;
}
E
cp shop.c shop.cc
signatures() { fastsdt-check --no-lines "$1" | sed -n 's/^  \(shop:[^)]*)\).*/\1/p' | sort -u; }
expected='shop:order(int id, const char *item, unsigned char count)
shop:sum(double x, void *p, unsigned long big)
shop:twelve(char a, char b, char c, char d, char e, char f, char g, char h, char i, char j, char k, char l)'
for c in gcc g++ clang-19 clang-14; do
    have "$c" || continue
    source=shop.c
    [ "$c" != g++ ] || source=shop.cc
    for level in -O0 -O2; do
        $c $level -Wall -Wextra -Wpedantic -Werror -I"$INCLUDE" -ffunction-sections -Wl,--gc-sections $source -o shop || fail "$c $level"
        expect "$c $level" "$(signatures shop | grep -v never)" "$expected"
        expect "$c $level: once each" "$(readelf -W -p .note.fastsdt.names shop | grep -o 'item' | wc -l)" 1
        fastsdt-check --fail-on warning shop >out || fail "$c $level: $(cat out)"
    done
done
strip shop -o stripped
expect "strip" "$(signatures stripped | grep -v never)" "$expected"
fastsdt-index -q shop
expect "fastsdt-index" "$(signatures shop | grep -v never)" "$expected"
fastsdt-check shop | matches -E '^  shop:plain  ' || fail "a probe without names: $(fastsdt-check shop)"
# The size and the value are those of the type.
fastsdt-check -P order --json shop | python3 -c '
import json, sys
a = json.load(sys.stdin)["files"][0]["probes"][0]["arguments"]
assert [(x["type"], x["name"], x["size"], x["signed"]) for x in a] == [("int", "id", 4, True), ("const char *", "item", 8, False), ("unsigned char", "count", 1, False)], a
assert a[2]["operand"] == "$44", a
'
fastsdt-check -P plain --json shop | python3 -c '
import json, sys
a = json.load(sys.stdin)["files"][0]["probes"][0]["arguments"]
assert a[0]["type"] is None and a[0]["name"] is None, a'

# Two files with the same probe have one note.
printf '#include "fastsdt.h"\nvoid other(int x);\nvoid other(int x) { FASTSDT_NAMED(shop, twin, (int, x, x)); }\n' >one.c
printf '#include "fastsdt.h"\nint main(int c, char **v) { (void)v; FASTSDT_NAMED(shop, twin, (int, x, c)); return 0; }\n' >two.c
for linker in bfd gold lld mold; do
    have "ld.$linker" || continue
    gcc -I"$INCLUDE" -fuse-ld=$linker one.c two.c -o twin || fail "$linker"
    expect "$linker: two files" "$(readelf -nW twin | grep -c '0x0000004e')" 1
    expect "$linker: two files" "$(signatures twin)" "shop:twin(int x)"
done

# Names whose parts run together, and one name with several numbers of arguments, in one file and in two.
cat >apart.c <<'E'
#include <fastsdt.h>
int PART(int c, char **v)
{
    FASTSDT_NAMED(shop, req_done, (char *, url, v[0]), (int, bytes, c));
    FASTSDT_NAMED(shop_req, done, (int, status, c));
    FASTSDT_NAMED(shop, req_done, (int, only, c));
    return 0;
}
E
for c in gcc g++ clang-19; do
    have "$c" || continue
    $c -x "$([ $c = g++ ] && echo c++ || echo c)" -I"$INCLUDE" -DPART=main apart.c -o apart
    expect "$c: parts that run together" "$(fastsdt-check --no-lines apart | sed -n 's/^  \(shop[^)]*)\).*/\1/p' | sort)" \
        "shop:req_done(char *url, int bytes)
shop:req_done(int only)
shop_req:done(int status)"
done
sed '/url/d; s/v\[0\]/0/' apart.c >half.c
for linker in bfd lld; do
    have "ld.$linker" || continue
    gcc -I"$INCLUDE" -DPART=other -c half.c -o half.o
    gcc -I"$INCLUDE" -fuse-ld=$linker -DPART=main half.o apart.c -o apart
    expect "$linker: one name, two numbers" "$(fastsdt-check --no-lines apart | grep -c 'shop:req_done(char \*url, int bytes)')" 1
done

# What --plan prints, run. 0.17 of bpftrace takes six arguments.
expect "the plan" "$(fastsdt-check --plan -k 6.18 -P sum shop | grep -o 'printf(.*;')" 'printf("sum x=0x%lx p=0x%lx big=%lu\n", arg0, arg1, arg2);'
if [ "$(id -u)" = 0 ] && [ -e /sys/bus/event_source/devices/uprobe/type ] && have bpftrace; then
    command=$(fastsdt-check --plan --json -k 6.12 -P order shop |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["files"][0]["plan"][0]["bpftrace"])')
    sh -c "$command -c '$PWD/shop 2'" >trace.out 2>trace.err || fail "$command: $(cat trace.err)"
    expect "$command" "$(grep '^order' trace.out)" $'order id=0 item=tea count=44\norder id=1 item=tea count=44\norder id=2 item=coffee count=44'
fi

# From a provider file.
cat >app.d <<'E'
provider app {
    probe go(int, char *what, struct thing *t);
    probe stop();
};
E
fastsdt-dtrace -h -s app.d -o app.h
fastsdt-dtrace -G -s app.d -o app_probes.o
printf '#include "app.h"\nint main(int c, char **v) { APP_GO(c, v[0], (void *)v); APP_STOP(); return 0; }\n' >app.c
gcc -I"$INCLUDE" -I. app.c app_probes.o -o app
expect "a provider file" "$(fastsdt-check app | grep -o '^  app:[^ ]*([^)]*)')" '  app:go(int, char *what, struct thing *t)'

# A damaged note is reported, and nothing else lost.
python3 - <<'E'
import re
data = bytearray(open("app", "rb").read())
at = data.index(b"fastsdt\0\1\3\0\0app\0go\0")
data[at + 9] = 200
open("damaged", "wb").write(data)
E
s=0; fastsdt-check damaged >out || s=$?
expect "damaged: status" $s 1
grep -q 'malformed-note' out && grep -q '  app:go  ' out || fail "damaged: $(cat out)"
