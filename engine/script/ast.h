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
struct Real { // 1.5
    double value;
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
struct AddressOf { // &of, a variable
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
struct Choice { // condition ? yes : no; condition ?: no
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
/// A type where it is written: one by its name, or typeof(of). Behind a macro's parameter that stands for one: p*, p[4].
struct TypeName {
    ShapePtr shape; // none: void
    Inner of;
    unsigned stars = 0;
    size_t count = 0; // of an array; 0: it is none
};
struct TypeValue { // typeof(of), for a macro
    TypeName type;
};
struct Cast { // (type)of
    TypeName type;
    Inner of;
};
struct SizeOf { // sizeof(type), sizeof(of)
    TypeName type;
};
struct OffsetOf { // offsetof(type, member.member)
    TypeName type;
    std::vector<std::string> members;
};
struct Tuple { // (a, b); (x = a, y = b)
    std::vector<Expr> elements;
    std::vector<std::string> names; // none, or one each
};
struct Stmt;
using Block = std::vector<Stmt>;
struct BlockValue { // { statements; value }, if a { b } else { c }
    Block body;
};

struct Expr {
    std::variant<Number, Real, Text, Parameter, Word, NamedArgument, MapAt, VariableOf, Call, Prefix, Deref, AddressOf,
                 Step, Infix, Choice, Member, Element, Cast, SizeOf, OffsetOf, TypeValue, Tuple, BlockValue>
        node;
    Span where;
};

/// target = value, target += value. The target is a MapAt or a VariableOf.
struct Assign {
    Expr target;
    std::optional<Operator> op;
    Expr value;
};
/// A value alone: a call, a step, anything else.
struct Alone {
    Expr value;
    bool is_last = false; // no ";" is behind it: it is the value of its block
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
/// let $x; let $x = value; let $x : type = value. A variable of its block.
struct Let {
    std::string name;
    Span word;
    std::optional<TypeName> type;
    std::optional<Expr> value;
};
/// for ($i : from..to)
struct Range {
    std::string name;
    Span word;
    Expr from, to;
    Block body;
};
/// for ($kv : @map)
struct Each {
    std::string name;
    Span word;
    Expr map; // a MapAt
    Block body;
};
struct Way {
    enum class Kind { leave, next, end } kind; // break, continue, return
};

struct Stmt {
    std::variant<Assign, Alone, If, While, Unroll, Let, Range, Each, Way> node;
    Span where;
};

struct Clause {
    std::vector<Probe> probes;
    std::optional<Expr> filter;
    Block body;
    Span where; // of its probes
};

/// macro name(x, $y, @z) { statements; value }
struct Macro {
    std::vector<std::string> parameters;
    Block body;
};
/// let @a = hash(10)
struct MapSize {
    std::string map, kind;
    uint64_t keys;
    Span where;
};

struct Script {
    std::string source;
    std::map<std::string, std::vector<Macro>> macros; // of one name: which of them is meant, the arguments say
    std::vector<MapSize> sizes;
    std::vector<Clause> clauses;
    std::map<std::string, ShapePtr> records;                       // that it declares, by "struct x"
    std::map<std::string, std::pair<int64_t, ShapePtr>> constants; // of enums
    size_t parameters = 0;                                         // of its parameters probes use so many
    std::vector<std::string> includes;                             // "<errno.h>"
    Span first_include;
    struct Setting { // of config = { name = value }
        std::string name;
        std::optional<Expr> value; // a word, a number or a text
        Span where;
    };
    std::vector<Setting> settings;
};

/// An indented line for each node.
std::string print(const Script& script);

} // namespace fastsdt::engine::ast
