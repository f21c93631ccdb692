// SPDX-License-Identifier: BSD-2-Clause
#include "script/passes/values.h"

#include "arch/args.h"
#include "script/tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <sys/socket.h>
#include <sys/sysinfo.h>

namespace fastsdt::engine {
namespace {

constexpr unsigned most_stack_arguments = 10; ///< sarg0 to sarg9, as in bpftrace

// As probetype calls it.
std::string_view kind_of(const Clause& clause)
{
    switch (clause.probes.empty() ? Probe::Kind::usdt : clause.probes[0].kind) {
    case Probe::Kind::usdt: return "usdt";
    case Probe::Kind::entry: return "uprobe";
    case Probe::Kind::exit: return "uretprobe";
    case Probe::Kind::interval: return "interval";
    case Probe::Kind::profile: return "profile";
    case Probe::Kind::begin:
    case Probe::Kind::end: break;
    }
    return "special";
}

bool is_digits(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

Expression shown(Expression of, ShapePtr shape)
{
    return made(Expression::Kind::shown, of.where, [&](Expression& e) {
        e.type.kind = ValueKind::shown;
        e.type.shape = std::move(shape);
        e.operands.push_back(std::move(of));
    });
}

std::optional<int64_t> number_in_text(std::string_view text)
{
    const bool minus = text.starts_with('-');
    text.remove_prefix(minus ? 1 : 0);
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    text.remove_prefix(hexadecimal ? 2 : 0);
    uint64_t number = 0;
    const bool octal = !hexadecimal && text.size() > 1 && text.starts_with('0');
    const int base = hexadecimal ? 16 : octal ? 8 : 10;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return int64_t(minus ? 0 - number : number);
}

Values::Values(const ast::Script& written, const std::vector<std::string>& parameters) : written_(written)
{
    for (const std::string& each : parameters)
        if (const size_t equals = each.find('='); is_option(each))
            options_[each.substr(2, equals == each.npos ? equals : equals - 2)] =
                equals == each.npos ? "true" : each.substr(equals + 1);
        else
            parameters_.push_back(each);
}

Statement Values::statement(Statement::Kind kind, Span where)
{
    Statement made;
    made.kind = kind;
    made.where = where;
    return made;
}

void Values::put(std::vector<Statement>& to, Statement statement, Update update)
{
    statement.number = draft_.script.statements++;
    draft_.updates.push_back(std::move(update));
    to.push_back(std::move(statement));
}

Statement Values::set(size_t variable, Expression value, Span where)
{
    Statement made = statement(Statement::Kind::set, where);
    made.variable = variable;
    made.value = std::move(value);
    return made;
}

size_t Values::map_of(const ast::MapAt& map, Span where)
{
    const std::string name = map_name(map.name);
    const auto [found, added] = maps_.try_emplace(name, draft_.script.maps.size());
    if (added) {
        Map fresh;
        fresh.name = name;
        fresh.where = {where.start, map.name.size()};
        draft_.script.maps.push_back(std::move(fresh));
    }
    return found->second;
}

size_t Values::variable_index(const std::string& name, Span where)
{
    if (const auto found = find_variable(name))
        return *found;
    if (const Bound* const parameter = bound(name))
        return outside(
            [&] { return variable_index(std::get<ast::VariableOf>(parameter->argument->node).name, where); });
    return scopes_.front()[name] = new_variable(name, where); // seen in all of the clause, or of the macro
}

size_t Values::new_variable(const std::string& name, Span where)
{
    clause_->variables.push_back({.name = name, .where = where});
    return clause_->variables.size() - 1;
}

size_t Values::hidden_variable(Span where)
{
    return new_variable(fmt::format("value {}", clause_->variables.size()), where);
}

std::optional<size_t> Values::find_variable(const std::string& name)
{
    for (size_t i = scopes_.size(); i-- > 0;)
        if (const auto found = scopes_[i].find(name); found != scopes_[i].end())
            return found->second;
    if (const Bound* const parameter = bound(name))
        return outside([&] { return find_variable(std::get<ast::VariableOf>(parameter->argument->node).name); });
    return std::nullopt;
}

Expression Values::variable(const std::string& name, Span where)
{
    const auto found = find_variable(name);
    if (!found)
        fail(where, fmt::format("{} has no value here", name));
    return variable(*found, where);
}

Expression Values::variable(size_t index, Span where)
{
    return made(Expression::Kind::variable, where, [&](Expression& e) { e.variable = index; });
}

// Empty: there is none.
const std::string& Values::parameter(uint64_t number)
{
    static const std::string none;
    draft_.script.parameters = std::max<size_t>(draft_.script.parameters, number);
    return number >= 1 && number <= parameters_.size() ? parameters_[number - 1] : none;
}

// $1 as a number, 0 if there is none.
Expression Values::numeric(const ast::Parameter& of, Span where)
{
    if (of.number == 0) { // $#
        draft_.script.parameters = std::max(draft_.script.parameters, parameters_.size());
        return number_of(static_cast<int64_t>(parameters_.size()), where);
    }
    const std::string& text = parameter(of.number);
    if (text.empty())
        return number_of(0, where);
    if (const auto number = number_in_text(text))
        return number_of(*number, where);
    // A text, and as such it is no number.
    return made(Expression::Kind::text, where, [&](Expression& e) { e.text = text; });
}

// ---- Values

std::vector<Expression> Values::values(const std::vector<ast::Expr>& all)
{
    std::vector<const ast::Expr*> each;
    each.reserve(all.size());
    for (const ast::Expr& e : all)
        each.push_back(&e);
    return in_order(each);
}

Expression Values::value(const ast::Expr& e)
{
    if (const ast::Expr* const argument = argument_of_macro(e))
        return outside([&] { return value(*argument); });
    return std::visit([&](const auto& node) { return value(node, e.where); }, e.node);
}

Expression Values::value(const ast::Number& node, Span where)
{
    Expression found = number_of(int64_t(node.value), where);
    if (node.value > uint64_t(INT64_MAX))
        found.type.shape = integer_shape(8, false);
    return found;
}
Expression Values::value(const ast::Real& node, Span where)
{
    return real_of(node.value, where);
}
Expression Values::value(const ast::Text& node, Span where)
{
    return made(Expression::Kind::text, where, [&](Expression& e) { e.text = node.value; });
}
Expression Values::value(const ast::Parameter& node, Span where)
{
    return numeric(node, where);
}
Expression Values::value(const ast::MapAt& node, Span where)
{
    return made(Expression::Kind::map, where, [&](Expression& e) {
        e.map = map_of(node, where);
        e.operands = values(node.keys);
    });
}
Expression Values::value(const ast::VariableOf& node, Span where)
{
    return variable(node.name, where);
}
Expression Values::value(const ast::Prefix& node, Span where)
{
    if (const auto* const real = std::get_if<ast::Real>(&node.of->node); real && node.op == Operator::negate)
        return real_of(-real->value, where);
    return operation_of(node.op, value(*node.of), where);
}
Expression Values::value(const ast::Infix& node, Span where)
{
    if (node.op == Operator::logical_and || node.op == Operator::logical_or) { // the right one only if it is needed
        const bool is_and = node.op == Operator::logical_and;
        Expression left = value(*node.left);
        std::vector<Statement> own;
        Expression right = into(own, [&] { return value(*node.right); });
        if (own.empty())
            return operation_of(node.op, std::move(left), std::move(right), where);
        const auto truth = [&] {
            before_->insert(before_->end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
            return operation_of(Operator::not_equal, std::move(right), number_of(0, where), where);
        };
        const auto known = [&] { return number_of(is_and ? 0 : 1, where); };
        return is_and ? choose(std::move(left), truth, known, where) : choose(std::move(left), known, truth, where);
    }
    std::vector<Expression> both = in_order({node.left.get(), node.right.get()});
    const Span all = join(both[0].where, both[1].where);
    return operation_of(node.op, std::move(both[0]), std::move(both[1]), all);
}
Expression Values::value(const ast::Choice& node, Span where)
{
    if (!node.yes) { // a ?: b
        Expression condition = value(*node.condition);
        keep(condition);
        const Expression again = condition;
        return choose(std::move(condition), [&] { return again; }, [&] { return value(*node.no); }, where);
    }
    return choose(value(*node.condition), [&] { return value(*node.yes); }, [&] { return value(*node.no); }, where);
}
Expression Values::value(const ast::Deref& node, Span where)
{
    return made(Expression::Kind::at, where, [&](Expression& e) { e.operands.push_back(value(*node.of)); });
}
Expression Values::value(const ast::AddressOf& node, Span where)
{
    return made(Expression::Kind::address, where, [&](Expression& e) { e.operands.push_back(value(*node.of)); });
}
Expression Values::value(const ast::Step& node, Span where)
{
    return made(Expression::Kind::step, where, [&](Expression& e) {
        e.number = node.by;
        e.is_before = node.is_before;
        e.operands.push_back(value(*node.of));
    });
}
// config().NAME: what is true of this script.
std::optional<Expression> Values::setting(const ast::Member& node, Span where) const
{
    const auto* const call = std::get_if<ast::Call>(&node.of->node);
    const auto* const word = std::get_if<ast::Word>(&node.of->node);
    if (!(call && call->name == "config" && call->arguments.empty()) && !(word && word->word == "__builtin_config"))
        return std::nullopt;
    const Script& script = draft_.script;
    if (node.name == "max_strlen")
        return number_of(string_size, where);
    if (node.name == "max_map_keys")
        return number_of(bpftrace_keys, where);
    if (node.name == "max_cat_bytes")
        return number_of(int64_t(script.cat_bytes), where);
    if (node.name == "print_maps_on_exit")
        return number_of(script.prints_maps, where);
    if (node.name == "show_debug_info")
        return number_of(script.has_lines, where);
    if (node.name == "cpp_demangle")
        return number_of(1, where);
    if (node.name == "stack_mode")
        return value(ast::Text{std::string(word_of(usual_form_.value_or(StackForm::bpftrace)))}, where);
    fail(where,
         fmt::format("{}: config() tells max_strlen, max_map_keys, max_cat_bytes, print_maps_on_exit, "
                     "show_debug_info, cpp_demangle and stack_mode",
                     node.name));
}

Expression Values::value(const ast::Member& node, Span where)
{
    if (auto known = setting(node, where))
        return *std::move(known);
    return made(Expression::Kind::member, where, [&](Expression& e) {
        e.number = node.is_arrow ? 1 : 0;
        e.text = node.name;
        e.operands.push_back(value(*node.of));
    });
}
Expression Values::value(const ast::Element& node, Span where)
{
    return made(Expression::Kind::element, where,
                [&](Expression& e) { e.operands = in_order({node.of.get(), node.index.get()}); });
}
ShapePtr Values::known_type(const ast::TypeName& type)
{
    if (!type.of)
        return type.shape;
    const ast::Expr* const argument = argument_of_macro(*type.of);
    const auto* const of = argument ? std::get_if<ast::TypeValue>(&argument->node) : nullptr;
    ShapePtr shape = of ? outside([&] { return known_type(of->type); }) : nullptr;
    if (!shape && (type.stars || type.count))
        kernel_only(type.of->where, "a pointer to the type of a value is not in this subset of bpftrace's language");
    for (unsigned i = 0; i < type.stars; ++i)
        shape = pointer_shape(shape);
    return type.count ? array_shape(shape, type.count) : shape;
}

Expression Values::value(const ast::TypeValue&, Span where)
{
    fail(where, "a type is no value: typeof() is for macros that want a type");
}

// Where the type is that of a value, this is the second operand.
Expression Values::cast_to(const ast::TypeName& type, Expression of, Span where)
{
    return made(Expression::Kind::cast, where, [&](Expression& e) {
        e.type.shape = known_type(type);
        e.operands.push_back(std::move(of));
        if (!e.type.shape && type.of)
            e.operands.push_back(value(*type.of));
    });
}
Expression Values::value(const ast::Cast& node, Span where)
{
    return cast_to(node.type, value(*node.of), where);
}
Expression Values::value(const ast::SizeOf& node, Span where)
{
    return made(Expression::Kind::size, where, [&](Expression& e) {
        e.type.shape = known_type(node.type);
        if (!e.type.shape && node.type.of)
            e.operands.push_back(value(*node.type.of));
    });
}
Expression Values::value(const ast::OffsetOf& node, Span where)
{
    Expression found = value(ast::SizeOf{{known_type(node.type), nullptr}}, where);
    if (!found.type.shape && node.type.of)
        found.operands.push_back(value(*node.type.of));
    found.text = fmt::format("{}", fmt::join(node.members, "."));
    return found;
}
Expression Values::value(const ast::Tuple& node, Span where)
{
    return made(Expression::Kind::tuple, where, [&](Expression& e) {
        e.operands = values(node.elements);
        if (!node.names.empty())
            e.type.shape = tuple_shape(std::vector<ShapePtr>(node.names.size(), integer_shape(8, true)), node.names);
    });
}
Expression Values::builtin(Value what, Span where)
{
    return made(Expression::Kind::value, where, [&](Expression& e) { e.value = what; });
}

// args.NAME
Expression Values::value(const ast::NamedArgument& node, Span where)
{
    Expression found = builtin(Value::arg, where);
    found.text = node.name;
    if (std::any_of(clause_->probes.begin(), clause_->probes.end(),
                    [](const Probe& probe) { return probe.kind == Probe::Kind::usdt; }))
        draft_.script.beyond_bpftrace = fmt::format("args.{}", found.text);
    return found;
}

Expression Values::value(const ast::Word& node, Span where)
{
    constexpr std::string_view prefix = "__builtin_"; // as bpftrace's library of macros calls them
    const std::string word = node.word.starts_with(prefix) ? node.word.substr(prefix.size()) : node.word;
    if (const auto constant = written_.constants.find(word); constant != written_.constants.end())
        return made(Expression::Kind::number, where, [&](Expression& e) {
            e.number = constant->second.first;
            e.type.shape = constant->second.second;
        });
    if (const auto meaning = meaning_of(word))
        return value(*meaning, where);
    if (word == "args")
        return made(Expression::Kind::tuple, where, [&](Expression& e) { e.text = word; });
    if (word == "AF_INET" || word == "AF_INET6")
        return number_of(word == "AF_INET" ? AF_INET : AF_INET6, where);
    for (const std::string_view kind : {"arg", "sarg"})
        if (word.starts_with(kind) && is_digits(std::string_view(word).substr(kind.size())))
            return argument(word, kind, where);
    if (macro_for({word, {}, where}, where))
        return *expand({word, {}, where}, where, true);
    if (word.size() == 2 && word[0] == 'x' && word[1] >= '0' && word[1] <= '7') { // of a vector register
        Expression found = builtin(Value::arg, where);
        found.argument = unsigned(word[1] - '0');
        found.real = sizeof(double);
        draft_.script.beyond_bpftrace = word;
        return found;
    }
    if (const auto known = builtin_of(word)) {
        Expression found = builtin(*known, where);
        if (*known == Value::stack) {
            found.argument = most_stack_frames;
            plain_stack_ = where;
        }
        return found;
    }
    if (is_elsewhere(word, Elsewhere::value))
        kernel_only(where, why_not_here(word, false));
    unknown(word, where);
}

Expression Values::value(Meaning meaning, Span where)
{
    const auto boolean = [&](bool is_true) {
        return made(Expression::Kind::number, where, [&](Expression& e) {
            e.number = is_true;
            e.type.shape = bool_shape();
        });
    };
    switch (meaning) {
    case Meaning::yes: return boolean(true);
    case Meaning::no: return boolean(false);
    case Meaning::processors: return number_of(get_nprocs_conf(), where);
    case Meaning::user_mode: return number_of(1, where); // probes of programs and the tool are in user space
    case Meaning::user_name: return shown(builtin(Value::uid, where), plain_shape(Shape::Kind::user, 8));
    case Meaning::probe_type:
        return made(Expression::Kind::text, where, [&](Expression& e) { e.text = kind_of(*clause_); });
    }
    throw std::logic_error("no such word");
}

void Values::unknown(std::string_view word, Span where, bool is_call) const
{
    if (is_call && statement_of(word))
        fail(where, fmt::format("\"{}\" is a statement, which has no value", word));
    if (const std::string map = "@" + std::string(word); !is_call && maps_.contains(map))
        fail(where, fmt::format("\"{}\" is no value; the map is {}", word, map));
    if (const std::string near = nearest_word(word); !near.empty())
        fail(where, fmt::format("\"{}\" is no {}; did you mean \"{}\"?", word, is_call ? "function" : "value", near));
    if (is_call)
        fail(where, fmt::format("\"{}\" is no function; fastsdt-trace(1), THE LANGUAGE, has all of them", word));
    fail(where,
         fmt::format("\"{}\" is no value: arg0 to arg11, sarg0 to sarg9, args.NAME, str(), retval, tid, pid, comm, "
                     "nsecs, elapsed, probe, func, ustack, cpu, uid, gid and rand are",
                     word));
}

// arg0, sarg1
Expression Values::argument(std::string_view word, std::string_view kind, Span where)
{
    Expression found = builtin(Value::arg, where);
    found.on_stack = kind == "sarg";
    const unsigned most = found.on_stack ? most_stack_arguments : most_arguments;
    const std::string_view digits = word.substr(kind.size());
    if (digits.size() > 2 || (digits.size() == 2 && digits[0] == '0') || std::stoul(std::string(digits)) >= most)
        fail(where, fmt::format("arguments are {}0 to {}{}", kind, kind, most - 1));
    found.argument = unsigned(std::stoul(std::string(digits)));
    if (digits.size() == 2)
        draft_.script.beyond_bpftrace = word;
    return found;
}

} // namespace fastsdt::engine
