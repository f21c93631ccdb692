// SPDX-License-Identifier: BSD-2-Clause
// Words to meanings: builtins and functions by language.def, maps and variables by their numbers, parameters and constants to what they
// stand for. And what is only another way to write something becomes that: $x += 1, @x++, unroll, join().
#include "script/language.h"
#include "script/parser.h"
#include "arch/args.h"
#include "script/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

namespace fastsdt::engine {
namespace {

constexpr size_t most_macros = 20;            ///< in each other: one that calls itself has no end
constexpr size_t most_expanded = 10000;       ///< of a script
constexpr unsigned most_stack_arguments = 10; ///< sarg0 to sarg9, as in bpftrace

[[noreturn]] void fail(Span where, const std::string& what)
{
    throw ScriptError(where, what);
}
[[noreturn]] void kernel_only(Span where, const std::string& what)
{
    throw ScriptError(where, what, true);
}

Expression number_of(int64_t number, Span where)
{
    Expression e;
    e.number = number;
    e.where = where;
    return e;
}

Expression operation_of(Operator op, Expression left, Expression right)
{
    Expression e;
    e.kind = Expression::Kind::operation;
    e.op = op;
    e.where = join(left.where, right.where);
    e.operands.push_back(std::move(left));
    e.operands.push_back(std::move(right));
    return e;
}

Expression operation_of(Operator op, Expression of, Span where)
{
    Expression e;
    e.kind = Expression::Kind::operation;
    e.op = op;
    e.where = where;
    e.operands.push_back(std::move(of));
    return e;
}

Expression shown(Expression of, ShapePtr shape)
{
    Expression found;
    found.kind = Expression::Kind::shown;
    found.type = Type::shown;
    found.shape = std::move(shape);
    found.where = of.where;
    found.operands.push_back(std::move(of));
    return found;
}

// The lowest bytes, extended as the sign says.
Expression to_size(Expression found, size_t size, bool is_signed, Span where)
{
    if (size < 8) {
        const int bits = static_cast<int>(size) * 8;
        found = operation_of(Operator::bit_and, std::move(found), number_of((int64_t(1) << bits) - 1, where));
        if (is_signed) {
            const int64_t sign = int64_t(1) << (bits - 1);
            found = operation_of(Operator::bit_xor, std::move(found), number_of(sign, where));
            found = operation_of(Operator::subtract, std::move(found), number_of(sign, where));
        }
    } else {
        found = operation_of(Operator::add, std::move(found), number_of(0, where));
    }
    found.sign = is_signed;
    return found;
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
    Expression found;
    found.kind = Expression::Kind::text;
    found.type = Type::bytes;
    found.text = std::string(bytes.data(), size);
    found.shape = plain_shape(Shape::Kind::network, size);
    found.where = text.where;
    return found;
}

bool is_digits(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// As in C: %[-+ #0][width][.precision][length]conversion.
std::vector<Format> read_format(const std::string& text, Span where)
{
    constexpr std::string_view digits = "0123456789";
    constexpr size_t most_digits = 3;
    std::vector<Format> format;
    Format piece;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            piece.text += text[i];
            continue;
        }
        if (i + 1 < text.size() && text[i + 1] == '%') {
            piece.text += text[i++];
            continue;
        }
        const auto take = [&](std::string_view characters, std::string& to) {
            while (i + 1 < text.size() && characters.find(text[i + 1]) != characters.npos)
                to += text[++i];
        };
        std::string width, length;
        take("-+ #0", piece.how);
        take(digits, width);
        piece.how += width;
        if (i + 1 < text.size() && text[i + 1] == '.') {
            std::string precision;
            piece.how += text[++i];
            take(digits, precision);
            piece.how += precision;
            width = width.size() > precision.size() ? width : precision;
        }
        if (width.size() > most_digits)
            fail(where, "a width or a precision of printf() has 3 digits at most");
        take("hljzt", length);
        piece.size = length.find_first_of("ljzt") != length.npos ? 8
            : length.starts_with("hh")                           ? 1
            : length.starts_with('h')                            ? 2
                                                                 : 4;
        const char conversion = i + 1 < text.size() ? text[++i] : '\0';
        if (conversion == '\0' || std::string_view("diuxXopcsr").find(conversion) == std::string_view::npos)
            fail(where,
                 conversion == '\0'
                     ? std::string("the text of printf() ends in the middle of a conversion")
                     : fmt::format("%{} is no conversion of printf(): %d, %u, %x, %X, %o, %p, %c, %s and %r are",
                                   conversion));
        if (conversion == 'r' && i + 1 < text.size() && (text[i + 1] == 'x' || text[i + 1] == 'h'))
            piece.bytes = text[++i];
        piece.conversion = conversion == 'i' ? 'd' : conversion;
        format.push_back(std::move(piece));
        piece = {};
    }
    format.push_back(std::move(piece));
    return format;
}

class Resolver {
public:
    Resolver(const ast::Script& written, const std::vector<std::string>& parameters)
        : written_(written), parameters_(parameters)
    {}

