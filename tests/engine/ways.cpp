// SPDX-License-Identifier: BSD-2-Clause
// The ways of C++ and of the C library to leave a function, for moved_ways.sh and guest_arm64.sh.
#include <atomic>
#include <coroutine>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>
#define KEEP __attribute__((noinline, noclone))
static std::atomic<long> destroyed;
struct Counted {
    ~Counted() { ++destroyed; }
};
static long since()
{
    return destroyed.exchange(0);
}

KEEP long deep(int n)
{
    Counted counted;
    if (n == 0)
        throw std::runtime_error(std::string(100, 'x'));
    return deep(n - 1) + 1;
}
static long exceptions()
{
    long caught = 0;
    for (int i = 0; i < 2000; ++i)
        try {
            deep(i % 20);
        } catch (const std::exception& e) {
            caught += e.what()[99] == 'x';
        }
    return caught;
}

struct Numbers { // a generator
    struct promise_type {
        int value = 0;
        Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int v)
        {
            value = v;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> handle;
};
KEEP Numbers numbers(int n)
{
    Counted counted;
    for (int i = 0; i < n; ++i)
        co_yield i;
    throw n;
}
static long coroutines()
{
    long sum = 0;
    for (int n = 1; n < 200; ++n) {
        Numbers all = numbers(n);
        try {
            for (int k = 0; k < (n % 2 ? n : n + 1); ++k) {
                all.handle.resume();
                sum += all.handle.promise().value;
            }
        } catch (int thrown) {
            sum += thrown;
        }
        all.handle.destroy();
    }
    return sum;
}

static ucontext_t outer, inner;
static long passed;
static void context()
{
    Counted counted;
    for (;;) {
        ++passed;
        swapcontext(&inner, &outer);
    }
}
static long contexts()
{
    static char stack[65536];
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = sizeof stack;
    makecontext(&inner, context, 0);
    for (int i = 0; i < 2000; ++i)
        swapcontext(&outer, &inner);
    return passed;
}

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
KEEP void waits(long how)
{
    Counted counted;
    char byte;
    switch (how % 4) {
    case 0: read(ends[0], &byte, 1); break;
    case 1:
        pthread_mutex_lock(&mutex);
        pthread_cleanup_push([](void*) { pthread_mutex_unlock(&mutex); }, nullptr);
        for (;;)
            pthread_cond_wait(&never, &mutex);
        pthread_cleanup_pop(0);
    case 2:
        for (;;)
            pthread_testcancel();
    default:
        for (;;)
            usleep(1000);
    }
}
static void* thread(void* how)
{
    Counted counted;
    waits(reinterpret_cast<long>(how));
    return nullptr;
}
static long cancelled()
{
    long ended = 0;
    pipe(ends);
    for (long i = 0; i < 1000; ++i) {
        pthread_t one;
        void* result = nullptr;
        pthread_create(&one, nullptr, thread, reinterpret_cast<void*>(i));
        pthread_cancel(one);
        pthread_join(one, &result);
        ended += result == PTHREAD_CANCELED;
    }
    return ended;
}

static volatile long walks, turns;
static void walk(int)
{
    void* frames[32];
    walks = walks + (backtrace(frames, 32) > 1);
}
static std::jmp_buf back;
static void jump(int)
{
    walks = walks + 1;
    siglongjmp(back, 1);
}
KEEP void sorted()
{
    std::vector<std::string> v;
    for (int i = 0; i < 50; ++i)
        v.push_back(std::to_string(i * 7919 % 1000));
    turns = turns + v.size();
}
static void signals(bool jumps)
{
    walk(0); // loads libgcc_s
    walks = 0;
    std::signal(SIGPROF, jumps ? jump : walk);
    const itimerval often = {{0, 1000}, {0, 1000}}, off = {};
    if (jumps)
        sigsetjmp(back, 1);
    setitimer(ITIMER_PROF, &often, nullptr);
    while (walks < 100)
        if (jumps) // a vector that is left by longjmp would hold malloc's lock
            turns = turns + std::abs(int(turns));
        else
            sorted();
    setitimer(ITIMER_PROF, &off, nullptr);
    std::signal(SIGPROF, SIG_IGN);
}

static std::string* nowhere;
KEEP size_t peeks(const long* p)
{
    return *p * 3 + 1;
}
KEEP long adds(long a, long b)
{
    return a * 3 + b;
}
static void thrower(int)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    throw 11;
}
static long faults()
{
    long caught = 0;
    for (int i = 0; i < 100; ++i) {
        Counted counted;
        try {
            peeks(reinterpret_cast<const long*>(nowhere));
        } catch (int thrown) {
            caught += thrown == 11;
        }
    }
    return caught;
}

// A forked child comes to handle faults, and has them when its code is its own again.
static unsigned char own_bytes[5];
static const void* volatile entry_of_peeks = reinterpret_cast<const void*>(peeks); // no code of a known address is read
static long child_that_faults()
{
    const pid_t child = fork();
    if (child == 0) {
        const long one = 1;
        peeks(&one); // its hits count
        std::signal(SIGSEGV, thrower);
        for (int i = 0; i < 60'000 && std::memcmp(entry_of_peeks, own_bytes, sizeof own_bytes) != 0; ++i)
            usleep(1000);
        _exit(faults() != 100);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

int main()
{
    std::memcpy(own_bytes, entry_of_peeks, sizeof own_bytes);
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    for (char line[16]; std::fgets(line, sizeof line, stdin);) {
        long result = 0;
        switch (line[0]) {
        case 'e': result = exceptions(); break;
        case 'c': result = coroutines(); break;
        case 'x': result = contexts(); break;
        case 't': result = cancelled(); break;
        case 's': signals(false); break;
        case 'j': signals(true); break;
        case 'p': result = peeks(&result) + adds(1, 2); break;
        case 'h': std::signal(SIGSEGV, thrower); break;
        case 'k': result = child_that_faults(); break;
        case 'f': result = faults() + adds(1, 2); break;
        }
        std::printf("%c %ld, %ld destroyed\n", line[0], result, since());
    }
}
