// SPDX-License-Identifier: BSD-2-Clause
// The program target.c as a child, told what to do and asked what it saw; its sites; and a stub made by hand for them.
#pragma once
#include "arming/arm.h"
#include "code/machine.h"
#include "process/outside.h"
#include "process/view.h"
#include "live/live.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::engine::test {

inline std::string beside_us(const std::string& name)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
    return self.substr(0, self.rfind('/') + 1) + name;
}

/// How often a test repeats what it does: `usual`, or less: arming takes milliseconds, and seconds in an emulated guest.
inline int rounds(int usual)
{
    const char* const most = std::getenv("FASTSDT_ROUNDS");
    return most ? std::min(std::atoi(most), usual) : usual;
}

class Program {
public:
    /// @param prepare  called in the child before it executes the command
    explicit Program(
        std::vector<std::string> command = {beside_us("engine_target")}, const std::function<void()>& prepare = [] {})
    {
        int to[2], from[2];
        if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
            throw std::runtime_error("pipe");
        pid_ = fork();
        if (pid_ == 0) {
            dup2(to[0], 0);
            dup2(from[1], 1);
            prepare();
            std::vector<char*> words;
            for (std::string& word : command)
                words.push_back(word.data());
            words.push_back(nullptr);
            execv(words[0], words.data());
            _exit(127);
        }
        close(to[0]);
        close(from[1]);
        in_ = fdopen(to[1], "w");
        out_ = fdopen(from[0], "r");
        EXPECT_EQ(line(), "ready");
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program()
    {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        fclose(in_);
        fclose(out_);
    }
    pid_t pid() const { return pid_; }
    void say(const std::string& command)
    {
        std::fprintf(in_, "%s\n", command.c_str());
        std::fflush(in_);
    }
    /// The next line that the program says; empty when it has ended.
    std::string line()
    {
        char text[4096];
        if (!fgets(text, sizeof text, out_))
            return {};
        text[strcspn(text, "\n")] = 0;
        return text;
    }
    /// Whether it has said something, or says it within a millisecond.
    bool has_line()
    {
        pollfd said{fileno(out_), POLLIN, 0};
        return poll(&said, 1, 1) > 0;
    }
    std::string ask(const std::string& command)
    {
        say(command);
        return line();
    }
    struct Passes {
        long passed = -1, wrong = -1, left = -1;
    };
    Passes passes(const std::string& command)
    {
        Passes p;
        const std::string answer = ask(command);
        EXPECT_EQ(std::sscanf(answer.c_str(), "passed %ld wrong %ld left %ld", &p.passed, &p.wrong, &p.left), 3)
            << answer;
        return p;
    }

private:
    pid_t pid_ = -1;
    FILE *in_ = nullptr, *out_ = nullptr;
};

/// Sites of provider "target" (or another), in the order of their names.
inline std::vector<Site> sites_of(pid_t pid, const std::string& provider = "target", const std::string& prefix = "s")
{
    std::vector<Site> sites;
    for (const LiveFile& file : read_process(pid).files)
        for (const LiveSite& live : file.sites) {
            if (live.provider != provider || !live.name.starts_with(prefix))
                continue;
            Site site;
            site.file = file.path;
            site.provider = live.provider;
            site.name = live.name;
            site.arguments = live.arguments;
            site.load_bias = live.runtime.value - live.address.value;
            site.semaphore = live.semaphore ? live.semaphore.value + site.load_bias : 0;
            if (live.expected.patch_length == own_machine.length) {
                site.patch = live.runtime.value + live.expected.lead + live.expected.patch_offset;
                site.length = own_machine.length;
            }
            sites.push_back(std::move(site));
        }
    std::stable_sort(sites.begin(), sites.end(), [](const Site& a, const Site& b) { return a.name < b.name; });
    for (size_t i = 0; i < sites.size(); ++i)
        sites[i].probe = i;
    return sites;
}

/// Counts hits of a site in word `first` + Site::probe of the data's slice, in all threads together.
class CountingStubs {
public:
    static constexpr size_t length = 64;

    explicit CountingStubs(size_t first = 0) : first_(first) {}