    Draft run()
    {
        draft_.script.source = written_.source;
        draft_.script.parameters = written_.parameters;
        draft_.records = written_.records;
        for (const ast::Script::Setting& each : written_.settings)
            setting(each);
        for (const ast::Clause& clause : written_.clauses)
            if (!clause.probes.empty()) // an error was in its first one
                this->clause(clause);
        return std::move(draft_);
    }

private:
    // What a setting of bpftrace's means here. Most are of BPF and of how bpftrace finds things: they change no result.
    void setting(const ast::Script::Setting& setting)
    {
        static constexpr std::array<std::string_view, 16> of_bpf = {
            "cache_user_symbols", "cpp_demangle",  "lazy_symbolication", "license",       "log_size",
            "max_ast_nodes",      "max_bpf_progs", "max_cat_bytes",      "max_probes",    "max_type_res_iterations",
            "on_stack_limit",     "perf_rb_pages", "show_debug_info",    "symbol_source", "use_blazesym",
            "missing_probes"};
        const Expression value = setting.value && !std::holds_alternative<ast::Word>(setting.value->node)
            ? this->value(*setting.value)
            : Expression();
        const auto* const word = setting.value ? std::get_if<ast::Word>(&setting.value->node) : nullptr;
        if (setting.name == "print_maps_on_exit") {
            draft_.script.prints_maps = word ? word->word != "false" : value.number != 0;
            return;
        }
        const bool is_usual = (setting.name == "max_strlen" && value.number == int64_t(string_size))
            || (setting.name == "max_map_keys" && value.number <= 4096)
            || (setting.name == "stack_mode" && (word ? word->word : value.text) == "bpftrace");
        if (is_usual || std::find(of_bpf.begin(), of_bpf.end(), setting.name) != of_bpf.end()
            || setting.name.starts_with("unstable_"))
            return;
        if (setting.name == "max_strlen" || setting.name == "max_map_keys" || setting.name == "stack_mode"
            || setting.name == "str_trunc_trailer")
            kernel_only(setting.where,
                        fmt::format("{} of that value is not in this subset of bpftrace's language", setting.name));
        fail(setting.where, fmt::format("\"{}\" is no setting", setting.name));
    }

    void clause(const ast::Clause& written)
    {
        Clause clause;
        clause.probes = written.probes;
        clause.where = written.where;
        scopes_.assign(1, {});
        clause_ = &clause;
        if (written.filter)
            clause.filter = value(*written.filter);
        statements(clause.actions, written.body);
        draft_.script.clauses.push_back(std::move(clause));
    }

    // ---- Names

    size_t map_index(const std::string& name, Span where)
    {
        const auto [found, added] = maps_.try_emplace(name, draft_.script.maps.size());
        if (added) {
            Map map;
            map.name = name;
            map.where = where;
            draft_.script.maps.push_back(std::move(map));
        }
        return found->second;
    }

    size_t variable_index(const std::string& name, Span where)
    {
        if (const size_t* const found = find_variable(name))
            return *found;
        return scopes_.front()[name] = new_variable(name, where); // seen in all of the clause
    }

    size_t new_variable(const std::string& name, Span where)
    {
        clause_->variables.push_back({.name = name, .where = where});
        return clause_->variables.size() - 1;
    }

    const size_t* find_variable(const std::string& name) const
    {
        for (size_t i = scopes_.size(); i-- > 0;)
            if (const auto found = scopes_[i].find(name); found != scopes_[i].end())
                return &found->second;
        return nullptr;
    }

    Expression variable(const std::string& name, Span where) const
    {
        const size_t* const found = find_variable(name);
        if (!found)
            fail(where, fmt::format("{} has no value here", name));
        Expression e;
        e.kind = Expression::Kind::variable;
        e.variable = *found;
        e.where = where;
        return e;
    }

    // Empty: there is none.
    const std::string& parameter(uint64_t number)
    {
        static const std::string none;
        draft_.script.parameters = std::max<size_t>(draft_.script.parameters, number);
        return number >= 1 && number <= parameters_.size() ? parameters_[number - 1] : none;
    }

    // $1 as a number, 0 if there is none.
    Expression numeric(const ast::Parameter& of, Span where)
    {
        if (of.number == 0) { // $#
            draft_.script.parameters = std::max(draft_.script.parameters, parameters_.size());
            return number_of(static_cast<int64_t>(parameters_.size()), where);
        }
        std::string_view text = parameter(of.number);
        if (text.empty())
            return number_of(0, where);
        const bool minus = text.starts_with('-');
        text.remove_prefix(minus ? 1 : 0);
        const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
        text.remove_prefix(hexadecimal ? 2 : 0);
        uint64_t number = 0;
        const bool octal = !hexadecimal && text.size() > 1 && text.starts_with('0');
        const int base = hexadecimal ? 16 : octal ? 8 : 10;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
        if (error != std::errc() || end != text.data() + text.size())
            fail(where,
                 fmt::format("parameter {} is \"{}\", and no number of 64 bits; str(${}) is its text", of.number,
                             parameter(of.number), of.number));
        return number_of(static_cast<int64_t>(minus ? 0 - number : number), where);
    }

    // ---- Values

