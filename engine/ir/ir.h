// SPDX-License-Identifier: BSD-2-Clause
// The typed form of a clause, between the language and every machine: a list of operations, in the order in which they happen. It knows
// no register, no address and no process. lower() makes it, verify() checks it, interpret() is what it means, and code/ makes stubs of it.
//
// - A value has 64 bits and one definition. It is used after that, on each path, and never across a backward jump: what has to outlive one,
//   or what two branches make, is in a slot.
// - A slot is a piece of memory of one hit. Whatever reads or writes it names a place in it, and no place leaves its slot.
// - Order: the left operand first, arguments in their order, and as bpftrace has it: what is assigned to a map before the map's keys, but
//   the keys before what an aggregation counts. Each once.
// - What can fail has one way to go on. `unread`: memory or a number that nobody may read; the hit leaves the clause, and counts as unread.
//   `dropped`: no room in a map; the hit goes on behind the operation. `lost`: no room for an event; the same. `turns`: a loop had too many;
//   the hit leaves the clause, and counts as dropped.
#pragma once
#include "script/script.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace fastsdt::engine::ir {

using ValueId = uint32_t;
using LabelId = uint32_t;
inline constexpr ValueId no_value = UINT32_MAX;

struct Slot {
    size_t size = 0;     ///< bytes, a multiple of 8
    std::string name;    ///< for print()
    bool lasts = false;  ///< through backward jumps: a variable, a loop's turns
    bool is_key = false; ///< of a map
    bool is_literal = false;
    std::string text; ///< of a literal, with zeros behind it: nothing writes the slot
    /// Eight bytes of a literal, as a little-endian machine loads them.
    int64_t word(size_t at) const
    {
        int64_t word = 0;
        if (at < text.size())
            std::memcpy(&word, text.data() + at, std::min<size_t>(sizeof word, text.size() - at));
        return word;
    }
};

/// Part of a slot.
struct Place {
    uint32_t slot = UINT32_MAX;
    size_t offset = 0, size = 0; ///< bytes
    bool is_none() const { return slot == UINT32_MAX; }
    Place part(size_t at, size_t bytes) const { return {slot, offset + at, bytes}; }
};

/// A value, or what a place holds; neither: the key of a map without keys.
struct Operand {
    ValueId value = no_value;
    Place place = {};
    bool is_value() const { return value != no_value; }
    bool is_none() const { return value == no_value && place.is_none(); }
};

// `to` is the value that is defined; `a`, `b`, `key`, `value` and `values` are used. `at` is a place that is written, `from` and `other` are
// read.

/// ---- Values
struct Constant {
    ValueId to;
    int64_t number;
};
/// Of the probe. May be unread.
struct Argument {
    ValueId to;
    unsigned index;
    bool on_stack = false;    ///< of a function: the index counts those on the stack
    std::string name = {};    ///< args.NAME of a usdt probe, instead of the index
    bool is_declared = false; ///< debug information says that it is there
    /// Bytes of a floating-point number, whose bits it gives; 0: it is an integer. Of a function the index counts vector registers; of an exit
    /// those that have the result.
    unsigned real = 0;
};
/// tid, pid, nsecs, ...: a number. May be unread.
struct Ask {
    ValueId to;
    Value what;
};
/// Of the processor, at the site.
struct Register {
    ValueId to;
    unsigned number; ///< at_site: the site's address
};
/// Address of a symbol of the site's file.
struct Symbol {
    ValueId to;
    std::string name;
};
/// An interned stack. No room for it, which is counted: the hit leaves the clause.
struct Stack {
    ValueId to;
    unsigned most;
    bool unwinds;
};
struct Unary { // negate, bit_not
    ValueId to;
    Operator op;
    ValueId a;
};
/// The lowest bytes, the other way round.
struct Swap {
    ValueId to;
    ValueId a;
    size_t bytes;
};
struct Binary { // arithmetic, as script.h has it
    ValueId to;
    Operator op;
    ValueId a, b;
};
struct Compare { // 1 or 0
    ValueId to;
    Operator op;
    bool is_signed;
    ValueId a, b;
};
/// ---- Slots
/// Up to 8 bytes, extended.
struct Load {
    ValueId to;
    Place from;
    bool is_signed = false;
};
struct Store { // 8 bytes
    Place at;
    ValueId a;
};
/// As much as fits, and zeros behind it.
struct Copy {
    Place at;
    Place from;
};
struct Zero {
    Place at;
};
/// Zeros from so many bytes on.
struct Cut {
    Place at;
    ValueId a;
};
/// comm, and probe where it is a text. May be unread.
struct Name {
    Place at;
    Value what;
};
/// Whether the first bytes are equal: 1 or 0.
struct Equal {
    ValueId to;
    Place from, other;
    size_t bytes;
};
/// Whether a text is in another one: 1 or 0. Or where, in bytes, or -1.
struct Contains {
    ValueId to;
    Place from, other;
    bool tells_where;
};
/// Of a text, in bytes.
struct Length {
    ValueId to;
    Place from;
};
/// Where a slot is while the clause runs. Nobody writes there by it.
struct Address {
    ValueId to;
    Place from;
};
/// Of a stack, how many it has; 0 of none.
struct Frames {
    ValueId to;
    ValueId a;
};
/// ---- Memory of the program, and slots by their address. Where nothing is mapped there are zeros. May be unread.
struct ReadWord {
    ValueId to;
    ValueId a; ///< address
    size_t bytes;
    bool is_signed;
};
/// Up to its NUL: string_size bytes, zeros behind the text.
struct ReadText {
    Place at;
    ValueId a;
};
struct ReadBytes {
    Place at;
    ValueId a;
    size_t bytes; ///< zeros behind them
};
/// ---- The way
struct Label {
    LabelId label;
};
struct Jump {
    LabelId target;
};
struct Branch { ///< if `a` is not 0; `when` false: if it is 0
    ValueId a;
    bool when;
    LabelId target;
};
/// One more turn of a loop, counted at the place.
struct Turn {
    Place at;
};
/// ---- Maps. May be dropped.
struct Update { // an aggregation; no value for count()
    size_t map;
    Operand key;
    ValueId a;
};
struct Assign {
    size_t map;
    Operand key;
    Operand value;
};
struct Add { // to an integer, in one step
    size_t map;
    Operand key;
    ValueId a;
};
struct Remove {
    size_t map;
    Operand key;
};
struct Get { // 0 where the key is not there
    ValueId to;
    size_t map;
    Operand key;
};
/// Whether the key is there: 1 or 0.
struct Has {
    ValueId to;
    size_t map;
    Operand key;
};
/// How many keys it has. Of the tool.
struct Entries {
    ValueId to;
    size_t map;
};
/// The keys that a map has now, as a number for NextKey. Of the tool.
struct Keys {
    ValueId to;
    size_t map;
};
/// One of them, in some order; 0: there are no more.
struct NextKey {
    ValueId to;
    ValueId a; ///< of Keys
    Place at;
};
struct GetWide { // zeros where the key is not there
    Place at;
    size_t map;
    Operand key;
};
/// ---- What the tool does, with these values: at a site when it reads that. May be lost.
struct Record {
    const Statement* statement;
    std::vector<Operand> values;
};
struct Dump {};
/// The process gets the signal.
struct Signal {
    ValueId a;
};
/// Calls a function of the process itself.
struct Call {
    const Statement* statement;
};

