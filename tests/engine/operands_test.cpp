// SPDX-License-Identifier: BSD-2-Clause
// Compiled arguments of notes against an interpreter of their operands.
#include "own_site.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <regex>

using namespace fastsdt::engine;

namespace {

struct Named {
    int reg;
    int shift; // 8 for ah to bh
};

// Names as the assembler's manual lists them.
std::map<std::string, Named> register_names()
{
    std::map<std::string, Named> names;
    const std::string old[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    for (int i = 0; i < 8; ++i) {
        names["r" + old[i]] = names["e" + old[i]] = names[old[i]] = {i, 0};
        names[i < 4 ? old[i].substr(0, 1) + "l" : old[i] + "l"] = {i, 0};
        if (i < 4)
            names[old[i].substr(0, 1) + "h"] = {i, 8};
    }
    for (int i = 8; i < 16; ++i)
        for (const char* suffix : {"", "d", "w", "b"})
            names["r" + std::to_string(i) + suffix] = {i, 0};
    return names;
}

const std::map<std::string, Named> names = register_names();

uint64_t extend(uint64_t value, int size, bool is_signed)
{
    switch (is_signed ? -size : size) {
    case 1: return uint8_t(value);
    case 2: return uint16_t(value);
    case 4: return uint32_t(value);
    case -1: return uint64_t(int64_t(int8_t(value)));
    case -2: return uint64_t(int64_t(int16_t(value)));
    case -4: return uint64_t(int64_t(int32_t(value)));
    default: return value;
    }
}

// The pass sets rsp and the red zone; `after` has them.
uint64_t interpret(const std::string& text, const Processor& after)
{
    static const std::regex shape(
        R"((-?)([1248])@(?:\$(-?\d+)|%(\w+)|([-+\d]*)\((?:%(\w+))?(?:,%(\w+)(?:,(\d))?)?\)))");
    std::smatch m;
    if (!std::regex_match(text, m, shape))
        throw std::logic_error("the test made " + text);
    const int size = std::stoi(m[2]);
    const bool is_signed = m[1].length() != 0;
    if (m[3].matched)
        return extend(uint64_t(std::stoll(m[3])), size, is_signed);
    if (m[4].matched) {
        const Named reg = names.at(m[4]);
        return extend(after.gpr[reg.reg] >> reg.shift, size, is_signed);
    }
    uint64_t address = 0;
    const std::string sum = m[5];
    static const std::regex number("[-+]?\\d+");
    for (std::sregex_iterator term(sum.begin(), sum.end(), number), end; term != end; ++term)
        address += uint64_t(std::stoll(term->str()));
    if (m[6].matched)
        address += after.gpr[names.at(m[6]).reg];
    if (m[7].matched)
        address += after.gpr[names.at(m[7]).reg] * (m[8].matched ? std::stoull(m[8]) : 1);
    uint64_t value = 0;
    const uint64_t offset = address - (after.gpr[RSP] - 128);
    for (int i = 0; i < size; ++i) {
        if (offset + uint64_t(i) >= 128)
            throw std::logic_error("not in the red zone");
        value |= uint64_t(reinterpret_cast<const unsigned char*>(after.red_zone)[offset + uint64_t(i)]) << 8 * i;
    }
    return extend(value, size, is_signed);
}

} // namespace

TEST(Operand, EveryRegisterInEverySize)
{
    std::mt19937_64 random(1);
    for (const auto& [name, reg] : names)
        for (const std::string size : {"1", "-1", "2", "-2", "4", "-4", "8", "-8"}) {
            if (reg.shift && size.back() != '1')
                continue;
            const std::string text = size + "@%" + name;
            // Once where the stub changes few registers, once where it changes many.
            for (const char* script : {"usdt:*:p:n { @ = arg0; }",
                                       "usdt:*:p:n { @k[arg0, 1] = count(); @ = arg0; @x = @ * 3 / (arg0 | 1); }"}) {
                OwnRun run(script, usdt(text));
                Processor state = random_state(random);
                run.pass(state);
                const Maps maps = run.maps();
                const size_t map = run.script.maps[0].name == "@" ? 0 : 1;
                ASSERT_EQ(uint64_t(maps.maps[map].at(0).value.number), interpret(text, state)) << text;
            }
        }
}

TEST(Operand, RandomOnesAreWhatTheInterpreterSays)
{
    std::mt19937_64 random(2);
    const auto pick = [&](int from, int to) { return from + int(random() % uint64_t(to - from + 1)); };
    std::vector<std::string> wide;
    for (int i = 0; i < 16; ++i)
        for (const auto& [name, reg] : names)
            if (reg.reg == i && reg.shift == 0 && name[0] == 'r'
                && (i < 8 || name.find_first_not_of("r0123456789") == name.npos))
                wide.push_back(name);
    for (int i = 0; i < 1500; ++i) {
        const int bytes = 1 << pick(0, 3);
        const std::string size = (pick(0, 1) ? "-" : "") + std::to_string(bytes) + "@";
        Processor state = random_state(random);
        std::string text;
        if (i % 5 == 0) {
            const int shift = pick(0, 63);
            text = size + "$" + std::to_string(int64_t(random()) >> shift);
        } else {
            // An address in the red zone: by rsp, or by another register with an index whose value makes up for it.
            const int at = -pick(bytes, 128);
            const std::string index = wide[size_t(pick(0, 15))];
            const int reg = names.at(index).reg, scale = 1 << pick(0, 3), count = pick(0, 9);
            if (i % 5 == 1 || reg == RSP) {
                text = size + std::to_string(at) + "(%rsp)";
            } else if (i % 5 == 2) {
                const int part = pick(0, 50);
                text = size + std::to_string(at - part) + "+" + std::to_string(part) + "(%rsp)";
            } else {
                state.gpr[reg] = uint64_t(count);
                text = size + std::to_string(at - count * scale) + "(%rsp,%" + index
                    + (scale == 1 && pick(0, 1) ? "" : "," + std::to_string(scale)) + ")";
            }
        }
        OwnRun run("usdt:*:p:n { @ = arg0; }", usdt(text));
        run.pass(state);
        ASSERT_EQ(uint64_t(run.maps().maps[0].at(0).value.number), interpret(text, state)) << text;
    }
}

// A note may say anything, and the registers may hold anything.
TEST(Operand, MemoryThatIsNotThereIsZero)
{
    std::mt19937_64 random(3);
    for (const char* text : {"8@(%rax)", "-4@8(%rax,%rbx,4)", "2@(,%rbx,8)", "8@-1(%rbp)", "1@100(%r13)"}) {
        OwnRun run("usdt:*:p:n { @ = arg0; @n = count(); }", usdt(text));
        for (int i = 0; i < 500; ++i) {
            Processor state = random_state(random);
            if (i % 2)
                for (const int reg : {RAX, RBX, RBP, R13})
                    state.gpr[reg] &= 0xfff; // the first page
            else
                for (const int reg : {RAX, RBX, RBP, R13})
                    state.gpr[reg] |= uint64_t(1) << 63; // not an address of user space
            run.pass(state);
            ASSERT_EQ(run.maps().maps[0].at(0).value.number, 0) << text;
        }
    }
}

TEST(Operand, MemoryElsewhereIsRead)
{
    auto* pages =
        static_cast<unsigned char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (int i = 0; i < 8192; ++i)
        pages[i] = static_cast<unsigned char>(i * 7);
    OwnRun run("usdt:*:p:n { @ = arg0; }", usdt("8@4(%rbp)"));
    for (const size_t at : {0, 1, 4080, 4085, 4090, 8180}) {
        Processor state;
        state.gpr[RBP] = uint64_t(pages + at);
        run.pass(state);
        uint64_t expected;
        std::memcpy(&expected, pages + at + 4, 8);
        EXPECT_EQ(uint64_t(run.maps().maps[0].at(0).value.number), expected) << at;
    }
    munmap(pages, 8192);
}

// Whatever the text: a refusal, or a stub that runs and leaves everything as it was.
TEST(Operand, HostileTexts)
{
    std::mt19937_64 random(4);
    static constexpr char letters[] = "0123456789-+@%$(),.: abcdefilprswx";
    const std::string good[] = {"8@%rax", "-4@-8(%rbp,%rcx,4)", "2@$-17", "8@x(%rip)", "8@%fs:-8", "1@%ah"};
    int ran = 0;
    for (int i = 0; i < 4000; ++i) {
        std::string text = good[random() % std::size(good)];
        for (uint64_t changes = random() % 4; changes > 0; --changes) {
            const size_t at = random() % (text.size() + 1);
            const char c = letters[random() % (sizeof letters - 1)];
            if (at < text.size() && random() % 2)
                text[at] = c;
            else
                text.insert(at, 1, c);
        }
        try {
            OwnRun run("usdt:*:p:n { @ = sum(arg0); }", usdt(text));
            const Processor before = random_state(random);
            Processor after = before;
            run.pass(after);
            after.gpr[RSP] = before.gpr[RSP];
            after.flags = before.flags;
            ASSERT_EQ(after, before) << text;
            ++ran;
        } catch (const std::runtime_error& refused) {
            ASSERT_STRNE(refused.what(), "");
        }
    }
    EXPECT_GT(ran, 200);
}