    std::vector<Expression> values(const std::vector<ast::Expr>& all)
    {
        std::vector<Expression> found;
        found.reserve(all.size());
        for (const ast::Expr& each : all)
            found.push_back(value(each));
        return found;
    }

    Expression value(const ast::Expr& e)
    {
        if (const Bound* const bound = parameter_of_macro(e))
            return outside([&] { return value(*bound->argument); });
        return std::visit([&](const auto& node) { return value(node, e.where); }, e.node);
    }

    // ---- Macros: their parameters stand for what they are called with, wherever they are mentioned.
    struct Bound {
        std::string name;
        const ast::Expr* argument;
    };

    const Bound* parameter_of_macro(const ast::Expr& e) const
    {
        if (macros_.empty())
            return nullptr;
        const auto* const word = std::get_if<ast::Word>(&e.node);
        const auto* const variable = std::get_if<ast::VariableOf>(&e.node);
        const auto* const map = std::get_if<ast::MapAt>(&e.node);
        for (const Bound& each : macros_.back())
            if ((word && word->word == each.name) || (variable && variable->name == each.name)
                || (map && map->name == each.name && map->keys.empty()))
                return &each;
        return nullptr;
    }

    // Of @x[key], where @x is a parameter.
    const std::string& map_name(const std::string& name) const
    {
        if (!macros_.empty())
            for (const Bound& each : macros_.back())
                if (each.name == name)
                    return std::get<ast::MapAt>(each.argument->node).name;
        return name;
    }

    // What an argument mentions are the caller's names.
    template <class Do> Expression outside(const Do& action)
    {
        std::vector<Bound> inside = std::move(macros_.back());
        macros_.pop_back();
        Expression found = action();
        macros_.push_back(std::move(inside));
        return found;
    }

    Expression expand(const ast::Macro& macro, const ast::Call& node, Span where)
    {
        if (node.arguments.size() != macro.parameters.size())
            fail(where,
                 fmt::format("{}() takes {} argument{}, and has {}", node.name, macro.parameters.size(),
                             macro.parameters.size() == 1 ? "" : "s", node.arguments.size()));
        if (macros_.size() >= most_macros || ++expanded_ > most_expanded)
            fail(where,
                 fmt::format("{}() leads to too many macros: {} in each other and {} in all are the most", node.name,
                             most_macros, most_expanded));
        std::vector<Bound> bound;
        for (size_t i = 0; i < macro.parameters.size(); ++i) {
            const std::string& name = macro.parameters[i];
            const ast::Expr& argument = node.arguments[i];
            if (name.starts_with('$') && !std::holds_alternative<ast::VariableOf>(argument.node))
                fail(argument.where, fmt::format("{}() wants a variable here", node.name));
            if (name.starts_with('@') && !std::holds_alternative<ast::MapAt>(argument.node))
                fail(argument.where, fmt::format("{}() wants a map here", node.name));
            bound.push_back({name, &argument});
        }
        macros_.push_back(std::move(bound));
        Expression found = value(*macro.body);
        macros_.pop_back();
        found.where = where;
        return found;
    }

    static Expression value(const ast::Number& node, Span where) { return number_of(int64_t(node.value), where); }
    static Expression value(const ast::Text& node, Span where)
    {
        Expression found;
        found.kind = Expression::Kind::text;
        found.text = node.value;
        found.where = where;
        return found;
    }
    Expression value(const ast::Parameter& node, Span where) { return numeric(node, where); }
    Expression value(const ast::MapAt& node, Span where)
    {
        Expression found;
        found.kind = Expression::Kind::map;
        found.map = map_index(map_name(node.name), {where.start, node.name.size()});
        found.operands = values(node.keys);
        found.where = where;
        return found;
    }
    Expression value(const ast::VariableOf& node, Span where) const { return variable(node.name, where); }
    Expression value(const ast::Prefix& node, Span where) { return operation_of(node.op, value(*node.of), where); }
    Expression value(const ast::Infix& node, Span)
    {
        Expression left = value(*node.left);
        return operation_of(node.op, std::move(left), value(*node.right));
    }
    Expression value(const ast::Choice& node, Span where)
    {
        Expression found = operation_of(Operator::select, value(*node.condition), where);
        found.operands.push_back(value(*node.yes));
        found.operands.push_back(value(*node.no));
        return found;
    }
    Expression value(const ast::Deref& node, Span where)
    {
        return made(Expression::Kind::at, where, [&](Expression& e) { e.operands.push_back(value(*node.of)); });
    }
    Expression value(const ast::Step& node, Span where)
    {
        return made(Expression::Kind::step, where, [&](Expression& e) {
            e.number = node.by;
            e.is_before = node.is_before;
            e.operands.push_back(value(*node.of));
        });
    }
    Expression value(const ast::Member& node, Span where)
    {
        return made(Expression::Kind::member, where, [&](Expression& e) {
            e.number = node.is_arrow ? 1 : 0;
            e.text = node.name;
            e.operands.push_back(value(*node.of));
        });
    }
    Expression value(const ast::Element& node, Span where)
    {
        return made(Expression::Kind::element, where, [&](Expression& e) {
            e.operands.push_back(value(*node.of));
            e.operands.push_back(value(*node.index));
        });
    }
    Expression value(const ast::Cast& node, Span where)
    {
        Expression of = value(*node.of), found;
        if (node.type->kind == Shape::Kind::integer) {
            found = to_size(std::move(of), node.type->size, node.type->is_signed, where);
        } else {
            found.kind = Expression::Kind::cast;
            found.operands.push_back(std::move(of));
        }
        found.shape = node.type;
        found.where = where;
        return found;
    }
    Expression value(const ast::SizeOf& node, Span where)
    {
        return made(Expression::Kind::size, where, [&](Expression& e) {
            e.shape = node.type;
            if (node.of)
                e.operands.push_back(value(*node.of));
        });
    }
    Expression value(const ast::Tuple& node, Span where)
    {
        return made(Expression::Kind::tuple, where, [&](Expression& e) { e.operands = values(node.elements); });
    }
    template <class Fill> static Expression made(Expression::Kind kind, Span where, const Fill& fill)
    {
        Expression found;
        found.kind = kind;
        found.where = where;
        fill(found);
        return found;
    }

