// SPDX-License-Identifier: BSD-2-Clause
// The grammar: text to a script whose maps have names, and neither kinds nor types. check() gives them those.
#pragma once
#include "parse.h"

namespace fastsdt::engine {

/// What an update was written as, by the order of Script's statements: the checker needs it where a map's kind is not
/// settled yet.
struct Update {
    MapKind kind = MapKind::count;
    std::vector<Expression> arguments;
    Span function;
};

/// A script as the grammar sees it.
struct Draft {
    Script script;
    /// By clause and statement; meaningful where that is an update.
    std::vector<std::vector<Update>> updates;
};

/// Throws ScriptError.
Draft read_grammar(std::string_view text);

/// Kinds of maps, types, signedness, and what may stand where. Throws ScriptError.
Script check(Draft draft);

} // namespace fastsdt::engine
