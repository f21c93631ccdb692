// SPDX-License-Identifier: BSD-2-Clause
// The function's bytes and the stub on x86-64. Before: c3, then the padding up to the next function, which is not executed.
// After: the jump of all sites (code/x86/stubs.cpp), over the return and seven bytes of padding.
#include "code/x86/loader.h"

#include "base/integers.h"
#include "code/x86/assembler.h"
#include "code/x86/waiting.h"
#include "maps/tables.h"

#include <fastsdt/recognize.h>

#include <algorithm>
#include <cstddef>

namespace fastsdt::engine::x86 {
namespace {

constexpr std::byte ret{0xc3};

// Whether bytes are padding: instructions that do nothing, or breakpoints, and the last of them may be cut off.
bool is_padding(std::span<const std::byte> bytes)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (!bytes.empty()) {
        ZydisDecodedInstruction instruction;
        const ZyanStatus status =
            ZydisDecoderDecodeInstruction(&decoder, nullptr, bytes.data(), bytes.size(), &instruction);
        if (status == ZYDIS_STATUS_NO_MORE_DATA)
            return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
                static constexpr unsigned char of_nops[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x80, 0x44, 0x40, 0x00};
                return std::find(std::begin(of_nops), std::end(of_nops), std::to_integer<unsigned char>(b))
                    != std::end(of_nops);
            });
        if (!ZYAN_SUCCESS(status)
            || (instruction.mnemonic != ZYDIS_MNEMONIC_NOP && instruction.mnemonic != ZYDIS_MNEMONIC_INT3))
            return false;
        bytes = bytes.subspan(instruction.length);
    }
    return true;
}

} // namespace

bool is_loader_return(std::span<const std::byte> bytes)
{
    constexpr size_t size = sizeof Patch::before;
    return bytes.size() >= size && bytes[0] == ret && is_padding(bytes.subspan(1, size - 1));
}

std::optional<Patch> loader_patch(const Loader& loader, std::span<const std::byte> function, uint64_t stub)
{
    const bool marked =
        function.size() >= endbr64.size() && std::equal(endbr64.begin(), endbr64.end(), function.begin());
    const size_t at = marked ? endbr64.size() : 0;
    // A function begins at a multiple of 16, as compilers align them: so none begins in the padding.
    if (loader.breakpoint % loader_function != 0 || function.size() < loader_function
        || !is_loader_return(function.subspan(at)))
        return std::nullopt;
    static constexpr unsigned char jump[] = {FASTSDT__JUMP};
    Patch patch{.at = loader.breakpoint + at};
    std::copy_n(function.begin() + static_cast<ptrdiff_t>(at), patch.before.size(), patch.before.begin());
    std::transform(jump, jump + 4, patch.after.begin(), [](unsigned char c) { return std::byte(c); });
    fastsdt::store(&patch.after[4], 4, stub - (patch.at + patch.after.size()), false);
    return patch;
}

// Keeps all registers: the dynamic linker's compiler may know that the function changes none.
std::vector<std::byte> compile_loader_stub(const Loader& loader, const Arena& arena)
{
    static constexpr Reg kept[] = {rax, rcx, rdx, rbx, rsi, rdi, r8, r9, r10, r11, r12};
    Assembler as(arena.code);
    const auto word = [&](size_t offset) { return Memory{.base = rbx, .displacement = int64_t(offset), .size = 4}; };
    const auto again = as.label(), late = as.label(), answered = as.label(), done = as.label(), child = as.label(),
               out = as.label();
    // Unless stubs may make no system calls.
    const auto check_calls = [&](Assembler::Label none) {
        as.emit(ZYDIS_MNEMONIC_CMP,
                {Memory{.base = rbx, .displacement = int64_t(Tables::no_calls) - int64_t(Tables::loader)}, int64_t(0)});
        as.jump(ZYDIS_MNEMONIC_JNZ, none);
    };
    // Jumps if the question r12 has been answered.
    const auto check_answer = [&] {
        as.emit(ZYDIS_MNEMONIC_MOV, {Part{rdx, 4}, word(LoaderWords::answered)});
        as.emit(ZYDIS_MNEMONIC_MOV, {Part{rax, 4}, Part{rdx, 4}});
        as.emit(ZYDIS_MNEMONIC_SUB, {Part{rax, 4}, Part{r12, 4}});
    };
    as.emit(ZYDIS_MNEMONIC_PUSHFQ, {});
    for (const Reg reg : kept)
        as.emit(ZYDIS_MNEMONIC_PUSH, {Part{reg}});
    as.load_near(rax, arena.mark);
    as.long_constant(rbx, arena.data + Tables::slice);
    as.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{rbx}}); // a forked child: nobody looks at what it maps
    as.jump(ZYDIS_MNEMONIC_JNZ, child);
    as.constant(rax, int64_t(loader.state));
    as.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = rax, .size = 4}, int64_t(0)}); // nothing is mapped yet
    as.jump(ZYDIS_MNEMONIC_JNZ, out);
    as.constant(rbx, int64_t(arena.data + Tables::loader));
    check_calls(out);
    as.emit(ZYDIS_MNEMONIC_CMP, {word(LoaderWords::alone), int64_t(0)});
    as.jump(ZYDIS_MNEMONIC_JNZ, out);
    as.constant(r12, 1);
    as.emit(ZYDIS_MNEMONIC_XADD, {word(LoaderWords::asked), Part{r12, 4}}, true);
    as.emit(ZYDIS_MNEMONIC_ADD, {Part{r12, 4}, int64_t(1)}); // the number of this question
    wake(as, word(LoaderWords::asked));
    take_deadline(as, word(LoaderWords::signs), late);
    as.bind(again);
    check_answer();
    as.jump(ZYDIS_MNEMONIC_JNS, answered);
    check_calls(late);
    sleep_on(as, word(LoaderWords::answered), word(LoaderWords::signs), again);
    as.bind(late);
    as.constant(rax, 1);
    as.emit(ZYDIS_MNEMONIC_XCHG, {word(LoaderWords::alone), Part{rax, 4}});
    check_answer(); // it may have come since: then the tracer has not seen that nobody waits
    as.jump(ZYDIS_MNEMONIC_JS, done);
    as.emit(ZYDIS_MNEMONIC_MOV, {word(LoaderWords::alone), int64_t(0)});
    as.bind(answered);
    as.bind(done);
    as.address(rsp, {.base = rsp, .displacement = deadline_size});
    as.bind(out);
    for (size_t i = std::size(kept); i > 0; --i)
        as.emit(ZYDIS_MNEMONIC_POP, {Part{kept[i - 1]}});
    as.emit(ZYDIS_MNEMONIC_POPFQ, {});
    as.emit(ZYDIS_MNEMONIC_RET, {});
    as.bind(child); // a module may set a filter
    as.long_constant(rbx, arena.first_mark);
    as.emit(ZYDIS_MNEMONIC_MOV, {Memory{.base = rbx, .displacement = offsetof(Mark, no_calls)}, int64_t(1)});
    as.jump(ZYDIS_MNEMONIC_JMP, out);
    return as.finish();
}

} // namespace fastsdt::engine::x86