    static Expression builtin(Value what, Span where)
    {
        return made(Expression::Kind::value, where, [&](Expression& e) { e.value = what; });
    }

    // args.NAME
    Expression value(const ast::NamedArgument& node, Span where)
    {
        Expression found = builtin(Value::arg, where);
        found.text = node.name;
        if (std::any_of(clause_->probes.begin(), clause_->probes.end(),
                        [](const Probe& probe) { return probe.kind == Probe::Kind::usdt; }))
            draft_.script.beyond_bpftrace = fmt::format("args.{}", found.text);
        return found;
    }

    Expression value(const ast::Word& node, Span where)
    {
        const std::string& word = node.word;
        if (const auto constant = written_.constants.find(word); constant != written_.constants.end())
            return number_of(constant->second, where);
        if (word == "true" || word == "false")
            return number_of(word == "true", where);
        if (word == "AF_INET" || word == "AF_INET6")
            return number_of(word == "AF_INET" ? AF_INET : AF_INET6, where);
        for (const std::string_view kind : {"arg", "sarg"})
            if (word.starts_with(kind) && is_digits(std::string_view(word).substr(kind.size())))
                return argument(word, kind, where);
        if (word == "username")
            return shown(builtin(Value::uid, where), plain_shape(Shape::Kind::user, 8));
        if (const auto known = builtin_of(word)) {
            Expression found = builtin(*known, where);
            if (*known == Value::stack)
                found.argument = most_stack_frames;
            return found;
        }
        if (is_elsewhere(word, Elsewhere::value))
            kernel_only(where, why_not_here(word, false));
        unknown(word, where);
    }

    [[noreturn]] static void unknown(std::string_view word, Span where)
    {
        if (const std::string_view near = nearest_word(word); !near.empty())
            fail(where, fmt::format("\"{}\" is no value; did you mean \"{}\"?", word, near));
        fail(where,
             fmt::format("\"{}\" is no value: arg0 to arg11, sarg0 to sarg9, args.NAME, str(), retval, tid, pid, comm, "
                         "nsecs, elapsed, probe, func, ustack, cpu, uid, gid and rand are",
                         word));
    }

    // arg0, sarg1
    Expression argument(std::string_view word, std::string_view kind, Span where)
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

    Expression value(const ast::Call& node, Span where)
    {
        const std::string& word = node.name;
        if (const auto macro = written_.macros.find(word); macro != written_.macros.end())
            return expand(macro->second, node, where);
        const auto function = function_of(word);
        if (!function) {
            if (is_elsewhere(word, Elsewhere::function) || is_elsewhere(word, Elsewhere::value))
                kernel_only(node.word, why_not_here(word, is_elsewhere(word, Elsewhere::function)));
            if (const auto known = builtin_of(word); known && node.arguments.empty())
                return builtin(*known, where); // tid()
            if (builtin_of(word))
                kernel_only({node.word.start + node.word.length, 1}, fmt::format("{} has no brackets here", word));
            if (aggregation_of(word))
                fail(node.word, fmt::format("{}() is no value; a map is assigned it: @ = {}(...)", word, word));
            unknown(word, node.word);
        }
        if (function->function == Function::str && node.arguments.size() == 1)
            if (auto text = parameter_text(node.arguments[0], where))
                return *std::move(text);
        if (function->function == Function::ustack)
            return frames(node, where);
        if (function->function == Function::has_key || function->function == Function::len)
            return of_map(*function, node, where);
        std::vector<Expression> given = values(node.arguments);
        if (given.size() < function->least || given.size() > function->most)
            fail(where, fmt::format("{}() is {}", word, function->usage));
        Expression found = call(*function, word, std::move(given), where);
        found.where = where;
        return found;
    }

