// SPDX-License-Identifier: BSD-2-Clause
// Functions of a Go program by the table that its runtime unwinds with, which strip leaves: runtime/symtab.go.
//
//     .gopclntab   header | names | ... | where each function begins and its record | records: where its name is
//     moduledata   its first word leads to the header; another says what addresses count from, if the header does not
#pragma once
#include "elf/image.h"

#include <vector>

namespace fastsdt {

/// By ascending address; the names are those of tracebacks: "main.(*server).handle". Without the padding behind each. Files of Go 1.16 to 1.26 for
/// 64-bit processors of little endian; those of 1.16 and 1.17 not where they are position-independent. Empty: there is no such table, or one that
/// says something else twice.
std::vector<Function> go_functions(const Image& image);

} // namespace fastsdt
