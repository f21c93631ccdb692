// SPDX-License-Identifier: BSD-2-Clause
// Functions of Go programs, which have no .eh_frame: where a probe on one is hit once a call, and where it leaves.
//
//     f:  cmp 0x10(%r14),%rsp      a goroutine's stack is compared with its end
//         jbe grow                 grow: call runtime.morestack; jmp f: the entry is executed once more
//         push %rbp                <- once a call, with the arguments still in their registers
//         ...
//         ret                      <- no return address is changed, so the runtime may copy and walk stacks
#pragma once
#include "elf/image.h"
#include "movable/instructions.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace fastsdt {

struct GoCode {
    uint64_t entry = 0; ///< ELF vaddr: behind the stack check, or the function itself where it has none
    /// ELF vaddrs of what leaves the function. Empty: it is not known. A panic leaves by none of them.
    struct Exit {
        uint64_t address = 0;
        bool tail_call = false;
    };
    std::optional<std::vector<Exit>> exits;
};

/// Words of the stack's check on arm64. The guard is loaded into x16 (Go 1.17: x1) from g; b.lo leaves for a frame so large that the difference may
/// be negative.
constexpr bool loads_go_guard(uint32_t word)
{
    return (word & 0xffffffe0) == 0xf9400b80; // ldr x16, [x28, #16]
}
constexpr bool leaves_if_lower(uint32_t word)
{
    return (word & 0xff00001f) == 0x54000003;
}

/// A function's instructions one by one. On arm64 constants that they load may stand between and behind them, which are left out.
class GoInstructions {
public:
    /// @param begin, end  ELF vaddrs. The image has to outlive it.
    GoInstructions(const Image& image, uint64_t begin, uint64_t end)
        : image_(image), decoder_(image.arch()), next_(begin), end_(end)
    {}
    /// False: there is no other; whole() says whether because it has come to the end.
    bool next();
    bool whole() const { return next_ >= end_; }
    uint64_t address() const { return address_; }
    const Instruction& operator*() const { return instruction_; }
    const Instruction* operator->() const { return &instruction_; }

private:
    const Image& image_;
    Decoder decoder_;
    uint64_t address_ = 0, next_, end_, furthest_ = 0; // furthest_: that a jump leads to, so far
    bool leaves_ = false;                              // the last one does, so that nothing comes here from it
    Instruction instruction_;
    std::map<uint64_t, uint64_t> constants_; // in the function: the end of each by its address
};

/// Of a function that a symbol names.
GoCode go_code(const Image& image, const Function& function);

} // namespace fastsdt
