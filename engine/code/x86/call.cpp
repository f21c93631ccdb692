// SPDX-License-Identifier: BSD-2-Clause
// A stub that calls a compiled function: code/call.cpp has what that gets. It may change everything that the ABI lets it change. Its general
// registers are declared as changed, so that the stub saves them; the rest is saved here:
//
//         mov  %rsp, %rbx                         the function keeps rbx and r12
//         push site; push the program's rbp       what a walk by frame pointers expects
//         mov  %rsp, %rbp
//         and  $-64, %rsp; sub $size, %rsp
//         xsavec (%rsp)
//         pushfq; pop %r12; cld; emms
//         call function(context, hit)
//         bt   $10, %r12; jnc 1f; std; 1:
//         xrstor (%rsp)
//         mov  %rbx, %rsp
#include "code/x86/compiler.h"

#include <algorithm>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fastsdt::engine {

// Intel SDM volume 1, 13.2 to 13.4: components of XCR0, their places in the standard format, and whether there is XSAVEC.
VectorState VectorState::here()
{
    VectorState state;
#if defined(__x86_64__)
    // x87, SSE, AVX, the three of AVX-512, APX. Not the bounds registers: no code compiled today uses them. Not PKRU:
    // it belongs to the thread and not to a function. Not the tiles of AMX: a program has to ask the kernel for them
    // first.
    constexpr uint32_t of_functions = 0x7 | 0xe0 | 1u << 19;
    constexpr unsigned legacy = 576, leaf = 0xd;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !__get_cpuid_count(leaf, 1, &a, &b, &c, &d))
        return state;
    constexpr unsigned has_xsavec = 2;
    state.by = (a & has_xsavec) ? By::xsavec : By::xsave;
    uint32_t low = 0, high = 0;
    asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    state.components = low & of_functions;
    size_t standard = legacy, compact = legacy;
    for (unsigned i = 2; i < 32; ++i) {
        if (!(state.components & 1u << i) || !__get_cpuid_count(leaf, i, &a, &b, &c, &d))
            continue;
        standard = std::max<size_t>(standard, size_t(a) + b);
        compact = (compact + 63) / 64 * 64 + a;
    }
    state.size = ((state.by == By::xsavec ? compact : standard) + 63) / 64 * 64;
#endif
    return state;
}

namespace x86 {
namespace {

// What a called function leaves as it was: rbx, rbp, rsp, r12 to r15.
constexpr Registers function_changes =
    bit(rax) | bit(rcx) | bit(rdx) | bit(rsi) | bit(rdi) | bit(r8) | bit(r9) | bit(r10) | bit(r11);
constexpr size_t xsave_header = 512, xsave_header_size = 64;
constexpr int64_t direction_flag = 10;

} // namespace

void Compiler::call_compiled(const Statement& statement)
{
    as_.address(rsi, frame(key_bytes_));
    as_.constant(rdi, int64_t(statement.context));
    program_register(rbp, rdx);
    as_.constant(rax, int64_t(site_->address));
    as_.move(rbx, rsp);
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rax}});
    as_.emit(ZYDIS_MNEMONIC_PUSH, {Part{rdx}});
    as_.move(rbp, rsp);

    const VectorState& vectors = environment_.vectors;
    const bool fx = vectors.by == VectorState::By::fxsave;
    as_.emit(ZYDIS_MNEMONIC_AND, {Part{rsp}, int64_t(-64)});
    as_.address(rsp, {.base = rsp, .displacement = -int64_t(vectors.size)});
    Memory area{.base = rsp};
    area.size = 0; // the instruction implies the size
    const auto components = [&] {
        as_.constant(rax, vectors.components);
        as_.constant(rdx, 0);
    };
    if (fx) {
        as_.emit(ZYDIS_MNEMONIC_FXSAVE64, {area});
    } else {
        // The header has to be zeros for restoring, and saving does not write all of it.
        for (size_t i = 0; i < xsave_header_size; i += 8)
            as_.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rsp, .displacement = int64_t(xsave_header + i)}, int64_t(0)});
        components();
        as_.emit(vectors.by == VectorState::By::xsavec ? ZYDIS_MNEMONIC_XSAVEC64 : ZYDIS_MNEMONIC_XSAVE64, {area});
    }
    as_.emit(ZYDIS_MNEMONIC_PUSHFQ, {});
    as_.emit(ZYDIS_MNEMONIC_POP, {Part{r12}});
    as_.emit(ZYDIS_MNEMONIC_CLD, {});
    as_.emit(ZYDIS_MNEMONIC_EMMS, {});
    as_.constant(rax, int64_t(statement.function));
    as_.emit(ZYDIS_MNEMONIC_CALL, {Part{rax}});
    // Not popfq: it would bring back a debugger's trap flag.
    const auto forward = as_.label();
    as_.emit(ZYDIS_MNEMONIC_BT, {Part{r12}, direction_flag});
    as_.jump(ZYDIS_MNEMONIC_JNB, forward);
    as_.emit(ZYDIS_MNEMONIC_STD, {});
    as_.bind(forward);
    if (fx) {
        as_.emit(ZYDIS_MNEMONIC_FXRSTOR64, {area});
    } else {
        components();
        as_.emit(ZYDIS_MNEMONIC_XRSTOR64, {area});
    }
    as_.move(rsp, rbx);
    as_.clobber(function_changes | bit(rbx) | bit(rbp) | bit(r12));
}

} // namespace x86
} // namespace fastsdt::engine
