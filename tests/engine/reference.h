// SPDX-License-Identifier: BSD-2-Clause
// A hit as the reference interpreter sees it, and its maps and events as texts, for tests that compare stubs with it.
#pragma once
#include "ir/interpret.h"
#include "maps/given.h"

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt::engine {

class ReferenceHits final : public ir::Host {
public:
    ReferenceHits(const Script& script, Given& maps) : script_(script), maps_(maps) {}

    std::array<uint64_t, 4> arguments{};                              ///< of the hit
    std::function<std::optional<uint64_t>(Value)> ask_for;            ///< what the process tells
    std::function<std::optional<std::string>(uint64_t, size_t)> read; ///< its memory
    std::string comm;
    uint64_t unread_hits = 0;
    std::vector<std::pair<size_t, std::vector<Datum>>> events; ///< Statement::number, values

    std::optional<uint64_t> argument(const ir::Argument& which) override
    {
        return which.real == sizeof(float) ? uint32_t(arguments.at(which.index)) : arguments.at(which.index);
    }
    std::optional<uint64_t> ask(Value what) override { return ask_for(what); }
    std::optional<uint64_t> register_value(unsigned) override { throw std::logic_error("not made up"); }
    std::optional<uint64_t> symbol(const std::string&) override { throw std::logic_error("not made up"); }
    std::optional<uint64_t> stack(const ir::Stack&) override { throw std::logic_error("not made up"); }
    uint64_t frames(uint64_t) override { throw std::logic_error("not made up"); }
    std::optional<std::string> name(Value) override { return comm; }
    std::optional<std::string> memory(uint64_t address, size_t bytes) override { return read(address, bytes); }

    void update(size_t map, std::string_view key, uint64_t value) override
    {
        maps_.update(map, keys(map, key), int64_t(value));
    }
    void assign(size_t map, std::string_view key, std::string_view value) override
    {
        maps_.assign(map, keys(map, key), datum_of(script_.maps[map].type, value));
    }
    void add(size_t map, std::string_view key, uint64_t value) override
    {
        const Entry* const before = maps_.find(map, keys(map, key));
        maps_.assign(map, keys(map, key), {int64_t((before ? uint64_t(before->value.number) : 0) + value), {}});
    }
    void remove(size_t map, std::string_view key) override { maps_.remove(map, keys(map, key)); }
    std::optional<std::string> get(size_t map, std::string_view key) override
    {
        const Entry* const found = maps_.find(map, keys(map, key));
        return found ? std::optional(bytes_of(script_.maps[map].type, found->value)) : std::nullopt;
    }
    size_t entries(size_t map) override { return maps_.entries(map); }
    std::vector<std::string> all_keys(size_t) override { throw std::logic_error("hits have no loops over maps"); }
    bool record(const Statement& statement, const std::vector<std::string>& values) override
    {
        std::vector<Datum> read;
        for (size_t i = 0; i < values.size(); ++i)
            read.push_back(datum_of(statement.values[i].type, values[i]));
        events.emplace_back(statement.number, read);
        return true;
    }
    void dump() override {}
    void call(const Statement&) override {}
    void unread() override { ++unread_hits; }
    void too_many_turns() override { throw std::logic_error("no loop is that long"); }

private:
    std::vector<Datum> keys(size_t map, std::string_view bytes) const { return keys_of(script_.maps[map], bytes); }

    const Script& script_;
    Given& maps_;
};

/// What `rand` is where the clock says this.
inline uint64_t random_at(uint64_t now)
{
    uint64_t value = now;
    for (const uint64_t factor : {0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53})
        value = (value ^ value >> 33) * factor;
    return value >> 32;
}

inline std::string text(const std::vector<Datum>& all)
{
    std::string made;
    for (const Datum& each : all) {
        made += " " + std::to_string(each.number) + " \"";
        for (const char c : each.text)
            made += c >= ' ' && c <= '~' ? std::string(1, c) : "\\" + std::to_string(static_cast<unsigned char>(c));
        made += "\"";
    }
    return made;
}

inline std::string text(const Entry& entry)
{
    std::string made = "[" + text(entry.keys) + " ]: " + std::to_string(entry.number) + " of "
        + std::to_string(entry.count) + ", value" + text({entry.value});
    for (const uint64_t bucket : entry.buckets)
        made += " " + std::to_string(bucket);
    return made;
}

inline std::string text(const Script& script, const Maps& maps)
{
    std::string made;
    for (size_t map = 0; map < maps.maps.size(); ++map)
        for (const Entry& entry : maps.maps[map])
            made += script.maps[map].name + text(entry) + "\n";
    return made;
}

} // namespace fastsdt::engine
