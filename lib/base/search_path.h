// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <string>

namespace fastsdt {

/// The first executable file of that name in the folders of $PATH; empty if there is none.
std::string in_search_path(const std::string& program);

} // namespace fastsdt
