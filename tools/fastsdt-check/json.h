// SPDX-License-Identifier: BSD-2-Clause
// What all JSON of fastsdt-check has in common. docs/json.md describes it.
#pragma once
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

using Json = nlohmann::ordered_json;

/// The version of the JSON that docs/json.md describes.
inline constexpr int json_schema = 1;

/// Names come from files and need not be UTF-8.
inline std::string dump(const Json& json, int indent = 1)
{
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

inline std::string hex(std::span<const std::byte> bytes, std::string_view between = "")
{
    std::string text;
    for (std::byte byte : bytes)
        fmt::format_to(std::back_inserter(text), "{}{:02x}", text.empty() ? "" : between,
                       std::to_integer<unsigned>(byte));
    return text;
}
