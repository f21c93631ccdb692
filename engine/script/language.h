// SPDX-License-Identifier: BSD-2-Clause
// The tables of language.def.
#pragma once
#include "base/nearest.h"
#include "script/script.h"

#include <optional>
#include <string>
#include <string_view>

namespace fastsdt::engine {

/// A function whose value a word is.
enum class BuiltinFunction {
#define FUNCTION(word, function, least, most, usage) function,
#include "script/language.def"
};

/// A word whose value is known beforehand, or made of a builtin.
enum class Meaning {
#define WORD(word, meaning) meaning,
#include "script/language.def"
};

struct FunctionWord {
    BuiltinFunction function;
    size_t least, most; ///< arguments
    std::string_view usage;
};
struct AggregationWord {
    std::string_view word;
    MapKind kind;
    size_t arguments;
    std::string_view wants;
};
struct InfixWord {
    std::string_view word;
    Operator op;
    int precedence; ///< the higher binds closer
};
enum class Elsewhere { value, function, declaration, probe };

std::optional<Value> builtin_of(std::string_view word);
std::optional<Meaning> meaning_of(std::string_view word);
std::optional<FunctionWord> function_of(std::string_view word);
const AggregationWord* aggregation_of(std::string_view word); ///< nullptr: it is none
std::optional<Statement::Kind> statement_of(std::string_view word);
std::optional<Probe::Kind> probe_kind_of(std::string_view word);

const InfixWord* infix_of(std::string_view word); ///< nullptr: it is none
std::optional<Operator> prefix_of(std::string_view word);

/// The word of a builtin, as metrics and traces call it; empty: it is none.
std::string_view label_of(Value value);
/// The word of an aggregation; empty: it is none.
std::string_view word_of(MapKind kind);
/// The first word of a statement; empty: it has none.
std::string_view word_of(Statement::Kind kind);
/// As it is written before or between values; empty: it is a function.
std::string_view word_of(Operator op);
/// What a script calls a value: "arg0", "id" of args.id and str(args.id), "tid"; empty: it has no word.
std::string name_of(const Expression& value);
/// "usdt, uprobe, ..."
std::string all_probe_kinds();

/// Whether bpftrace knows the word as that, and this subset does not.
bool is_elsewhere(std::string_view word, Elsewhere of);
/// Of a word that is none: the kind of probe that was meant, of this language or of bpftrace's alone.
Nearest near_probe_kind(std::string_view word);
/// Why a word that bpftrace knows is not here: a sentence.
std::string why_not_here(std::string_view word, bool is_call);

/// The word of the language that this one nearly is; empty: none is near.
std::string nearest_word(std::string_view word);

} // namespace fastsdt::engine
