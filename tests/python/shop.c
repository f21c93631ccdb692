/* Orders: a program for bpftrace, and a library that Python loads. */
#include <fastsdt.h>
#include <stdlib.h>

void run(int orders)
{
    static char tea[] = "tea", coffee[] = "coffee";
    volatile char there = tea[0]; /* the kernel reads no text for bpftrace whose page is not there yet */
    int i;
    there = coffee[0];
    (void)there;
    for (i = 0; i < orders; ++i) {
        const int digit = i % 10, shop = digit < 1 ? 0 : digit < 3 ? 1 : digit < 6 ? 2 : 3;
        FASTSDT(shop, order, shop, i, shop % 2 ? tea : coffee);
    }
    FASTSDT_WITH(nop, none, shop, closed, orders); /* no room for a jump */
}

int main(int argc, char** argv)
{
    run(argc > 1 ? atoi(argv[1]) : 0);
    return 0;
}
