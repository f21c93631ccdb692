// SPDX-License-Identifier: BSD-2-Clause
// Arguments of a stapsdt note: what is the same whatever the operand looks like (operands_x86.h, operands_arm64.h).
#pragma once
#include "args.h"
#include "refusal.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fastsdt::engine {

/// The `index`th argument, counted from 0, if it is an integer of 1, 2, 4 or 8 bytes. Throws Refusal.
const Argument& integer_argument(const std::vector<Argument>& arguments, unsigned index);
[[noreturn]] void refuse_argument(const std::vector<Argument>& arguments, unsigned index, std::string_view why);

/// A number, with or without a sign, of up to 64 bits either way, and nothing behind it. Empty: it is none, or
/// `too_large`.
std::optional<int64_t> constant(std::string_view text, bool& too_large);

/// The low `size` bytes, extended as their sign says.
int64_t extend(int64_t value, int size, bool is_signed);

} // namespace fastsdt::engine
