// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <stdexcept>

namespace fastsdt {

/// A file that cannot be read or written at all; what() is one line that says which file, why, and what to do.
struct Unusable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace fastsdt
