// SPDX-License-Identifier: BSD-2-Clause
// What a program means. The tool runs BEGIN, END and interval by it, and tests compare stubs with it.
#pragma once
#include "ir/ir.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::engine::ir {

/// Where a program runs: a hit, or the tool. Keys and values of maps are bytes as tables have them: of a map without keys none, 8 of a
/// number, the whole of what is wide.
class Host {
public:
    virtual ~Host() = default;
    // Nothing: unread.
    virtual std::optional<uint64_t> argument(const Argument& which) = 0;
    virtual std::optional<uint64_t> ask(Value what) = 0;
    virtual std::optional<uint64_t> register_value(unsigned number) = 0;
    virtual std::optional<uint64_t> symbol(const std::string& name) = 0;
    virtual std::optional<uint64_t> stack(const Stack& which) = 0;
    virtual uint64_t frames(uint64_t stack) = 0; ///< how many one has
    virtual std::optional<std::string> name(Value what) = 0;
    /// Zeros where nothing is mapped.
    virtual std::optional<std::string> memory(uint64_t address, size_t bytes) = 0;

    virtual void update(size_t map, std::string_view key, uint64_t value) = 0;
    virtual void assign(size_t map, std::string_view key, std::string_view value) = 0;
    virtual void add(size_t map, std::string_view key, uint64_t value) = 0;
    virtual void remove(size_t map, std::string_view key) = 0;
    /// Nothing: it is not there.
    virtual std::optional<std::string> get(size_t map, std::string_view key) = 0;

    virtual size_t entries(size_t map) = 0;
    virtual std::vector<std::string> all_keys(size_t map) = 0;

    /// @return  false: nothing more is to happen (exit)
    virtual bool record(const Statement& statement, const std::vector<std::string>& values) = 0;
    virtual void dump() = 0;
    virtual void call(const Statement& statement) = 0;
    virtual void unread() = 0;         ///< the hit leaves the clause
    virtual void too_many_turns() = 0; ///< the same
};

/// @return  false: record() said so
bool interpret(const Program& program, Host& host);

/// Arithmetic as script.h has it.
uint64_t compute(Operator op, uint64_t a, uint64_t b);
bool compare(Operator op, bool is_signed, uint64_t a, uint64_t b);

} // namespace fastsdt::engine::ir
