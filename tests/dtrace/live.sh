#!/bin/bash
# A tracer raises the semaphores that dtrace -G made: guarded probes pass by until then, and are counted from then on.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/dtrace/common.sh"
need_uprobes
need bpftrace
cat >shop.d <<'END'
provider shop {
    probe order__placed(int id, const char *item);
    probe order__never(int id);
};
END
cat >shop.c <<'END'
#include "shop.h"
#include <stdio.h>
static int prepared;
static char name[8]; /* written, hence in memory when the tracer reads it */
static const char *item(void) { prepared++; name[0] = 't', name[1] = 'e', name[2] = 'a'; return name; }
int main(void)
{
    int i;
    for (i = 0; i < 100; i++) {
        if (SHOP_ORDER_PLACED_ENABLED())
            SHOP_ORDER_PLACED(i, item());
        if (SHOP_ORDER_NEVER_ENABLED())
            SHOP_ORDER_NEVER(i);
    }
    printf("%d prepared\n", prepared);
    return 0;
}
END
$dtrace -h -s shop.d
$dtrace -G -s shop.d
for compiler in gcc clang-19; do
    have $compiler || continue
    $compiler -O2 -I"$INCLUDE" shop.c shop.o -o shop
    expect "$compiler: untraced" "$(./shop)" "0 prepared"
    timeout 60 bpftrace -e 'usdt:./shop:shop:order__placed { @[str(arg1)] = count(); @last = arg0; }' -c ./shop >trace 2>&1 ||
        fail "bpftrace: $(cat trace)"
    grep -qx '100 prepared' trace || fail "$compiler: the semaphore was not raised: $(cat trace)"
    grep -qx '@\[tea\]: 100' trace && grep -qx '@last: 99' trace || fail "$compiler: not counted: $(cat trace)"
done
