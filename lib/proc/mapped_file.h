// SPDX-License-Identifier: BSD-2-Clause
// The file behind a mapping. Names may lead to another file by now, or nowhere; device and inode tell.
#pragma once
#include "base/descriptor.h"
#include "proc/maps.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt {

/// A path that leads to the file behind a mapping and can be opened; empty if there is none any more. @param path  the name in /proc/PID/maps,
/// without deleted_suffix
std::string path_of_mapped_file(pid_t pid, const Mapping& mapping, const std::string& path);
/// The file that the mapping is of. Empty: it cannot be opened.
Descriptor open_mapped_file(pid_t pid, const Mapping& mapping);
/// Reads up to `size` bytes of the mapped file, at the file offset that corresponds to a runtime address in the mapping. Empty: it cannot be read.
std::vector<std::byte> read_mapped_file(pid_t pid, const Mapping& mapping, uint64_t address, size_t size);

} // namespace fastsdt
