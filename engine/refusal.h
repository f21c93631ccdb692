// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <stdexcept>

namespace fastsdt::engine {

/// Why a site gets no stub: what follows "1 " in the line that sums up.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace fastsdt::engine
