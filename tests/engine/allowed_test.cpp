// SPDX-License-Identifier: BSD-2-Clause
//
// What seccomp filters say of a call: the kernel is asked the same, by a process that has the filter and makes the call.
#include "process/allowed.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <linux/seccomp.h>
#include <random>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

constexpr long no_call = 0x1f0; // a number without a call on all architectures: with any arguments it does nothing
using Filter = std::vector<sock_filter>;
using Arguments = std::array<uint64_t, 6>;

constexpr sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
constexpr sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77);

sock_filter load(uint32_t offset)
{
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}

uint32_t argument(unsigned number, bool high = false)
{
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + number * sizeof(uint64_t) + (high ? 4 : 0));
}

// Everything else is allowed: the process has to end.
Filter only_for_no_call(const Filter& filter)
{
    Filter all = {load(offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, no_call, 1, 0), allow};
    all.insert(all.end(), filter.begin(), filter.end());
    return all;
}

// A bit for each of the calls that passed. Empty: the kernel does not take the filter.
std::optional<unsigned> ask_kernel(Filter filter, const std::vector<Arguments>& calls)
{
    const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
    unsigned passed = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
        const pid_t child = fork();
        if (child == 0) {
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                _exit(2);
            const Arguments& a = calls[i];
            _exit(syscall(no_call, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 && errno == ENOSYS ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
            return std::nullopt;
        passed |= WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1u << i : 0; // a filter may kill it
    }
    return passed;
}

unsigned ask_us(const Filter& filter, const std::vector<Arguments>& calls)
{
    unsigned passed = 0;
    for (size_t i = 0; i < calls.size(); ++i) {
        AskedCall call{no_call, {}};
        std::copy(calls[i].begin(), calls[i].end(), call.arguments.begin());
        passed |= lets_pass(filter, call) ? 1u << i : 0;
    }
    return passed;
}

TEST(Allowed, AsTheKernelSays)
{
    const std::vector<Arguments> calls = {{0, 0, 0, 0, 0, 0},
                                          {1, 2, 4, 8, 16, 32},
                                          {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull},
                                          {1ull << 32, 7, 6, 5, 4, 3}};
    const std::vector<Filter> filters = {
        {allow},
        {refuse},
        {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG)},
        {load(argument(2)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), refuse, allow},
        {load(argument(0, true)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), allow, refuse},
        {load(argument(1)), BPF_STMT(BPF_ST, 3), load(argument(3)), BPF_STMT(BPF_LDX | BPF_MEM, 3),
         BPF_JUMP(BPF_JMP | BPF_JGT | BPF_X, 0, 0, 1), allow, refuse},
        {BPF_STMT(BPF_LDX | BPF_IMM, 100), load(argument(1)), BPF_STMT(BPF_MISC | BPF_TAX, 0), // divides by 0 once
         BPF_STMT(BPF_LD | BPF_IMM, 14), BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
         BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 2, 0, 1), allow, refuse},
        {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, sizeof(seccomp_data), 0, 1), allow,
         refuse},
        {load(argument(4)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 16, 0, 1), BPF_STMT(BPF_JMP | BPF_JA, 1), allow,
         refuse},
        {load(argument(5)), BPF_STMT(BPF_RET | BPF_A, 0)},
    };
    for (size_t i = 0; i < filters.size(); ++i) {
        const Filter filter = only_for_no_call(filters[i]);
        const auto kernel = ask_kernel(filter, calls);
        ASSERT_TRUE(kernel) << i;
        EXPECT_EQ(ask_us(filter, calls), *kernel) << i;
    }
}

// Of the words that it reads some are not known: then what passes passes whatever they are.
TEST(Allowed, MadeUpFilters)
{
    std::mt19937 random(29);
    const auto any = [&](std::initializer_list<int> values) { return *(values.begin() + random() % values.size()); };
    const std::vector<Arguments> calls = {{0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}, {~0ull, 1, 1ull << 33, 0, 2, 9}};
    unsigned taken = 0, passed = 0, unknown_passed = 0;
    for (unsigned round = 0; round < 300; ++round) {
        Filter filter = {BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_ST, 1), BPF_STMT(BPF_LDX | BPF_MEM, 0)};
        const unsigned length = 4 + random() % 20;
        for (unsigned i = 0; i < length; ++i) {
            const auto k = static_cast<uint32_t>(any({0, 1, 2, 3, 4, 31, 255, -1}));
            const auto left = static_cast<uint8_t>(random() % (length - i));
            switch (random() % 8) {
            case 0:
            case 1: filter.push_back(load(argument(random() % 6, random() % 2))); break;
            case 2:
            case 3: {
                const int operation =
                    any({BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG});
                const bool by_x = random() % 2;
                const bool small = operation == BPF_LSH || operation == BPF_RSH || operation == BPF_DIV;
                filter.push_back(BPF_STMT(static_cast<uint16_t>(BPF_ALU | operation | (by_x ? BPF_X : BPF_K)),
                                          small ? 1 + k % 31 : k));
                break;
            }
            case 4:
            case 5:
                filter.push_back(BPF_JUMP(
                    static_cast<uint16_t>(BPF_JMP | any({BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET}) | any({BPF_K, BPF_X})),
                    k, left, static_cast<uint8_t>(random() % (length - i))));
                break;
            case 6:
                filter.push_back(BPF_STMT(
                    static_cast<uint16_t>(any({BPF_ST, BPF_STX, BPF_LD | BPF_MEM, BPF_LDX | BPF_MEM})), k % 2));
                break;
            default: filter.push_back(BPF_STMT(static_cast<uint16_t>(BPF_MISC | any({BPF_TAX, BPF_TXA})), 0)); break;
            }
        }
        filter.push_back(random() % 2 ? allow : refuse);
        filter.push_back(random() % 2 ? allow : refuse); // a jump may skip one
        filter = only_for_no_call(filter);
        const auto kernel = ask_kernel(filter, calls);
        if (!kernel)
            continue;
        ++taken;
        passed += *kernel != 0;
        EXPECT_EQ(ask_us(filter, calls), *kernel) << round;
        for (unsigned number = 0; number < 6; ++number) {
            AskedCall call{no_call, {}};
            std::copy(calls[1].begin(), calls[1].end(), call.arguments.begin());
            call.arguments[number].reset();
            if (!lets_pass(filter, call))
                continue;
            ++unknown_passed;
            std::vector<Arguments> with;
            for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{255}, ~uint64_t{0}, uint64_t{1} << 40}) {
                with.push_back(calls[1]);
                with.back()[number] = value;
            }
            EXPECT_EQ(ask_us(filter, with), 31u) << round << ' ' << number;
        }
    }
    EXPECT_GT(taken, 100u);
    EXPECT_GT(passed, 50u);
    EXPECT_GT(unknown_passed, 100u);
}

} // namespace
} // namespace fastsdt::engine
