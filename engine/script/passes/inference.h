// SPDX-License-Identifier: BSD-2-Clause
// Types and shapes of expressions, and what they make of members, elements and casts: addresses to read at, and parts of bytes.
// A map may be read before the text assigns it. So all expressions are gone through until nothing more becomes known.
#pragma once
#include "base/arch.h"
#include "script/parser.h"
#include "script/passes/nodes.h"
#include "script/passes/passed.h"
#include "script/passes/shaped.h"

#include <map>
#include <optional>
#include <utility>

namespace fastsdt::engine {

/// infer() of script/parser.h. infer.cpp has statements, maps and operations; the others their kinds of expressions.
class Inference {
    using Kind = Expression::Kind;

public:
    Inference(Draft& draft, DebugTypes* debug, bool compares_to_boolean)
        : draft_(draft), script_(draft.script), debug_(debug), compares_to_boolean_(compares_to_boolean)
    {
        known_.resize(script_.maps.size());
    }

    void run();

private:
    void statements(std::vector<Statement>& all);
    void settle(Statement& statement);
    void entry(const Statement& statement);
    static ShapePtr stored_shape(const ValueType& type, std::string_view what, Span where);
    void order_like(Expression& e, const ShapePtr& shape);
    bool depends(const Expression& e) const;
    bool waits_for_map(const Expression& e) const;
    static void spread(const Map& map, std::vector<Expression>& keys);
    static void keys(Map& map, std::vector<Expression>& keys);
    static void mix(ShapePtr& shape, const ShapePtr& other);
    static bool is_true_or_false(Operator op);
    void use(Expression& e);
    void resolve(Expression& e);
    void offset(Expression& e);
    void value(Expression& e);
    const DebugTypes::Signature* signature(const Probe& probe);
    std::optional<DebugTypes::Value> known_result(Span where);
    static std::string why_no_result(const DebugTypes::Value& result);
    void want_declaration(const Probe& probe, Span where) const;
    void result_of(const DebugTypes::Value& result, Expression& e);
    static void make_real(Expression& e, size_t size);
    bool of_function() const { return !clause_->probes.empty() && clause_->probes[0].kind == Probe::Kind::entry; }

    const Probe* probe() const;
    ShapePtr variable_shape(const Expression& e) const;
    std::pair<DebugTypes::Parameter, Passed> parameter(const Probe& probe, const Expression& e);
    void named_argument(Expression& e);

    // Where the first argument on the stack is, at a function's first instruction.
    static constexpr size_t stack_before_arguments = own_arch == Arch::x86_64 ? 8 : 0;
    void operation(Expression& e);
    static std::optional<int64_t> literal(const Expression& e);
    size_t size_at(const ShapePtr& pointer, Span where);
    ShapePtr complete(const ShapePtr& shape, Span where);
    Expression memory(Expression address, const ShapePtr& shape, Span where);
    static std::string no_result(const Shape& results, const std::string& name);
    struct Found {
        const Shape::Member* member = nullptr;
        size_t offset = 0;
    };
    static Found find(const Shape& record, const std::string& name);
    bool waits(const Expression& e);
    void member(Expression& e);
    void of_tuple(Expression& e);
    void element(Expression& e);
    static Expression at_index(Expression of, Expression index, const ShapePtr& shape, size_t count, Span where);
    void address(Expression& e);
    void at(Expression& e);
    void cast(Expression& e);
    Expression to_real(Expression of, const ShapePtr& shape, Span where);
    void arguments(Expression& e);
    void tuple(Expression& e);
    void buffer(Expression& e);

    Draft& draft_;
    Script& script_;
    DebugTypes* const debug_;
    const bool compares_to_boolean_;
    Clause* clause_ = nullptr;
    std::map<const Probe*, std::optional<DebugTypes::Signature>> signatures_; // that were asked for
    std::vector<bool> known_;                                                 // maps that something assigns
    std::vector<bool> set_;                                                   // variables of the clause
    size_t unknown_ = 0;
};

} // namespace fastsdt::engine
