// SPDX-License-Identifier: BSD-2-Clause
// From text to script, step by step: read_grammar() makes the tree of what was written, resolve() gives words their meaning and rewrites
// what is only another way to write something, infer() finds types, check() looks whether all of it makes sense.
#pragma once
#include "script/ast.h"
#include "script/parse.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// How an update was written. The checker needs it while a map's kind is not settled yet.
struct Update {
    MapKind kind = MapKind::count;
    bool is_series = false; ///< of tseries(), also where it assigns
    std::vector<Expression> arguments;
    Span function;
};

/// A script whose maps have names only.
struct Draft {
    Script script;
    std::map<std::string, ShapePtr> records; ///< that it declares, by "struct x"
    std::vector<Update> updates;             ///< by Statement::number; meaningful only for an update
};

/// @param error  what is wrong with the text behind what is returned
ast::Script read_grammar(std::string_view text, const std::vector<std::string>& parameters,
                         std::optional<ScriptError>& error);
/// What is to be said of a word that begins no statement.
std::string unknown_statement(std::string_view word);

/// Words to builtins, functions, maps, variables and numbers. Throws ScriptError.
Draft resolve(const ast::Script& script, const std::vector<std::string>& parameters, const Surroundings& around);

/// Gives expressions their types and shapes, and says by them what members, elements and casts mean: an address, a part. Throws ScriptError.
/// @param debug  nullptr: nothing is known but what the script declares
void infer(Draft& draft, DebugTypes* debug, bool compares_to_boolean);

/// Settles kinds of maps, types and signedness, and checks what may stand where. Throws ScriptError.
Script check(Draft draft);

} // namespace fastsdt::engine
