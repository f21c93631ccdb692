// SPDX-License-Identifier: BSD-2-Clause
// The stub around a site's clauses. The site's bytes, the first at the left, before and after, exchanged at once:
//
//     66 2e 0f 1f 84 00 00 00 00 00   nop10
//     66 2e 48 e9 d0 d1 d2 d3 00 00   jmp stub; the last two bytes stay and are not executed
//
// The stub (FASTSDT_STATE_JUMP leads to it):
//
//         lea  -(128 + frame)(%rsp), %rsp     over the red zone
//         mov  %rax, ...                      what the clauses will change
//         lahf; seto %al; mov %eax, flags     usdt sites only: entries and exits have no live flags
//         clauses
//         mov  flags, %eax; add $127, %al; sahf
//         mov  ..., %rax
//         lea  128 + frame(%rsp), %rsp
//         jmp  site + 10
//         cold paths
//
// Of many sites that are alike, the stubs call their clauses (code/bodies.cpp):
//
//         lea  -128(%rsp), %rsp; push %rax; mov $number, %eax; call body
//         jmp  site + 10
//
// Where no nop was compiled in, five bytes of other instructions become `e9 d0 d1 d2 d3`, and the stub executes these
// instructions (code/x86/moved.cpp): those in front of the probe before the first lea, the others before the last jmp.
#include "code/x86/compiler.h"

#include "code/stubs.h"

#include <fastsdt/recognize.h>

#include <algorithm>
#include <bit>

namespace fastsdt::engine::x86 {
namespace {

constexpr Registers all_but_rsp = 0xffff & ~bit(rsp);

// What a goroutine's stack has below the frame of a function that has checked it: stackGuard less stackSmall, runtime/stack.go.
constexpr size_t free_of_go = 800;
static_assert(most_stack <= free_of_go);

} // namespace

Compiler::Compiler(const Script& script, const Tables& tables, const Arena& arena, const Environment& environment)
    : CompilerBy(machine_x86_64, script, tables, arena, environment)
{}

size_t Compiler::flags_offset() const
{
    return saved_start() + 8 * size_t(std::popcount(saved_));
}

void Compiler::call(Assembler::Label routine, Registers changes)
{
    as_.jump(ZYDIS_MNEMONIC_CALL, routine);
    as_.clobber(changes);
}

Patch Compiler::patch(const Site& site, uint64_t stub) const
{
    static constexpr unsigned char nop[] = {FASTSDT_BYTES_nop10}, jump[] = {FASTSDT__JUMP};
    Patch patch{.at = site.patch, .length = site.exchanged(), .covers = site.length};
    patch.of_go = is_of_go(site);
    if (site.moves()) {
        std::copy_n(site.moved.bytes.begin(), patch.length, patch.before.begin());
        patch.after[0] = std::byte(jump[3]); // without the prefixes that make it as long as a nop10's first bytes
    } else {
        std::transform(nop, nop + 8, patch.before.begin(), [](unsigned char c) { return std::byte(c); });
        std::transform(jump, jump + 4, patch.after.begin(), [](unsigned char c) { return std::byte(c); });
    }
    const int64_t relative = int64_t(stub - (site.patch + patch.length));
    if (arena_.code && relative != int32_t(relative))
        throw std::logic_error("the arena is not within reach of a site");
    fastsdt::store(&patch.after[patch.length - 4], 4, uint64_t(relative), false);
    return patch;
}

void Compiler::align_stub(const Site& site)
{
    constexpr uint64_t block = 16, jump_length = sizeof Patch::before;
    if (environment_.threads_run && site.patch % block + jump_length > block) {
        static constexpr unsigned char nop[] = {FASTSDT_BYTES_nop10};
        as_.align_to(uint8_t(site.patch + jump_length + nop[4]));
    } else {
        as_.align(16);
    }
}

Registers Compiler::all_registers() const
{
    return all_but_rsp;
}

Registers Compiler::saved_registers(Registers written) const
{
    return (written & all_but_rsp) | (keep_flags_ ? bit(rax) : 0);
}

void Compiler::save()
{
    check_stack();
    if (site_->go && !environment_.rdfsbase && !environment_.stored_thread_pointers)
        throw Refusal(
            {State::cannot_move, 0,
             "is in a Go program, whose threads cannot be told apart here: the kernel does not let programs read "
             "their thread pointer (Linux 5.9)"});
    const auto whole = int64_t(frame_size() + (in_body_ ? 0 : Processor::red_zone)); // a stub is over it already
    as_.address(rsp, {.base = rsp, .displacement = -whole});
    for (int reg = rax; reg <= r15; ++reg)
        if (saved_ & bit(Reg(reg)))
            as_.store(frame(saved_offset(Reg(reg))), Reg(reg));
    if (keep_flags_) {
        as_.emit(ZYDIS_MNEMONIC_LAHF, {});
        as_.emit(ZYDIS_MNEMONIC_SETO, {Part{rax, 1}});
        as_.store(frame(flags_offset(), 4), rax);
    }
}

void Compiler::restore()
{
    if (keep_flags_) {
        as_.emit(ZYDIS_MNEMONIC_MOV, {Part{rax, 4}, frame(flags_offset(), 4)});
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax, 1}, int64_t(127)}); // 1 overflows
        as_.emit(ZYDIS_MNEMONIC_SAHF, {});
    }
    for (int reg = r15; reg >= rax; --reg)
        if (saved_ & bit(Reg(reg)))
            as_.load(Reg(reg), frame(program_offset(Reg(reg))));
    as_.address(rsp, {.base = rsp, .displacement = int64_t(frame_size() + (in_body_ ? 0 : Processor::red_zone))});
}

