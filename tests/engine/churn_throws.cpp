// SPDX-License-Identifier: BSD-2-Clause
//
// Threads that throw exceptions through functions which were built for nothing of ours, as churn.c: each line "go" or "quiet".
#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<unsigned long> passes, wrong;
std::atomic<bool> stopping;

struct Counted {
    explicit Counted(long& left) : left_(left) { ++left_; }
    ~Counted() { --left_; }
    long& left_;
};

extern "C" [[gnu::noinline]] long throw_at(long depth, long value, long& left)
{
    const Counted counted(left);
    if (depth == 0) {
        if (value % 3 == 0)
            throw std::runtime_error(std::to_string(value));
        throw value;
    }
    return throw_at(depth - 1, value, left) + depth;
}

extern "C" [[gnu::noinline]] long catch_one(long value)
{
    long left = 0, caught = -1;
    try {
        caught = throw_at(value % 7, value, left);
    } catch (long what) {
        caught = what;
    } catch (const std::runtime_error& error) {
        caught = std::stol(error.what());
    }
    return left == 0 ? caught : -1;
}

void work(long first)
{
    for (long i = first; !stopping; ++i) {
        if (catch_one(i) != i)
            ++wrong;
        ++passes;
    }
}

} // namespace

int main()
{
    char line[16];
    std::vector<std::thread> threads;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    while (std::fgets(line, sizeof line, stdin)) {
        if (!std::strcmp(line, "go\n")) {
            stopping = false;
            for (long i = 0; i < 3; ++i)
                threads.emplace_back(work, i * 1000);
            std::puts("going");
        } else {
            stopping = true;
            for (std::thread& thread : threads)
                thread.join();
            threads.clear();
            std::printf("quiet %lu %lu 0\n", passes.load(), wrong.load());
        }
    }
    return 0;
}
