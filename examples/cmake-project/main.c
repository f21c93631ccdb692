/* SPDX-License-Identifier: BSD-2-Clause */
#include "queue.h"

#include <fastsdt.h>
#include <stdio.h>

static int work(int rounds)
{
    int sum = 0;

    for (int i = 0; i < rounds; ++i)
        queue_put(i);
    for (int item; (item = queue_take()) >= 0;)
        sum += item;
    return sum;
}

int main(int argc, char** argv)
{
    (void)argv;
    FASTSDT(app, start, argc);
    printf("%d\n", work(10));
    return 0;
}
