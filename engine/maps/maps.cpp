// SPDX-License-Identifier: BSD-2-Clause
#include "maps/maps.h"

#include <algorithm>
#include <cstring>

namespace fastsdt::engine {

Datum datum_of(Type type, const ShapePtr& shape, std::string_view bytes)
{
    if (type == Type::bytes)
        return {0, std::string(bytes.substr(0, shape->size))};
    if (type == Type::string) {
        const std::string_view most = bytes.substr(0, string_size - 1);
        return {0, std::string(most.substr(0, most.find('\0')))};
    }
    Datum datum;
    std::memcpy(&datum.number, bytes.data(), std::min(bytes.size(), sizeof datum.number));
    return datum;
}

std::string bytes_of(Type type, const ShapePtr& shape, const Datum& datum)
{
    std::string bytes = datum.text;
    if (!is_wide(type))
        bytes.assign(reinterpret_cast<const char*>(&datum.number), sizeof datum.number);
    bytes.resize(size_of(type, shape), '\0');
    return bytes;
}

std::vector<Datum> keys_of(const Map& map, std::string_view bytes)
{
    std::vector<Datum> keys;
    for (size_t i = 0; i < map.keys.size(); ++i) {
        const size_t size = size_of(map.keys[i], map.key_shapes[i]);
        keys.push_back(datum_of(map.keys[i], map.key_shapes[i], bytes.substr(0, size)));
        bytes.remove_prefix(size);
    }
    return keys;
}

} // namespace fastsdt::engine
