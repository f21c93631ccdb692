#!/bin/bash
# --plan --verbose: command lines of tracers that find a probe by its name. gdb's is run; the others want tracers that are rarely
# installed (docs/tracers.md says what came of them), so their words are compared with what the manuals of those ask for.
. "$FASTSDT_SOURCE/tests/common.sh"
need gcc gdb python3
cat >prog.c <<'END'
#include <fastsdt.h>
int main(int argc, char** argv)
{
    FASTSDT(shop, order, argc, argv);
    FASTSDT_WITH(default, implicit, shop, guarded, argc);
    return 0;
}
END
gcc -O2 -I"$INCLUDE" prog.c -o prog
line() { # FILE PROBE TRACER
    fastsdt-check --plan --verbose --json -k 6.18 "$1" | python3 -c '
import json, sys
for point in json.load(sys.stdin)["files"][0]["plan"]:
    if point["name"] == sys.argv[1]:
        print(point.get("by_name", {}).get(sys.argv[2], "none"))' "$2" "$3"
}
expect systemtap "$(line prog order systemtap)" "stap -e 'probe process(\"$PWD/prog\").provider(\"shop\").mark(\"order\") { println(pn()) }'"
expect bcc "$(line prog order bcc)" "trace-bpfcc 'u:$PWD/prog:order'"
expect lttng "$(line prog order lttng)" "lttng enable-event --kernel '--userspace-probe=sdt:$PWD/prog:shop:order' shop_order"
expect "lttng, a probe with a semaphore" "$(line prog guarded lttng)" none
gdb=$(line prog order gdb)
eval "$gdb -nx -batch -ex run -ex 'print \$_probe_argc'" >gdb.log 2>&1 </dev/null || true
grep -q '^\$1 = 2$' gdb.log || fail "$gdb: $(cat gdb.log)"
# Text has the same lines, and without --verbose none of them.
[ "$(fastsdt-check --plan -k 6.18 -v prog | grep -cF -e "$gdb" -e "stap -e" -e "trace-bpfcc 'u:" -e "lttng enable-event")" = 6 ] ||
    fail "text: $(fastsdt-check --plan -k 6.18 -v prog)"
! fastsdt-check --plan -k 6.18 prog | matches -E '^ *(gdb|stap|trace-bpfcc|lttng) ' || fail "without --verbose"
# None for a path that is no plain word, or for a probe that the kernel refuses.
mkdir -p a:b
cp prog a:b
expect "a colon in the path" "$(line a:b/prog order gdb)" none
gcc -O2 -I"$INCLUDE" -DFASTSDT_LAYOUT=nop10 -DFASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2 prog.c -o bare
expect "a bare nop10 on 6.18" "$(line bare order systemtap) $(line bare order bcc)" "none none"
[ "$(line bare order gdb)" != none ] || fail "gdb needs no uprobe"
