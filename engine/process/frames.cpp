// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel puts a frame on the stack for each signal handler. On x86-64 (arch/x86/include/asm/sigframe.h, struct
// rt_sigframe):
//
//     +0    the handler returns to: the restorer, mov $15, %rax; syscall
//     +168  rsp of what was interrupted
//     +176  rip
//     +192  cs: 0x33 in 64-bit code
//
// On arm64 the handler returns to what lr has, and may keep it anywhere. But a frame has a record of the vector registers
// behind the others (arch/arm64/include/uapi/asm/sigcontext.h; setup_sigframe_layout() puts it first). From the start of
// struct sigcontext:
//
//     +256  sp of what was interrupted
//     +264  pc
//     +288  the record begins: FPSIMD_MAGIC, and its size
//
// A stack is read from the stack pointer up, word by word: whatever looks like a frame counts, also one that is long gone.
// So nothing is missed, and a false find only means that memory stays. The interrupted code may have run on another stack,
// which is read too.
#include "process/frames.h"

#include "process/errand.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <sched.h>
#include <sys/syscall.h> // SYS_*

namespace fastsdt::engine {
namespace {

constexpr uint64_t most_stack = uint64_t{8} << 20;
constexpr unsigned most_frames = 1000;
constexpr size_t most_bytes = size_t{64} << 20; // of all stacks that are read for one thread

uint64_t word(const std::byte* at)
{
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

} // namespace

FrameSearch::FrameSearch(const Descriptor& memory, std::vector<Mapping> mappings)
    : memory_(memory), mappings_(std::move(mappings))
{}

bool FrameSearch::comes_back(const user_regs_struct& registers, std::span<const Range> code)
{
    const auto is_inside = [&](uint64_t address) {
        return std::any_of(code.begin(), code.end(), [&](const Range& range) { return range.has(address); });
    };
    bool inside = is_inside(program_counter(registers));
    return inside || !each(registers, [&](uint64_t counter) { inside = inside || is_inside(counter); }) || inside;
}

#if defined(__x86_64__)
namespace {

constexpr unsigned char restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr size_t frame_sp = 168, frame_pc = 176, frame_cs = 192, frame_size = 200;
constexpr uint16_t user_cs = 0x33;

} // namespace

bool FrameSearch::is_restorer(uint64_t address)
{
    const Mapping* const m = mapping_at(mappings_, address, sizeof restorer);
    if (!m || !m->executable)
        return false;
    const auto [found, fresh] = restorers_.try_emplace(address, false);
    if (fresh) {
        const auto bytes = read_at(memory_, address, sizeof restorer);
        found->second = bytes.size() == sizeof restorer && std::memcmp(bytes.data(), restorer, sizeof restorer) == 0;
    }
    return found->second;
}

bool FrameSearch::is_frame(const std::byte* at)
{
    return static_cast<uint16_t>(word(at + frame_cs)) == user_cs && is_restorer(word(at));
}
#elif defined(__aarch64__)
namespace {

// From the mcontext's first word on.
constexpr size_t frame_sp = 256, frame_pc = 264, frame_record = 288, frame_size = 296;

} // namespace

bool FrameSearch::is_frame(const std::byte* at)
{
    constexpr uint64_t fpsimd = 0x46508001 | uint64_t{0x210} << 32; // FPSIMD_MAGIC, and the record's size
    return word(at + frame_record) == fpsimd;
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
bool FrameSearch::each(const user_regs_struct& registers, const std::function<void(uint64_t counter)>& visit)
{
    std::vector<uint64_t> stacks = {stack_pointer(registers)};
    std::map<const Mapping*, uint64_t> read_from; // by mapping: the lowest address that was read
    size_t read_bytes = 0;
    for (unsigned frames = 0; !stacks.empty(); ++frames) {
        if (frames > most_frames)
            return false;
        const uint64_t sp = (stacks.back() + 7) / 8 * 8;
        stacks.pop_back();
        const Mapping* const stack = mapping_at(mappings_, sp);
        if (!stack)
            continue;
        const auto [before, fresh] = read_from.try_emplace(stack, sp);
        if (!fresh && before->second <= sp)
            continue;
        before->second = sp;
        const auto bytes = read_at(memory_, sp, std::min(stack->end - sp, most_stack));
        read_bytes += bytes.size();
        if (read_bytes > most_bytes)
            return false;
        for (size_t at = 0; at + frame_size <= bytes.size(); at += 8) {
            if (!is_frame(&bytes[at]))
                continue;
            visit(word(&bytes[at + frame_pc]));
            stacks.push_back(word(&bytes[at + frame_sp]));
        }
    }
    return true;
}
#else
bool FrameSearch::each(const user_regs_struct&, const std::function<void(uint64_t counter)>&)
{
    return false; // how frames look is not known here
}
#endif

bool waits_for_child([[maybe_unused]] const user_regs_struct& registers, [[maybe_unused]] const Descriptor& memory)
{
#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
    const auto number = static_cast<long>(registers.orig_rax);
    uint64_t flags = registers.rdi;
    if (number == SYS_vfork)
        return true;
#else
    // Of a thread that makes no system call any more, x8 may still have the number, and x0 something else.
    constexpr unsigned char svc[] = {0x01, 0, 0, 0xd4};
    const auto before = read_at(memory, registers.pc - sizeof svc, sizeof svc);
    if (before.size() != sizeof svc || std::memcmp(before.data(), svc, sizeof svc) != 0)
        return false;
    const auto number = static_cast<long>(registers.regs[8]);
    uint64_t flags = registers.regs[0];
#endif
    if (number == SYS_clone3) { // struct clone_args begins with the flags
        const auto first = read_at(memory, flags, sizeof flags);
        if (first.size() == sizeof flags)
            flags = word(first.data());
    }
    return (number == SYS_clone || number == SYS_clone3) && (flags & CLONE_VFORK);
#else
    return false;
#endif
}

} // namespace fastsdt::engine
