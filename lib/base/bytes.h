// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

namespace fastsdt {

inline std::string_view text_of(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline bool starts_with(std::span<const std::byte> code, std::initializer_list<unsigned> bytes)
{
    return code.size() >= bytes.size()
        && std::equal(bytes.begin(), bytes.end(), code.begin(),
                      [](unsigned a, std::byte b) { return std::byte(a) == b; });
}

} // namespace fastsdt