void Compiler::leave()
{
    if (site_->moves())
        move_code(site_->patch + site_->moved.at, std::span(site_->moved.bytes).subspan(site_->moved.at));
    if (!site_->moved.leaves)
        as_.jump_to(ZYDIS_MNEMONIC_JMP, site_->patch + site_->length);
}

// 16 bytes, so that all of a stub is in one cache line. The return takes what is pushed here, and the red zone, from the stack.
void Compiler::call_body(Label body, int64_t number)
{
    as_.address(rsp, {.base = rsp, .displacement = -int64_t(Processor::red_zone)});
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rax}});
    as_.constant(rax, number);
    as_.jump(ZYDIS_MNEMONIC_CALL, body);
}

void Compiler::leave_body()
{
    as_.emit(ZYDIS_MNEMONIC_RET, {int64_t(Processor::red_zone + 8)});
}

// rcx: a thread pointer. To rcx: its complement; to rsi: the number of the slot to begin at.
void Compiler::first_slot()
{
    as_.constant(rsi, int64_t(hash_multiplier));
    as_.emit(ZYDIS_MNEMONIC_NOT, {Part{rcx}}); // never 0: that is a slot which nobody has
    as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rsi}, Part{rcx}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rsi}, int64_t(64 - std::countr_zero(most_threads))});
}

// To rsi: the thread's block. A signal handler may fork behind the first instruction: then the hit is counted in the child too.
void Compiler::block()
{
    const auto found = as_.label(), has_slice = as_.label();
    as_.load_near(rax, arena_.mark);
    if (environment_.rdfsbase && !environment_.stored_thread_pointers)
        as_.emit(ZYDIS_MNEMONIC_RDFSBASE, {Part{rcx}});
    else
        as_.load(rcx, {.displacement = 0, .fs = true});
    first_slot();
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JZ, cold([this, has_slice] {
                 if (!environment_.follow) {
                     count_at(Tables::forked);
                     as_.jump(ZYDIS_MNEMONIC_JMP, out_);
                     return;
                 }
                 call(routines_.claim, bit(rax));
                 as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
                 as_.jump(ZYDIS_MNEMONIC_JNZ, has_slice);
                 as_.jump(ZYDIS_MNEMONIC_JMP, out_);
             }));
    as_.bind(has_slice);
    const auto word = [](size_t offset) {
        return Memory{.base = rax, .displacement = int64_t(offset), .index = rsi, .scale = 8};
    };
    as_.emit(ZYDIS_MNEMONIC_CMP, {word(Tables::owners), Part{rcx}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, cold([this, found] {
                 call(routines_.acquire, bit(rsi));
                 as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rsi}, Part{rsi}});
                 as_.jump(ZYDIS_MNEMONIC_JNZ, found);
                 as_.jump(ZYDIS_MNEMONIC_JMP, out_);
             }));
    as_.load(rsi, word(Tables::blocks));
    as_.bind(found);
}

} // namespace fastsdt::engine::x86
