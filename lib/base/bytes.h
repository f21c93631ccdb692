// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace fastsdt {

inline bool starts_with(std::span<const std::byte> code, std::initializer_list<unsigned> bytes)
{
    return code.size() >= bytes.size()
        && std::equal(bytes.begin(), bytes.end(), code.begin(),
                      [](unsigned a, std::byte b) { return std::byte(a) == b; });
}

} // namespace fastsdt
