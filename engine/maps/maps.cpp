// SPDX-License-Identifier: BSD-2-Clause
#include "maps/maps.h"

#include <algorithm>
#include <sstream>

namespace fastsdt::engine {

int64_t number_in(std::string_view bytes, size_t size, bool is_signed)
{
    uint64_t number = 0;
    for (size_t i = std::min<size_t>(size, 8); i-- > 0;)
        number = number << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0);
    if (is_signed && size < 8 && size > 0) {
        const uint64_t sign = uint64_t(1) << (8 * size - 1);
        number = (number ^ sign) - sign;
    }
    return static_cast<int64_t>(number);
}

Datum datum_of(const ValueType& type, std::string_view bytes)
{
    if (type.kind == ValueKind::bytes)
        return {0, std::string(bytes.substr(0, type.shape->size))};
    if (type.kind == ValueKind::string) {
        const std::string_view most = bytes.substr(0, string_size - 1);
        return {0, std::string(most.substr(0, most.find('\0')))};
    }
    return {number_in(bytes, 8, false), {}};
}

std::string bytes_of(const ValueType& type, const Datum& datum)
{
    std::string bytes = datum.text;
    if (!type.is_wide())
        bytes.assign(reinterpret_cast<const char*>(&datum.number), sizeof datum.number);
    bytes.resize(type.size(), '\0');
    return bytes;
}

std::vector<Datum> keys_of(const Map& map, std::string_view bytes)
{
    std::vector<Datum> keys;
    for (size_t i = 0; i < map.keys.size(); ++i) {
        const size_t size = map.keys[i].size();
        keys.push_back(datum_of(map.keys[i], bytes.substr(0, size)));
        bytes.remove_prefix(size);
    }
    return keys;
}

std::vector<Datum> values_of(const Statement& statement, std::span<const std::byte> bytes)
{
    std::vector<Datum> values;
    for (const Expression& value : statement.values) {
        const auto own = bytes.first(value.type.size());
        values.push_back(datum_of(value.type, {reinterpret_cast<const char*>(own.data()), own.size()}));
        bytes = bytes.subspan(own.size());
    }
    return values;
}

std::vector<std::string> frames_of(const Datum& stack)
{
    std::vector<std::string> frames;
    std::istringstream lines(stack.text);
    for (std::string line; std::getline(lines, line);)
        frames.push_back(line);
    return frames;
}

} // namespace fastsdt::engine
