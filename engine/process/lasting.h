// SPDX-License-Identifier: BSD-2-Clause
// Memory that is there and readable as long as a stub runs, so that stubs read it directly: what they may not find unmapped is
//     - constant data of the site's own file, of the program itself, and of the C library that it was linked with, as the files have it: in
//       mappings of our own, since a program may unmap or protect its own (Target::map_again());
//     - the main thread's stack, from the stack pointer up: it does not shrink;
//     - the page that the stack pointer is in.
// Not heap memory: another thread may unmap it between any test and the read. Not data that is written to, or was when the program was
// loaded: the file has something else. A file that is truncated while it is mapped would make the read fail (SIGBUS), as it does to the program
// that executes it or reads the string itself.
#pragma once
#include "arming/target.h"
#include "code/environment.h"
#include "process/view.h"

#include <cstdint>
#include <elf.h>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt::engine {

class LastingMemory {
public:
    explicit LastingMemory(ProcessView& view) : view_(view) {}

    /// Fills in `stack`. @param mappings  of now: what add() goes by
    void look(Environment& environment, const std::vector<Mapping>& mappings);
    /// Fills in `modules`, for these sites, and `always`. The target has its tables already.
    void add(Environment& environment, Target& target, std::span<const Site> sites);

private:
    struct Again {
        uint64_t size = 0, at = 0; ///< at: 0: it cannot be
    };
    struct File {
        std::vector<Elf64_Phdr> segments; ///< that are loaded
        std::map<uint64_t, Again> again;  ///< by offset
    };

    Mapping loaded(const Mapping& code, uint64_t bias, const Elf64_Phdr& segment) const;
    Lasting constants_of(const Mapping& code, Target& target);

    ProcessView& view_;
    std::vector<Mapping> mappings_;
    std::map<std::pair<std::string, uint64_t>, File> files_; ///< by device and inode
    std::optional<std::string> library_;                     ///< the C library's name
};

} // namespace fastsdt::engine
