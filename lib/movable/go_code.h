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

#include <cstdint>
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

/// Of a function that a symbol names.
GoCode go_code(const Image& image, const Function& function);

} // namespace fastsdt
