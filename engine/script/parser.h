// SPDX-License-Identifier: BSD-2-Clause
// The grammar: text to a script whose maps have names only. check() gives them kinds and types.
#pragma once
#include "script/parse.h"

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
    std::vector<Update> updates; ///< by Statement::number; meaningful only for an update
};

/// Throws ScriptError.
Draft read_grammar(std::string_view text, const std::vector<std::string>& parameters);

/// Settles kinds of maps, types and signedness, and checks what may stand where. Throws ScriptError.
Script check(Draft draft);

} // namespace fastsdt::engine
