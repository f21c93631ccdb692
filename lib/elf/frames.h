// SPDX-License-Identifier: BSD-2-Clause
// What .eh_frame says of the code: where functions begin and end, and where the stack stands at each instruction. x86-64 and arm64.
#pragma once
#include "elf/image.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fastsdt {

/// How unwinding finds the caller's stack pointer: the offset is added to the base.
struct Cfa {
    enum Base : uint8_t {
        unknown,
        stack_pointer,
        frame_pointer,
        at_frame_pointer, ///< the word there: of a function that aligns its stack
        other,            ///< another register
    } base = unknown;
    int64_t offset = 0;
    bool operator==(const Cfa&) const = default;
};

/// How unwinding finds the caller's registers, as far as stacks need it.
struct Row {
    Cfa cfa;
    enum Saved : uint8_t {
        unchanged,
        at_cfa,           ///< the word at the offset from the CFA
        at_frame_pointer, ///< the word at the offset from the frame pointer
        lost,             ///< elsewhere, or nowhere
    } frame_pointer = unchanged;
    int64_t offset = 0;
    Saved return_address = unchanged; ///< the same; unchanged: arm64, it is in its register
    int64_t return_offset = 0;
    bool outermost = false; ///< there is no caller
};

/// What DWARF's numbers of registers mean on an architecture, and what a call puts on the stack.
struct FrameRules {
    uint64_t frame_pointer = 0, stack_pointer = 0, return_address = 0;
    int64_t pushed = 0; ///< bytes
};

/// A common information entry: what many functions share.
struct Cie {
    const FrameRules* rules = nullptr;
    uint64_t code_factor = 1;
    int64_t data_factor = 1;
    uint8_t pointers = 0, lsda = 0xff; ///< encodings; 0xff: there is none
    bool augmented = false, signal = false;
    std::span<const std::byte> program; ///< of the row that all functions begin with
    Row first{};                        ///< that row
};

/// A frame description entry: a function, or a part of one.
struct Frame {
    uint64_t begin = 0, end = 0; ///< ELF vaddrs
    uint64_t lsda = 0;           ///< 0: no landing pads
    size_t cie = 0;
    std::span<const std::byte> program;
    Cfa first{};            ///< at its first instruction
    bool signal = false;    ///< the kernel calls it, or returns to it, for a signal
    bool outermost = false; ///< has no caller
};

/// The frames of a file, by address. Those that overlap others are left out: which one holds is not known.
class Frames {
public:
    explicit Frames(const Image& image);

    const std::vector<Frame>& all() const { return frames_; }
    const std::vector<Cie>& cies() const { return cies_; }
    /// Nothing of the function is on the stack: at its first instruction, and before what leaves it.
    bool at_return(const Cfa& cfa) const { return cfa.base == Cfa::stack_pointer && cfa.offset == rules_.pushed; }

private:
    void keep_alone(); // sorts them

    const FrameRules& rules_;
    std::vector<Frame> frames_;
    std::vector<Cie> cies_;
};

/// Runs a frame's program: one row after the other.
class Rows {
public:
    Rows(const Cie& cie, const Frame& frame);
    /// @param address  not below the one asked before
    const Row& at(uint64_t address);
    /// Where the row ends that was asked for last; UINT64_MAX: with the frame.
    uint64_t end() const { return end_; }
    /// Whether some row up to there has no caller.
    bool outermost() const { return outermost_; }

private:
    struct Step;

    const Cie& cie_;
    std::span<const std::byte> program_;
    uint64_t location_, end_ = UINT64_MAX;
    Row now_;
    std::vector<Row> remembered_;
    bool outermost_ = false;
};

/// Calls `visit` for each landing pad of the frame. False: they are not all known.
/// @param budget  bytes that may still be read; those of a sound file do not overlap
bool each_landing_pad(const Image& image, const Frame& frame, uint64_t& budget,
                      const std::function<void(uint64_t address)>& visit);

} // namespace fastsdt
