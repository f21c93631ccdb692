/* One probe per type: surface.sh compiles this with our headers and with those they stand in for, and compares what
 * readelf prints. P0, P1, P3, P12 are the macro of the header under test. C and C++. */
#include <stddef.h>
#ifdef __cplusplus
enum class scoped : short { one = 1 };
enum wide : long { wide_one = 1 };
template <typename T> static T through(T value)
{
    P1(template_value, value);
    return value;
}
#else
#include <stdbool.h>
#endif
#include <stdint.h>
#include <wchar.h>

enum positive { zero, one };
enum negative { minus = -1, plus };
struct point {
    int x;
    char name[5];
    unsigned char byte;
};
typedef int (*callback)(void);
typedef unsigned short port;
extern char unknown_bound[];
char unknown_bound[3];
static int table[3][4];
static const char text[] = "text";
int global = 5;
__thread long thread_local_long = 6;
static int some_function(void) { return 1; }

int everything(int i, char **argv);
int everything(int i, char **argv)
{
    char c = 'c';
    signed char sc = -1;
    unsigned char uc = 1;
    short s = -2;
    unsigned short us = 2;
    unsigned int u = 3;
    long l = -4;
    unsigned long ul = 4;
    long long ll = -5;
    unsigned long long ull = 5;
    bool b = true;
    wchar_t wc = L'w';
    int8_t i8 = -1;
    uint8_t u8 = 1;
    int16_t i16 = -1;
    uint16_t u16 = 1;
    int32_t i32 = -1;
    uint32_t u32 = 1;
    int64_t i64 = -1;
    uint64_t u64 = 1;
    size_t size = 9;
    ptrdiff_t diff = -9;
    float f = 1.5f;
    double d = 2.5;
    const int ci = i;
    volatile int vi = i;
    const volatile short cvs = 1;
    volatile unsigned char vuc = 1;
    const char *const cs = "const";
    void *vp = argv;
    callback cb = some_function;
    enum positive ep = one;
    enum negative en = minus;
    struct point point = {1, "name", 2};
    struct point *pp = &point;
    port number = 80;

    P0(no_arguments);
    P1(int_, i); P1(char_, c); P1(schar_, sc); P1(uchar_, uc); P1(short_, s); P1(ushort_, us); P1(uint_, u);
    P1(long_, l); P1(ulong_, ul); P1(llong_, ll); P1(ullong_, ull); P1(bool_, b); P1(wchar_, wc);
    P1(int8_, i8); P1(uint8_, u8); P1(int16_, i16); P1(uint16_, u16); P1(int32_, i32); P1(uint32_, u32);
    P1(int64_, i64); P1(uint64_, u64); P1(size_, size); P1(diff_, diff);
    P1(float_, f); P1(double_, d);
    P1(cint_, ci); P1(vint_, vi); P1(cvshort_, cvs); P1(vuchar_, vuc);
    P1(string_, cs); P1(literal_, "literal"); P1(pointer_, vp); P1(argv_, argv); P1(array_, text); P1(array2_, table);
    P1(row_, table[1]); P1(unknown_, unknown_bound); P1(addressof_, &some_function);
    P1(callback_, cb); P1(positive_, ep); P1(negative_, en); P1(enumerator_, plus);
    P1(member_, point.x); P1(member_array_, point.name); P1(member_byte_, pp->byte); P1(typedef_, number);
    P1(global_, global); P1(thread_, thread_local_long); P1(address_, &global);
    P1(zero_, 0); P1(negative_constant_, -7); P1(unsigned_constant_, 7u); P1(long_constant_, 7L);
    P1(big_constant_, 0x7fffffffffffffffL);
    P1(char_constant_, 'x'); P1(null_, NULL); P1(null_pointer_, (void *)0); P1(sum_, s + us); P1(comparison_, i < 3);
    P1(conditional_, i ? l : 3); P1(cast_, (unsigned char)i); P1(dereferenced_, *argv); P1(double_sum_, d + f);
    P3(three, i, l, cs);
#ifdef WIDE /* FASTSDT refuses these. Volatile: the other headers fail on what gcc -O2 has in registers. */
    {
        volatile long double ld = 1.5L;
        volatile __int128 i128 = -1;
        volatile unsigned __int128 u128 = 1;
        volatile struct { long a[2]; } two = {{1, 2}};
        struct { long a[3]; } three = {{1, 2, 3}};
        struct { char a[3]; } bytes3 = {"ab"};
        struct { char a[5]; } bytes5 = {"abcd"};
        P1(long_double_, ld); P1(int128_, i128); P1(uint128_, u128); P1(two_longs_, two); P1(three_longs_, three);
        struct { char a; char b[3]; } bytes13 = {1, {2, 3, 4}}; /* gcc keeps it in memory; in C FASTSDT wants registers */
        P1(bytes3_, bytes3); P1(bytes5_, bytes5); P1(bytes13_, bytes13); P1(point_, point); P1(long_double_sum_, ld + 1);
        P3(mixed, i, i128, bytes3);
    }
#endif
    {
        struct { char a[4]; } bytes4 = {{1, 2, 3, 4}};
        struct { short a[4]; } bytes8 = {{1, 2, 3, 4}};
        union { char a[2]; short b; } bytes2 = {{1, 2}};
        float _Complex complex_float = 1.0f;
        P1(bytes4_, bytes4); P1(bytes8_, bytes8); P1(bytes2_, bytes2); P1(complex_, complex_float);
    }
    P12(twelve, c, sc, uc, s, us, i, u, l, ul, 10, cs, 12);
#ifndef __cplusplus
    P1(function_, some_function); /* in C++ the other headers take no function */
#else
    scoped sco = scoped::one;
    wide wid = wide_one;
    int &reference = i;
    const double &dreference = d;
    decltype(nullptr) np = nullptr;
    int (&array_reference)[3][4] = table;
    P1(scoped_, sco); P1(wide_, wid); P1(reference_, reference); P1(dreference_, dreference);
    P1(array_reference_, array_reference);
    P1(nullptr_variable_, np); P1(nullptr_, nullptr); P1(true_, true);
    through(3); through(3u); through((short)3); through((const char *)argv); through(2.5); through(sco); through('c');
#endif
    return i + (int)point.x + (int)vi + table[0][0];
}
int main(int argc, char **argv) { return everything(argc, argv) < 0; }
