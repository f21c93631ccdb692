// SPDX-License-Identifier: BSD-2-Clause
// Words to meanings, in values: builtins and functions by language.def, maps and variables by their numbers, parameters, constants and
// macros to what they stand for. passes/resolve.cpp has the statements around them.
#pragma once
#include "script/language.h"
#include "script/parser.h"
#include "script/passes/nodes.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::engine {

/// Keys of a map: bpftrace's max_map_keys, and what one of ours has room for whatever the keys are.
inline constexpr int64_t bpftrace_keys = 4096;

/// A number that is printed as `shape` says: a user's name, a symbol, an error.
Expression shown(Expression of, ShapePtr shape);
/// -1, 0x1f, 077. As 64 bits. Empty: it is no number.
std::optional<int64_t> number_in_text(std::string_view text);

class Values {
protected:
    /// @param parameters  those that begin with "--" are for getopt()
    Values(const ast::Script& written, const std::vector<std::string>& parameters);

    virtual ~Values() = default;
    /// A statement of a block that is a value, or of a macro.
    virtual void add(std::vector<Statement>& to, const ast::Stmt& statement) = 0;

    static Statement statement(Statement::Kind kind, Span where);
    /// Numbers are those of the text's order, and a statement's own is behind those of the statements in it.
    void put(std::vector<Statement>& to, Statement statement, Update update = {});
    static Statement set(size_t variable, Expression value, Span where);

    /// What has to happen before a value is there goes to `to`, and not before the statement.
    template <class Do> auto into(std::vector<Statement>& to, const Do& action)
    {
        struct Back {
            std::vector<Statement>*& place;
            std::vector<Statement>* const outer;
            ~Back() { place = outer; }
        } const back{before_, std::exchange(before_, &to)};
        return action();
    }
    /// A macro's statements. @return  its value, if it is wanted; there is none: an error
    std::optional<Expression> expand(const ast::Call& node, Span where, bool wants_value);
    /// The macro that it means. nullptr: there is none, or a function of the language takes these arguments, and no macro.
    const ast::Macro* macro_for(const ast::Call& node, Span where) const;
    /// What stands for a macro's parameter.
    const ast::Expr* argument_of_macro(const ast::Expr& e) const;
    // What an argument mentions are the caller's names.
    template <class Do> auto outside(const Do& action)
    {
        struct Back {
            Values& of;
            Expansion inside;
            ~Back()
            {
                std::swap(of.scopes_, inside.callers);
                of.macros_.push_back(std::move(inside));
            }
        } back{*this, std::move(macros_.back())};
        macros_.pop_back();
        std::swap(scopes_, back.inside.callers);
        return action();
    }
    /// Of the command line, which getopt() has not asked for.
    void refuse_unknown_options() const;
    /// Of a stack of the script, or of all that say none themselves: `word` is bpftrace, perf, raw or build_id.
    void stack_form(std::string_view word, Span where, bool is_setting);
    /// When all stacks are known.
    void settle_stack_form();
    Expression deletion(const ast::Call& node, Span where);

    /// The number of the map, also where it is a parameter of a macro.
    size_t map_of(const ast::MapAt& map, Span where);
    /// The number of the variable, which is a new one of the clause where none is known.
    size_t variable_index(const std::string& name, Span where);
    /// @param where  of the statement that sets it first: that says its type
    size_t new_variable(const std::string& name, Span where);
    /// Its value. Throws ScriptError where it has none.
    Expression variable(const std::string& name, Span where);
    static Expression variable(size_t index, Span where);
    std::vector<Expression> values(const std::vector<ast::Expr>& all);
    /// Left to right, also where one of them is a block with statements.
    std::vector<Expression> in_order(const std::vector<const ast::Expr*>& all);
    Expression value(const ast::Expr& e);
    /// The last of a block's statements is its value.
    Expression value_of(const ast::Block& body, Span where);
    Expression cast_to(const ast::TypeName& type, Expression of, Span where);
    /// A type that is known here; none: it is that of a value, TypeName::of.
    ShapePtr known_type(const ast::TypeName& type);
    static Expression builtin(Value what, Span where);
    /// One key, or a tuple of keys.
    std::vector<Expression> keys_of(const ast::Expr& e);

