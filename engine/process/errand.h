// SPDX-License-Identifier: BSD-2-Clause
// An errand is code by which a borrowed thread of the target makes system calls for us. The code also brings the thread
// back to where it was (home) and restores all its registers, except for what a system call clears of arm64's SVE
// registers. So the tracer may be killed at any time: the thread gets home without it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/user.h>
#include <vector>

namespace fastsdt::engine {

struct Call {
    struct Argument {
        enum class Kind {
            number,
            result, ///< what the call of index `of` returned, plus `value`
            text,   ///< the address of Errand::text
        } kind = Kind::number;
        uint64_t value = 0;
        size_t of = 0;
        Argument() = default;
        Argument(uint64_t number) : value(number) {}
        Argument(Kind k, size_t call = 0, uint64_t more = 0) : kind(k), value(more), of(call) {}
    };
    long number = 0; ///< of the system call
    std::array<Argument, 6> arguments{};
};

struct Errand {
    std::vector<Call> calls;
    std::string text;       ///< for Argument::Kind::text
    size_t gate = SIZE_MAX; ///< behind so many calls the thread goes home, unless it is sent on to ErrandCode::further
    uint64_t signal_mask =
        0; ///< the signals that the thread blocks (PTRACE_GETSIGMASK); during the errand all are blocked
};

/// The first eight bytes of an errand: "errand\r\n".
inline constexpr uint64_t errand_magic = 0x0a0d646e61727265;

struct ErrandCode {
    std::vector<std::byte> bytes;      ///< data, then code
    uint64_t start = 0;                ///< runtime address where execution begins
    std::vector<uint64_t> after_calls; ///< runtime address behind each of Errand::calls
    uint64_t further = 0;              ///< runtime address behind the gate
    uint64_t after_all = 0;            ///< behind the last system call, the one that gives back the signal mask
};

/// Calls whose results others may use, at most.
inline constexpr size_t most_kept_results = 6;
/// By call, the how many-th of those its result is. Empty: no other call uses it.
inline std::vector<std::optional<size_t>> kept_results(const std::vector<Call>& calls)
{
    std::vector<std::optional<size_t>> kept(calls.size());
    for (const Call& call : calls)
        for (const Call::Argument& argument : call.arguments)
            if (argument.kind == Call::Argument::Kind::result)
                kept.at(argument.of) = 0;
    size_t next = 0;
    for (auto& number : kept)
        if (number)
            number = next++;
    if (next > most_kept_results)
        throw std::logic_error("an errand keeps too many results");
    return kept;
}

/// How far from home an errand may stand: its last instruction is a jump home.
#if defined(__aarch64__)
inline constexpr uint64_t errand_reach = (uint64_t{1} << 27) - (1 << 20);
#else
inline constexpr uint64_t errand_reach = UINT64_MAX;
#endif

/// @param at    runtime address where the bytes will stand
/// @param home  registers of the thread when it was stopped
ErrandCode encode_errand(uint64_t at, const Errand& errand, const user_regs_struct& home);

/// Registers with which a stopped thread continues the system call that the stop interrupted.
/// @param instruction  at the thread's program counter
/// @param slept        the thread did not run before the stop
user_regs_struct as_interrupted(const user_regs_struct& stopped, uint32_t instruction, bool slept);
/// Registers for the first instruction of an errand.
user_regs_struct sent_off(const user_regs_struct& home, uint64_t start);
uint64_t program_counter(const user_regs_struct& registers);
uint64_t stack_pointer(const user_regs_struct& registers);
/// Behind a system call: what it returned.
int64_t result_of(const user_regs_struct& registers);
void set_program_counter(user_regs_struct& registers, uint64_t address);
/// The thread pointer, on architectures where programs also store it in memory and stubs read it there: x86-64.
std::optional<uint64_t> thread_pointer(const user_regs_struct& registers);
/// The thread executes 64-bit code, as stubs are.
bool is_64_bit(const user_regs_struct& registers);

} // namespace fastsdt::engine