    Code operator()(std::span<const Site> sites, const Arena& arena) const
    {
        Code code;
        for (size_t i = 0; i < sites.size(); ++i) {
            const uint64_t stub = arena.code + code.bytes.size();
            Patch patch;
            patch.site = i;
            patch.at = sites[i].patch;
            patch.length = own_machine.exchanged;
            const auto append = [&](const void* bytes) {
                const auto* p = static_cast<const std::byte*>(bytes);
                code.bytes.insert(code.bytes.end(), p, p + length);
            };
#if defined(__aarch64__)
            const auto branch = [](uint64_t from, uint64_t to) {
                return 0x14000000 | (static_cast<uint32_t>(static_cast<int64_t>(to - from) / 4) & 0x3ffffff);
            };
            const uint64_t pages = arena.mark / 4096 - (stub + 12) / 4096;
            const uint32_t words[length / 4] = {
                0xd10083ff, // sub sp, sp, #32
                0xa90007e0, // stp x0, x1, [sp]
                0xf9000be2, // str x2, [sp, #16]
                static_cast<uint32_t>(0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5), // adrp x0, mark
                static_cast<uint32_t>(0xf9400000 | (arena.mark % 4096 / 8) << 10),         // ldr x0, [x0, mark]
                0xb40000c0,                                                                // cbz x0, behind the loop
                static_cast<uint32_t>(0x91000000 | (8 * (first_ + sites[i].probe)) << 10), // add x0, x0, word
                0xc85f7c01,                                                                // ldxr x1, [x0]
                0x91000421,                                                                // add x1, x1, #1
                0xc8027c01,                                                                // stxr w2, x1, [x0]
                0x35ffffa2,                                                                // cbnz w2, to the ldxr
                0xf9400be2,                                                                // ldr x2, [sp, #16]
                0xa94007e0,                                                                // ldp x0, x1, [sp]
                0x910083ff,                                                                // add sp, sp, #32
                branch(stub + 56, sites[i].patch + 4),
            };
            append(words);
            const uint32_t nop = 0xd503201f, jump = branch(patch.at, stub);
            std::memcpy(patch.before.data(), &nop, 4);
            std::memcpy(patch.after.data(), &jump, 4);
#else
            uint8_t bytes[length] = {
                0x48, 0x8d, 0x64, 0x24, 0x80,          // lea -0x80(%rsp), %rsp
                0x50,                                  // push %rax
                0x9f,                                  // lahf: no pushf, which would keep a debugger's trap flag
                0x0f, 0x90, 0xc0,                      // seto %al
                0x50,                                  // push %rax
                0x48, 0x8b, 0x05, 0,    0,    0, 0,    // mov mark(%rip), %rax
                0x48, 0x85, 0xc0,                      // test %rax, %rax
                0x74, 0x08,                            // je over the next
                0xf0, 0x48, 0xff, 0x80, 0,    0, 0, 0, // lock incq word(%rax)
                0x58,                                  // pop %rax
                0x04, 0x7f,                            // add $0x7f, %al
                0x9e,                                  // sahf
                0x58,                                  // pop %rax
                0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0, // lea 0x80(%rsp), %rsp
                0xe9, 0,    0,    0,    0,             // jmp behind the site
            };
            const auto put = [](uint8_t* at, uint64_t value) { std::memcpy(at, &value, 4); };
            put(bytes + 14, arena.mark - (stub + 18));
            put(bytes + 27, 8 * (first_ + sites[i].probe));
            put(bytes + 45, sites[i].patch + sites[i].length - (stub + 49));
            append(bytes);
            const uint8_t nop[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0};
            uint8_t jump[] = {0x66, 0x2e, 0x48, 0xe9, 0, 0, 0, 0};
            put(jump + 4, stub - (patch.at + 8));
            std::memcpy(patch.before.data(), nop, 8);
            std::memcpy(patch.after.data(), jump, 8);
#endif
            code.patches.push_back(patch);
            code.stubs.push_back(stub);
        }
        return code;
    }

private:
    size_t first_;
};

/// Word `index` of the data's slice.
inline uint64_t hits(Target& target, size_t index)
{
    uint64_t value = ~uint64_t{0};
    const auto bytes = target.read_data(Tables::slice + 8 * index, 8);
    if (bytes.size() == 8)
        std::memcpy(&value, bytes.data(), 8);
    return value;
}

inline uint64_t all_hits(Target& target, size_t sites)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sites; ++i)
        sum += hits(target, i);
    return sum;
}

} // namespace fastsdt::engine::test
