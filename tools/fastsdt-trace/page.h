// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <string_view>

namespace fastsdt::trace_tool {

/// The page of `report`, whole but for its data: what stands before and behind it. Made of page/ by page/embed.cmake.
extern const std::string_view page_begin, page_end;

} // namespace fastsdt::trace_tool
