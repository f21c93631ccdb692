// SPDX-License-Identifier: BSD-2-Clause
// Functions of a Go program by the table that its runtime unwinds with, which strip leaves: runtime/symtab.go.
//
//     .gopclntab   header | names | ... | where each function begins and its record | records: where its name is
//     moduledata   its first word leads to the header; another says what addresses count from, if the header does not
#pragma once
#include "elf/image.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace fastsdt {

/// By ascending address; the names are those of tracebacks: "main.(*server).handle". Without the padding behind each. Files of Go 1.16 to 1.26 for
/// 64-bit processors of little endian; those of 1.16 and 1.17 not where they are position-independent. Empty: there is no such table, or one that
/// says something else twice.
std::vector<Function> go_functions(const Image& image);

/// ELF vaddrs [first, second) of what Go's compiler and assembler made; a program may have C code beside it. Empty: that is not known.
std::optional<std::pair<uint64_t, uint64_t>> go_text(const Image& image);

/// The end of a function's code, whose symbol may count the padding that the linker puts behind it. @param begin, end  ELF vaddrs
uint64_t go_code_end(const Image& image, uint64_t begin, uint64_t end);

/// The two words at an ELF vaddr as they are when the file is mapped, less what the mapping is away from it.
std::optional<std::pair<uint64_t, uint64_t>> go_words(const Image& image, uint64_t address);

} // namespace fastsdt
