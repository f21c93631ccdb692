// SPDX-License-Identifier: BSD-2-Clause
// Which first instructions are cheap to probe, and on which kernels. Names and features of kernels are those of lib/.
// The rules of lib/ need a disassembler, which a compiler should not load: this is the part of them that entries need.
#pragma once
#include "base/result.h"
#include "base/arch.h"
#include "kernel/features.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastprobe {

using fastsdt::Arch; ///< here always x86_64 or arm64

/// What a function begins with behind its landing pad. Kernels treat the entries of one kind alike.
enum class First {
    other,      ///< everything that a kernel single-steps or refuses
    nop,        ///< the native nop; x86: nop1
    long_nop,   ///< x86: a multi-byte nop
    frame_push, ///< x86: push %rbp; arm64: stp x29, x30, [sp, #-N]!
    other_push, ///< x86: push of another 64-bit general register
    branch,     ///< a direct jump; arm64: any b, cbz, tbz, br, ret
    call,       ///< x86: call rel32; arm64: bl, blr
    address,    ///< arm64: adr, adrp
};

/// Kernels that the entries are meant for.
class Kernels {
public:
    static constexpr fastsdt::Release oldest{fastsdt::Vendor::upstream, 5, 10}; ///< of which entries were measured
    static constexpr std::string_view default_text = "5.10-";

    Kernels();

    /// RANGE, as for fastsdt-check's --kernel: a comma-separated list of V and V-V, and here also V-, which has no end.
    /// V is a name for parse_release(): 6.12, 6.1.176, ubuntu-7.0.0-43. "+stp" after an item means kernels with the
    /// out-of-tree patch that emulates the frame push on arm64.
    /// On failure *this is unchanged.
    fastsdt::Result<void> parse(std::string_view text);

    /// Some kernel of the range emulates a nop at the entry and does not emulate `found`: adding a nop pays.
    bool nop_pays(Arch arch, First found) const;
    /// Every kernel of the range emulates it.
    bool cheap(Arch arch, First first) const;
    /// The frame push is emulated on every kernel of the range that emulates a nop.
    bool frame_as_cheap_as_nop(Arch arch) const { return !nop_pays(arch, First::frame_push); }
    /// As the user wrote it.
    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::vector<fastsdt::Knowledge> kernels_;
};

} // namespace fastprobe
