// SPDX-License-Identifier: BSD-2-Clause
// What programs need for ustack(dwarf): where the code of processes is mapped, and its rows of .eh_frame.
//
// Each address space has a number. A process has one from the tool, as long as it executes the same program, and what it forks has its parent's
// until the tool gives it one of its own: programs at tracepoints see forks and execs, so that no rows are taken for those of another program.
//
//     spaces    by process                     space_word()
//     heirs     by task, of forked processes   the same, of whom they descend from
//     modules   by space and address           where the rows of that code are: a trie, since code is ranges of addresses
//     chunks    rows of files, as many as there are, each file's in one or more pieces
#pragma once
#include "bpf.h"
#include "maps/tables.h"
#include "process/code_of_process.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine::bpf {

/// A power of two, so that a program's search cannot leave a chunk.
inline constexpr unsigned rows_of_chunk_bits = 15;
inline constexpr size_t rows_of_chunk = size_t(1) << rows_of_chunk_bits;

struct ModuleKey {
    uint32_t bits = 0; ///< of what follows, that count
    uint32_t space = 0;
    uint64_t address = 0; ///< big-endian
};
inline constexpr uint32_t bits_of_module_key = 8 * (sizeof(ModuleKey) - sizeof(uint32_t));

struct ModuleValue {
    uint64_t base = 0;  ///< runtime address that rows count from
    uint32_t chunk = 0; ///< and in it the rows, which are in order:
    uint32_t first = 0, end = 0;
    uint32_t unused = 0;
    /// A word that tells the file from another that was mapped there since: its runtime address, and what is there.
    uint64_t told_by = 0, word = 0;
};

/// A row as programs have it: the caller's stack pointer and what it returns to are found in the same steps for all kinds of rows, since
/// verifiers follow each branch.
struct KernelRow {
    enum Kind : uint8_t {
        from_frame_pointer = 1, ///< else from the stack pointer: the CFA is `offset` words above it,
        cfa_is_there = 2,       ///< or the word there
        signal = 4, ///< where the program goes on is in the kernel's signal frame, else a word below the CFA
        saved_there =
            8,          ///< the caller's frame pointer is where the frame pointer points; else `saved` words below that
        unchanged = 16, ///< or it is the same
        outermost = 32,
        unknown = 64,
    };
    uint32_t start = 0;
    uint8_t kind = unknown;
    uint8_t saved = 0;
    int16_t offset = 0;
};
static_assert(sizeof(KernelRow) == 8);

// Of the kernel's signal frame, from the stack pointer behind the handler: uc_mcontext of struct ucontext,
// arch/x86/include/uapi/asm/sigcontext.h.
inline constexpr int signal_frame_pointer = 0x78, signal_stack_pointer = 0xa0, signal_place = 0xa8;

/// The process whose program it is in the upper half, the number of the address space in the lower one.
constexpr uint64_t space_word(pid_t process, uint32_t space)
{
    return uint64_t(uint32_t(process)) << 32 | space;
}

class Unwinder {
public:
    /// Throws Unusable. @param follows  what processes fork is unwound too
    explicit Unwinder(bool follows);
    Unwinder(const Unwinder&) = delete;
    Unwinder& operator=(const Unwinder&) = delete;
    ~Unwinder();

    /// Writes what a process has mapped now. May take another look at it. Code whose rows find no room has none.
    void look(ProcessView& view, CodeOfProcess& code);
    /// Another process may get its number.
    void forget(pid_t process);

    /// Code that has in r0 the current task's space_word(), or goes to `none`. Changes r1 to r5, uses the stack from -24 to -32.
    void find_space(BpfAssembler& code, BpfAssembler::Label none) const;
    const BpfMap& modules() const { return modules_; }
    const BpfMap& chunks() const { return chunks_; }

private:
    using Module = CodeOfProcess::Module;
    /// Rows of a file that are in one chunk.
    struct Part {
        uint32_t chunk = 0, first = 0;
        size_t from = 0, to = 0; ///< of the file's
    };
    struct Space {
        uint32_t number = 0;
        std::vector<Module> modules;
    };
    const std::vector<Part>& parts_of(const CodeOfProcess::Piece& code);
    bool open_chunk();
    /// @param value  with told_by and word; nullptr: takes it away
    void write(const Space& space, const Module& module, const ModuleValue* value);
    void clear(const Space& space);
    void attach_programs();

    BpfMap spaces_, heirs_, modules_, chunks_;
    std::map<CodeOfProcess::Piece, std::vector<Part>> parts_;
    size_t chunks_used_ = 0;
    KernelRow* chunk_ = nullptr;      // the last one
    size_t in_chunk_ = rows_of_chunk; // rows
    uint32_t last_number_ = 0;
    std::map<pid_t, Space> known_;
    std::deque<Space> ended_; // that forked children may have still
    std::vector<Descriptor> attached_;
};

} // namespace fastsdt::engine::bpf
