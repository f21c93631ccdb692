/* Every macro of the three headers once, in C89 and C++98: clean.sh compiles it everywhere. */
#include "fastsdt.h"
#include <sys/sdt.h>
#include "usdt.h"
struct fields {
    unsigned f : 3;
    int s : 5;
};
enum color { red, green = 7 };
extern int global;
extern char text[7];
extern int function(int, char *, double);
FASTSDT_DECLARE_SEMA(own);
FASTSDT_DEFINE_SEMA(own);
USDT_DECLARE_SEMA(other);
USDT_DEFINE_SEMA(other);
int global;
char text[7];
FASTPROBE int function(int i, char *s, double d)
{
    struct fields b;
    enum color color = red;
    float f = 1.5f;
    const volatile short cv = 3;
    b.f = 5;
    b.s = -3;
    FASTSDT(test, none);
    FASTSDT(test, some, i, s, d, f, color, global, text, function, "text", cv, 'c', *s);
    FASTSDT(test, fields, b.f, b.s, color, green);
    FASTSDT(my-app, dotted.name, i);
    FASTSDT_WITH(nop1, none, test, nop1, i);
    FASTSDT_WITH(default, implicit, test, implicit, i);
    FASTSDT_WITH(nop, explicit(own), test, explicit, i);
    if (FASTSDT_IS_ACTIVE(test, implicit) || FASTSDT_SEMA_IS_ACTIVE(own))
        FASTSDT(test, active);
    STAP_PROBE(test, stap);
    STAP_PROBE3(test, stap3, i, s, d);
    DTRACE_PROBE(test, dtrace);
    DTRACE_PROBE1(test, dtrace1, i);
    STAP_PROBE12(test, stap12, i, i, i, i, i, i, i, i, i, i, i, i);
    DTRACE_PROBE12(test, dtrace12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    USDT(test, usdt);
    USDT(test, usdt3, i, s, d);
    USDT("test", "usdtq", i, s);
    USDT_WITH_SEMA(test, usdtsema, i);
    USDT_WITH_EXPLICIT_SEMA(other, test, usdtexplicit, i);
    USDT_WITH_EXPLICIT_SEMA(other, test, usdtexplicit0);
    if (USDT_IS_ACTIVE(test, usdtsema) || USDT_SEMA_IS_ACTIVE(other))
        i++;
    return i;
}
NO_FASTPROBE int main(int argc, char **argv)
{
    return function(argc, argv[0], 1.5) - argc - (argc > 100);
}
