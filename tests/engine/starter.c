/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A program with a module that was linked to it. Its status says whether all went well, or is the number given.
 */
#include <fastsdt.h>
#include <stdlib.h>

long run(void);

__attribute__((constructor)) static void begin(void)
{
    FASTSDT(module, s2_program);
}

int main(int argc, char** argv)
{
    int status = run() != 100;

    FASTSDT(module, s3_main, argc);
    return argc > 1 ? atoi(argv[1]) : status;
}
