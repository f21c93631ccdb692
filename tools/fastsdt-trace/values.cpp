// SPDX-License-Identifier: BSD-2-Clause
#include "values.h"

#include "base/clock.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <arpa/inet.h>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <pwd.h>
#include <utility>

namespace fastsdt::trace_tool {

using engine::Shape;
using Kind = Shape::Kind;

namespace {

constexpr int64_t second = 1'000'000'000;

std::string_view piece(std::string_view bytes, size_t offset, size_t size)
{
    return offset < bytes.size() ? bytes.substr(offset, size) : std::string_view();
}

// Of ntop(): its size, and 16 bytes. Of pton() the bytes alone.
std::string network_text(std::string_view bytes)
{
    const bool has_size = bytes.size() > 16;
    const size_t size = has_size ? size_t(engine::number_in(bytes, 8, false)) : bytes.size();
    bytes.remove_prefix(has_size ? 8 : 0);
    std::array<unsigned char, 16> raw{};
    std::memcpy(raw.data(), bytes.data(), std::min(bytes.size(), raw.size()));
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(size == 16 ? AF_INET6 : AF_INET, raw.data(), text.data(), text.size());
    return text.data();
}

std::string number_text(const Shape& shape, std::string_view bytes, size_t size)
{
    return integer_text(&shape, engine::number_in(bytes, size, shape.is_signed), shape.is_signed);
}

// Members and elements, each made a text by `one`.
template <class One> void each_part(const Shape& shape, std::string_view bytes, const One& one)
{
    for (size_t i = 0; shape.kind == Kind::array && i < shape.count; ++i)
        one(nullptr, *shape.of, piece(bytes, i * shape.of->size, shape.of->size));
    for (const Shape::Member& member : shape.members) {
        const bool wide_number = shape.kind == Kind::tuple && member.shape->is_number(); // and little-endian
        std::string_view part = piece(bytes, member.offset, wide_number ? 8 : member.shape->size);
        std::string bits;
        if (member.bits != 0) {
            const uint64_t all = static_cast<uint64_t>(engine::number_in(piece(bytes, member.offset, 8), 8, false));
            uint64_t number = all >> member.first_bit & ((uint64_t(1) << member.bits) - 1);
            if (member.shape->is_signed && (number >> (member.bits - 1)) != 0)
                number |= ~uint64_t(0) << member.bits;
            bits.assign(reinterpret_cast<const char*>(&number), sizeof number);
            part = bits;
        }
        one(&member, *member.shape, part);
    }
}

} // namespace

std::string integer_text(const Shape* shape, int64_t number, bool is_signed)
{
    if (shape && shape->kind == Kind::pointer)
        return fmt::format("0x{:x}", static_cast<uint64_t>(number));
    if (shape && shape->kind == Kind::boolean)
        return number ? "true" : "false";
    if (shape && shape->kind == Kind::enumeration)
        for (const auto& [name, value] : shape->constants)
            if (value == number)
                return name;
    return is_signed ? std::to_string(number) : std::to_string(static_cast<uint64_t>(number));
}

double real_number(const Shape& shape, uint64_t bits)
{
    return shape.size == sizeof(float) ? double(std::bit_cast<float>(uint32_t(bits))) : std::bit_cast<double>(bits);
}

// As few digits as tell it from its neighbours.
std::string real_text(const Shape& shape, uint64_t bits)
{
    return shape.size == sizeof(float) ? fmt::format("{}", std::bit_cast<float>(uint32_t(bits)))
                                       : fmt::format("{}", std::bit_cast<double>(bits));
}

std::string real_json(const Shape& shape, uint64_t bits)
{
    const std::string text = real_text(shape, bits);
    return std::isfinite(real_number(shape, bits)) ? text : json_string(text);
}

std::string bytes_text(const Shape& shape, std::string_view bytes, bool is_key)
{
    switch (shape.kind) {
    case Kind::text: return std::string(bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
    case Kind::buffer: return buffer_text(bytes, 0);
    case Kind::network: return network_text(bytes.substr(0, shape.size));
    case Kind::mac: {
        std::string text;
        for (const char byte : bytes.substr(0, shape.size))
            text += fmt::format("{}{:02X}", text.empty() ? "" : ":", static_cast<unsigned char>(byte));
        return text;
    }
    case Kind::time:
    case Kind::error:
    case Kind::signal:
    case Kind::real:
    case Kind::user: return shown_text(shape, static_cast<uint64_t>(engine::number_in(bytes, 8, false)), {});
    case Kind::array:
    case Kind::record:
    case Kind::tuple: break;
    default: return number_text(shape, bytes, std::min<size_t>(bytes.size(), 8));
    }
    const bool is_record = shape.kind == Kind::record, is_array = shape.kind == Kind::array;
    std::string all;
    bool is_first = true; // what is before may be an empty text
    each_part(shape, bytes, [&](const Shape::Member* member, const Shape& part, std::string_view of) {
        all += std::exchange(is_first, false) ? "" : is_array || (is_record && is_key) ? "," : ", ";
        if (is_record)
            all += "." + member->name + (is_key ? "=" : " = ");
        all += bytes_text(part, of, is_key);
    });
    if (is_array)
        return "[" + all + "]";
    if (is_record)
        return is_key ? "{" + all + "}" : "{ " + all + " }";
    return "(" + all + ")";
}

std::string bytes_json(const Shape& shape, std::string_view bytes, bool is_newer)
{
    if (shape.kind == Kind::real)
        return real_json(shape, static_cast<uint64_t>(engine::number_in(bytes, 8, false)));
    if (shape.kind != Kind::array && shape.kind != Kind::record && shape.kind != Kind::tuple)
        return shape.kind == Kind::integer || shape.kind == Kind::boolean
            ? number_text(shape, bytes, std::min<size_t>(bytes.size(), 8))
            : json_string(bytes_text(shape, bytes, false));
    std::string all;
    const bool is_record = shape.kind == Kind::record;
    each_part(shape, bytes, [&](const Shape::Member* member, const Shape& part, std::string_view of) {
        all += all.empty() ? "" : is_record ? ", " : ",";
        if (is_record)
            all += json_string(member->name) + ": ";
        all += bytes_json(part, of, is_newer);
    });
    return !is_record ? "[" + all + "]" : is_newer ? "{" + all + "}" : "{ " + all + " }";
}

std::string buffer_text(std::string_view buffer, char how)
{
    const auto length = static_cast<size_t>(engine::number_in(buffer, 8, false));
    std::string text;
    for (const char c : piece(buffer, 8, length)) {
        const auto byte = static_cast<unsigned char>(c);
        if (how == 'h')
            text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
        else if (how == 'x' || byte < ' ' || byte >= 0x7f)
            text += fmt::format("\\x{:02x}", byte);
        else
            text += c;
    }
    return text;
}

std::string shown_text(const Shape& shape, uint64_t number, const std::string& name)
{
    switch (shape.kind) {
    case Kind::real: return real_text(shape, number);
    case Kind::symbol: return name.empty() ? fmt::format("0x{:x}", number) : name;
    case Kind::error:
        return strerrordesc_np(static_cast<int>(number)) ? strerrordesc_np(static_cast<int>(number))
                                                         : fmt::format("Unknown error {}", number);
    case Kind::signal: {
        const auto signal = static_cast<int>(number);
        if (number >= uint64_t(NSIG))
            return "N/A";
        return sigdescr_np(signal) ? sigdescr_np(signal) : fmt::format("Unknown signal {}", signal);
    }
    case Kind::user: {
        const passwd* const user = getpwuid(static_cast<uid_t>(number));
        return user ? user->pw_name : std::to_string(number);
    }
    default: break;
    }
    // From the boot's time to the day's, as far as the clocks agree now.
    const int64_t at = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + static_cast<int64_t>(number);
    return time_text(shape.name, at / second, at % second);
}

std::string time_text(const std::string& format, int64_t seconds, int64_t nanoseconds)
{
    std::string with_micros;
    for (size_t i = 0; i < format.size(); ++i)
        if (format[i] == '%' && i + 1 < format.size() && format[i + 1] == 'f') {
            with_micros += fmt::format("{:06}", nanoseconds / 1000);
            ++i;
        } else {
            with_micros += format[i];
            if (format[i] == '%' && i + 1 < format.size())
                with_micros += format[++i];
        }
    const time_t when = seconds;
    tm local{};
    localtime_r(&when, &local);
    std::array<char, 256> text{}; // an empty result and one that is too long are the same to strftime()
    const size_t length = strftime(text.data(), text.size(), with_micros.c_str(), &local);
    return {text.data(), length};
}

std::string json_string(const std::string& text)
{
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace fastsdt::trace_tool
