// SPDX-License-Identifier: BSD-2-Clause
// As moved_test.cpp, for arm64: every instruction of FASTSDT_FILES that may be moved is executed in place and moved, by
// moved_runner_arm64.c, which may run under qemu-user (arm64.sh). FASTSDT_MOVED_ROUNDS: how often each is, with other values.
#include "base/integers.h"
#include "code/arm64/moved.h"
#include "movable/instructions_arm64.h"
#include "movable/movable.h"
#include "runner_arm64.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <sstream>
#include <string>

namespace fastsdt::engine {
namespace {

using fastsdt::arm64::PcRelative;

// As the runner has them.
struct Registers {
    uint64_t x[31] = {}, sp = 0, flags = 0, pc = 0;
    unsigned char v[32][16] = {};
};
struct Request {
    uint64_t seed = 0, below_sp = 0, sizes[2] = {};
    uint32_t words[2][64] = {};
    Registers before;
};
struct Result {
    uint64_t signal = 0, fault = 0, memory = 0;
    Registers after;
};
constexpr uint64_t code = 0x4000000, stub = code + 65536, memory = 0x4080000, memory_size = 16384;
constexpr uint32_t brk = 0xd4200000; // #0

// The instruction as it could stand at `code`: a branch leads to the second brk behind it, and a literal is in the memory.
uint32_t placed(uint32_t word)
{
    const auto with = [&](unsigned shift, unsigned bits, uint64_t displacement) {
        const uint32_t mask = ((uint32_t{1} << bits) - 1) << shift;
        return (word & ~mask) | (uint32_t(displacement / 4) << shift & mask);
    };
    switch (fastsdt::arm64::pc_relative(word)) {
    case PcRelative::b:
    case PcRelative::bl: return with(0, 26, 8);
    case PcRelative::conditional: return (word & 0x7e000000) == 0x36000000 ? with(5, 14, 8) : with(5, 19, 8);
    case PcRelative::literal: return with(5, 19, memory + 4096 - code);
    default: return word;
    }
}

class MovedArm64 : public testing::Test {
protected:
    // Half of the registers point into the memory, the others are small. A return, or a jump by a register, leads to the second brk.
    void choose(uint32_t word)
    {
        Registers& registers = request.before;
        request.seed = random();
        for (uint64_t& x : registers.x)
            x = random() % 2 ? memory + 2048 + random() % 4096 / 8 * 8 + (random() % 4 ? 0 : random() % 8)
                             : random() % 100;
        for (auto& v : registers.v)
            for (unsigned char& byte : v)
                byte = static_cast<unsigned char>(random());
        registers.sp = memory + memory_size - 4096 - 16 * (random() % 16);
        registers.flags = random() & 0xf0000000;
        const bool jumps = (word & 0xffdffc1f) == 0xd61f0000 || (word & 0xfffffbff) == 0xd65f0bff; // br, ret
        if (jumps && (word >> 5 & 31) < 31)
            registers.x[word >> 5 & 31] = code + 8;
    }

    Result run(uint64_t at)
    {
        request.before.pc = at;
        runner.put(&request, sizeof request);
        Result result;
        runner.get(&result, sizeof result);
        return result;
    }

    void examine(uint32_t word)
    {
        const uint32_t here = placed(word);
        const uint32_t in_place[] = {here, brk, brk};
        arm64::Assembler as(stub);
        arm64::move_instruction(as, code, here);
        as.jump_to(code + 4);
        const auto bytes = as.finish();
        ASSERT_FALSE(as.far());
        request.sizes[0] = sizeof in_place;
        std::memcpy(request.words[0], in_place, sizeof in_place);
        request.sizes[1] = bytes.size();
        std::memcpy(request.words[1], bytes.data(), bytes.size());
        // A vector's literal takes a register meanwhile, and the stack below sp, where nobody keeps anything.
        const bool takes_stack = fastsdt::arm64::pc_relative(word) == PcRelative::literal && (word >> 26 & 1);
        request.below_sp = takes_stack ? 16 : 0;
        ++instructions;
        for (int i = 0; i < rounds; ++i) {
            choose(word);
            Result a = run(code), b = run(stub);
            ++runs;
            faults += a.signal != SIGTRAP;
            jumps += a.signal == SIGTRAP && a.after.pc == code + 8;
            if (a.signal != SIGTRAP) // the stub's own address
                b.after.pc = a.after.pc;
            if (std::memcmp(&a, &b, sizeof a) != 0) {
                ADD_FAILURE() << std::hex << word << ": signals " << a.signal << " and " << b.signal << ", at "
                              << a.after.pc << " and " << b.after.pc;
                return;
            }
        }
    }

