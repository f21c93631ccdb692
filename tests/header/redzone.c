/* Leaf functions that like to keep data below the stack pointer, each with a probe. Run with the addresses to patch: every
 * one gets a call, as kernels of 6.18 to 7.1 write it over a traced nop5, to a routine that overwrites everything from the
 * return address to 128 bytes below what the stack pointer was. Then all functions must compute what they did before.
 * Built for each LAYOUT, and also as C++ (destructors, exceptions, lambdas). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "fastsdt.h"

#define PROBE(name, ...) FASTSDT_WITH(LAYOUT, none, redzone, name, __VA_ARGS__)
#define LEAF __attribute__((noinline))

/* Keeps all registers; the return address is the only thing below the old stack pointer that it needs. */
__asm__(".text\n.globl clobber\n.type clobber, @function\nclobber:\n"
        "movq %rax, saved_rax(%rip)\nmovq %rcx, saved_rcx(%rip)\nmovq $-15, %rcx\nmovabsq $0xdeadbeefdeadbeef, %rax\n"
        "1: movq %rax, (%rsp,%rcx,8)\nincq %rcx\njnz 1b\n"
        "movq saved_rax(%rip), %rax\nmovq saved_rcx(%rip), %rcx\nret\n.size clobber, . - clobber\n"
        ".local saved_rax\n.comm saved_rax, 8, 8\n.local saved_rcx\n.comm saved_rcx, 8, 8\n");
void clobber_address(void) __asm__("clobber");

LEAF static long locals(long a, long b)
{
    volatile long x[12];
    int i;
    for (i = 0; i < 12; i++)
        x[i] = a * i + b;
    PROBE(locals, a);
    return x[0] + x[3] * 3 + x[7] * 5 + x[11] * 7;
}
LEAF static long pressure(long a, long b)
{
    long c = a * 3, d = b * 5, e = a ^ b, f = a + 7, g = b - 9, h = a * b, i = a - b, j = c * d;
    long k = e * f, l = g * h, m = i * j, n = k + l;
    long o = m ^ n, p = c + e, q = d - f, r = g ^ i;
    PROBE(pressure, a, b, c, d, e, f, g, h, i, j, k, l);
    return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 +
           j * 10 + k * 11 + l * 12 + m * 13 + n * 14 + o * 15 + p * 16 + q * 17 + r * 18;
}
LEAF static long reals(long a, long b)
{
    volatile double x = (double)a, y = (double)b * 0.5;
    volatile float z = 1.5f;
    PROBE(reals, x);
    return (long)(x * 3 + y * 8 + (double)z * 2);
}
LEAF static long looped(long a, long b)
{
    volatile int t[6] = {1, 2, 3, 4, 5, 6};
    long sum = b;
    int i;
    for (i = 0; i < 6; i++) {
        PROBE(looped, i);
        sum = sum * 7 + t[i] + a;
    }
    return sum;
}
LEAF static long sometimes(long a, long b)
{
    volatile long x = a * 11, y = b * 13;
    if (a > 2) {
        PROBE(sometimes, x);
        return x - y * 2;
    }
    return x + y;
}
__attribute__((always_inline)) static inline long inner(long v)
{
    volatile long kept = v ^ 0x5555;
    PROBE(inner, v);
    return kept;
}
LEAF static long outer(long a, long b)
{
    volatile long x = a + 100, y = b + 200;
    long s = inner(a) + inner(b);
    return x * 3 + y * 5 + s;
}
LEAF static long switched(long a, long b)
{
    volatile short x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    switch (a & 3) {
    case 0: PROBE(case0, a); return x[b & 7];
    case 1: PROBE(case1, a); return x[a & 7] * 3;
    case 2: PROBE(case2, b); return x[5] - x[b & 3];
    default: PROBE(case3, b); return x[6] + x[a & 3] * 9;
    }
}
LEAF static long two(long a, long b)
{
    volatile long x = a, y;
    PROBE(first, a);
    y = x * 3 + b;
    PROBE(second, x, y);
    return x + y;
}
static void finish(long *value) { *value += 1; }
LEAF static long cleaned(long a, long b)
{
    volatile long result = 0;
    {
        __attribute__((cleanup(finish))) long x = a * 3;
        PROBE(cleaned, x);
        result = result + x;
    }
    {
        __attribute__((cleanup(finish))) long y = b * 5;
        volatile long variable[(a & 3) + 1];
        variable[a & 3] = y;
        PROBE(variable, y);
        result = result + y + variable[a & 3];
    }
    return result;
}
#ifdef __cplusplus
struct Guard {
    volatile long *where;
    explicit Guard(volatile long *w) : where(w) { *where += 3; }
    ~Guard() { *where *= 5; }
};
LEAF static long guarded(long a, long b)
{
    volatile long x = a, y = b;
    {
        Guard g(&x);
        PROBE(guarded, a);
        y = y + x;
    }
    return x * 3 + y;
}
LEAF static long thrown(long a, long b)
{
    volatile long x = a * 7;
    try {
        Guard g(&x);
        PROBE(thrown, b);
        if (a & 1)
            throw b;
        x = x + 1;
    } catch (long value) {
        volatile long y = value;
        PROBE(caught, value);
        return x + y * 3;
    }
    return x;
}
LEAF static long lambda(long a, long b)
{
    volatile long x = a, y = b;
    auto f = [&](long v) { volatile long z = v; PROBE(lambda, v); return z + x; };
    return f(a) + f(b) * 3 + y;
}
template <typename T> LEAF static long templated(T a, T b)
{
    volatile T x[4] = {a, b, (T)(a + b), (T)(a - b)};
    PROBE(templated, a);
    return (long)x[0] + (long)x[1] * 3 + (long)x[2] * 5 + (long)x[3] * 7;
}
LEAF static long template_char(long a, long b) { return templated((char)a, (char)b); }
LEAF static long template_long(long a, long b) { return templated(a, b); }
#endif
static const struct {
    const char *name;
    long (*function)(long, long);
} all[] = {{"locals", locals}, {"pressure", pressure}, {"reals", reals}, {"looped", looped}, {"sometimes", sometimes},
    {"outer", outer}, {"switched", switched}, {"two", two}, {"cleaned", cleaned},
#ifdef __cplusplus
    {"guarded", guarded}, {"thrown", thrown}, {"lambda", lambda},
    {"template_char", template_char}, {"template_long", template_long},
#endif
};
enum { count = sizeof all / sizeof all[0] };
int main(int argc, char **argv)
{
    static long before[count][8];
    int i, n, wrong = 0;
    for (i = 0; i < count; i++)
        for (n = 0; n < 8; n++)
            before[i][n] = all[i].function(n * 5 + 1, n + 4);
    for (i = 1; i < argc; i++) {
        unsigned char *site = (unsigned char *)strtoul(argv[i], NULL, 0);
        int relative = (int)((long)(void *)clobber_address - (long)(site + 5));
        char *page = (char *)((unsigned long)site & ~4095UL);
        if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
            return 2;
        site[0] = 0xe8;
        memcpy(site + 1, &relative, 4);
        if (site[5] == 0 && site[6] == 0 && LAYOUT_IS_NOP10) /* the rest of a nop10 */
            memcpy(site + 5, "\x0f\x1f\x44\x00\x00", 5);
    }
    for (i = 0; i < count; i++)
        for (n = 0; n < 8; n++)
            if (before[i][n] != all[i].function(n * 5 + 1, n + 4)) {
                printf("%s\n", all[i].name);
                wrong = 1;
                break;
            }
    return wrong;
}