    // The arguments are as many as they are to be.
    static Expression call(const FunctionWord& function, const std::string& word, std::vector<Expression> given,
                           Span where)
    {
        const auto want_text = [&](size_t index) {
            if (given[index].kind != Expression::Kind::text)
                fail(given[index].where, fmt::format("{}() is {}", word, function.usage));
        };
        const auto cast_to = [&](ShapePtr shape) {
            return made(Expression::Kind::cast, where, [&](Expression& e) {
                e.shape = std::move(shape);
                e.operands.push_back(std::move(given.back()));
            });
        };
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
        case Function::strftime:
            want_text(0);
            return shown(std::move(given[1]), plain_shape(Shape::Kind::time, 8, given[0].text));
        case Function::ntop: return cast_to(plain_shape(Shape::Kind::network, 0));
        case Function::macaddr: return cast_to(plain_shape(Shape::Kind::mac, 6));
        case Function::pton: want_text(0); return network_address(given[0]);
        case Function::bswap: return operation_of(Operator::swap, std::move(given[0]), where);
        case Function::strncmp: {
            if (given[2].kind != Expression::Kind::number || given[2].number < 0)
                fail(given[2].where, "strncmp() wants a number for the length");
            if (given[2].number == 0)
                return number_of(0, where);
            Expression found = operation_of(Operator::not_equal, std::move(given[0]), std::move(given[1]));
            found.number = given[2].number;
            return found;
        }
        case Function::memcmp: {
            if (given[2].kind != Expression::Kind::number || given[2].number <= 0)
                fail(given[2].where, "memcmp() wants a number for the length");
            Expression found = operation_of(Operator::not_equal, std::move(given[0]), std::move(given[1]));
            found.number = given[2].number;
            return found;
        }
        case Function::strlen: return operation_of(Operator::length, std::move(given[0]), where);
        case Function::has_key:
        case Function::len: break;
        case Function::strcontains: return operation_of(Operator::contains, std::move(given[0]), std::move(given[1]));
        case Function::ustack: break;
        }
        throw std::logic_error("no such function");
    }

    // has_key(@map, key), len(@map)
    Expression of_map(const FunctionWord& function, const ast::Call& node, Span where)
    {
        const auto* const map =
            node.arguments.size() == function.most ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
        if (!map || !map->keys.empty())
            fail(where, fmt::format("{}() is {}", node.name, function.usage));
        const bool has = function.function == Function::has_key;
        return made(has ? Expression::Kind::has : Expression::Kind::entries, where, [&](Expression& e) {
            e.map = map_index(map->name, {node.arguments[0].where.start, map->name.size()});
            if (has)
                e.operands = keys_of(node.arguments[1]);
        });
    }

    // One key, or a tuple of keys.
    std::vector<Expression> keys_of(const ast::Expr& e)
    {
        if (const auto* const tuple = std::get_if<ast::Tuple>(&e.node))
            return values(tuple->elements);
        std::vector<Expression> keys;
        keys.push_back(value(e));
        return keys;
    }

    // str(arg0), str(ADDRESS, LENGTH)
    static Expression text_at(std::vector<Expression> given, Span where)
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

    // str($1), str($1 + N): the text of a parameter.
    std::optional<Expression> parameter_text(const ast::Expr& of, Span where)
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

    // ustack(), ustack(N), ustack(MODE), ustack(MODE, N)
    Expression frames(const ast::Call& node, Span where)
    {
        Expression found = builtin(Value::stack, where);
        found.argument = most_stack_frames;
        size_t next = 0;
        if (next < node.arguments.size())
            if (const auto* const mode = std::get_if<ast::Word>(&node.arguments[next].node)) {
                found.unwinds = mode->word == "dwarf";
                if (found.unwinds)
                    draft_.script.beyond_bpftrace = "ustack(dwarf)";
                else if (mode->word != "bpftrace")
                    kernel_only(node.arguments[next].where,
                                "a stack has bpftrace's form here: ustack, ustack(N) or ustack(dwarf)");
                ++next;
            }
        if (next < node.arguments.size()) {
            const auto* const number = std::get_if<ast::Number>(&node.arguments[next].node);
            if (!number || number->value == 0 || number->value > most_stack_frames)
                fail(node.arguments[next].where,
                     fmt::format("ustack(N) wants a number from 1 to {}", most_stack_frames));
            found.argument = static_cast<unsigned>(number->value);
            ++next;
        }
        if (next < node.arguments.size())
            fail(node.arguments[next].where, fmt::format("ustack() is {}", function_of("ustack")->usage));
        return found;
    }

    // ---- Statements

    void statements(std::vector<Statement>& to, const ast::Block& block)
    {
        scopes_.emplace_back();
        for (const ast::Stmt& each : block)
            if (const auto* const unroll = std::get_if<ast::Unroll>(&each.node))
                repeat(to, *unroll);
            else
                to.push_back(statement(each));
        scopes_.pop_back();
    }

