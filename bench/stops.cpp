// SPDX-License-Identifier: BSD-2-Clause
//
// How long a process stands still while it is attached to: bench_stops THREADS... [--runs N] [--asleep]
// The process has that many threads, asleep but for one, which reads the clock all the time. Each run opens the process, arms a site for
// a count, disarms it and closes. For the threads asleep and, without --asleep, for as many that compute: the longest time between two readings in
// a run, how long the run took, and how many runs were refused, since threads got no processor in time.
#include "base/unusable.h"
#include "process/outside.h"
#include "script/parse.h"
#include "session.h"

#include <fastsdt.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

struct Shared {
    std::atomic<uint64_t> longest; // ns, set to 0 by the tracer
    std::atomic<bool> ready;
};
Shared* shared;
bool busy;

uint64_t now()
{
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

void* asleep(void*)
{
    for (;;)
        if (!busy) // else it computes nothing as fast as it can
            pause();
}

[[noreturn]] void traced(unsigned threads)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (unsigned i = 1; i < threads; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, asleep, nullptr) != 0)
            _exit(1);
    }
    shared->ready = true;
    for (uint64_t last = now();;) {
        const uint64_t time = now();
        if (time - last > shared->longest)
            shared->longest = time - last;
        last = time;
        FASTSDT(stops, turn);
    }
}

double at(std::vector<double> values, double part)
{
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

void measure(unsigned threads, int runs)
{
    shared->ready = false;
    const pid_t pid = fork();
    if (pid == 0)
        traced(threads);
    while (!shared->ready)
        usleep(1000);
    usleep(100'000);
    const auto script = fastsdt::engine::parse("usdt:*:stops:turn { @ = count(); }");
    std::vector<double> stood, took, alone;
    int refused = 0;
    for (int i = 0; i < runs; ++i) {
        usleep(2000);
        shared->longest = 0;
        const uint64_t begin = now();
        try {
            const auto target = fastsdt::engine::open_outside(pid);
            fastsdt::engine::Session session(script, *target);
            session.arm();
            session.disarm();
        } catch (const fastsdt::Unusable& error) {
            if (refused++ == 0)
                std::fprintf(stderr, "%u %s: %s\n", threads, busy ? "busy" : "asleep", error.what());
        }
        const uint64_t end = now();
        stood.push_back(static_cast<double>(shared->longest) / 1e6);
        took.push_back(static_cast<double>(end - begin) / 1e6);
        shared->longest = 0;
        while (now() - end < end - begin) // as long, without a tracer
            usleep(200);
        alone.push_back(static_cast<double>(shared->longest) / 1e6);
    }
    std::printf("%5u %-7s %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %7d\n", threads, busy ? "busy" : "asleep", at(stood, 0),
                at(stood, .5), at(stood, .9), at(alone, .5), at(alone, .9), at(took, .5), refused);
    std::fflush(stdout);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
}

} // namespace

int main(int argc, char** argv)
{
    int runs = 50;
    bool only_asleep = false;
    std::vector<unsigned> counts;
    for (int i = 1; i < argc; ++i)
        if (!std::strcmp(argv[i], "--runs") && i + 1 < argc)
            runs = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "--asleep"))
            only_asleep = true;
        else
            counts.push_back(static_cast<unsigned>(std::atoi(argv[i])));
    if (counts.empty() || runs < 1 || counts.front() == 0) {
        std::fprintf(stderr, "bench_stops THREADS... [--runs N] [--asleep]\n");
        return 2;
    }
    shared = new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared{};
    std::printf("%5s %-7s %9s %9s %9s %9s %9s %9s %7s\n", "", "", "still: min", "median", "p90", "without", "p90",
                "ms: run", "refused");
    for (const unsigned count : counts)
        for (const bool working : {false, true})
            if (!(working && only_asleep)) {
                busy = working;
                measure(count, runs);
            }
    return 0;
}
