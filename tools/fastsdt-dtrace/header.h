// SPDX-License-Identifier: BSD-2-Clause
// dtrace -h: the header that sources include.
#pragma once
#include "model.h"

namespace dtrace {

// `source` is the provider file's name, for the first line.
std::string header_text(const Model& model, std::string_view source);

} // namespace dtrace