using Operation = std::variant<Constant, Argument, Ask, Register, Symbol, Stack, Unary, Swap, Binary, Compare, Load,
                               Store, Copy, Zero, Cut, Name, Equal, Contains, Length, Address, Frames, ReadWord,
                               ReadText, ReadBytes, Label, Jump, Branch, Turn, Update, Assign, Add, Remove, Get, Has,
                               Entries, Keys, NextKey, GetWide, Record, Dump, Signal, Call>;

/// One clause.
struct Program {
    std::vector<Slot> slots;
    std::vector<Operation> operations;
    size_t filter_end = 0; ///< so many of them are the filter's
    LabelId end = 0;       ///< label behind the last operation: where the hit leaves the clause
    uint32_t values = 0, labels = 0;
};

template <class... F> struct Overloaded : F... {
    using F::operator()...;
};

/// The value that it defines, or no_value.
inline ValueId defined(const Operation& operation)
{
    return std::visit(
        [](const auto& op) {
            if constexpr (requires { op.to; })
                return op.to;
            else
                return no_value;
        },
        operation);
}

/// Values that it uses, in order.
template <class Visit> void each_used(const Operation& operation, const Visit& visit)
{
    const auto of = [&](const Operand& operand) {
        if (operand.is_value())
            visit(operand.value);
    };
    std::visit(
        [&](const auto& op) {
            if constexpr (requires { op.a; })
                if (op.a != no_value)
                    visit(op.a);
            if constexpr (requires { op.b; })
                visit(op.b);
            if constexpr (requires { op.key; })
                of(op.key);
            if constexpr (requires { op.value.place; })
                of(op.value);
            if constexpr (requires { op.values; })
                for (const Operand& each : op.values)
                    of(each);
        },
        operation);
}

/// Places that it reads.
template <class Visit> void each_read(const Operation& operation, const Visit& visit)
{
    const auto of = [&](const Operand& operand) {
        if (!operand.place.is_none())
            visit(operand.place);
    };
    std::visit(
        [&](const auto& op) {
            using Op = std::decay_t<decltype(op)>;
            if constexpr (requires { op.from; })
                visit(op.from);
            if constexpr (requires { op.other; })
                visit(op.other);
            if constexpr (std::is_same_v<Op, Cut> || std::is_same_v<Op, Turn>)
                visit(op.at);
            if constexpr (requires { op.key; })
                of(op.key);
            if constexpr (requires { op.value.place; })
                of(op.value);
            if constexpr (requires { op.values; })
                for (const Operand& each : op.values)
                    of(each);
        },
        operation);
}

/// The place that it writes, all of it; nullptr: none.
inline const Place* written(const Operation& operation)
{
    return std::visit(
        [](const auto& op) -> const Place* {
            if constexpr (requires { op.at; })
                return &op.at;
            else
                return nullptr;
        },
        operation);
}

/// The label that it may jump to; nullptr: it goes on.
inline const LabelId* target(const Operation& operation)
{
    return std::visit(
        [](const auto& op) -> const LabelId* {
            if constexpr (requires { op.target; })
                return &op.target;
            else
                return nullptr;
        },
        operation);
}

/// From a clause that parse() has made. @param script, clause  have to outlive the program
Program lower(const Script& script, const Clause& clause);

/// Throws std::logic_error with the place if a rule of this file is broken: a value that is not defined on each path to its use, or used
/// across a backward jump; a place that leaves its slot; bytes that are read and not written on each path; a wrong key's size.
void verify(const Program& program, const Script& script);

/// A line for each operation.
std::string print(const Program& program, const Script& script);

} // namespace fastsdt::engine::ir
