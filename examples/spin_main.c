/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls the loop in spin.S.
 */
#include <stdio.h>

int spin(unsigned long turns, int result);

int main(void)
{
    printf("%d\n", spin(1000, 42));
    return 0;
}
