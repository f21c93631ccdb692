// SPDX-License-Identifier: BSD-2-Clause
// Words to meanings, in values: builtins and functions by language.def, maps and variables by their numbers, parameters, constants and
// macros to what they stand for. passes/resolve.cpp has the statements around them.
#pragma once
#include "script/language.h"
#include "script/parser.h"
#include "script/passes/nodes.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::engine {

class Values {
protected:
    Values(const ast::Script& written, const std::vector<std::string>& parameters)
        : written_(written), parameters_(parameters)
    {}

    /// The number of the map, also where it is a parameter of a macro.
    size_t map_of(const ast::MapAt& map, Span where);
    /// The number of the variable, which is a new one of the clause where none is known.
    size_t variable_index(const std::string& name, Span where);
    /// @param where  of the statement that sets it first: that says its type
    size_t new_variable(const std::string& name, Span where);
    /// Its value. Throws ScriptError where it has none.
    Expression variable(const std::string& name, Span where) const;
    std::vector<Expression> values(const std::vector<ast::Expr>& all);
    Expression value(const ast::Expr& e);
    static Expression builtin(Value what, Span where);
    /// One key, or a tuple of keys.
    std::vector<Expression> keys_of(const ast::Expr& e);

    const ast::Script& written_;
    Draft draft_;
    Clause* clause_ = nullptr;
    std::vector<std::map<std::string, size_t>>
        scopes_; ///< variables of the clause, and of the blocks around a statement

private:
    const size_t* find_variable(const std::string& name) const;
    const std::string& parameter(uint64_t number);
    Expression numeric(const ast::Parameter& of, Span where);
    struct Bound {
        std::string name;
        const ast::Expr* argument;
    };
    const Bound* parameter_of_macro(const ast::Expr& e) const;
    const std::string& map_name(const std::string& name) const;
    // What an argument mentions are the caller's names.
    template <class Do> Expression outside(const Do& action)
    {
        std::vector<Bound> inside = std::move(macros_.back());
        macros_.pop_back();
        Expression found = action();
        macros_.push_back(std::move(inside));
        return found;
    }
    Expression expand(const ast::Macro& macro, const ast::Call& node, Span where);
    static Expression value(const ast::Number& node, Span where);
    static Expression value(const ast::Text& node, Span where);
    Expression value(const ast::Parameter& node, Span where);
    Expression value(const ast::MapAt& node, Span where);
    Expression value(const ast::VariableOf& node, Span where) const;
    Expression value(const ast::Prefix& node, Span where);
    Expression value(const ast::Infix& node, Span);
    Expression value(const ast::Choice& node, Span where);
    Expression value(const ast::Deref& node, Span where);
    Expression value(const ast::Step& node, Span where);
    Expression value(const ast::Member& node, Span where);
    Expression value(const ast::Element& node, Span where);
    Expression value(const ast::Cast& node, Span where);
    Expression value(const ast::SizeOf& node, Span where);
    Expression value(const ast::Tuple& node, Span where);
    Expression value(const ast::NamedArgument& node, Span where);
    Expression value(const ast::Word& node, Span where);
    [[noreturn]] static void unknown(std::string_view word, Span where);
    Expression argument(std::string_view word, std::string_view kind, Span where);
    Expression value(const ast::Call& node, Span where);
    static Expression call(const FunctionWord& function, const std::string& word, std::vector<Expression> given,
                           Span where);
    Expression of_map(const FunctionWord& function, const ast::Call& node, Span where);
    static Expression text_at(std::vector<Expression> given, Span where);
    std::optional<Expression> parameter_text(const ast::Expr& of, Span where);
    Expression frames(const ast::Call& node, Span where);

    const std::vector<std::string>& parameters_;
    std::map<std::string, size_t> maps_;
    std::vector<std::vector<Bound>> macros_; // that are being expanded, the innermost last
    size_t expanded_ = 0;
};

} // namespace fastsdt::engine
