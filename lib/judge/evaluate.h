// SPDX-License-Identifier: BSD-2-Clause
// The one answer about a place: what its record promises, what stands there, what each kernel does there. Reports,
// plans, fastsdt-probe and fastsdt-index all use it.
#pragma once
#include "elf/image.h"
#include "elf/notes.h"
#include "kernel/kernel.h"

#include <fastsdt/recognize.h>

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace fastsdt {

/// A probe's site or a function's entry. Without a record it is judged by its bytes.
struct ProbePoint {
    uint64_t address = 0;           ///< ELF vaddr: a note's pc, a function's first byte
    const Record* record = nullptr; ///< the layout note
    bool function = false;          ///< a function's entry: a landing pad may come first

    uint8_t layout() const { return record ? record->layout : FASTSDT_LAYOUT_OTHER; } ///< what the record promises
    /// Bytes from `address` to where the notes want the probe: those of the landing pad if the record names one.
    uint8_t lead() const { return function && record ? record->lead : 0; }
};

/// What stands at a place. `bytes` are the place's from `address` on, in the file or in a process. `expected` is a
/// FASTSDT_LAYOUT_*, see fastsdt_recognize(). In the answer `lead` counts from `address` to the layout: the record's
/// lead, or without a record the landing pad's bytes. A pad at a probe, or one that the record does not have, is no
/// layout (length 0): a probe there is on the pad itself.
fastsdt_recognized recognize(const Image& image, const ProbePoint& point, int expected,
                             std::span<const std::byte> bytes);

/// What stands at a site, by its bytes alone: in a file, or in a process, where kernels, debuggers and tracers in user
/// space have written.
enum class SiteBytes {
    pristine,   ///< the layout as it was compiled
    breakpoint, ///< a uprobe, or a debugger
    stale_call, ///< a nop10 that was optimized and is a nop again: bytes 5 to 9 are left of the call
    call,       ///< the kernel's call, or one that looks like it
    updating,   ///< the kernel is in the middle of writing a call or undoing it
    jump,       ///< the 8-byte jump of a user-space engine
    damaged,    ///< FASTSDT_STATE_DAMAGED: executing it breaks the stack pointer
    other,      ///< something else
};
SiteBytes site_bytes(const fastsdt_recognized& seen);

/// Whether the code begins with a nop, as every site does, also those of other headers. True where nothing is known about
/// the architecture.
bool begins_with_nop(const Image& image, std::span<const std::byte> code);

/// What one kernel does at a place.
struct Behaviour {
    Judgement at_start; ///< a probe on `address` itself
    Judgement at_note;  ///< where the notes want it: `address` + ProbePoint::lead()
    Judgement at_patch; ///< on the patchable instruction, where that is another one (nop1+...)
    /// libbpf, in the version that belongs to the kernel, moves its probe to the patchable instruction by itself.
    bool attaches_at_patch = false;
};

/// The answer. Places that look the same share one.
struct Evaluation {
    uint8_t layout = 0;                ///< FASTSDT_LAYOUT_* as the bytes have it
    uint8_t state = 0;                 ///< FASTSDT_STATE_*
    uint8_t lead = 0;                  ///< bytes before the layout: of a landing pad
    uint8_t length = 0;                ///< of the layout; 0: none is known
    uint8_t patch_offset = 0;          ///< of the patchable bytes, from the layout's first byte
    uint8_t patch_length = 0;          ///< 0: none, or no record says so (a function's landing pad without a record)
    std::vector<Behaviour> behaviours; ///< by kernel
};

/// Evaluates the places of one image, which has to outlive it.
class Evaluator {
public:
    Evaluator(const Image& image, std::vector<Kernel> kernels) : image_(image), kernels_(std::move(kernels)) {}

    /// nullptr: the file has no code there (a dangling note, a separate debug file). Lives as long as this object.
    const Evaluation* at(const ProbePoint& point);

private:
    Evaluation evaluate(const ProbePoint& point, const fastsdt_recognized& seen, std::span<const std::byte> bytes,
                        uint64_t in_page) const;

    const Image& image_;
    const std::vector<Kernel> kernels_;
    std::deque<Evaluation> evaluations_;
    std::map<std::string, const Evaluation*, std::less<>> by_bytes_;
};

/// One place for one kernel.
Behaviour evaluate(const Image& image, const ProbePoint& point, const Kernel& kernel);

/// Whether the bytes at a uprobe's place are the kernel's call: the probe is optimized.
bool shows_call(Arch arch, std::span<const std::byte> live);

} // namespace fastsdt
