// SPDX-License-Identifier: BSD-2-Clause
// The file that has the debug information of another one: found where gdb finds it, and used only if it is of the same build.
#pragma once
#include "base/descriptor.h"
#include "base/result.h"
#include "elf/archive.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fastsdt {

class Image;

/// Where else debug files are looked for.
struct DebugPlaces {
    std::vector<std::string> folders; ///< before /usr/lib/debug, each made as that is, or with the files in it
    bool servers =
        false; ///< and the debuginfod servers that DEBUGINFOD_URLS names, at last: the only thing that uses a network
};
/// A tool says it at its start, before other threads.
void set_debug_places(DebugPlaces places);

struct DebugFile {
    std::string path;
    std::unique_ptr<MappedFile> file; ///< none: there is none
    std::vector<Error> refused;       ///< found, and not used: of another build, damaged, not to be read
};
/// The separate debug file of one without .debug_info or .symtab:
///   DIR/.build-id/ab/cdef.debug                       by its build id
///   beside the file, in .debug there, DIR/its folder  by the name in .gnu_debuglink, or its own with ".debug"
/// for each DIR of DebugPlaces and /usr/lib/debug; of a process's file in the process's root first.
/// It has to have the same build id; without one, the checksum that .gnu_debuglink has.
DebugFile find_debug_file(const Image& image);

/// Bytes that any file's debug information may cost, however small the file is.
inline constexpr uint64_t least_cost = 1 << 20;
/// Reading it with libdw costs no more than a file of its size should: libdw decompresses whole sections.
bool affordable(int fd);
/// The file itself, if it has .debug_info, or its debug file. None: there is none that is affordable.
Descriptor open_debug_file(const std::string& path);

} // namespace fastsdt