    const ast::Script& written_;
    Draft draft_;
    Clause* clause_ = nullptr;
    using Scopes = std::vector<std::map<std::string, size_t>>;
    struct Bound {
        std::string name;
        const ast::Expr* argument;
    };
    struct Expansion {
        std::vector<Bound> bound;
        Scopes callers;
    };
    std::vector<Expansion> macros_; // that are being expanded, the innermost last
    Scopes scopes_;                 ///< variables of the clause or the macro, and of the blocks around a statement
    std::vector<Statement>* before_ = nullptr;

    /// One that no text can name.
    size_t hidden_variable(Span where);

private:
    std::optional<size_t> find_variable(const std::string& name);
    void keep(Expression& e);
    Expression choose(Expression condition, const std::function<Expression()>& yes,
                      const std::function<Expression()>& no, Span where);
    const std::string& parameter(uint64_t number);
    Expression numeric(const ast::Parameter& of, Span where);
    const Bound* bound(const std::string& name) const;
    std::string map_name(const std::string& name);

    static Expression value(const ast::Number& node, Span where);
    static Expression value(const ast::Real& node, Span where);
    static Expression value(const ast::Text& node, Span where);
    Expression value(const ast::Parameter& node, Span where);
    Expression value(const ast::MapAt& node, Span where);
    Expression value(const ast::VariableOf& node, Span where);
    Expression value(const ast::Prefix& node, Span where);
    Expression value(const ast::Infix& node, Span where);
    Expression value(const ast::Choice& node, Span where);
    Expression value(const ast::Deref& node, Span where);
    Expression value(const ast::AddressOf& node, Span where);
    Expression value(const ast::Step& node, Span where);
    Expression value(const ast::Member& node, Span where);
    Expression value(const ast::Element& node, Span where);
    Expression value(const ast::Cast& node, Span where);
    Expression value(const ast::SizeOf& node, Span where);
    Expression value(const ast::OffsetOf& node, Span where);
    [[noreturn]] static Expression value(const ast::TypeValue& node, Span where);
    Expression value(const ast::Tuple& node, Span where);
    Expression value(const ast::BlockValue& node, Span where);
    Expression value(const ast::NamedArgument& node, Span where);
    Expression value(const ast::Word& node, Span where);
    Expression value(Meaning meaning, Span where);
    [[noreturn]] void unknown(std::string_view word, Span where, bool is_call = false) const;
    Expression argument(std::string_view word, std::string_view kind, Span where);
    Expression value(const ast::Call& node, Span where);
    Expression call(const FunctionWord& function, const std::string& word, std::vector<Expression> given, Span where);
    Expression option(const FunctionWord& function, std::vector<Expression> given, Span where);
    static Expression clock_value(const FunctionWord& function, const ast::Call& node, Span where);
    Expression of_map(const FunctionWord& function, const ast::Call& node, Span where);
    static Expression text_at(std::vector<Expression> given, Span where);
    std::optional<Expression> known_text(const ast::Call& node, Span where);
    std::optional<Expression> parameter_text(const ast::Expr& of, Span where);
    std::optional<Expression> setting(const ast::Member& node, Span where) const;
    Expression frames(const ast::Call& node, Span where);

    std::vector<std::string> parameters_;         // $1, $2
    std::map<std::string, std::string> options_;  // by name; without a value: "true"
    std::map<std::string, std::string> expected_; // that getopt() asks for, with what it says of them
    std::map<std::string, size_t> maps_;
    size_t expanded_ = 0;
    std::optional<StackForm> usual_form_, own_form_; // by a setting; that ustack(FORM) has
    std::optional<Span> plain_stack_;                // one that has no form of its own
};

} // namespace fastsdt::engine
