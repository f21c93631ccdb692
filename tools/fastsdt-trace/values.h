// SPDX-License-Identifier: BSD-2-Clause
// Texts of values: of structures, arrays, tuples and buffers, and of what is shown of a number.
#pragma once
#include "maps/maps.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fastsdt::trace_tool {

/// "[1,2]", "{ .a = 1 }", "(1, 2)". `is_key`: a structure's without blanks.
std::string bytes_text(const engine::Shape& shape, std::string_view bytes, bool is_key);
/// The same as JSON. `is_newer`: as bpftrace has it since 0.21, without blanks inside the braces.
std::string bytes_json(const engine::Shape& shape, std::string_view bytes, bool is_newer);
/// 12, 0x1f of a pointer, true, the name of an enum's constant. @param shape  nullptr: of an integer
std::string integer_text(const engine::Shape* shape, int64_t number, bool is_signed);
/// 1.5. @param shape  of a floating-point number
std::string real_text(const engine::Shape& shape, uint64_t bits);
double real_number(const engine::Shape& shape, uint64_t bits);
/// The same as JSON, which has no infinity: that is a string.
std::string real_json(const engine::Shape& shape, uint64_t bits);
/// The bytes of a buffer as %r prints them: text where they are text; 'x': "\x01\x02", 'h': "01 02".
std::string buffer_text(std::string_view buffer, char how);
/// Of ValueKind::shown. @param name  of an address, where a process has one
std::string shown_text(const engine::Shape& shape, uint64_t number, const std::string& name);
/// As strftime(), and %f for microseconds.
std::string time_text(const std::string& format, int64_t seconds, int64_t nanoseconds);
std::string json_string(const std::string& text);

} // namespace fastsdt::trace_tool
