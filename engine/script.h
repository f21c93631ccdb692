// SPDX-License-Identifier: BSD-2-Clause
// A script: what the language says, checked, and nothing of any process. The parser makes it; the stub compiler, the
// reader of the tables and what prints maps read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::engine {

/// A place in the text, for errors: bytes from its start.
struct Span {
    size_t start = 0, length = 0;
};

enum class Type { integer, string };

enum class Value { arg, str_arg, tid, pid, nsecs, probe, retval };

enum class Operator {
    logical_or,
    logical_and,
    bit_or,
    bit_xor,
    bit_and,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    shift_left,
    shift_right,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    negate,
    logical_not,
    bit_not,
};

struct Expression {
    enum class Kind { number, text, value, map, operation } kind = Kind::number;
    Type type = Type::integer;
    int64_t number = 0;          ///< number
    std::string text;            ///< text: a string literal
    Value value = Value::arg;    ///< value
    unsigned argument = 0;       ///< Value::arg and str_arg: its index
    size_t map = 0;              ///< map: index in Script::maps; its keys are `operands`
    Operator op = Operator::add; ///< operation; its operands, one or two, are `operands`
    std::vector<Expression> operands;
    Span where;
};

enum class MapKind { count, sum, min, max, avg, stats, hist, lhist, integer, string };

struct Map {
    std::string name; ///< with its "@"
    MapKind kind = MapKind::count;
    std::vector<Type> keys;
    int64_t low = 0, high = 0, step = 0; ///< lhist
};

/// One statement of an action.
struct Statement {
    enum class Kind {
        update, ///< @m[keys] = count(), sum(value), hist(value), ...
        assign, ///< @m[keys] = value
        remove, ///< delete(@m[keys])
        print,  ///< print(@m): BEGIN, END and interval only
        clear,  ///< clear(@m): likewise
        printf, ///< text only: likewise, see `value`
        exit,   ///< exit(): likewise
    } kind = Kind::update;
    size_t map = 0;
    std::vector<Expression> keys;
    std::optional<Expression> value;
    Span where;
};

struct Probe {
    enum class Kind { usdt, entry, exit, begin, end, interval } kind = Kind::usdt;
    std::string file;           ///< path as written; "*": every file of the process
    std::string provider, name; ///< globs; name: of the probe or the function
    uint64_t interval_ms = 0;
    std::string text; ///< as written, what `probe` gives where no glob is in it
    Span where;
};

/// Probes, a filter, an action: one block of the text.
struct Clause {
    std::vector<Probe> probes;
    std::optional<Expression> filter;
    std::vector<Statement> actions;
};

struct Script {
    std::string source;
    std::vector<Map> maps; ///< in the order of their first mention
    std::vector<Clause> clauses;
};

} // namespace fastsdt::engine
