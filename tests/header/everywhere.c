/* Arguments of every kind that systemtap's header takes, for every compiler: everywhere.sh. C89 to C2y and C++98 to C++26; SDT or USDT. */
#ifdef USDT_NAMES
#include <usdt.h>
#define P1(name, a) USDT(every, name, a)
#define P2(name, a, b) USDT(every, name, a, b)
#define P5(name, a, b, c, d, e) USDT(every, name, a, b, c, d, e)
#else
#include <sys/sdt.h>
#define P1(name, a) STAP_PROBE1(every, name, a)
#define P2(name, a, b) STAP_PROBE2(every, name, a, b)
#define P5(name, a, b, c, d, e) STAP_PROBE5(every, name, a, b, c, d, e)
#endif
struct wide { long a, b; };
struct small { int a; };
enum colour { red, green };
typedef int (*function)(int);
#ifdef __cplusplus
extern "C" {
#endif
int every(int i, const char *s, long l, short h, unsigned char *uc, struct wide *w, struct small *m, enum colour e, double d, function f);
int callee(int i);
extern int global;
extern char text[8];
int every(int i, const char *s, long l, short h, unsigned char *uc, struct wide *w, struct small *m, enum colour e, double d, function f)
{
    P5(scalars, i, s, l, h, uc[1]);
    P2(constants, 3, -4);
    P2(more, e, f);
    P2(memory, global, text);
    P1(number, d);
    P1(object, *m);
    P1(wide, *w);
    P5(beside, *w, text, callee, i + 1, "literal");
    return i;
}
#ifdef __cplusplus
}
template <typename T> struct box {
    T value;
    explicit box(T v) : value(v) {}
    ~box() {}
private:
    box(const box &); /* as std::atomic and std::unique_ptr: cannot be copied */
};
struct member { int a, b; int f(int); };
void objects(int i, long l, member *p, int member::*to);
void objects(int i, long l, member *p, int member::*to)
{
    box<char> one(1);
    box<short> two(2);
    box<int> four(i);
    box<long> word(l);
    box<long long> eight(l);
    P5(copyless, one, two, four, word, eight);
    P2(members, p->*to, p->a);
    P1(reference, *p);
}
template <typename T> inline T twice(const T &x)
{
    P1(generic, x);
    return x + x;
}
int instances(int i, double d);
int instances(int i, double d) { return twice(i) + int(twice(d)) + int(twice(short(i))); }
#endif
