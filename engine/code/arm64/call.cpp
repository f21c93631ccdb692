// SPDX-License-Identifier: BSD-2-Clause
// A stub that calls a compiled function. The function may change everything that the ABI lets it change. Its general registers are declared as
// changed, so that the stub saves them; the rest is saved here:
//
//         stp  x29, site, [sp, #-16]!             what a walk by frame pointers expects
//         mov  x29, sp; mov x19, sp               the function keeps x19 to x21
//         mrs  x20, fpsr; mrs x21, fpcr
//         stp  q0, q1, ...                        with SVE: whole vectors and predicates
//         blr  function(context, hit)
//         ldp  q0, q1, ...
//         msr  fpsr, x20; msr fpcr, x21
//         mov  sp, x19; add sp, sp, #16
#include "code/arm64/compiler.h"

namespace fastsdt::engine::arm64 {
namespace {

// What a called function leaves as it was: x19 to x29, of which those are used here.
constexpr Registers function_changes = routine_changes | bit(x3) | bit(x4) | bit(x18) | bit(lr);
constexpr Registers used_here = bit(x19) | bit(x20) | bit(x21) | bit(x29);
constexpr int quadwords = 32, quadword = 16;
constexpr auto status =
    vixl::SystemRegister(vixl::SystemRegisterEncoder<3, 3, 4, 4, 1>::value); // fpsr, which VIXL has no name for

} // namespace

void Compiler::keep_quadwords(bool back)
{
    if (environment_.sve)
        return keep_vectors(back);
    if (!back)
        as_.move_stack(-quadwords * quadword);
    for (int i = 0; i < quadwords; i += 2)
        as_.put([&](auto& a) {
            const auto one = vixl::QRegister(unsigned(i)), two = vixl::QRegister(unsigned(i + 1));
            const vixl::MemOperand place(vixl::sp, quadword * i);
            back ? a.ldp(one, two, place) : a.stp(one, two, place);
        });
}

void Compiler::call_compiled(const Statement& statement)
{
    if (environment_.sme)
        throw Refusal({State::no_functions});
    as_.address(x1, frame(key_bytes_));
    program_register(x29, x2);
    as_.constant(x3, site_->address);
    as_.move_stack(-16);
    as_.store_pair(frame(0), x2, x3);
    as_.move(x29, sp);
    as_.move(x19, sp);
    as_.put([](auto& a) { a.mrs(vixl::x20, status); });
    as_.put([](auto& a) { a.mrs(vixl::x21, vixl::FPCR); });
    keep_quadwords(false);
    as_.constant(x0, statement.context);
    as_.constant(x8, statement.function);
    as_.put([](auto& a) { a.blr(vixl::x8); });
    keep_quadwords(true);
    as_.put([](auto& a) { a.msr(status, vixl::x20); });
    as_.put([](auto& a) { a.msr(vixl::FPCR, vixl::x21); });
    as_.move(sp, x19);
    as_.move_stack(16);
    as_.clobber(function_changes | used_here);
}

} // namespace fastsdt::engine::arm64
