// SPDX-License-Identifier: BSD-2-Clause
// Files by their first bytes alone: for messages.
#pragma once
#include "base/nearest.h"

#include <string>

namespace fastsdt {

bool is_elf_file(const std::string& path);

/// Which ELF file of its folder was meant by a path that no file has.
Nearest near_elf_file(const std::string& missing);

} // namespace fastsdt
