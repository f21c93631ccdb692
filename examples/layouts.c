/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One site of each layout. `fastsdt-check layouts` says what each kernel does with each: hence the default.
 */
#define FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1
#define FASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2
#include <fastsdt.h>

int main(void)
{
    int i;

    for (i = 0; i < 10; i++) {
        FASTSDT(layout, by_default, i);
        FASTSDT_WITH(nop1, none, layout, nop1, i);
        FASTSDT_WITH(nop1_nop4, none, layout, nop1_nop4, i);
        FASTSDT_WITH(nop5, none, layout, nop5, i);
        FASTSDT_WITH(nop1_nop5, none, layout, nop1_nop5, i);
        FASTSDT_WITH(nop10, none, layout, nop10, i);
        FASTSDT_WITH(nop1_nop10, none, layout, nop1_nop10, i);
    }
    return 0;
}
