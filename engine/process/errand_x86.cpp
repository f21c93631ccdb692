// SPDX-License-Identifier: BSD-2-Clause
//
//     magic: .ascii "errand\r\n"
//     all:   .quad -1                          signals
//     old:   .quad signal_mask
//     home:  .quad                             where the thread goes on
//     text:  .string
//     start: rt_sigprocmask(SIG_BLOCK, &all, 0, 8)
//            the calls; results that others use are kept in %rbx and other registers that no system call changes
//            at the gate: jmp end
//            more calls
//     end:
//            rt_sigprocmask(SIG_SETMASK, &old, 0, 8)
//            mov $..., each register that was changed
//            jmp *home
//
// A system call changes rax, rcx and r11 and keeps the flags; nothing here changes flags, the stack or its red zone.
#include "process/errand.h"

#include "code/x86/assembler.h"

#include <csignal>
#include <utility>
#include <sys/syscall.h>

#ifdef __x86_64__
namespace fastsdt::engine {
namespace {

// include/linux/errno.h: what a system call that a signal interrupted leaves in rax.
constexpr int64_t erestartsys = 512, erestartnointr = 513, erestartnohand = 514, erestart_restartblock = 516;

// The registers with which a thread that was stopped with `home` goes on in user space. If the stop interrupted a
// system call that has to begin again, they are set for that, as by the kernel (arch_do_signal_or_restart()).
user_regs_struct restarted(const user_regs_struct& home)
{
    user_regs_struct back = home;
    back.orig_rax = ~0ull;
    if (static_cast<int64_t>(home.orig_rax) < 0) // not in a system call
        return back;
    constexpr unsigned syscall_length = 2;
    switch (-static_cast<int64_t>(home.rax)) {
    case erestartsys:
    case erestartnointr:
    case erestartnohand: back.rax = home.orig_rax; break;
    case erestart_restartblock: back.rax = SYS_restart_syscall; break;
    default: return back;
    }
    back.rip -= syscall_length;
    return back;
}

} // namespace

// Nothing to do here: when a stop sets the thread back to these registers, the kernel restarts the call.
user_regs_struct as_interrupted(const user_regs_struct& stopped, uint32_t, bool)
{
    return stopped;
}

ErrandCode encode_errand(uint64_t at, const Errand& errand, const user_regs_struct& home)
{
    using namespace x86;
    constexpr Reg argument[] = {rdi, rsi, rdx, r10, r8, r9};
    constexpr Reg kept[most_kept_results] = {rbx, rbp, r12, r13, r14, r15};
    const auto keeps = kept_results(errand.calls);
    const user_regs_struct back = restarted(home);
    const uint64_t data[] = {errand_magic, ~uint64_t{0}, errand.signal_mask, back.rip};
    const uint64_t all = at + 8, old = at + 16, way_home = at + 24, text = at + sizeof data;

    ErrandCode result;
    const auto append = [&](const void* bytes, size_t size) {
        const auto* p = static_cast<const std::byte*>(bytes);
        result.bytes.insert(result.bytes.end(), p, p + size);
    };
    append(data, sizeof data);
    append(errand.text.c_str(), errand.text.size() + 1);
    result.start = at + result.bytes.size();
    Assembler code(result.start);
    const auto call = [&](const Call& c) {
        for (size_t i = 0; i < std::size(argument); ++i) {
            const Call::Argument& a = c.arguments[i];
            if (a.kind == Call::Argument::Kind::result)
                code.address(argument[i],
                             {.base = kept[keeps.at(a.of).value()], .displacement = static_cast<int64_t>(a.value)});
            else
                code.constant(argument[i], static_cast<int64_t>(a.kind == Call::Argument::Kind::text ? text : a.value));
        }
        code.constant(rax, c.number);
        code.emit(ZYDIS_MNEMONIC_SYSCALL, {});
        return code.here();
    };
    const auto mask_signals = [&](int how, uint64_t mask) {
        return call({SYS_rt_sigprocmask, {static_cast<uint64_t>(how), mask, 0, sizeof(uint64_t), 0, 0}});
    };
    mask_signals(SIG_BLOCK, all);
    const Emitter::Label end = code.label();
    for (size_t i = 0; i < errand.calls.size(); ++i) {
        if (i == errand.gate) {
            code.jump(ZYDIS_MNEMONIC_JMP, end);
            result.further = code.here();
        }
        result.after_calls.push_back(call(errand.calls[i]));
        if (keeps[i])
            code.move(kept[*keeps[i]], rax);
    }
    code.bind(end);
    result.after_all = mask_signals(SIG_SETMASK, old);
    for (const auto& [reg, value] : {std::pair(rbx, back.rbx),
                                     {rbp, back.rbp},
                                     {r12, back.r12},
                                     {r13, back.r13},
                                     {r14, back.r14},
                                     {r15, back.r15},
                                     {rcx, back.rcx},
                                     {rdx, back.rdx},
                                     {rsi, back.rsi},
                                     {rdi, back.rdi},
                                     {r8, back.r8},
                                     {r9, back.r9},
                                     {r10, back.r10},
                                     {r11, back.r11},
                                     {rax, back.rax}})
        code.constant(reg, static_cast<int64_t>(value));
    code.jump_through(way_home);
    const auto instructions = code.finish();
    append(instructions.data(), instructions.size());
    return result;
}

user_regs_struct sent_off(const user_regs_struct& home, uint64_t start)
{
    user_regs_struct registers = home;
    registers.orig_rax = ~0ull;
    registers.rip = start;
    return registers;
}

uint64_t program_counter(const user_regs_struct& registers)
{
    return registers.rip;
}

int64_t result_of(const user_regs_struct& registers)
{
    return static_cast<int64_t>(registers.rax);
}

uint64_t stack_pointer(const user_regs_struct& registers)
{
    return registers.rsp;
}

void set_program_counter(user_regs_struct& registers, uint64_t address)
{
    registers.rip = address;
}

std::optional<uint64_t> thread_pointer(const user_regs_struct& registers)
{
    return registers.fs_base;
}

bool is_64_bit(const user_regs_struct& registers)
{
    constexpr unsigned user_cs = 0x33; // arch/x86/include/asm/segment.h: __USER_CS
    return registers.cs == user_cs;
}

} // namespace fastsdt::engine
#endif
