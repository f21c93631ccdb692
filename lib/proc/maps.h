// SPDX-License-Identifier: BSD-2-Clause
// What a process has mapped: /proc/PID/maps.
#pragma once
#include "base/addresses.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

struct Mapping {
    uint64_t start = 0, end = 0; ///< runtime addresses
    uint64_t offset = 0;         ///< in the file
    bool readable = false, writable = false, executable = false;
    bool shared = false; ///< other processes see what is written there
    std::string device;  ///< major:minor, hexadecimal
    uint64_t inode = 0;
    std::string name; ///< path, or "[...]", or empty

    /// Where the byte of the file is in the process, and the other way round; it has to be in the mapping.
    RuntimeAddress runtime(FileOffset at) const { return RuntimeAddress(start + (at.value - offset)); }
    FileOffset in_file(RuntimeAddress at) const { return FileOffset(offset + (at.value - start)); }
};

/// Bytes of this machine's pages.
uint64_t page_size();

/// What Linux appends to the path of a file that is removed or replaced.
inline constexpr std::string_view deleted_suffix = " (deleted)";

/// The mapping that has the `size` bytes at a runtime address; nullptr: none has all of them. `mappings`: by address.
const Mapping* mapping_at(const std::vector<Mapping>& mappings, uint64_t address, uint64_t size = 1);

/// What process `pid` has mapped, by address. Throws Unusable.
std::vector<Mapping> read_maps(pid_t pid);
/// The same, with an error that has its code.
Result<std::vector<Mapping>> try_read_maps(pid_t pid);

} // namespace fastsdt
