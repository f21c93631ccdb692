// SPDX-License-Identifier: BSD-2-Clause
// The grammar: text to a script whose maps have names only. check() gives them kinds and types.
#pragma once
#include "script/parse.h"

#include <map>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// How an update was written. The checker needs it while a map's kind is not settled yet.
struct Update {
    MapKind kind = MapKind::count;
    std::vector<Expression> arguments;
    Span function;
};

/// A script as the grammar sees it.
struct Draft {
    Script script;
    std::map<std::string, ShapePtr> records; ///< that it declares, by "struct x"
    std::vector<Update> updates;             ///< by Statement::number; meaningful only for an update
};

/// Throws ScriptError.
Draft read_grammar(std::string_view text, const std::vector<std::string>& parameters);

/// Gives expressions their types and shapes, and says by them what members, elements and casts mean: an address, a part. Throws ScriptError.
/// @param debug  nullptr: nothing is known but what the script declares
void resolve(Draft& draft, DebugTypes* debug);

/// Settles kinds of maps, types and signedness, and checks what may stand where. Throws ScriptError.
Script check(Draft draft);

} // namespace fastsdt::engine
