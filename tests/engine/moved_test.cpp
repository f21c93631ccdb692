// SPDX-License-Identifier: BSD-2-Clause
//
// Instructions of installed libraries are executed where they are and moved, with the same registers, flags, stack and memory, and all
// of these are compared afterwards. The processor says what is right. FASTSDT_MOVED_ROUNDS: how often each is, with other values.
#include "movable/movable.h"
#include "code/x86/moved.h"
#include "base/integers.h"

#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

using fastsdt::Window;

extern "C" {
struct State {
    uint64_t gpr[16]; // in the order of their encoding
    uint64_t flags;
    alignas(16) unsigned char xmm[16][16];
};
State moved_before, moved_after;
uint64_t moved_target, moved_own_stack,
    moved_way; // way: 1: behind the code; 2: where its jump leads; more: 0x100 + the signal
void moved_pass();
extern unsigned char moved_behind[], moved_jumped[], moved_faulted[];
}

// rip-relative moves alone change neither registers nor flags.
asm(R"(
    .text
    .globl moved_pass, moved_behind, moved_jumped, moved_faulted
moved_pass:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, moved_own_stack(%rip)
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movaps 144+16*\i+moved_before(%rip), %xmm\i
    .endr
    push 128+moved_before(%rip)
    popfq
    mov 0+moved_before(%rip), %rax
    mov 8+moved_before(%rip), %rcx
    mov 16+moved_before(%rip), %rdx
    mov 24+moved_before(%rip), %rbx
    mov 32+moved_before(%rip), %rsp
    mov 40+moved_before(%rip), %rbp
    mov 48+moved_before(%rip), %rsi
    mov 56+moved_before(%rip), %rdi
    mov 64+moved_before(%rip), %r8
    mov 72+moved_before(%rip), %r9
    mov 80+moved_before(%rip), %r10
    mov 88+moved_before(%rip), %r11
    mov 96+moved_before(%rip), %r12
    mov 104+moved_before(%rip), %r13
    mov 112+moved_before(%rip), %r14
    mov 120+moved_before(%rip), %r15
    jmp *moved_target(%rip)
moved_jumped:
    movq $2, moved_way(%rip)
    jmp 1f
moved_behind:
    movq $1, moved_way(%rip)
1:
    mov %rax, 0+moved_after(%rip)
    mov %rcx, 8+moved_after(%rip)
    mov %rdx, 16+moved_after(%rip)
    mov %rbx, 24+moved_after(%rip)
    mov %rsp, 32+moved_after(%rip)
    mov %rbp, 40+moved_after(%rip)
    mov %rsi, 48+moved_after(%rip)
    mov %rdi, 56+moved_after(%rip)
    mov %r8, 64+moved_after(%rip)
    mov %r9, 72+moved_after(%rip)
    mov %r10, 80+moved_after(%rip)
    mov %r11, 88+moved_after(%rip)
    mov %r12, 96+moved_after(%rip)
    mov %r13, 104+moved_after(%rip)
    mov %r14, 112+moved_after(%rip)
    mov %r15, 120+moved_after(%rip)
    mov moved_own_stack(%rip), %rsp
    pushfq
    pop 128+moved_after(%rip)
moved_faulted:
    .irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    movaps %xmm\i, 144+16*\i+moved_after(%rip)
    .endr
    mov moved_own_stack(%rip), %rsp
    cld
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
)");

