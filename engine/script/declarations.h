// SPDX-License-Identifier: BSD-2-Clause
// C's types as a script writes them: names, structures, unions and enums.
#pragma once
#include "script/ast.h"
#include "script/tokens.h"

namespace fastsdt::engine {

class Declarations : public Tokens {
public:
    explicit Declarations(std::string_view text) : Tokens(text) {}

    /// Whether a bracket before the word begins a cast.
    static bool is_type(std::string_view word);
    /// struct a { ... }; union a { ... }; enum a { ... };
    void declaration();
    /// A type: "unsigned int", "struct a", "struct { ... }" without the stars behind it; none: void. `stays`: the brace at the end of a
    /// structure is left, since no word follows it.
    ShapePtr type_name(bool stays = false);
    /// The stars behind a type.
    ShapePtr stars(ShapePtr type);

    ast::Script script_;

private:
    void enumeration();
    ShapePtr integer_name();
    ShapePtr record_name(bool stays);
    ShapePtr complete(const ShapePtr& shape, Span where);
    void member(RecordBuilder& record, const ShapePtr& base);
    void attributes(ShapePtr* record);

    RecordBuilder last_record_{{}, false};
};

} // namespace fastsdt::engine