    // unroll(N) { ... }
    void repeat(std::vector<Statement>& to, const ast::Unroll& node)
    {
        constexpr size_t most_statements = 1000; // of a script's text, unrolled
        constexpr int64_t most_times = 100;
        const std::vector<Expression> times = values(node.times);
        if (times.size() != 1 || times[0].kind != Expression::Kind::number)
            fail(node.head, "unroll(N) wants a number from 1 to 100");
        if (times[0].number < 1 || times[0].number > most_times)
            fail(node.head, times[0].number < 1 ? "unroll minimum value is 1" : "unroll maximum value is 100");
        std::vector<Statement> once;
        statements(once, node.body);
        for (int64_t i = 0; i < times[0].number; ++i)
            to.insert(to.end(), once.begin(), once.end());
        size_t count = 0;
        each_statement(to, [&](const Statement&) { ++count; });
        if (count > most_statements)
            fail(node.head, fmt::format("more than {} statements, unrolled", most_statements));
    }

    Statement statement(const ast::Stmt& written)
    {
        Statement statement;
        statement.where = written.where;
        Update update;
        std::visit([&](const auto& node) { fill(statement, update, node); }, written.node);
        statement.number = draft_.script.statements++;
        draft_.updates.resize(draft_.script.statements);
        draft_.updates.back() = std::move(update);
        return statement;
    }

    void fill(Statement& statement, Update& update, const ast::Assign& node)
    {
        if (const auto* const map = std::get_if<ast::MapAt>(&node.target.node)) {
            set_map(statement, update, *map, node);
            return;
        }
        const auto& variable = std::get<ast::VariableOf>(node.target.node);
        statement.kind = Statement::Kind::set;
        if (node.op) {
            Expression before = this->variable(variable.name, node.target.where);
            statement.value = operation_of(*node.op, std::move(before), value(node.value));
        } else {
            statement.value = value(node.value);
        }
        statement.variable = variable_index(variable.name, node.target.where);
    }

    void set_map(Statement& statement, Update& update, const ast::MapAt& map, const ast::Assign& node)
    {
        const Span name{node.target.where.start, map.name.size()};
        statement.map = map_index(map.name, name);
        statement.keys = values(map.keys);
        if (node.op == Operator::add || node.op == Operator::subtract) {
            statement.kind = Statement::Kind::add;
            Expression by = value(node.value);
            const Span where = by.where;
            statement.value =
                node.op == Operator::subtract ? operation_of(Operator::negate, std::move(by), where) : std::move(by);
            return;
        }
        const auto* const call = std::get_if<ast::Call>(&node.value.node);
        const AggregationWord* const aggregation = call && !node.op ? aggregation_of(call->name) : nullptr;
        if (aggregation) {
            statement.kind = Statement::Kind::update;
            aggregate(update, *aggregation, *call, node.value.where);
            return;
        }
        statement.kind = Statement::Kind::assign;
        if (!node.op) {
            statement.value = value(node.value);
            return;
        }
        Expression before; // not in one step
        before.kind = Expression::Kind::map;
        before.map = statement.map;
        before.operands = statement.keys;
        before.where = name;
        statement.value = operation_of(*node.op, std::move(before), value(node.value));
    }

    void aggregate(Update& update, const AggregationWord& function, const ast::Call& call, Span where)
    {
        update.kind = function.kind;
        update.function = call.word;
        update.arguments = values(call.arguments);
        if (update.arguments.size() == function.arguments)
            return;
        if (function.kind == MapKind::hist && update.arguments.size() == 2)
            kernel_only(where, "hist() of finer buckets is not in this subset of bpftrace's language");
        fail(where,
             function.kind == MapKind::lhist ? std::string("lhist(VALUE, MIN, MAX, STEP) wants these four")
                                             : fmt::format("{}() wants {}", function.word, function.wants));
    }

    void fill(Statement& statement, Update&, const ast::Alone& node)
    {
        if (const auto* const step = std::get_if<ast::Step>(&node.value.node))
            return this->step(statement, *step, node.value.where);
        if (const auto* const call = std::get_if<ast::Call>(&node.value.node))
            if (!function_of(call->name) && !builtin_of(call->name) && !written_.macros.contains(call->name))
                return this->call(statement, *call);
        statement.kind = Statement::Kind::value;
        statement.value = value(node.value);
    }

    // @x++ and ++$x alone: nobody wants the value.
    void step(Statement& statement, const ast::Step& node, Span where)
    {
        const Span sign = node.is_before ? Span{where.start + where.length - 2, 2} : Span{where.start, 2};
        if (const auto* const map = std::get_if<ast::MapAt>(&node.of->node)) {
            statement.kind = Statement::Kind::add;
            statement.map = map_index(map->name, {node.of->where.start, map->name.size()});
            statement.keys = values(map->keys);
            statement.value = number_of(node.by, sign);
            return;
        }
        const auto& variable = std::get<ast::VariableOf>(node.of->node);
        statement.kind = Statement::Kind::set;
        Expression before = this->variable(variable.name, node.of->where);
        statement.value =
            operation_of(node.by > 0 ? Operator::add : Operator::subtract, std::move(before), number_of(1, sign));
        statement.value->where = join(node.of->where, sign.start > node.of->where.start ? sign : node.of->where);
        statement.variable = variable_index(variable.name, node.of->where);
    }

    void fill(Statement& statement, Update&, const ast::If& node)
    {
        statement.kind = Statement::Kind::branch;
        statement.value = value(node.condition);
        statements(statement.then, node.then);
        statements(statement.otherwise, node.otherwise);
    }

