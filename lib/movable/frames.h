// SPDX-License-Identifier: BSD-2-Clause
// What .eh_frame says of the code: where functions begin and end, and where the stack stands at each instruction. x86-64 only.
#pragma once
#include "elf/image.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace fastsdt {

/// How unwinding finds the caller's stack pointer.
struct Cfa {
    enum Base : uint8_t { unknown, stack_pointer, other } base = unknown;
    int64_t offset = 0; ///< stack_pointer, other
    /// Only the return address is on the stack: at a function's first instruction, and before what leaves it.
    bool at_return() const { return base == stack_pointer && offset == 8; }
    bool operator==(const Cfa&) const = default;
};

/// A common information entry: what many functions share.
struct Cie {
    uint64_t code_factor = 1;
    int64_t data_factor = 1;
    uint8_t pointers = 0, lsda = 0xff; ///< encodings; 0xff: there is none
    bool augmented = false, signal = false;
    std::span<const std::byte> program; ///< of the row that all functions begin with
    Cfa first{};                        ///< that row's
    bool outermost = false;
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

private:
    std::vector<Frame> frames_;
    std::vector<Cie> cies_;
};

/// Runs a frame's program: one row after the other.
class Rows {
public:
    Rows(const Cie& cie, const Frame& frame);
    /// @param address  not below the one asked before
    Cfa at(uint64_t address);
    bool outermost() const { return outermost_; }

private:
    const Cie& cie_;
    std::span<const std::byte> program_;
    uint64_t location_;
    Cfa now_;
    std::vector<Cfa> remembered_;
    bool outermost_ = false;
};

/// Calls `visit` for each landing pad of the frame. False: they are not all known.
/// @param budget  bytes that may still be read; those of a sound file do not overlap
bool each_landing_pad(const Image& image, const Frame& frame, uint64_t& budget,
                      const std::function<void(uint64_t address)>& visit);

} // namespace fastsdt
