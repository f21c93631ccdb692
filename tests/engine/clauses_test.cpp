// SPDX-License-Identifier: BSD-2-Clause
// Whole clauses at a site, made up of everything that has a type: structures, arrays, tuples, strings, ?:, buffers, variables, maps of
// each kind. Whatever they compute, the program must not see it: registers, flags, red zone and the stack around the stub's frame.
#include "made_up.h"
#include "own_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace fastsdt::engine;

namespace {

/// The first address that a pass left other than it was, above what the pass itself pushes; 0: none.
template <class Pass> size_t changed_above(const Pass& pass)
{
    volatile unsigned char canary[512];
    for (size_t i = 0; i < sizeof canary; ++i)
        canary[i] = static_cast<unsigned char>(0xc0 + i % 61);
    pass();
    for (size_t i = 0; i < sizeof canary; ++i)
        if (canary[i] != static_cast<unsigned char>(0xc0 + i % 61))
            return i + 1;
    return 0;
}

std::string first_difference(const Processor& before, const Processor& after)
{
    const auto* const a = reinterpret_cast<const unsigned char*>(&before);
    const auto* const b = reinterpret_cast<const unsigned char*>(&after);
    for (size_t i = 0; i < sizeof before; ++i)
        if (a[i] != b[i])
            return "byte " + std::to_string(i) + " of the processor's state";
    return "";
}

} // namespace

// A tuple's array of char has fewer bytes than a string: the bytes behind it in the frame are the program's registers.
TEST(Clause, AStringStaysInItsPlaceInATuple)
{
    for (const char* action :
         {"@[(arg1 & 1, ((struct user*)arg0)->name)] = count();",
          "$t = (arg1, ((struct user*)arg0)->name); @ = count();", "print((arg1, ((struct user*)arg0)->name));",
          "@[(arg1, arg1 ? ((struct user*)arg0)->odd : str(arg2))] = count();",
          "$n = ((struct user*)arg0)->name; $n = str(arg2); @[(1, $n)] = count();",
          "@n = ((struct user*)arg0)->name; @[(1, @n)] = count();", "@[(1, ((struct user*)arg0)->in)] = count();"}) {
        OwnRun run(std::string(declared) + "usdt:*:p:n { " + action + " }", usdt(arguments));
        std::mt19937_64 random(1);
        for (int i = 0; i < 100; ++i) {
            Processor before = random_state(random);
            before.gpr[RAX] = uint64_t(&user);
            before.gpr[R12] = uint64_t(long_text);
            Processor after = before;
            ASSERT_EQ(changed_above([&] { run.pass(after); }), 0U) << action;
            after.gpr[RSP] = before.gpr[RSP]; // changed by the pass itself
            ASSERT_EQ(first_difference(before, after), "") << action;
        }
    }
}

TEST(Clause, MadeUpOnesLeaveTheProgramAsItIs)
{
    const char* const given_seed = std::getenv("FASTSDT_SEED");
    const char* const given_count = std::getenv("FASTSDT_CLAUSES");
    const uint64_t first = given_seed ? std::strtoull(given_seed, nullptr, 10) : 1;
    const uint64_t count = given_count ? std::strtoull(given_count, nullptr, 10) : 4000;
    std::map<std::string, int> refused;
    int armed = 0;
    for (uint64_t seed = first; seed < first + count; ++seed) {
        const std::string script = MadeUpClauses(seed).script();
        std::mt19937_64 random(seed);
        try {
            OwnRun run(script, usdt(arguments), own_environment(), size_t(8) << 20, size_t(64) << 10);
            ++armed;
            for (int i = 0; i < 12; ++i) {
                Processor before = random_state(random);
                // Mostly what the script says it is; sometimes nothing that can be read.
                before.gpr[RAX] = i == 5 ? 8 : i == 6 ? random() : uint64_t(&user);
                before.gpr[R12] = i == 7 ? 16 : uint64_t(long_text) + random() % sizeof long_text;
                before.gpr[RCX] = i % 3 ? before.gpr[RCX] % 4 : before.gpr[RCX];
                Processor after = before;
                ASSERT_EQ(changed_above([&] { run.pass(after); }), 0U) << "seed " << seed << "\n" << script;
                after.gpr[RSP] = before.gpr[RSP];
                ASSERT_EQ(first_difference(before, after), "") << "seed " << seed << ", pass " << i << "\n" << script;
            }
            run.maps();
            run.events(true);
        } catch (const ScriptError& error) {
            ++refused[error.what()];
        } catch (const std::runtime_error& error) {
            ++refused[error.what()];
        }
    }
    std::string reasons;
    for (const auto& [reason, times] : refused)
        reasons += std::to_string(times) + "  " + reason + "\n";
    EXPECT_GE(uint64_t(armed), count / 2) << reasons;
    if (given_seed)
        std::cout << armed << " of " << count << " armed\n" << reasons;
}