    RunnerPipe runner;
    Request request;
    std::mt19937_64 random{std::random_device{}()};
    int rounds = getenv("FASTSDT_MOVED_ROUNDS") ? atoi(getenv("FASTSDT_MOVED_ROUNDS")) : 4;
    size_t instructions = 0, runs = 0, faults = 0, jumps = 0;
};

TEST_F(MovedArm64, InstructionsHaveTheSameEffect)
{
    std::set<uint32_t> seen;
    std::istringstream files(getenv("FASTSDT_FILES"));
    const auto look = [&](const Image& image, uint64_t address) {
        const auto bytes = image.bytes_at(address);
        const uint32_t word = fastsdt::arm64::word_of(bytes);
        const bool clock = (word & 0xffffffc0) == 0xd53be040; // cntvct_el0
        if (motion_of(image, bytes, address).moves != Moves::never && !clock && seen.insert(placed(word)).second)
            examine(word);
    };
    for (std::string file; files >> file && !HasFailure();)
        Image::each(
            file,
            [&](const Image& image) {
                const Movable movable(image);
                size_t windows = 0;
                for (const Function& function : image.functions()) {
                    std::vector<Window> all = movable.exits(function.address);
                    all.push_back(movable.entry(function.address));
                    for (const Window& window : all)
                        if (window.obstacle == Obstacle::none) {
                            ++windows;
                            look(image, window.address);
                        }
                    for (uint64_t at = function.address; at < function.address + function.size && !HasFailure();
                         at += 4)
                        look(image, at);
                }
                std::printf("%s: %zu windows\n", image.path().c_str(), windows);
                EXPECT_GT(windows, 5000u);
            },
            [](const Error&) {});
    std::printf("%zu different instructions, %zu runs, %zu of them with a fault, %zu with a jump\n", instructions, runs,
                faults, jumps);
    EXPECT_GT(instructions, 10000u);
    EXPECT_GT(faults, 100u);
    EXPECT_GT(jumps, 200u);
    EXPECT_GT(runs - faults, runs / 2);
}

// Of those that libraries may not have, each kind that is rewritten.
TEST_F(MovedArm64, EachRewrittenKind)
{
    for (const uint32_t word : {
             0x18000003u, 0x58000003u, 0x98000003u, 0xd8000003u, // ldr w3, ldr x3, ldrsw x3, prfm
             0x1c000003u, 0x5c000003u, 0x9c000003u, 0x9c000010u, // ldr s3, d3, q3, q16
             0x1800001eu, 0x58000010u, 0x58000011u,              // to x30, x16, x17
             0x14000000u, 0x94000000u,                           // b, bl
             0x34000003u, 0xb5000003u, 0x36180003u, 0xb7180003u, // cbz, cbnz, tbz, tbnz
             0x5400001bu,                                        // bc.lt
             0x10000003u, 0x30ffffe3u, 0xf0000003u, 0x9000001fu, // adr, adrp; to xzr
             0xd65f0bffu, 0xd65f0fffu,                           // retaa, retab
         })
        for (int i = 0; i < 8; ++i)
            examine(word);
    for (uint32_t condition = 0; condition < 14; ++condition)
        for (int i = 0; i < 16; ++i)
            examine(0x54000000u | condition);
    EXPECT_GT(jumps, 100u);
}

} // namespace
} // namespace fastsdt::engine
