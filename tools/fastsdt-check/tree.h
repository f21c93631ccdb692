// SPDX-License-Identifier: BSD-2-Clause
// Directories on fastsdt-check's command line.
#pragma once
#include "elf/archive.h"

#include <string>
#include <vector>

struct Tree {
    std::vector<std::string> files; ///< the paths as given, each directory replaced by the files with probes below it
    std::vector<fastsdt::Error> troubles; ///< what could not be read
    size_t directories = 0;               ///< of the paths
    size_t looked_at = 0;                 ///< ELF files and archives below directories
};

/// Looks through the directories with `jobs` threads. Symbolic links are not followed, other file systems not entered,
/// and a
/// file with several names is looked at once.
Tree expand(const std::vector<std::string>& paths, unsigned jobs, fastsdt::Access access);
