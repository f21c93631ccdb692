// SPDX-License-Identifier: BSD-2-Clause
#include "script/passes/values.h"

#include "arch/args.h"
#include "base/clock.h"
#include "script/tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <iterator>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>

namespace fastsdt::engine {
namespace {

constexpr unsigned most_stack_arguments = 10; ///< sarg0 to sarg9, as in bpftrace

Expression shown(Expression of, ShapePtr shape)
{
    return made(Expression::Kind::shown, of.where, [&](Expression& e) {
        e.type.kind = ValueKind::shown;
        e.type.shape = std::move(shape);
        e.operands.push_back(std::move(of));
    });
}

Expression network_address(const Expression& text)
{
    std::array<char, 16> bytes{};
    size_t size = 4;
    if (inet_pton(AF_INET, text.text.c_str(), bytes.data()) != 1) {
        size = bytes.size();
        if (inet_pton(AF_INET6, text.text.c_str(), bytes.data()) != 1)
            fail(text.where, fmt::format("\"{}\" is no address of IPv4 or IPv6", text.text));
    }
    return made(Expression::Kind::text, text.where, [&](Expression& e) {
        e.type.kind = ValueKind::bytes;
        e.text = std::string(bytes.data(), size);
        e.type.shape = plain_shape(Shape::Kind::network, size);
    });
}

// Of the folder of a group: cgroup has its inode's number (kernfs).
Expression number_of_group(const Expression& folder)
{
    struct stat group{};
    struct statfs system{};
    if (stat(folder.text.c_str(), &group) != 0 || statfs(folder.text.c_str(), &system) != 0)
        fail(folder.where, fmt::format("{}: {}", folder.text, std::strerror(errno)));
    if (!S_ISDIR(group.st_mode) || system.f_type != CGROUP2_SUPER_MAGIC)
        fail(folder.where,
             fmt::format("{} is no control group of version 2, which cgroup tells: "
                         "cgroupid(\"/sys/fs/cgroup/GROUP\")",
                         folder.text));
    return number_of(int64_t(group.st_ino), folder.where);
}

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

// -1, 0x1f, 077. As 64 bits.
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

bool is_digits(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

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

void Values::unknown(std::string_view word, Span where, bool is_call)
{
    if (is_call && statement_of(word))
        fail(where, fmt::format("\"{}\" is a statement, which has no value", word));
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

Expression Values::value(const ast::Call& node, Span where)
{
    const std::string& word = node.name;
    if (macro_for(node, where))
        return *expand(node, where, true);
    if (statement_of(word) == Statement::Kind::remove)
        return deletion(node, where);
    const auto function = function_of(word);
    if (!function) {
        if (is_elsewhere(word, Elsewhere::function) || is_elsewhere(word, Elsewhere::value))
            kernel_only(node.word, why_not_here(word, is_elsewhere(word, Elsewhere::function)));
        if (node.arguments.empty() && (builtin_of(word) || meaning_of(word)))
            return value(ast::Word{word}, where); // tid()
        if (builtin_of(word))
            kernel_only({node.word.start + node.word.length, 1}, fmt::format("{} has no brackets here", word));
        if (aggregation_of(word))
            fail(node.word, fmt::format("{}() is no value; a map is assigned it: @ = {}(...)", word, word));
        unknown(word, node.word, true);
    }
    if (function->function == Function::str)
        if (auto text = known_text(node, where))
            return *std::move(text);
    if (function->function == Function::ustack || function->function == Function::dw_ustack)
        return frames(node, where);
    if (function->function == Function::config)
        fail(where, fmt::format("config() is {}", function->usage));
    if (function->function == Function::has_key || function->function == Function::len)
        return of_map(*function, node, where);
    if (function->function == Function::nsecs)
        return clock_value(*function, node, where);
    std::vector<Expression> given = values(node.arguments);
    if (given.size() < function->least || given.size() > function->most)
        fail(where, fmt::format("{}() is {}", word, function->usage));
    Expression found = call(*function, word, std::move(given), where);
    found.where = where;
    return found;
}

// The arguments are as many as they are to be.
Expression Values::call(const FunctionWord& function, const std::string& word, std::vector<Expression> given,
                        Span where)
{
    const auto want_text = [&](size_t index) {
        if (given[index].kind != Expression::Kind::text)
            fail(given[index].where, fmt::format("{}() is {}", word, function.usage));
    };
    const auto cast_to = [&](ShapePtr shape) {
        return made(Expression::Kind::cast, where, [&](Expression& e) {
            e.type.shape = std::move(shape);
            e.operands.push_back(std::move(given.back()));
        });
    };
    const auto both = [&](Operator op) { return operation_of(op, std::move(given[0]), std::move(given[1]), where); };
    switch (function.function) {
    case Function::str: return text_at(std::move(given), where);
    case Function::buf:
        return made(Expression::Kind::buffer, where, [&](Expression& e) { e.operands = std::move(given); });
    case Function::reg:
    case Function::uaddr: {
        want_text(0);
        Expression found = builtin(function.function == Function::reg ? Value::reg : Value::symbol, where);
        found.text = given[0].text;
        return found;
    }
    case Function::usym: return shown(std::move(given[0]), plain_shape(Shape::Kind::symbol, 8));
    case Function::strerror: return shown(std::move(given[0]), plain_shape(Shape::Kind::error, 8));
    case Function::signal_name: return shown(std::move(given[0]), plain_shape(Shape::Kind::signal, 8));
    case Function::strftime:
        want_text(0);
        return shown(std::move(given[1]), plain_shape(Shape::Kind::time, 8, given[0].text));
    case Function::ntop: return cast_to(plain_shape(Shape::Kind::network, 0));
    case Function::macaddr: return cast_to(plain_shape(Shape::Kind::mac, 6));
    case Function::cgroupid: want_text(0); return number_of_group(given[0]);
    case Function::pton: want_text(0); return network_address(given[0]);
    case Function::bswap: return operation_of(Operator::swap, std::move(given[0]), where);
    case Function::strncmp:
    case Function::memcmp: {
        const bool is_text = function.function == Function::strncmp;
        if (given[2].kind != Expression::Kind::number || given[2].number < (is_text ? 0 : 1))
            fail(given[2].where, fmt::format("{}() wants a number for the length", word));
        if (given[2].number == 0)
            return number_of(0, where);
        Expression found = both(Operator::not_equal);
        found.number = given[2].number;
        return found;
    }
    case Function::strlen: return operation_of(Operator::length, std::move(given[0]), where);
    case Function::strcontains: return both(Operator::contains);
    case Function::strstr: {
        Expression found = both(Operator::contains);
        found.number = 1;
        found.sign = true; // -1: nowhere
        return found;
    }
    case Function::getopt: return option(function, std::move(given), where);
    case Function::has_key: // they look at what was written
    case Function::len:
    case Function::nsecs:
    case Function::ustack:
    case Function::dw_ustack:
    case Function::config: break;
    }
    throw std::logic_error("no such function");
}

// has_key(@map, key), len(@map)
Expression Values::of_map(const FunctionWord& function, const ast::Call& node, Span where)
{
    const auto* const map =
        node.arguments.size() == function.most ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
    if (!map && function.function == Function::len && node.arguments.size() == 1)
        return made(Expression::Kind::frames, where,
                    [&](Expression& e) { e.operands.push_back(value(node.arguments[0])); });
    if (!map || !map->keys.empty())
        fail(where, fmt::format("{}() is {}", node.name, function.usage));
    const bool has = function.function == Function::has_key;
    return made(has ? Expression::Kind::has : Expression::Kind::entries, where, [&](Expression& e) {
        e.map = map_of(*map, node.arguments[0].where);
        if (has) {
            e.operands = keys_of(node.arguments[1]);
            e.number = 1;
            e.type.shape = bool_shape();
        }
    });
}

// delete(@a, key) and delete(@a[key]), where somebody asks whether the key was there.
Expression Values::deletion(const ast::Call& node, Span where)
{
    Statement made = statement(Statement::Kind::remove, where);
    const auto* const map = !node.arguments.empty() ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
    if (!map || node.arguments.size() > 2 || (node.arguments.size() == 2 && !map->keys.empty()))
        fail(where, "delete() is delete(@map, KEY), or delete(@map[KEY])");
    made.map = map_of(*map, node.arguments[0].where);
    made.keys = node.arguments.size() == 2 ? keys_of(node.arguments[1]) : values(map->keys);
    for (Expression& key : made.keys)
        keep(key);
    const size_t was_there = hidden_variable(where);
    put(*before_,
        set(was_there,
            engine::made(Expression::Kind::has, where,
                         [&](Expression& e) {
                             e.map = made.map;
                             e.operands = made.keys;
                             e.type.shape = bool_shape();
                         }),
            where));
    put(*before_, std::move(made));
    return variable(was_there, where);
}

// getopt("name"), getopt("name", default, "what it is"): what the command line says behind "--".
Expression Values::option(const FunctionWord& function, std::vector<Expression> given, Span where)
{
    if (given[0].kind != Expression::Kind::text || (given.size() == 3 && given[2].kind != Expression::Kind::text))
        fail(where, fmt::format("getopt() is {}", function.usage));
    const std::string name = given[0].text;
    expected_[name] = given.size() == 3 ? given[2].text : "";
    Expression usual = given.size() > 1 ? std::move(given[1]) : value(Meaning::no, where);
    if (usual.kind == Expression::Kind::operation && usual.op == Operator::negate) // of a number
        usual = number_of(-usual.operands[0].number, where);
    const auto found = options_.find(name);
    if (found == options_.end())
        return usual;
    const std::string& text = found->second;
    const auto refuse = [&](std::string_view what) {
        fail(nowhere, fmt::format("program command line option --{} invalid {} (value: {})", name, what, text));
    };
    if (usual.kind == Expression::Kind::text) {
        usual.text = text;
    } else if (usual.kind == Expression::Kind::number && usual.type.shape) {
        std::string lower = text;
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
        if (lower != "true" && lower != "false" && lower != "1" && lower != "0")
            refuse("boolean");
        usual.number = lower == "true" || lower == "1";
    } else if (usual.kind == Expression::Kind::number) {
        const auto number = number_in_text(text);
        if (!number)
            refuse("integer");
        usual = number_of(*number, where);
        if (*number < 0 && !text.starts_with('-'))
            usual.type.shape = integer_shape(8, false);
    } else {
        fail(where, "the default of getopt() is a number, a string, true or false");
    }
    return usual;
}

void Values::refuse_unknown_options() const
{
    std::string unknown, all;
    for (const auto& [name, text] : options_)
        if (!expected_.contains(name))
            unknown += (unknown.empty() ? "--" : ", --") + name;
    if (unknown.empty())
        return;
    for (const auto& [name, what] : expected_)
        all += fmt::format("{}--{}{}", expected_.size() > 1 ? "\n" : " ", name, what.empty() ? "" : ": " + what);
    ScriptError error(nowhere, "unexpected program command line options: " + unknown);
    error.hint = all.empty() ? "the script has no getopt()" : "expected program options:" + all;
    throw ScriptError(error);
}

// nsecs(boot), nsecs(monotonic), nsecs(tai): clocks that go alike, but for what they count from.
Expression Values::clock_value(const FunctionWord& function, const ast::Call& node, Span where)
{
    if (node.arguments.empty())
        return builtin(Value::nsecs, where);
    const auto* const word = std::get_if<ast::Word>(&node.arguments[0].node);
    const std::string_view name = word ? std::string_view(word->word) : std::string_view();
    const auto clock = name == "boot"       ? std::optional(CLOCK_BOOTTIME)
        : name == "monotonic"               ? std::optional(CLOCK_MONOTONIC)
        : name == "tai" || name == "sw_tai" ? std::optional(CLOCK_TAI)
                                            : std::nullopt;
    if (!clock || node.arguments.size() > 1)
        fail(node.arguments.back().where, fmt::format("nsecs() is {}", function.usage));
    if (*clock == CLOCK_BOOTTIME)
        return builtin(Value::nsecs, where);
    return operation_of(Operator::add, builtin(Value::nsecs, where),
                        number_of(clock_ns(*clock) - clock_ns(CLOCK_BOOTTIME), where), where);
}

// One key, or a tuple of keys.
std::vector<Expression> Values::keys_of(const ast::Expr& e)
{
    if (const auto* const tuple = std::get_if<ast::Tuple>(&e.node))
        return values(tuple->elements);
    std::vector<Expression> keys;
    keys.push_back(value(e));
    return keys;
}

// str(arg0), str(ADDRESS, LENGTH)
Expression Values::text_at(std::vector<Expression> given, Span where)
{
    Expression found = builtin(Value::str_arg, where);
    if (given.size() == 2 || given[0].kind != Expression::Kind::value || given[0].value != Value::arg) {
        found.operands = std::move(given);
        return found;
    }
    found.argument = given[0].argument;
    found.on_stack = given[0].on_stack;
    found.text = given[0].text;
    return found;
}

// str($1), str($1, LENGTH), and the empty str(0) of the tool.
std::optional<Expression> Values::known_text(const ast::Call& node, Span where)
{
    if (node.arguments.empty() || node.arguments.size() > 2)
        return std::nullopt;
    const auto* const address = std::get_if<ast::Number>(&node.arguments[0].node);
    if (address && address->value == 0 && !clause_->has_sites())
        return value(ast::Text{""}, where);
    std::optional<Expression> text = parameter_text(node.arguments[0], where);
    if (text && node.arguments.size() == 2) {
        const auto* const length = std::get_if<ast::Number>(&node.arguments[1].node);
        if (!length)
            fail(node.arguments[1].where, "the length of a parameter's text is a number");
        text->text.resize(std::min<uint64_t>(text->text.size(), std::max<uint64_t>(length->value, 1) - 1));
    }
    return text;
}

// str($1), str($1 + N): the text of a parameter.
std::optional<Expression> Values::parameter_text(const ast::Expr& of, Span where)
{
    const auto* const sum = std::get_if<ast::Infix>(&of.node);
    const auto* const parameter =
        std::get_if<ast::Parameter>(sum && sum->op == Operator::add ? &sum->left->node : &of.node);
    if (!parameter || parameter->number == 0)
        return std::nullopt;
    Expression found;
    found.kind = Expression::Kind::text;
    found.text = this->parameter(parameter->number);
    found.where = where;
    if (sum) {
        const auto* const number = std::get_if<ast::Number>(&sum->right->node);
        if (!number)
            fail(sum->right->where, "a number is wanted behind \"+\"");
        found.text = found.text.substr(std::min<uint64_t>(number->value, found.text.size()));
    }
    return found;
}

void Values::stack_form(std::string_view word, Span where, bool is_setting)
{
    std::optional<StackForm> form;
    for (const StackForm each : {StackForm::bpftrace, StackForm::perf, StackForm::raw, StackForm::build_id})
        if (word == word_of(each))
            form = each;
    if (!form)
        kernel_only(where,
                    "a stack is bpftrace, perf, raw or build_id here: ustack, ustack(N), ustack(raw) or ustack(dwarf)");
    if (is_setting) {
        usual_form_ = form;
        return;
    }
    if (own_form_.value_or(*form) != *form)
        kernel_only(where, "all stacks of a script have one form here");
    own_form_ = form;
}

void Values::settle_stack_form()
{
    if (own_form_ && plain_stack_ && usual_form_.value_or(StackForm::bpftrace) != *own_form_)
        kernel_only(*plain_stack_, "all stacks of a script have one form here");
    draft_.script.stack_form = own_form_ ? own_form_ : usual_form_;
}

// ustack(), ustack(N), ustack(MODE), ustack(MODE, N)
Expression Values::frames(const ast::Call& node, Span where)
{
    Expression found = builtin(Value::stack, where);
    found.argument = most_stack_frames;
    size_t next = 0;
    const bool is_ustack = node.name == "ustack";
    if (!is_ustack) { // dw_ustack()
        found.unwinds = true;
        draft_.script.beyond_bpftrace = "dw_ustack()";
    }
    if (next < node.arguments.size() && is_ustack)
        if (const auto* const mode = std::get_if<ast::Word>(&node.arguments[next].node)) {
            found.unwinds = mode->word == "dwarf";
            if (found.unwinds)
                draft_.script.beyond_bpftrace = "ustack(dwarf)";
            else
                stack_form(mode->word, node.arguments[next].where, false);
            ++next;
        }
    if (next == 0 || found.unwinds)
        plain_stack_ = where;
    if (next < node.arguments.size()) {
        const Expression number = value(node.arguments[next]);
        if (number.kind != Expression::Kind::number || number.number < 1 || number.number > int64_t(most_stack_frames))
            fail(node.arguments[next].where,
                 fmt::format("{}(N) wants a number from 1 to {}", node.name, most_stack_frames));
        found.argument = static_cast<unsigned>(number.number);
        ++next;
    }
    if (next < node.arguments.size())
        fail(node.arguments[next].where, fmt::format("{}() is {}", node.name, function_of(node.name)->usage));
    return found;
}

} // namespace fastsdt::engine
