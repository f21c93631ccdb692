// SPDX-License-Identifier: BSD-2-Clause
// The one answer about a place: what its record promises, what stands there, what each kernel does there. Reports,
// plans, fastsdt-probe and fastsdt-index are made from it.
#pragma once
#include "image.h"
#include "kernel.h"
#include "notes.h"

#include <fastsdt/recognize.h>

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace fastsdt {

/// A probe's site or a function's entry. Without a record it is judged by its bytes.
struct Place {
    uint64_t address = 0;           ///< ELF vaddr: a note's pc, a function's first byte
    const Record* record = nullptr; ///< the layout note
    bool function = false;          ///< a function's entry: a landing pad may come first

    uint8_t layout() const { return record ? record->layout : FASTSDT_LAYOUT_OTHER; } ///< that the record promises
    /// Bytes from `address` to where the notes want the probe: those of the landing pad if the record names one.
    uint8_t lead() const { return function && record ? record->lead : 0; }
};

/// What stands at a place if its bytes, from `address` on, are these: the file's own, or what a process has there.
/// `expected` is a FASTSDT_LAYOUT_*, see fastsdt_recognize(). In the answer `lead` counts from `address` to the layout:
/// the record's lead, or without a record what the landing pad has. A pad at a probe, or one that the record does not
/// have, is no layout (length 0): a probe there is one on that instruction.
fastsdt_recognized recognize(const Image& image, const Place& place, int expected, std::span<const std::byte> bytes);

/// What one kernel does at a place.
struct Behaviour {
    Judgement at_start; ///< a probe on `address` itself
    Judgement at_note;  ///< where the notes want it: `address` + Place::lead()
    Judgement at_patch; ///< on the patchable instruction, where that is another one (nop1+...)
    /// libbpf, in the version that belongs to the kernel, moves its probe to the patchable instruction by itself.
    bool libbpf_moves = false;
};

/// Shared between places that look the same.
struct Evaluation {
    uint8_t layout = 0;                ///< FASTSDT_LAYOUT_* as the bytes have it
    uint8_t state = 0;                 ///< FASTSDT_STATE_*
    uint8_t lead = 0;                  ///< bytes before the layout: of a landing pad
    uint8_t length = 0;                ///< of the layout; 0: none is known
    uint8_t patch_offset = 0;          ///< of the patchable bytes, from the layout's first byte
    uint8_t patch_length = 0;          ///< 0: none, or nobody knows to probe there (a function's pad without a record)
    std::vector<Behaviour> behaviours; ///< by kernel
};

/// Evaluates the places of one image, which has to outlive it.
class Evaluator {
public:
    Evaluator(const Image& image, std::vector<Kernel> kernels) : image_(image), kernels_(std::move(kernels)) {}

    /// nullptr: the file has no code there (a dangling note, a separate debug file). Lives as long as this object.
    const Evaluation* at(const Place& place);

private:
    Evaluation evaluate(const Place& place, const fastsdt_recognized& seen, std::span<const std::byte> bytes,
                        uint64_t in_page) const;

    const Image& image_;
    const std::vector<Kernel> kernels_;
    std::deque<Evaluation> evaluations_;
    std::map<std::string, const Evaluation*, std::less<>> by_bytes_;
};

/// One place for one kernel.
Behaviour evaluate(const Image& image, const Place& place, const Kernel& kernel);

/// Whether bytes that a uprobe left at its place show the kernel's call: the probe is optimized.
bool shows_call(Arch arch, std::span<const std::byte> live);

/// Size of a page of every kernel's uprobes on x86. What a note promises about pages is promised for it everywhere.
inline constexpr uint64_t uprobe_page = 4096;

} // namespace fastsdt