namespace fastsdt::engine {
namespace {

constexpr size_t page = 4096, memory_size = 4 * page, reserved = size_t{1} << 33;
constexpr uint64_t arithmetic_flags = 0x8d5;

// What a faulting instruction had is kept; what it had not changed goes on behind.
void on_fault(int signal, siginfo_t*, void* context)
{
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    static constexpr int of[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                 REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < 16; ++i)
        moved_after.gpr[i] = uint64_t(registers[of[i]]);
    moved_after.flags = uint64_t(registers[REG_EFL]);
    moved_way = 0x100 + uint64_t(signal);
    registers[REG_RIP] = greg_t(moved_faulted);
}

class Moved : public testing::Test {
protected:
    // The stack and what registers point to lie in the middle of addresses that nothing else has.
    Moved()
    {
        area = static_cast<unsigned char*>(
            mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        memory = area + reserved / 2;
        code = memory + 256 * page; // rip-relative operands reach the memory
        stub = code + page;
        mprotect(memory, memory_size, PROT_READ | PROT_WRITE);
        mprotect(code, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
        stack_t own{};
        own.ss_sp = own_stack.data();
        own.ss_size = own_stack.size();
        sigaltstack(&own, nullptr);
        struct sigaction action{};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (const int signal : signals)
            sigaction(signal, &action, nullptr);
    }
    ~Moved() override
    {
        for (const int signal : signals)
            std::signal(signal, SIG_DFL);
        munmap(area, reserved);
    }

    // The code as it could stand here, followed by a jump to moved_behind, and one that all its branches lead to. Empty: it has an
    // instruction whose target here cannot be chosen, or one that would write the thread's own memory.
    bool place(std::vector<std::byte> bytes)
    {
        ZydisDecoder decoder;
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        const size_t branches_to = bytes.size() + 14;
        for (size_t at = 0; at < bytes.size();) {
            ZydisDecodedInstruction i;
            ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
            if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, &bytes[at], bytes.size() - at, &i, operands)))
                return false;
            const size_t end = at + i.length;
            if (i.raw.imm[0].size && i.raw.imm[0].is_relative)
                store(&bytes[at + i.raw.imm[0].offset], i.raw.imm[0].size / 8, branches_to - end, false);
            else if (i.meta.category == ZYDIS_CATEGORY_UNCOND_BR || i.meta.category == ZYDIS_CATEGORY_CALL)
                return false;
            for (int k = 0; k < i.operand_count; ++k) {
                const auto& operand = operands[k];
                if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY)
                    continue;
                if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS)
                    if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
                        return false;
                if (operand.mem.base == ZYDIS_REGISTER_RIP)
                    store(&bytes[at + i.raw.disp.offset], 4, uint64_t(memory + page - (code + end)), false);
            }
            at = end;
        }
        original = std::move(bytes);
        std::memset(code, 0xcc, 2 * page);
        std::memcpy(code, original.data(), original.size());
        jump(code + original.size(), moved_behind);
        jump(code + branches_to, moved_jumped);
        return true;
    }

    static void jump(unsigned char* at, const unsigned char* to)
    {
        static constexpr unsigned char through[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp *(%rip)
        std::memcpy(at, through, sizeof through);
        std::memcpy(at + sizeof through, &to, sizeof to);
    }

    // By the tracer's own means: what a stub has after its clauses.
    void move(bool leaves)
    {
        x86::Assembler as{uint64_t(stub)};
        x86::move_instructions(as, uint64_t(code), original);
        if (!leaves)
            as.jump_to(ZYDIS_MNEMONIC_JMP, uint64_t(code + original.size()));
        const auto bytes = as.finish();
        ASSERT_FALSE(as.far());
        std::memcpy(stub, bytes.data(), bytes.size());
    }

    // Half of the registers point into the memory, the others are small. Every word of the stack leads to moved_jumped, as a return
    // does.
    void choose()
    {
        for (auto& word : words)
            word = random();
        const uint64_t returns = uint64_t(code + original.size() + 14);
        std::fill(words.begin() + long(2 * page / 8), words.end(), returns);
        for (auto& reg : moved_before.gpr)
            reg = random() % 2 ? uint64_t(memory) + page / 2 + random() % page : random() % 100;
        moved_before.gpr[4] = uint64_t(memory) + 3 * page - 8 * (random() % 16);
        if (random() % 2)
            moved_before.gpr[5] = moved_before.gpr[4] + 64; // a frame pointer
        moved_before.flags = 0x202 | (random() & arithmetic_flags);
        for (auto& reg : moved_before.xmm)
            for (auto& byte : reg)
                byte = static_cast<unsigned char>(random());
    }

    struct Result {
        State state;
        uint64_t way;
        std::vector<uint64_t> memory;
    };
    Result run(const unsigned char* at)
    {
        std::memcpy(memory, words.data(), memory_size);
        std::memset(&moved_after, 0, sizeof moved_after);
        moved_target = uint64_t(at);
        moved_pass();
        Result result{moved_after, moved_way, std::vector<uint64_t>(memory_size / 8)};
        result.state.flags &= arithmetic_flags;
        std::memcpy(result.memory.data(), memory, memory_size);
        return result;
    }

    static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    unsigned char *area, *memory, *code, *stub;
    std::vector<unsigned char> own_stack = std::vector<unsigned char>(64 << 10);
    std::vector<uint64_t> words = std::vector<uint64_t>(memory_size / 8);
    std::vector<std::byte> original;
    std::mt19937_64 random{std::random_device{}()};
};

std::string hex(const std::vector<std::byte>& bytes)
{
    std::string text;
    for (const std::byte b : bytes) {
        char two[4];
        std::snprintf(two, sizeof two, "%02x ", unsigned(b));
        text += two;
    }
    return text;
}

TEST_F(Moved, InstructionsHaveTheSameEffect)
{
    const char* const given = getenv("FASTSDT_MOVED_ROUNDS");
    const int rounds = given ? atoi(given) : 2;
    size_t windows = 0, runs = 0, faults = 0, jumps = 0;
    const auto examine = [&](const Image& image, const Window& window) {
        if (window.obstacle != Obstacle::none)
            return;
        const auto bytes = image.bytes_at(window.address).first(window.length);
        if (!place({bytes.begin(), bytes.end()}))
            return;
        ASSERT_NO_FATAL_FAILURE(move(window.leaves || window.calls));
        ++windows;
        for (int i = 0; i < rounds; ++i) {
            choose();
            const Result in_place = run(code), moved = run(stub);
            ++runs;
            faults += in_place.way >= 0x100;
            jumps += in_place.way == 2;
            if (in_place.way != moved.way || std::memcmp(&in_place.state, &moved.state, sizeof(State)) != 0
                || in_place.memory != moved.memory) {
                ADD_FAILURE() << image.path() << ": " << std::hex << window.address << ": " << hex(original) << "ways "
                              << in_place.way << " and " << moved.way;
                break;
            }
        }
    };
    for (const char* const file : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6"})
        Image::each(
            file,
            [&](const Image& image) {
                const Movable movable(image);
                for (const Function& function : image.functions()) {
                    examine(image, movable.entry(function.address));
                    for (const Window& exit : movable.exits(function.address))
                        examine(image, exit);
                    if (HasFailure())
                        return;
                }
            },
            [](const Error&) {});
    std::printf("%zu windows, %zu runs, %zu of them with a fault, %zu with a jump\n", windows, runs, faults, jumps);
    EXPECT_GT(windows, 5000u);
    EXPECT_GT(faults, 100u);
    EXPECT_GT(jumps, 1000u);
    EXPECT_GT(runs - faults, runs / 2);
}

} // namespace
} // namespace fastsdt::engine
