// SPDX-License-Identifier: BSD-2-Clause
// How the architectures that the engine arms differ, apart from the instructions in stubs.
#pragma once
#include "base/addresses.h"
#include "base/arch.h"
#include "elf/exits.h"

#include <fastsdt/note.h>
#include <fastsdt/recognize.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fastsdt::engine {

/// The kernel's signal frame, from the stack pointer behind the handler: offsets of registers.
struct SignalFrame {
    size_t frame_pointer = 0, link = 0, stack_pointer = 0, place = 0;
};

/// Bytes of a word of the stack, of each argument there, and of a return address.
inline constexpr int stack_word = 8;

struct Machine {
    Arch arch = Arch::unknown;
    int elf = 0;            ///< FASTSDT_MACHINE_*
    int layout = 0;         ///< FASTSDT_LAYOUT_* of the instruction that becomes a jump
    std::string_view nop;   ///< name of that instruction
    uint64_t length = 0;    ///< its bytes: a thread that executed it goes on behind them
    size_t exchanged = 0;   ///< bytes of it, from the first on, that become the jump
    size_t moved_jump = 0;  ///< bytes of the jump in place of instructions that were moved; 0: none can be
    uint64_t reach = 0;     ///< bytes that the jump may span, less what an instruction and a page more take
    uint64_t page = 0;      ///< largest base page size of any kernel
    uint64_t highest = 0;   ///< from here on nothing is mapped by programs
    uint64_t most_stub = 0; ///< bytes that a jump within a stub may span
    uint64_t most_code = 0; ///< bytes of stubs in one arena: far less than half of the reach, so that there is a place
    SignalFrame signal_frame{};
};

/// x86-64: int3, the kernel's or a debugger's.
inline constexpr std::byte breakpoint{0xcc};
/// arm64: the instruction of a site that is not armed.
inline constexpr uint32_t nop_arm64 = 0xd503201f;
/// arm64: a landing pad of calls.
inline constexpr uint32_t bti_c = 0xd503245f;

inline constexpr Machine machine_x86_64{.arch = Arch::x86_64,
                                        .elf = FASTSDT_MACHINE_X86_64,
                                        .layout = FASTSDT_LAYOUT_NOP10,
                                        .nop = "nop10",
                                        .length = 10,
                                        .exchanged = 8,
                                        .moved_jump = 5,
                                        .reach = (uint64_t{1} << 31) - (1 << 20),
                                        .page = 4096,
                                        .highest = (uint64_t{1} << 47) - 4096, // four levels of page tables
                                        .most_stub = uint64_t{1} << 30,
                                        .most_code = uint64_t{64} << 20,
                                        // uc_mcontext of struct ucontext, arch/x86/include/uapi/asm/sigcontext.h
                                        .signal_frame = {.frame_pointer = 0x78, .stack_pointer = 0xa0, .place = 0xa8}};
inline constexpr Machine machine_arm64{
    .arch = Arch::arm64,
    .elf = FASTSDT_MACHINE_ARM64,
    .layout = FASTSDT_LAYOUT_NOP,
    .nop = "nop",
    .length = 4,
    .exchanged = 4,
    .moved_jump = 4,
    .reach = (uint64_t{1} << 27) - (1 << 20),
    .page = 65536,
    .highest = (uint64_t{1} << 48) - 65536,
    .most_stub = (uint64_t{1} << 20) - 4096,
    .most_code = uint64_t{16} << 20,
    // The same behind a siginfo_t, arch/arm64/include/uapi/asm/sigcontext.h and ucontext.h
    .signal_frame = {.frame_pointer = 544, .link = 552, .stack_pointer = 560, .place = 568}};

/// This build's machine: only a tracer of the same architecture can arm a process.
#if defined(__aarch64__)
inline constexpr const Machine& own_machine = machine_arm64;
#else
inline constexpr const Machine& own_machine = machine_x86_64;
#endif

/// Where a jump in place of instructions that were moved leads, jmp rel32 or b; empty: none is there.
/// @param at  runtime address of the first byte
inline std::optional<uint64_t> moved_jump_target(std::span<const std::byte> bytes, uint64_t at)
{
    if (own_machine.moved_jump == 0 || bytes.size() < own_machine.moved_jump)
        return std::nullopt;
    const Step jump = step(own_machine.arch, bytes, at).value_or(Step());
    const bool is_jump =
        own_machine.arch == Arch::arm64 ? (unsigned(bytes[3]) & 0xfc) == 0x14 : bytes[0] == std::byte{0xe9};
    return is_jump ? std::optional(jump.target) : std::nullopt;
}
inline bool is_moved_jump(std::span<const std::byte> bytes)
{
    return moved_jump_target(bytes, 0).has_value();
}

/// Bytes of the pages of any kernel that `size` bytes take.
constexpr uint64_t whole_pages(uint64_t size)
{
    return up_to(size, own_machine.page);
}

/// Why this build arms nothing: what follows "the user-space engine ". Empty: it does.
#if defined(__x86_64__) || defined(FASTSDT_ENGINE_ARM64)
inline constexpr std::string_view arms_nothing;
#elif defined(__aarch64__)
inline constexpr std::string_view arms_nothing = "was built without VIXL, which arm64 needs";
#else
inline constexpr std::string_view arms_nothing = "arms x86-64 and arm64 processes only";
#endif

} // namespace fastsdt::engine
