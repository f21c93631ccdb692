// SPDX-License-Identifier: BSD-2-Clause
//
//     magic: .ascii "errand\r\n"
//     all:   .quad -1                          signals
//     old:   .quad signal_mask
//     text:  .string
//     start: rt_sigprocmask(SIG_BLOCK, &all, 0, 8)
//            the calls; results that others use are kept in x9 and the next
//            at the gate: b end
//            more calls
//     end:
//            rt_sigprocmask(SIG_SETMASK, &old, 0, 8)
//            mov x..., each register that was changed
//            b   home
//
// A system call changes x0 and keeps the flags; nothing here changes flags or the stack. A jump without a register
// reaches 128 MiB, so an errand stands no further than that from home: errand_reach.
//
// If the stop interrupted a system call, the kernel has already set the registers so that the call begins again
// (do_signal(), arch/arm64/kernel/signal.c). One thing it does only when the thread goes on from that very stop: a call
// that continues with the rest of its time, such as nanosleep(2), becomes restart_syscall. as_interrupted() does this
// instead of the kernel. One thing is lost. A signal that comes during the errand finds no interrupted call: its
// handler runs, and then the call begins again, where it would otherwise have failed with EINTR. It is as if the signal
// had come just before the call.
#include "process/errand.h"

#ifdef __aarch64__
#include "code/arm64/assembler.h"

#include <csignal>
#include <ctime> // TIMER_ABSTIME
#include <linux/futex.h>
#include <sys/syscall.h>
#include <utility>

namespace fastsdt::engine {

ErrandCode encode_errand(uint64_t at, const Errand& errand, const user_regs_struct& home)
{
    using namespace arm64;
    constexpr Reg argument[] = {x0, x1, x2, x3, x4, x5};
    constexpr Reg kept[most_kept_results] = {x9, x10, x11, x12, x13, x14};
    const auto keeps = kept_results(errand.calls);
    const uint64_t data[] = {errand_magic, ~uint64_t{0}, errand.signal_mask};
    const uint64_t all = at + 8, old = at + 16, text = at + sizeof data;

    ErrandCode result;
    const auto append = [&](const void* bytes, size_t size) {
        const auto* p = static_cast<const std::byte*>(bytes);
        result.bytes.insert(result.bytes.end(), p, p + size);
    };
    append(data, sizeof data);
    append(errand.text.c_str(), errand.text.size() + 1);
    result.bytes.resize((result.bytes.size() + 3) / 4 * 4);
    result.start = at + result.bytes.size();
    Assembler code(result.start);
    const auto call = [&](const Call& c) {
        for (size_t i = 0; i < std::size(argument); ++i) {
            const Call::Argument& a = c.arguments[i];
            code.constant(argument[i], a.kind == Call::Argument::Kind::text ? text : a.value);
            if (a.kind == Call::Argument::Kind::result)
                code.add(argument[i], argument[i], kept[keeps.at(a.of).value()]);
        }
        code.constant(x8, static_cast<uint64_t>(c.number));
        code.system_call();
        return code.here();
    };
    const auto mask_signals = [&](int how, uint64_t mask) {
        return call({SYS_rt_sigprocmask, {static_cast<uint64_t>(how), mask, 0, sizeof(uint64_t), 0, 0}});
    };
    mask_signals(SIG_BLOCK, all);
    const Emitter::Label end = code.label();
    for (size_t i = 0; i < errand.calls.size(); ++i) {
        if (i == errand.gate) {
            code.jump(end);
            result.further = code.here();
        }
        result.after_calls.push_back(call(errand.calls[i]));
        if (keeps[i])
            code.move(kept[*keeps[i]], x0);
    }
    code.bind(end);
    result.after_all = mask_signals(SIG_SETMASK, old);
    for (const Reg reg : {x0, x1, x2, x3, x4, x5, x8, x9, x10, x11, x12, x13, x14})
        code.constant(reg, home.regs[reg]);
    code.jump_to(home.pc);
    const auto instructions = code.finish();
    append(instructions.data(), instructions.size());
    return result;
}

user_regs_struct as_interrupted(const user_regs_struct& stopped, uint32_t instruction, bool slept)
{
    constexpr uint32_t svc = 0xd4000001;
    user_regs_struct home = stopped;
    if (!slept || instruction != svc)
        return home;
    const auto* const x = stopped.regs;
    const bool waits_with_a_timeout = x[8] == SYS_nanosleep || (x[8] == SYS_clock_nanosleep && !(x[1] & TIMER_ABSTIME))
        || (x[8] == SYS_futex && x[3] != 0
            && ((x[1] & FUTEX_CMD_MASK) == FUTEX_WAIT || (x[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET));
    if (waits_with_a_timeout)
        home.regs[8] = SYS_restart_syscall;
    return home;
}

user_regs_struct sent_off(const user_regs_struct& home, uint64_t start)
{
    // An errand has no landing pad. Guarded pages demand one after an indirect branch and at the first instruction of a
    // signal handler: PSTATE.BTYPE, bits 11 and 10, says so (PSR_BTYPE_MASK in arch/arm64/include/asm/ptrace.h). It is
    // cleared here.
    constexpr uint64_t btype = 3 << 10;
    user_regs_struct registers = home;
    registers.pc = start;
    registers.pstate &= ~btype;
    return registers;
}

uint64_t program_counter(const user_regs_struct& registers)
{
    return registers.pc;
}

int64_t result_of(const user_regs_struct& registers)
{
    return static_cast<int64_t>(registers.regs[0]);
}

uint64_t stack_pointer(const user_regs_struct& registers)
{
    return registers.sp;
}

void set_program_counter(user_regs_struct& registers, uint64_t address)
{
    registers.pc = address;
}

std::optional<uint64_t> thread_pointer(const user_regs_struct&)
{
    return {};
}

bool is_64_bit(const user_regs_struct& registers)
{
    constexpr unsigned mode32 = 0x10; // arch/arm64/include/uapi/asm/ptrace.h: PSR_MODE32_BIT
    return !(registers.pstate & mode32);
}

} // namespace fastsdt::engine
#endif
