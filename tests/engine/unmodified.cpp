// SPDX-License-Identifier: BSD-2-Clause
// A program that is built without fastsdt: unmodified.sh and guest_arm64.sh know how often its functions are called.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#define FUNCTION extern "C" __attribute__((noinline, noclone))
static std::jmp_buf back;
static volatile long cell = 1;
FUNCTION long leaf(long a, long b)
{
    return a * 3 + b;
}
FUNCTION long calls(long n)
{
    return n <= 0 ? 1 : leaf(n, calls(n - 1)) + 1;
}
FUNCTION long branches(long n)
{
    if (n % 3 == 0)
        return n;
    if (n % 3 == 1)
        return leaf(n, 1) - 1;
    return cell + n;
}
FUNCTION void throws(long n)
{
    if (n % 2)
        throw std::runtime_error("odd");
    cell = n;
}
FUNCTION void jumps(long n)
{
    cell = n;
    if (n % 2)
        std::longjmp(back, 1);
}
FUNCTION long loads(const long* p)
{
    return *p;
}
// A site as sys/sdt.h of systemtap makes it, without a semaphore.
FUNCTION void site(long n)
{
    asm volatile("990: nop\n"
                 ".pushsection .note.stapsdt, \"\", \"note\"\n"
                 ".balign 4\n .4byte 992f-991f, 994f-993f, 3\n"
                 "991: .asciz \"stapsdt\"\n"
                 "992: .balign 4\n"
                 "993: .8byte 990b, _.stapsdt.base, 0\n .asciz \"old\"\n .asciz \"one\"\n .asciz \"-8@%0\"\n"
                 "994: .balign 4\n .popsection\n"
                 ".ifndef _.stapsdt.base\n"
                 ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
                 ".weak _.stapsdt.base\n .hidden _.stapsdt.base\n"
                 "_.stapsdt.base: .space 1\n .size _.stapsdt.base, 1\n .popsection\n .endif\n"
                 :
                 : "r"(n));
    cell = cell + n;
}
static long work(long turns)
{
    volatile long sum = 0, n = 0; // longjmp() keeps them
    for (n = 0; n < turns; n = n + 1) {
        sum = sum + leaf(n, sum) % 1000 + calls(n % 5) + branches(n);
        try {
            throws(n);
        } catch (const std::runtime_error&) {
            sum = sum + 1;
        }
        if (setjmp(back) == 0)
            jumps(n);
        sum = sum + loads(const_cast<const long*>(&cell));
        site(n);
    }
    return sum;
}
static void caught(int)
{
    _exit(3);
}
int main(int argc, char** argv) // app N [fork | handler | lines]: N turns; lines: for each line of its input
{
    const long turns = std::atol(argv[1]);
    const char* const how = argc > 2 ? argv[2] : "";
    if (std::strstr(how, "handler"))
        std::signal(SIGSEGV, caught);
    if (std::strstr(how, "lines")) {
        std::setvbuf(stdout, nullptr, _IONBF, 0);
        for (char line[16]; std::fgets(line, sizeof line, stdin); std::puts("did"))
            cell = work(turns);
        return 0;
    }
    if (std::strcmp(how, "fork") == 0) {
        const pid_t child = fork();
        const long sum = work(turns);
        if (child == 0)
            _exit(sum == 0);
        waitpid(child, nullptr, 0);
    }
    std::fprintf(stderr, "%ld\n", work(turns));
}