    void fill(Statement& statement, Update&, const ast::While& node)
    {
        statement.kind = Statement::Kind::loop;
        statement.value = value(node.condition);
        statements(statement.then, node.body);
    }

    void fill(Statement& statement, Update&, const ast::Let& node)
    {
        statement.kind = Statement::Kind::set;
        if (node.value)
            statement.value = value(*node.value);
        const size_t index = scopes_.back()[node.name] = new_variable(node.name, statement.where);
        statement.variable = index;
        if (!node.value) { // what it is, the first assignment says
            statement.kind = Statement::Kind::branch;
            statement.value = number_of(0, node.word);
        }
    }

    // $at = from, $end = to, and as long as $at < $end: $i = $at, $at = $at + 1, and what is to be done.
    void fill(Statement& statement, Update&, const ast::Range& node)
    {
        const Span where = node.word;
        const std::string at = fmt::format("at {}", draft_.script.statements),
                          end = fmt::format("end {}", draft_.script.statements);
        const auto set = [&](size_t variable, Expression value) {
            Statement made = part_of(statement, Statement::Kind::set);
            made.where = where; // as the variables have it: the first that is set there says its type
            made.variable = variable;
            made.value = std::move(value);
            return made;
        };
        Expression from = value(node.from), to = value(node.to);
        scopes_.emplace_back();
        const size_t at_index = scopes_.back()[at] = new_variable(at, where);
        const size_t end_index = scopes_.back()[end] = new_variable(end, where);
        const size_t own = scopes_.back()[node.name] = new_variable(node.name, where);
        Statement loop = part_of(statement, Statement::Kind::loop);
        loop.value = operation_of(Operator::less, variable(at, where), variable(end, where));
        loop.then.push_back(set(own, variable(at, where)));
        loop.then.push_back(set(at_index, operation_of(Operator::add, variable(at, where), number_of(1, where))));
        statements(loop.then, node.body);
        scopes_.pop_back();
        statement.kind = Statement::Kind::branch;
        statement.value = number_of(1, where);
        statement.then.push_back(set(at_index, std::move(from)));
        statement.then.push_back(set(end_index, std::move(to)));
        statement.then.push_back(std::move(loop));
    }

    static void fill(Statement&, Update&, const ast::Unroll&) { throw std::logic_error("unrolled before"); }

    static void fill(Statement& statement, Update&, const ast::Way& node)
    {
        using Kind = ast::Way::Kind;
        statement.kind = node.kind == Kind::leave ? Statement::Kind::leave
            : node.kind == Kind::next             ? Statement::Kind::next
                                                  : Statement::Kind::end;
    }

    void call(Statement& statement, const ast::Call& node)
    {
        using Kind = Statement::Kind;
        const std::string& name = node.name;
        const auto kind = statement_of(name);
        if (!kind) {
            if (is_elsewhere(name, Elsewhere::function))
                kernel_only(node.word, why_not_here(name, true));
            if (aggregation_of(name))
                fail(node.word, fmt::format("the result of {}() belongs to a map: @ = {}(...)", name, name));
            fail(node.word, unknown_statement(name));
        }
        statement.kind = *kind;
        switch (*kind) {
        case Kind::print:
            if (const auto* const map =
                    !node.arguments.empty() ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
                !map || !map->keys.empty())
                return print_value(statement, node);
            [[fallthrough]];
        case Kind::remove:
        case Kind::clear:
        case Kind::zero: return of_map(statement, node);
        case Kind::cat:
        case Kind::printf:
            statement.text = name == "warnf" ? "WARNING" : name == "errorf" ? "ERROR" : "";
            return print_text(statement, node);
        case Kind::join: return join_strings(statement, node);
        case Kind::time: {
            const auto given = values(node.arguments);
            if (given.size() > 1 || (given.size() == 1 && given[0].kind != Expression::Kind::text))
                fail(statement.where, "time() wants a string, or nothing");
            statement.text = given.empty() ? "%H:%M:%S\n" : given[0].text;
            return;
        }
        case Kind::exit:
            if (node.arguments.size() > 1)
                fail(statement.where, "exit() is exit() or exit(STATUS)");
            statement.values = values(node.arguments);
            return;
        case Kind::dump:
            if (!node.arguments.empty())
                fail(statement.where, "dump() has no arguments");
            return;
        default: break;
        }
        throw std::logic_error("no such statement");
    }

