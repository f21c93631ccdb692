// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <cstddef>

namespace fastsdt {

/// How an ELF file writes integers: e_ident[EI_CLASS] and e_ident[EI_DATA].
struct Encoding {
    bool elf64 = true;
    bool big_endian = false;

    size_t address_size() const { return elf64 ? 8 : 4; }
    bool operator==(const Encoding&) const = default;
};

} // namespace fastsdt
