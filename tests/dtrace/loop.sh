#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A loop asks each time whether its probe is traced: a tracer raises the semaphore while it runs.
. "$FASTSDT_SOURCE/tests/common.sh"
. "$FASTSDT_SOURCE/tests/dtrace/common.sh"
echo 'provider shop { probe order__placed(int id); };' >shop.d
cat >shop.c <<'END'
#include "shop.h"
#include <pthread.h>
static void *raise_it(void *semaphore)
{
    ++*(unsigned short *)semaphore;
    return 0;
}
int main(void)
{
    pthread_t thread;
    unsigned x = 1;
    if (SHOP_ORDER_PLACED_ENABLED() || pthread_create(&thread, 0, raise_it, (void *)&shop_order__placed_semaphore))
        return 1;
    while (x) { /* an odd number stays odd */
        x = x * 5;
        if (SHOP_ORDER_PLACED_ENABLED())
            return 0;
    }
    return 2;
}
END
$dtrace -h -s shop.d
$dtrace -G -s shop.d
for compiler in gcc g++ clang-14 clang-19; do
    have $compiler || continue
    for level in -O0 -O1 -O2 -O3; do
        $compiler -x "$([ $compiler = g++ ] && echo c++ || echo c)" $level -I"$INCLUDE" -pthread shop.c -x none shop.o -o shop
        status=0; timeout 100 ./shop || status=$?
        expect "$compiler $level" $status 0
    done
done
