// SPDX-License-Identifier: BSD-2-Clause
// A script as it was written, and nothing else: the parser makes it and knows no type and no meaning of a word. passes/resolve.cpp goes on.
#pragma once
#include "script/script.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fastsdt::engine::ast {

struct Expr;
/// One that is inside another.
using Inner = std::unique_ptr<Expr>;

struct Number { // as 64 bits
    uint64_t value;
};
struct Text { // escapes resolved
    std::string value;
};
struct Parameter { // $1; 0: $#
    uint64_t number;
};
struct Word { // tid, arg0, a constant of an enum
    std::string word;
};
struct NamedArgument { // args.NAME
    std::string name;
};
struct MapAt { // @name[keys]
    std::string name;
    std::vector<Expr> keys;
    Span brackets = {}; // none: length 0
};
struct VariableOf { // $name
    std::string name;
};
struct Call { // name(arguments)
    std::string name;
    std::vector<Expr> arguments;
    Span word;
};
struct Prefix { // negate, logical_not, bit_not
    Operator op;
    Inner of;
};
struct Deref { // *of
    Inner of;
};
struct Step { // ++, --
    Inner of;
    int by;
    bool is_before; // the value is the one before
};
struct Infix {
    Operator op;
    Inner left, right;
};
struct Choice { // condition ? yes : no
    Inner condition, yes, no;
};
struct Member { // of.name, of->name
    Inner of;
    std::string name;
    bool is_arrow;
};
struct Element { // of[index]
    Inner of, index;
};
struct Cast {      // (type)of
    ShapePtr type; // none: void
    Inner of;
};
struct SizeOf { // sizeof(type), sizeof(of)
    ShapePtr type;
    Inner of;
};
struct Tuple { // (a, b)
    std::vector<Expr> elements;
};

struct Expr {
    std::variant<Number, Text, Parameter, Word, NamedArgument, MapAt, VariableOf, Call, Prefix, Deref, Step, Infix,
                 Choice, Member, Element, Cast, SizeOf, Tuple>
        node;
    Span where;
};

struct Stmt;
using Block = std::vector<Stmt>;

/// target = value, target += value. The target is a MapAt or a VariableOf.
struct Assign {
    Expr target;
    std::optional<Operator> op;
    Expr value;
};
/// A value alone: a call, a step, anything else.
struct Alone {
    Expr value;
};
/// if, and `condition ? call() : call()`.
struct If {
    Expr condition;
    Block then, otherwise;
};
struct While {
    Expr condition;
    Block body;
};
struct Unroll {
    std::vector<Expr> times; // what stands in its brackets
    Block body;
    Span head;
};
/// let $x; let $x = value. A variable of its block.
struct Let {
    std::string name;
    Span word;
    std::optional<Expr> value;
};
/// for ($i : from..to)
struct Range {
    std::string name;
    Span word;
    Expr from, to;
    Block body;
};
struct Way {
    enum class Kind { leave, next, end } kind; // break, continue, return
};

struct Stmt {
    std::variant<Assign, Alone, If, While, Unroll, Let, Range, Way> node;
    Span where;
};

struct Clause {
    std::vector<Probe> probes;
    std::optional<Expr> filter;
    Block body;
    Span where; // of its probes
};

/// macro name(x, $y, @z) { value }
struct Macro {
    std::vector<std::string> parameters;
    Inner body;
};

struct Script {
    std::string source;
    std::map<std::string, Macro> macros;
    std::vector<Clause> clauses;
    std::map<std::string, ShapePtr> records;  // that it declares, by "struct x"
    std::map<std::string, int64_t> constants; // of enums
    size_t parameters = 0;                    // of its parameters probes use so many
    struct Setting {                          // of config = { name = value }
        std::string name;
        std::optional<Expr> value; // a word, a number or a text
        Span where;
    };
    std::vector<Setting> settings;
};

/// An indented line for each node.
std::string print(const Script& script);

} // namespace fastsdt::engine::ast
