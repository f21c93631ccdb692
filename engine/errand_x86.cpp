// SPDX-License-Identifier: BSD-2-Clause
//
//     all:   .quad -1                          signals
//     old:   .quad signal_mask
//     text:  .string
//     start: rt_sigprocmask(SIG_BLOCK, &all, 0, 8)
//            the calls; the first result is kept in %rbx
//            rt_sigprocmask(SIG_SETMASK, &old, 0, 8)
//            mov $..., each register that was changed
//            jmp *home
//     home:  .quad
//
// A system call changes rax, rcx and r11 and keeps the flags; nothing here changes flags, the stack or its red zone.
#include "errand.h"

#include "unusable.h"

#include <Zydis/Zydis.h>

#include <csignal>
#include <cstring>
#include <sys/syscall.h>

#ifdef __x86_64__
namespace fastsdt::engine {
namespace {

// include/linux/errno.h: what a system call that a signal interrupted leaves in rax.
constexpr int64_t erestartsys = 512, erestartnointr = 513, erestartnohand = 514, erestart_restartblock = 516;

class Encoder {
public:
    explicit Encoder(uint64_t at) : at_(at) {}

    std::vector<std::byte>& bytes() { return bytes_; }
    uint64_t here() const { return at_ + bytes_.size(); }

    void quad(uint64_t value)
    {
        const auto* p = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), p, p + sizeof value);
    }
    void set(ZydisRegister to, uint64_t value)
    {
        ZydisEncoderRequest r = request(ZYDIS_MNEMONIC_MOV, 2);
        r.operands[0] = in(to);
        r.operands[1].type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
        r.operands[1].imm.u = value;
        emit(r);
    }
    void copy(ZydisRegister to, ZydisRegister from)
    {
        ZydisEncoderRequest r = request(ZYDIS_MNEMONIC_MOV, 2);
        r.operands[0] = in(to);
        r.operands[1] = in(from);
        emit(r);
    }
    void system_call() { emit(request(ZYDIS_MNEMONIC_SYSCALL, 0)); }
    // Through the eight bytes that follow it.
    void jump_through_next()
    {
        ZydisEncoderRequest r = request(ZYDIS_MNEMONIC_JMP, 1);
        r.operands[0].type = ZYDIS_OPERAND_TYPE_MEMORY;
        r.operands[0].mem.base = ZYDIS_REGISTER_RIP;
        r.operands[0].mem.displacement = 0;
        r.operands[0].mem.size = 8;
        emit(r);
    }

private:
    static ZydisEncoderRequest request(ZydisMnemonic mnemonic, uint8_t operands)
    {
        ZydisEncoderRequest r{};
        r.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
        r.mnemonic = mnemonic;
        r.operand_count = operands;
        return r;
    }
    static ZydisEncoderOperand in(ZydisRegister reg)
    {
        ZydisEncoderOperand operand{};
        operand.type = ZYDIS_OPERAND_TYPE_REGISTER;
        operand.reg.value = reg;
        return operand;
    }
    void emit(const ZydisEncoderRequest& r)
    {
        uint8_t encoded[ZYDIS_MAX_INSTRUCTION_LENGTH];
        ZyanUSize length = sizeof encoded;
        if (ZYAN_FAILED(ZydisEncoderEncodeInstruction(&r, encoded, &length)))
            throw Unusable("Zydis does not encode an instruction of an errand");
        const auto* p = reinterpret_cast<const std::byte*>(encoded);
        bytes_.insert(bytes_.end(), p, p + length);
    }

    uint64_t at_;
    std::vector<std::byte> bytes_;
};

} // namespace

ErrandCode encode_errand(uint64_t at, const Errand& errand, const user_regs_struct& home)
{
    constexpr ZydisRegister argument[] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
                                          ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9};
    Encoder code(at);
    ErrandCode result;
    const uint64_t all = code.here();
    code.quad(~uint64_t{0});
    const uint64_t old = code.here();
    code.quad(errand.signal_mask);
    const uint64_t text = code.here();
    const auto* characters = reinterpret_cast<const std::byte*>(errand.text.c_str());
    code.bytes().insert(code.bytes().end(), characters, characters + errand.text.size() + 1);

    result.start = code.here();
    const auto call = [&](const Call& c) {
        for (size_t i = 0; i < std::size(argument); ++i) {
            const Call::Argument& a = c.arguments[i];
            if (a.kind == Call::Argument::Kind::first_result)
                code.copy(argument[i], ZYDIS_REGISTER_RBX);
            else
                code.set(argument[i], a.kind == Call::Argument::Kind::text ? text : a.value);
        }
        code.set(ZYDIS_REGISTER_RAX, static_cast<uint64_t>(c.number));
        code.system_call();
        return code.here();
    };
    const auto mask_signals = [&](int how, uint64_t mask) {
        return call({SYS_rt_sigprocmask, {static_cast<uint64_t>(how), mask, 0, sizeof(uint64_t), 0, 0}});
    };
    mask_signals(SIG_BLOCK, all);
    for (const Call& c : errand.calls) {
        result.after_calls.push_back(call(c));
        if (result.after_calls.size() == 1)
            code.copy(ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RAX);
    }
    result.after_all = mask_signals(SIG_SETMASK, old);

    const user_regs_struct back = restarted(home);
    for (const auto& [reg, value] : {std::pair(ZYDIS_REGISTER_RBX, back.rbx),
                                     {ZYDIS_REGISTER_RCX, back.rcx},
                                     {ZYDIS_REGISTER_RDX, back.rdx},
                                     {ZYDIS_REGISTER_RSI, back.rsi},
                                     {ZYDIS_REGISTER_RDI, back.rdi},
                                     {ZYDIS_REGISTER_R8, back.r8},
                                     {ZYDIS_REGISTER_R9, back.r9},
                                     {ZYDIS_REGISTER_R10, back.r10},
                                     {ZYDIS_REGISTER_R11, back.r11},
                                     {ZYDIS_REGISTER_RAX, back.rax}})
        code.set(reg, value);
    code.jump_through_next();
    code.quad(back.rip);
    result.bytes = std::move(code.bytes());
    return result;
}

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

void set_program_counter(user_regs_struct& registers, uint64_t address)
{
    registers.rip = address;
}

bool is_64_bit(const user_regs_struct& registers)
{
    constexpr unsigned user_cs = 0x33; // arch/x86/include/asm/segment.h: __USER_CS
    return registers.cs == user_cs;
}

} // namespace fastsdt::engine
#endif