    // delete(@m[keys]), clear(@m), print(@m, TOP, DIV)
    void of_map(Statement& statement, const ast::Call& node)
    {
        const auto* const map = !node.arguments.empty() ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
        if (!map)
            fail(node.arguments.empty() ? statement.where : node.arguments[0].where,
                 fmt::format("{}() wants a map", node.name));
        statement.map = map_index(map->name, {node.arguments[0].where.start, map->name.size()});
        statement.keys = values(map->keys);
        if (statement.kind != Statement::Kind::remove && !statement.keys.empty())
            kernel_only(map->brackets, fmt::format("{}() takes whole maps here", node.name));
        size_t next = 1;
        if (statement.kind == Statement::Kind::remove && node.arguments.size() > 1 && map->keys.empty())
            statement.keys = keys_of(node.arguments[next++]); // delete(@m, key)
        if (statement.kind == Statement::Kind::print)
            for (uint32_t* limit : {&statement.top, &statement.div})
                if (next < node.arguments.size()) {
                    const auto* const number = std::get_if<ast::Number>(&node.arguments[next].node);
                    if (!number || number->value > std::numeric_limits<int32_t>::max())
                        fail(node.arguments[next].where, "print(@map, TOP, DIV) wants numbers");
                    *limit = static_cast<uint32_t>(number->value);
                    ++next;
                }
        if (next < node.arguments.size())
            fail(node.arguments[next].where,
                 fmt::format("\")\" is wanted after {}", next == 1 ? "the map" : "the numbers"));
    }

    // print(value)
    void print_value(Statement& statement, const ast::Call& node)
    {
        statement.kind = Statement::Kind::printf;
        statement.is_value = true;
        if (node.arguments.empty())
            fail(statement.where, "print() wants a map or a value");
        statement.values.push_back(value(node.arguments[0]));
        if (node.arguments.size() > 1)
            kernel_only(node.arguments[1].where, "print() of a value has no limits here");
    }

    void print_text(Statement& statement, const ast::Call& node)
    {
        const auto* const text = !node.arguments.empty() ? std::get_if<ast::Text>(&node.arguments[0].node) : nullptr;
        if (!text)
            fail(node.arguments.empty() ? statement.where : node.arguments[0].where,
                 fmt::format("{}() wants a string", node.name));
        statement.format = read_format(text->value, node.arguments[0].where);
        for (size_t i = 1; i < node.arguments.size(); ++i)
            statement.values.push_back(value(node.arguments[i]));
        const size_t wanted = statement.format.size() - 1;
        if (statement.values.size() != wanted)
            fail({node.arguments[0].where.start,
                  statement.where.start + statement.where.length - node.arguments[0].where.start},
                 fmt::format("{}() wants {} value{} for this text, and has {}", node.name, wanted,
                             wanted == 1 ? "" : "s", statement.values.size()));
    }

    Statement part_of(const Statement& whole, Statement::Kind kind)
    {
        Statement part;
        part.kind = kind;
        part.where = whole.where;
        part.number = draft_.script.statements++;
        draft_.updates.resize(draft_.script.statements);
        return part;
    }

    // join(POINTERS), join(POINTERS, "between"): $p = POINTERS, and as long as $p[i] is not 0 an event with str($p[i]); then one that
    // says that they are complete.
    void join_strings(Statement& statement, const ast::Call& node)
    {
        std::vector<Expression> given = values(node.arguments);
        const Span where = statement.where;
        if (given.empty() || given.size() > 2 || (given.size() == 2 && given[1].kind != Expression::Kind::text))
            fail(where, "join() is join(ADDRESS) or join(ADDRESS, \"between\")");
        const std::string hidden = fmt::format("join {}", draft_.script.statements);
        Statement set = part_of(statement, Statement::Kind::set);
        set.variable = variable_index(hidden, where);
        set.value = std::move(given[0]);
        const auto pointer = [&](unsigned index) {
            const Expression cast = made(Expression::Kind::cast, where, [&](Expression& e) {
                e.shape = pointer_shape(integer_shape(8, false));
                e.operands.push_back(
                    operation_of(Operator::add, variable(hidden, where), number_of(int64_t(8) * index, where)));
            });
            return made(Expression::Kind::at, where, [&](Expression& e) { e.operands.push_back(cast); });
        };
        std::vector<Statement> strings;
        for (unsigned i = most_joined; i-- > 0;) {
            Statement one = part_of(statement, Statement::Kind::join),
                      there = part_of(statement, Statement::Kind::branch);
            Expression text = builtin(Value::str_arg, where);
            text.operands.push_back(pointer(i));
            one.values.push_back(std::move(text));
            one.top = i;
            there.value = pointer(i);
            there.then.push_back(std::move(one));
            there.then.insert(there.then.end(), std::make_move_iterator(strings.begin()),
                              std::make_move_iterator(strings.end()));
            strings.clear();
            strings.push_back(std::move(there));
        }
        statement.kind = Statement::Kind::branch;
        statement.value = number_of(1, where);
        statement.then.push_back(std::move(set));
        statement.then.push_back(std::move(strings.front()));
        statement.then.push_back(part_of(statement, Statement::Kind::join));
        statement.then.back().text = given.size() == 2 ? given[1].text : " ";
    }

    const ast::Script& written_;
    const std::vector<std::string>& parameters_;
    Draft draft_;
    std::map<std::string, size_t> maps_;
    std::vector<std::map<std::string, size_t>> scopes_; // variables of the clause, and of the blocks around a statement
    Clause* clause_ = nullptr;
    std::vector<std::vector<Bound>> macros_; // that are being expanded, the innermost last
    size_t expanded_ = 0;
};

} // namespace

Draft resolve(const ast::Script& script, const std::vector<std::string>& parameters)
{
    return Resolver(script, parameters).run();
}

} // namespace fastsdt::engine
