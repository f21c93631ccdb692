/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/sdt.h>

#if FASTSDT_VERSION < 100
#error "not the sys/sdt.h of fastsdt"
#endif

int main(int argc, char** argv)
{
    DTRACE_PROBE2(app, start, argc, argv);
    return 0;
}
