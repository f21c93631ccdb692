/* SPDX-License-Identifier: BSD-2-Clause
 *
 * That is all: include the header, and say what happened. Build with any compiler:
 *
 *     cc -O2 -I../include hello.c -o hello
 *     fastsdt-check hello
 *     bpftrace -e 'usdt:./hello:shop:order { printf("order %d, %s, %d cents\n", arg0, str(arg1), arg2); }' -c './hello 3'
 */
#include <fastsdt.h>
#include <stdio.h>
#include <stdlib.h>

static int place_order(int id, const char* item, long cents)
{
    FASTSDT(shop, order, id, item, cents);
    return id + 1;
}

int main(int argc, char** argv)
{
    int orders = argc > 1 ? atoi(argv[1]) : 3;
    int id = 1;

    puts("open");
    if (argc > 1 && argv[1][0] == '-') { /* an order for each line of input, answered with its number */
        char item[80];

        while (fgets(item, sizeof(item), stdin)) {
            id = place_order(id, item, 0);
            printf("%d\n", id - 1);
            fflush(stdout);
        }
    } else {
        while (id <= orders)
            id = place_order(id, id % 2 ? "tea" : "coffee", 250 + id);
    }
    FASTSDT(shop, closed);
    printf("%d orders\n", id - 1);
    return 0;
}
