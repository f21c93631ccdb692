// SPDX-License-Identifier: BSD-2-Clause
//
// Counter by every means of this kernel: the counts are what the processes did.
#include "counter.h"
#include "live_site.h"
#include "process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fastsdt {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)
#ifdef __x86_64__
const std::vector<uint8_t> Nop_and_return = {0x90, 0xc3};
#else
const std::vector<uint8_t> Nop_and_return = {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};
#endif

// A process that, when told, has 100 hits in each of 8 new threads, and 30 in a child. Then it says that it is done,
// and lives until it is told again.
class Worker {
public:
    explicit Worker(const test::LiveSite& site)
    {
        EXPECT_EQ(pipe(to_), 0);
        EXPECT_EQ(pipe(from_), 0);
        pid_ = fork();
        if (pid_ == 0) {
            close(to_[1]); // so that it ends with this process
            char c;
            if (read(to_[0], &c, 1) != 1)
                _exit(1);
            const auto hit = [&](int n) {
                for (int i = 0; i < n; ++i)
                    site.call();
            };
            std::vector<std::thread> threads;
            for (int i = 0; i < 8; ++i)
                threads.emplace_back(hit, 100);
            for (auto& thread : threads)
                thread.join();
            const pid_t child = fork();
            if (child == 0) {
                hit(30);
                _exit(0);
            }
            waitpid(child, nullptr, 0);
            if (write(from_[1], "", 1) != 1 || read(to_[0], &c, 1) != 1)
                _exit(1);
            _exit(0);
        }
    }
    ~Worker()
    {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        for (int fd : {to_[0], to_[1], from_[0], from_[1]})
            close(fd);
    }
    pid_t pid() const { return pid_; }
    void work() const
    {
        char c;
        EXPECT_EQ(write(to_[1], "", 1), 1);
        EXPECT_EQ(read(from_[0], &c, 1), 1);
    }

private:
    int to_[2], from_[2];
    pid_t pid_;
};

class Counting : public testing::TestWithParam<Means> {
protected:
    void SetUp() override
    {
        if (auto why = test::why_no_uprobes(); !why.empty())
            GTEST_SKIP() << why;
    }
    uint64_t count(Scope scope)
    {
        const test::LiveSite site(Nop_and_return);
        const Worker worker(site), bystander(site);
        Counter counter({{site.path(), site.offset(), 0, false}}, worker.pid(), scope, GetParam());
        counter.start();
        bystander.work();
        worker.work();
        counter.stop();
        EXPECT_EQ(counter.counted(0).error, 0);
        scope_ = counter.scope();
        return counter.counted(0).hits;
    }
    Scope scope_ = Scope::everyone;
};

TEST_P(Counting, OneProcess)
{
    const uint64_t hits = count(Scope::process);
    EXPECT_EQ(hits, scope_ == Scope::process ? 800u : 1660u);
    EXPECT_EQ(scope_ == Scope::everyone, GetParam() == Means::perf_events);
}

TEST_P(Counting, ProcessAndWhatItForks)
{
    const uint64_t hits = count(Scope::tree);
    EXPECT_EQ(hits, scope_ == Scope::tree ? 830u : 1660u);
    EXPECT_EQ(scope_ == Scope::everyone, GetParam() == Means::perf_events);
}

INSTANTIATE_TEST_SUITE_P(By, Counting, testing::Values(Means::perf_events, Means::bpf_events, Means::bpf_multi),
                         [](const auto& info) {
                             return std::string(info.param == Means::perf_events      ? "PerfEvents"
                                                    : info.param == Means::bpf_events ? "BpfEvents"
                                                                                      : "BpfMulti");
                         });

// One of the places is refused: the others are attached and count.
TEST_P(Counting, OneRefused)
{
    const test::LiveSite good(Nop_and_return);
    const Worker worker(good);
    std::vector<Target> targets(9, {good.path(), good.offset(), 0, false});
    targets[5].file_offset = 1 << 20; // behind the end of the file: EINVAL
    Counter counter(targets, worker.pid(), Scope::tree, GetParam());
    counter.start();
    worker.work();
    counter.stop();
    for (size_t i = 0; i < targets.size(); ++i) {
        EXPECT_EQ(counter.counted(i).error, i == 5 ? EINVAL : 0) << i;
        EXPECT_EQ(counter.counted(i).hits, i == 5 ? 0u : 830u) << i;
    }
}
#endif

} // namespace
} // namespace fastsdt
