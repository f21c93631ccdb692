// SPDX-License-Identifier: BSD-2-Clause
// The grammar of provider files:
//
//     file:       ( provider | other )*
//     provider:   "provider" NAME "{" probe* "}" ";"?
//     probe:      "probe" NAME arguments ( ":" arguments )? ";"?
//     arguments:  "(" ( "void" | argument ( "," argument )* )? ")"
//     argument:   a parameter as C declares it, with or without a name
//     other:      a declaration of C, or a clause or declaration of D. Read for its brackets only
//
// The arguments after the colon are what D scripts see after translation; what the program passes stands before it.
#pragma once
#include "model.h"

namespace dtrace {

// The most that sys/sdt.h and its readers take.
constexpr size_t max_arguments = 12;

// Throws Error at the first thing that is not in the grammar. `source` and `file` must outlive the model.
Model parse(std::string_view source, std::string_view file);

} // namespace dtrace
