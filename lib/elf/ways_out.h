// SPDX-License-Identifier: BSD-2-Clause
// The ways out of a function: its returns, and its direct jumps to other functions. EXIT records are compared with them.
//
// Compilers put what is seldom executed elsewhere: GCC's f.cold, clang's f.cold (-fsplit-machine-functions) and f.__part.1
// (-fbasic-block-sections). A jump to such a part does not leave the function:
//
//     f:       test %edi,%edi            .text.unlikely:
//              js   f.cold     ------>   f.cold:  call complain
//              ...                                jmp  f+0x20    <- and back
//
// The part's name tells whose it is. Where names are gone, .eh_frame tells: a part has a frame of its own. Either the stack stands
// otherwise at its begin than at a function's, or it jumps back into the function, or landing pads lead from one to the other.
// Where nothing tells, the jump is not judged.
#pragma once
#include "elf/exits.h"
#include "elf/frames.h"
#include "elf/image.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace fastsdt {

struct WaysOut {
    std::vector<uint64_t> addresses; ///< ELF vaddrs of returns and jumps
    std::optional<uint64_t>
        undecoded; ///< an instruction that the decoder does not know: nothing is said of the function
};

/// Asks for the functions of one image, which has to outlive it.
class FunctionCode {
public:
    explicit FunctionCode(const Image& image);

    /// Of the function that begins at an ELF vaddr. Empty: no symbol has its size, or walking the code of all functions that were
    /// asked for costs more than a sound file's.
    std::optional<WaysOut> ways_out(uint64_t function);

private:
    struct Range {
        uint64_t begin = 0, end = 0;
        auto operator<=>(const Range&) const = default;
    };
    enum class Leads { own, elsewhere, untold };

    const Function* symbol_at(uint64_t address) const;
    uint64_t end(const Function& function) const;
    Leads leads(uint64_t target, const Function& function, std::set<Range>& parts);
    bool thunk(uint64_t address) const;
    bool jumps_back(const Frame& frame, const std::set<Range>& parts);
    bool shares_landing_pads(const Frame& frame, const std::set<Range>& parts);
    const Frame* frame_at(uint64_t address);
    bool afford(const Range& range);

    const Image& image_;
    const std::vector<Function> functions_; // with parts, by address
    std::optional<Frames> frames_;          // once a name is missing
    uint64_t budget_;                       // bytes of code and of tables that may still be read
};

} // namespace fastsdt
