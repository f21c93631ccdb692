// SPDX-License-Identifier: BSD-2-Clause
// Arguments of a stapsdt note: the part that does not depend on how an architecture writes operands
// (code/x86/operands.h, code/arm64/operands.h).
#pragma once
#include "arch/args.h"
#include "code/site_state.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fastsdt::engine {

/// The `index`th argument, counted from 0, if it is an integer of 1, 2, 4 or 8 bytes. Throws Refusal.
const Argument& integer_argument(const std::vector<Argument>& arguments, unsigned index);
[[noreturn]] void refuse_argument(const std::vector<Argument>& arguments, unsigned index, std::string_view why);

/// A number of up to 64 bits, with or without a sign, and nothing behind it. Empty: the text is no number, or it is too
/// large, and `too_large` is true.
std::optional<int64_t> constant(std::string_view text, bool& too_large);

/// The low `size` bytes, extended as their sign says.
int64_t extend(int64_t value, int size, bool is_signed);

} // namespace fastsdt::engine
