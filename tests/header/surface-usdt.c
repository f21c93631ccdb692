/* libbpf's usdt.h: quoted names, macros as names, semaphores, a constraint and a nop of one's own. */
#define USDT_ARG_CONSTRAINT n
#ifdef WITH_NOP
#define USDT_NOP .byte 0x66, 0x90
#endif
#include "usdt.h"
#if USDT_MAJOR_VERSION != 0 || USDT_MINOR_VERSION < 1
#error version
#endif
#define GROUP expanded
#define NAME too
USDT_DECLARE_SEMA(declared);
USDT_DEFINE_SEMA(declared);
USDT_DEFINE_SEMA(mine);
int main(void)
{
    int active = 0;
    USDT(group, none);
    USDT("group", "name");
    USDT("group", "args", 1, -2L);
    USDT(GROUP, NAME, 'c');
    USDT(group, twelve, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    USDT_WITH_SEMA(group, implicit);
    USDT_WITH_SEMA(group, implicit2, 1, 2u);
    USDT_WITH_EXPLICIT_SEMA(mine, group, explicit0);
    USDT_WITH_EXPLICIT_SEMA(mine, group, explicit3, 1, 2, 3);
    USDT_WITH_EXPLICIT_SEMA(declared, "group", "explicitq", 1);
    if (USDT_IS_ACTIVE(group, implicit))
        active = 1;
    if (USDT_SEMA_IS_ACTIVE(mine) || USDT_SEMA(mine).active)
        active = 2;
    return active;
}
