// SPDX-License-Identifier: BSD-2-Clause
// Recursive descent. Precedence is that of bpftrace 0.17, src/parser.yy, which is C's.
#include "arch/args.h"
#include "script/lexer.h"
#include "script/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <limits>
#include <map>

namespace fastsdt::engine {
namespace {

constexpr unsigned most_stack_arguments = 10;     ///< sarg0 to sarg9, as in bpftrace
constexpr size_t most_elements = size_t(1) << 20; ///< of an array
constexpr size_t deepest = 100;                   ///< nested brackets and operators: no text may use up our stack

struct Infix {
    std::string_view word;
    Operator op;
    int precedence; ///< the higher binds closer
};
constexpr std::array<Infix, 18> infixes = {{{"||", Operator::logical_or, 1},
                                            {"&&", Operator::logical_and, 2},
                                            {"|", Operator::bit_or, 3},
                                            {"^", Operator::bit_xor, 4},
                                            {"&", Operator::bit_and, 5},
                                            {"==", Operator::equal, 6},
                                            {"!=", Operator::not_equal, 6},
                                            {"<", Operator::less, 7},
                                            {"<=", Operator::less_equal, 7},
                                            {">", Operator::greater, 7},
                                            {">=", Operator::greater_equal, 7},
                                            {"<<", Operator::shift_left, 8},
                                            {">>", Operator::shift_right, 8},
                                            {"+", Operator::add, 9},
                                            {"-", Operator::subtract, 9},
                                            {"*", Operator::multiply, 10},
                                            {"/", Operator::divide, 10},
                                            {"%", Operator::modulo, 10}}};

struct Aggregation {
    std::string_view name;
    MapKind kind;
    size_t arguments;
};
constexpr std::array<Aggregation, 8> aggregations = {{{"count", MapKind::count, 0},
                                                      {"sum", MapKind::sum, 1},
                                                      {"min", MapKind::min, 1},
                                                      {"max", MapKind::max, 1},
                                                      {"avg", MapKind::avg, 1},
                                                      {"stats", MapKind::stats, 1},
                                                      {"hist", MapKind::hist, 1},
                                                      {"lhist", MapKind::lhist, 4}}};

// Values that bpftrace 0.17 to 0.23 has and this subset lacks: src/lexer.l.
constexpr std::array<std::string_view, 8> kernel_values = {"cgroup", "ctx",      "curtask", "jiffies",
                                                           "kstack", "usermode", "ppid",    "ncpus"};
constexpr std::array<std::string_view, 27> kernel_functions = {
    "cgroupid",      "kaddr",    "kptr",      "ksym",   "override",     "cgroup_path", "signal",     "system", "uptr",
    "path",          "unwatch",  "skboutput", "debugf", "kstack",       "nsecs",       "has_key",    "len",    "errorf",
    "socket_cookie", "offsetof", "pid",       "tid",    "percpu_kaddr", "strcap",      "cgroupname", "warnf",  "fail"};
/// What no program can tell of itself: the reason, by the word.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> of_kernel = {{
    {"kstack", "the kernel's stack"},
    {"curtask", "the kernel's task"},
    {"ctx", "the context of a BPF program"},
    {"jiffies", "the kernel's counter"},
    {"cgroup", "the number of the kernel's control group"},
    {"cgroupid", "the number of the kernel's control group"},
    {"cgroup_path", "the kernel's control groups"},
    {"kaddr", "the kernel's symbols"},
    {"ksym", "the kernel's symbols"},
    {"kptr", "the kernel's memory"},
    {"path", "the kernel's files"},
    {"skboutput", "the kernel's packets"},
    {"debugf", "the kernel's trace"},
    {"override", "what the kernel's functions return"},
    {"unwatch", "the kernel's watchpoints"},
    {"socket_cookie", "the kernel's sockets"},
}};
constexpr std::array<std::string_view, 3> kernel_words = {"for", "let", "import"};

/// C's types and bpftrace's names for them.
struct BaseType {
    std::string_view name;
    size_t size;
    bool is_signed;
};
constexpr std::array<BaseType, 38> base_types = {{
    {"int8", 1, true},     {"int16", 2, true},      {"int32", 4, true},     {"int64", 8, true},
    {"uint8", 1, false},   {"uint16", 2, false},    {"uint32", 4, false},   {"uint64", 8, false},
    {"int8_t", 1, true},   {"int16_t", 2, true},    {"int32_t", 4, true},   {"int64_t", 8, true},
    {"uint8_t", 1, false}, {"uint16_t", 2, false},  {"uint32_t", 4, false}, {"uint64_t", 8, false},
    {"s8", 1, true},       {"s16", 2, true},        {"s32", 4, true},       {"s64", 8, true},
    {"u8", 1, false},      {"u16", 2, false},       {"u32", 4, false},      {"u64", 8, false},
    {"__s8", 1, true},     {"__s32", 4, true},      {"__s64", 8, true},     {"__u8", 1, false},
    {"__u16", 2, false},   {"__u32", 4, false},     {"__u64", 8, false},    {"size_t", 8, false},
    {"ssize_t", 8, true},  {"uintptr_t", 8, false}, {"intptr_t", 8, true},  {"bool", 1, false},
    {"_Bool", 1, false},   {"off_t", 8, true},
}};
/// Words of which C makes integers.
constexpr std::array<std::string_view, 6> integer_words = {"unsigned", "signed", "char", "short", "int", "long"};
constexpr std::array<std::string_view, 31> kernel_probes = {"kprobe",
                                                            "k",
                                                            "kretprobe",
                                                            "kr",
                                                            "tracepoint",
                                                            "t",
                                                            "rawtracepoint",
                                                            "rt",
                                                            "profile",
                                                            "p",
                                                            "software",
                                                            "s",
                                                            "hardware",
                                                            "h",
                                                            "watchpoint",
                                                            "w",
                                                            "asyncwatchpoint",
                                                            "aw",
                                                            "kfunc",
                                                            "f",
                                                            "fentry",
                                                            "kretfunc",
                                                            "fr",
                                                            "fexit",
                                                            "iter",
                                                            "it",
                                                            "self",
                                                            "bench",
                                                            "rawtp",
                                                            "config",
                                                            "macro"};

/// Statements that begin with these are values.
constexpr std::array<std::string_view, 6> value_words = {"nsecs", "elapsed", "pid", "tid", "probe", "comm"};

template <size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

Span join(Span a, Span b)
{
    return {a.start, b.start + b.length - a.start};
}

class Parser {
public:
    Parser(std::string_view text, const std::vector<std::string>& parameters) : lexer_(text), parameters_(parameters)
    {
        draft_.script.source = text;
    }

    Draft run()
    {
        while (lexer_.peek() != '\0')
            if (lexer_.ahead("struct") || lexer_.ahead("union") || lexer_.ahead("enum"))
                declaration();
            else
                clause();
        if (draft_.script.clauses.empty())
            fail(lexer_.here(), "the script is empty: PROBE /FILTER/ { ACTION } is wanted");
        return std::move(draft_);
    }

private:
    [[noreturn]] static void fail(Span where, const std::string& what) { throw ScriptError(where, what); }
    [[noreturn]] static void kernel_only(Span where, const std::string& what) { throw ScriptError(where, what, true); }

    bool is(std::string_view symbol) const
    {
        return (token_.kind == Token::Kind::symbol || token_.kind == Token::Kind::end_filter) && token_.word == symbol;
    }
    void advance()
    {
        last_ = token_.where;
        last_word_ = token_.word;
        token_ = lexer_.next();
    }
    bool accept(std::string_view symbol)
    {
        if (!is(symbol))
            return false;
        advance();
        return true;
    }
    std::string found() const
    {
        return token_.kind == Token::Kind::end ? "the end of the script" : fmt::format("\"{}\"", token_.word);
    }
    void expect(std::string_view symbol, std::string_view after)
    {
        if (!accept(symbol))
            fail(token_.where, fmt::format("\"{}\" is wanted after {}, and not {}", symbol, after, found()));
    }

    // PROBE, PROBE /FILTER/ { STATEMENTS }
    void clause()
    {
        Clause clause;
        variables_.clear();
        do
            clause.probes.push_back(probe());
        while (lexer_.peek() == ',' && (lexer_.skip(), true));
        clause.where = join(clause.probes.front().where, clause.probes.back().where);
        same_kind(clause);
        if (lexer_.peek() == '/') {
            lexer_.skip();
            advance();
            clause_ = &clause;
            clause.filter = expression();
            if (token_.kind != Token::Kind::end_filter)
                fail(token_.where, fmt::format("the filter ends with \"/\" before \"{{\", and not with {}", found()));
        }
        if (lexer_.peek() != '{')
            fail(lexer_.here(),
                 clause.filter ? "\"{\" is wanted after the filter"
                               : "\"{\", or a blank and a filter, is wanted after the probe");
        advance(); // the brace
        advance();
        clause.actions = statements(clause);
        draft_.script.clauses.push_back(std::move(clause));
    }

    // Up to the closing brace, which stays: behind the last one of a script there is no word.
    std::vector<Statement> statements(Clause& clause)
    {
        std::vector<Statement> found;
        while (!is("}")) {
            if (accept(";"))
                continue;
            if (word("unroll"))
                repeat(found, clause);
            else
                found.push_back(statement(clause));
            const bool ends_itself = last_word_ == "}";
            if (!is("}") && !accept(";") && !ends_itself)
                fail(token_.where,
                     fmt::format("\";\" or \"}}\" is wanted after a statement, and not {}", this->found()));
        }
        return found;
    }

    std::vector<Statement> block(Clause& clause, std::string_view after)
    {
        const Depth depth(depth_, token_.where);
        expect("{", after);
        std::vector<Statement> found = statements(clause);
        advance();
        return found;
    }

    bool word(std::string_view name) const { return token_.kind == Token::Kind::identifier && token_.word == name; }

    // unroll(N) { ... }
    void repeat(std::vector<Statement>& to, Clause& clause)
    {
        constexpr size_t most_statements = 1000; // of a script's text, unrolled
        const Span start = token_.where;
        advance();
        const auto times = arguments("unroll");
        constexpr int64_t most_times = 100;
        if (times.size() != 1 || times[0].kind != Expression::Kind::number)
            fail(join(start, last_), "unroll(N) wants a number from 1 to 100");
        if (times[0].number < 1 || times[0].number > most_times)
            fail(join(start, last_), times[0].number < 1 ? "unroll minimum value is 1" : "unroll maximum value is 100");
        const std::vector<Statement> once = block(clause, "unroll()");
        for (int64_t i = 0; i < times[0].number; ++i)
            to.insert(to.end(), once.begin(), once.end());
        size_t count = 0;
        each_statement(to, [&](const Statement&) { ++count; });
        if (count > most_statements)
            fail(join(start, last_), fmt::format("more than {} statements, unrolled", most_statements));
    }

    void same_kind(const Clause& clause)
    {
        for (const Probe& probe : clause.probes)
            if (probe.has_sites() != clause.probes.front().has_sites())
                kernel_only(probe.where, "probes of programs and BEGIN, END or interval need separate clauses");
    }

    Probe probe()
    {
        const Token token = lexer_.probe();
        if (token.word.empty())
            fail(lexer_.here(),
                 "a probe is wanted: usdt:FILE:PROVIDER:NAME, uprobe:FILE:FUNCTION, uretprobe:FILE:FUNCTION, "
                 "interval:s:N, BEGIN or END");
        std::vector<std::string> parts(1);
        bool quoted = false;
        for (size_t i = 0; i < token.word.size(); ++i) {
            const char c = token.word[i];
            if (c == '\\' && i + 1 < token.word.size() && token.word[i + 1] == '"')
                parts.back() += token.word[++i];
            else if (c == '"')
                quoted = !quoted;
            else if (c == '$' && !quoted && digit_at(token.word, i + 1))
                parts.back() += parameter_in(token, i);
            else if (c == ':' && !quoted)
                parts.emplace_back();
            else
                parts.back() += c;
        }
        Probe probe;
        probe.text = token.word;
        probe.where = token.where;
        const std::string& type = parts[0];
        if (type == "BEGIN" || type == "END") {
            if (parts.size() != 1)
                fail(token.where, fmt::format("{} has no further parts", type));
            probe.kind = type == "END" ? Probe::Kind::end : Probe::Kind::begin;
        } else if (type == "interval" || type == "i") {
            interval(probe, parts);
        } else if (type == "usdt" || type == "U") {
            if (parts.size() == 2 && parts[1] == "*") // usdt:*
                parts.emplace_back("*");
            if (parts.size() == 3)
                parts.insert(parts.begin() + 2, "*");
            if (parts.size() != 4)
                fail(token.where, "a USDT probe is usdt:FILE:PROVIDER:NAME");
            probe.provider = parts[2].empty() ? "*" : parts[2];
            file_and_name(probe, parts[1], parts[3]);
        } else if (type == "uprobe" || type == "u" || type == "uretprobe" || type == "ur") {
            probe.kind = type.starts_with("ur") ? Probe::Kind::exit : Probe::Kind::entry;
            if (parts.size() != 3)
                fail(token.where, fmt::format("a function is {}:FILE:FUNCTION", type));
            file_and_name(probe, parts[1], parts[2]);
        } else if (one_of(type, kernel_probes)) {
            kernel_only(token.where,
                        fmt::format("\"{}\" is not in this subset of bpftrace's language: it has usdt, uprobe, "
                                    "uretprobe, interval, BEGIN "
                                    "and END",
                                    type));
        } else if (type.starts_with('#')) {
            kernel_only(token.where, "the preprocessor is not in this subset of bpftrace's language");
        } else {
            fail(token.where,
                 fmt::format("\"{}\" is no kind of probe: usdt, uprobe, uretprobe, interval, BEGIN and END are", type));
        }
        return probe;
    }

    static bool digit_at(std::string_view text, size_t at)
    {
        return at < text.size() && text[at] >= '0' && text[at] <= '9';
    }

    // Of a probe's name, from the "$" on.
    const std::string& parameter_in(const Token& token, size_t& at)
    {
        uint64_t number = 0;
        const size_t start = at;
        for (; digit_at(token.word, at + 1); ++at)
            number =
                std::min<uint64_t>(number * 10 + static_cast<uint64_t>(token.word[at + 1] - '0'), most_parameters + 1);
        const std::string& text = parameter(number);
        if (text.empty())
            fail({token.where.start + start, at + 1 - start}, fmt::format("there is no parameter {}", number));
        return text;
    }

    // Empty: there is none.
    const std::string& parameter(uint64_t number)
    {
        static const std::string none;
        draft_.script.parameters = std::max<size_t>(draft_.script.parameters, number);
        return number >= 1 && number <= parameters_.size() ? parameters_[number - 1] : none;
    }

    // $1 as a number, 0 if there is none.
    Expression numeric_parameter()
    {
        const Token token = token_;
        advance();
        if (token.number == 0) { // $#
            draft_.script.parameters = std::max(draft_.script.parameters, parameters_.size());
            return number_of(static_cast<int64_t>(parameters_.size()), token.where);
        }
        std::string_view text = parameter(token.number);
        if (text.empty())
            return number_of(0, token.where);
        const bool minus = text.starts_with('-');
        text.remove_prefix(minus ? 1 : 0);
        const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
        text.remove_prefix(hexadecimal ? 2 : 0);
        uint64_t number = 0;
        const bool octal = !hexadecimal && text.size() > 1 && text.starts_with('0');
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number,
                                                  hexadecimal ? 16
                                                      : octal ? 8
                                                              : 10);
        if (error != std::errc() || end != text.data() + text.size())
            fail(token.where,
                 fmt::format("parameter {} is \"{}\", and no number of 64 bits; str(${}) is its text", token.number,
                             parameter(token.number), token.number));
        return number_of(static_cast<int64_t>(minus ? 0 - number : number), token.where);
    }

    void file_and_name(Probe& probe, const std::string& file, const std::string& name)
    {
        if (name.empty())
            fail(probe.where, "the probe's name is missing; * is every one");
        if (name.find('/') != name.npos)
            fail(probe.where, "a name has no \"/\": a blank is wanted before the filter");
        const bool is_whole = name.ends_with("+0") || name.find('+') == name.npos;
        if (probe.kind != Probe::Kind::usdt && !is_whole)
            kernel_only(probe.where, "an offset into a function is not in this subset of bpftrace's language");
        probe.file = file.empty() ? "*" : file; // every file of the process
        probe.name = probe.kind != Probe::Kind::usdt && name.ends_with("+0") ? name.substr(0, name.size() - 2) : name;
    }

    void interval(Probe& probe, const std::vector<std::string>& parts)
    {
        probe.kind = Probe::Kind::interval;
        if (parts.size() != 3 || parts[2].empty()
            || !std::all_of(parts[2].begin(), parts[2].end(), [](char c) { return c >= '0' && c <= '9'; }))
            fail(probe.where, "an interval is interval:s:N, interval:ms:N, interval:us:N or interval:hz:N");
        if (parts[1] != "s" && parts[1] != "ms" && parts[1] != "us" && parts[1] != "hz")
            fail(probe.where, "an interval is interval:s:N, interval:ms:N, interval:us:N or interval:hz:N");
        constexpr uint64_t most = 1'000'000'000; // some 11 days of ms, 30 years of s
        uint64_t number = 0;
        for (char c : parts[2])
            number = std::min(number * 10 + static_cast<uint64_t>(c - '0'), most + 1);
        if (number == 0 || number > most)
            fail(probe.where, fmt::format("an interval is from 1 to {}", most));
        constexpr uint64_t million = 1'000'000, thousand = 1000;
        probe.interval_us = parts[1] == "s" ? number * million
            : parts[1] == "ms"              ? number * thousand
            : parts[1] == "us"              ? number
                                            : std::max<uint64_t>(million / number, 1);
    }

    size_t map_index(const Token& token)
    {
        const std::string name(token.word);
        const auto [found, added] = maps_.try_emplace(name, draft_.script.maps.size());
        if (added) {
            Map map;
            map.name = name;
            map.where = token.where;
            draft_.script.maps.push_back(std::move(map));
        }
        return found->second;
    }

    // [key, key], or nothing
    std::vector<Expression> keys()
    {
        std::vector<Expression> found;
        if (!accept("["))
            return found;
        do
            found.push_back(expression());
        while (accept(","));
        expect("]", "a key");
        return found;
    }

    Statement statement(Clause& clause)
    {
        clause_ = &clause;
        Statement statement;
        statement.where = token_.where;
        update_ = {};
        if (token_.kind == Token::Kind::map || is("++") || is("--"))
            assignment(statement);
        else if (token_.kind == Token::Kind::variable)
            setting(statement);
        else if (word("if"))
            branch(statement, clause);
        else if (word("while"))
            loop(statement, clause);
        else if (token_.kind == Token::Kind::identifier && one_of(token_.word, value_words))
            lone_value(statement, clause, expression_without_choice());
        else if (token_.kind == Token::Kind::identifier)
            call(statement);
        else if (is("(") || is("*"))
            lone_value(statement, clause, expression_without_choice());
        else
            fail(token_.where,
                 fmt::format("a statement begins with a map, a variable or a function, and not with {}", found()));
        statement.where = join(statement.where, last_);
        statement.number = draft_.script.statements++;
        draft_.updates.resize(draft_.script.statements);
        draft_.updates.back() = std::move(update_);
        return statement;
    }

    // What stands between the word and the block.
    void condition(Statement& statement, const char* word)
    {
        advance();
        expect("(", word);
        statement.value = expression();
        expect(")", "the condition");
    }

    // if (a) { ... } else if (b) { ... } else { ... }
    void branch(Statement& statement, Clause& clause)
    {
        const Depth depth(depth_, token_.where);
        statement.kind = Statement::Kind::branch;
        condition(statement, "\"if\"");
        statement.then = block(clause, "the condition");
        if (!word("else"))
            return;
        advance();
        if (word("if"))
            statement.otherwise.push_back(this->statement(clause));
        else
            statement.otherwise = block(clause, "\"else\"");
    }

    // while (a) { ... }
    void loop(Statement& statement, Clause& clause)
    {
        const Depth depth(depth_, token_.where);
        statement.kind = Statement::Kind::loop;
        condition(statement, "\"while\"");
        ++loops_;
        statement.then = block(clause, "the condition");
        --loops_;
    }

    Expression expression_without_choice() { return infix(1); }

    // A value alone, or: a ? f() : g()
    void lone_value(Statement& statement, Clause& clause, Expression value)
    {
        statement.value = std::move(value);
        statement.kind = Statement::Kind::value;
        if (!accept("?"))
            return;
        statement.kind = Statement::Kind::branch;
        statement.then.push_back(this->statement(clause));
        expect(":", "the value of \"?\"");
        statement.otherwise.push_back(this->statement(clause));
    }

    // struct a { ... }; union a { ... }; enum a { ... };
    void declaration()
    {
        advance();
        const bool is_enum = word("enum");
        const Span start = token_.where;
        if (is_enum)
            enumeration();
        else
            type_name(true);
        if (last_word_ != "}" && !is("}"))
            fail(start, "a structure is declared as struct NAME { MEMBERS }");
        if (lexer_.peek() == ';')
            lexer_.skip();
    }

    void enumeration()
    {
        advance();
        if (token_.kind == Token::Kind::identifier)
            advance();
        expect("{", "\"enum\"");
        for (int64_t next = 0; !is("}"); ++next) {
            if (token_.kind != Token::Kind::identifier)
                fail(token_.where, fmt::format("the name of a constant is wanted, and not {}", found()));
            const std::string name(token_.word);
            advance();
            if (accept("=")) {
                const bool minus = accept("-");
                if (token_.kind != Token::Kind::number)
                    fail(token_.where, "a constant is a number");
                next = minus ? -static_cast<int64_t>(token_.number) : static_cast<int64_t>(token_.number);
                advance();
            }
            constants_[name] = next;
            if (!is("}"))
                expect(",", "a constant");
        }
    }

    // A type: "unsigned int", "struct a", "struct { ... }" without the stars behind it. `stays`: the brace at the end of a
    // structure is left, since no word follows it.
    ShapePtr type_name(bool stays = false)
    {
        while (word("const") || word("volatile"))
            advance();
        const Token token = token_;
        if (word("struct") || word("union"))
            return record_name(stays);
        if (one_of(token.word, integer_words))
            return integer_name();
        advance();
        if (token.word == "enum") {
            advance();
            return integer_shape(4, false);
        }
        if (token.word == "void")
            return nullptr;
        for (const BaseType& type : base_types)
            if (type.name == token.word)
                return integer_shape(type.size, type.is_signed);
        return plain_shape(Shape::Kind::record, 0, std::string(token.word)); // a typedef
    }

    ShapePtr integer_name()
    {
        size_t size = 4;
        bool is_signed = true, is_char = false;
        for (; token_.kind == Token::Kind::identifier && one_of(token_.word, integer_words); advance()) {
            is_char = is_char || token_.word == "char";
            is_signed = is_signed && token_.word != "unsigned";
            size = token_.word == "char" ? 1 : token_.word == "short" ? 2 : token_.word == "long" ? 8 : size;
        }
        if (is_char && is_signed)
            return std::make_shared<const Shape>(Shape{.size = 1, .is_signed = true, .name = "char"});
        return integer_shape(size, is_signed);
    }

    ShapePtr record_name(bool stays)
    {
        const Depth depth(depth_, token_.where);
        const bool is_union = word("union");
        std::string name(token_.word);
        advance();
        if (token_.kind == Token::Kind::identifier) {
            name += ' ' + std::string(token_.word);
            advance();
        } else if (!is("{")) {
            fail(token_.where, fmt::format("the name of a structure is wanted, and not {}", found()));
        }
        if (!is("{"))
            return plain_shape(Shape::Kind::record, 0, name);
        RecordBuilder record(name, is_union);
        advance();
        while (!is("}")) {
            if (token_.kind != Token::Kind::identifier)
                fail(token_.where, fmt::format("the type of a member is wanted, and not {}", found()));
            const Span where = token_.where;
            const ShapePtr type = type_name();
            if (is(";")) { // a structure without a name
                record.add("", complete(type, where));
            } else {
                do
                    member(record, type);
                while (accept(","));
            }
            if (!is("}"))
                expect(";", "a member");
        }
        const ShapePtr made = record.done();
        draft_.records[name] = made;
        if (!stays)
            advance();
        return made;
    }

    ShapePtr complete(const ShapePtr& shape, Span where)
    {
        if (!shape)
            fail(where, "a member has a type with a size");
        if (shape->kind != Shape::Kind::record || shape->size != 0)
            return shape;
        const auto known = draft_.records.find(shape->name);
        if (known == draft_.records.end())
            kernel_only(where, fmt::format("{} is not declared before it is the type of a member", shape->name));
        return known->second;
    }

    ShapePtr stars(ShapePtr type)
    {
        while (accept("*")) {
            type = pointer_shape(type);
            while (word("const") || word("volatile"))
                advance();
        }
        return type;
    }

    void member(RecordBuilder& record, const ShapePtr& base)
    {
        const Span where = token_.where;
        ShapePtr type = stars(base);
        std::string name;
        if (token_.kind == Token::Kind::identifier) {
            name = token_.word;
            advance();
        } else if (!is(":")) {
            fail(token_.where, fmt::format("the name of a member is wanted, and not {}", found()));
        }
        const auto number = [&] {
            if (token_.kind != Token::Kind::number || token_.number > most_elements)
                fail(token_.where, fmt::format("a number is wanted, and not {}", found()));
            const auto found = static_cast<size_t>(token_.number);
            advance();
            return found;
        };
        if (accept(":")) {
            type = complete(type, where);
            const size_t bits = number();
            if (type->kind != Shape::Kind::integer || bits > type->size * 8)
                fail(where, "a bit field is a part of an integer");
            record.add_bits(std::move(name), type, unsigned(bits));
            return;
        }
        std::vector<size_t> counts;
        while (accept("[")) {
            counts.push_back(is("]") ? 0 : number());
            expect("]", "the number of elements");
        }
        type = complete(type, where);
        for (size_t i = counts.size(); i-- > 0;) {
            if (type->size != 0 && counts[i] > most_elements / type->size)
                fail(where, "an array of that size is no member");
            type = array_shape(type, counts[i]);
        }
        record.add(std::move(name), type);
    }

    static Expression number_of(int64_t number, Span where)
    {
        Expression e;
        e.number = number;
        e.where = where;
        return e;
    }

    static Expression operation_of(Operator op, Expression left, Expression right)
    {
        Expression e;
        e.kind = Expression::Kind::operation;
        e.op = op;
        e.where = join(left.where, right.where);
        e.operands.push_back(std::move(left));
        e.operands.push_back(std::move(right));
        return e;
    }

    // $v = value, $v += value, $v++
    void setting(Statement& statement)
    {
        const Token name = token_;
        advance();
        statement.kind = Statement::Kind::set;
        if (accept("=")) {
            statement.value = expression();
        } else if (is("++") || is("--")) {
            statement.value =
                operation_of(is("++") ? Operator::add : Operator::subtract, variable(name), number_of(1, token_.where));
            advance();
        } else {
            const Infix* const by = compound();
            if (by == nullptr)
                fail(token_.where, fmt::format("\"=\" is wanted after a variable, and not {}", found()));
            advance();
            statement.value = operation_of(by->op, variable(name), expression());
        }
        statement.variable = variable_index(name);
    }

    // For += and its like: the operator.
    const Infix* compound() const
    {
        if (token_.kind != Token::Kind::symbol || token_.word.size() < 2 || !token_.word.ends_with("=")
            || token_.word == "==")
            return nullptr;
        const auto* const found = std::find_if(infixes.begin(), infixes.end(), [&](const Infix& i) {
            return i.word == token_.word.substr(0, token_.word.size() - 1) && i.precedence > 2;
        });
        return found == infixes.end() || token_.word == "<=" || token_.word == ">=" || token_.word == "!=" ? nullptr
                                                                                                           : found;
    }

    size_t variable_index(const Token& token)
    {
        const auto [found, added] = variables_.try_emplace(std::string(token.word), clause_->variables.size());
        if (added)
            clause_->variables.push_back({.name = std::string(token.word), .where = token.where});
        return found->second;
    }

    Expression variable(const Token& token)
    {
        const auto found = variables_.find(std::string(token.word));
        if (found == variables_.end())
            fail(token.where, fmt::format("{} has no value here", token.word));
        Expression e;
        e.kind = Expression::Kind::variable;
        e.variable = found->second;
        e.where = token.where;
        return e;
    }

    void assignment(Statement& statement)
    {
        const bool before = is("++") || is("--"), down = is("--");
        if (before) {
            advance();
            if (token_.kind == Token::Kind::variable) {
                const Token name = token_;
                advance();
                statement.kind = Statement::Kind::set;
                statement.value =
                    operation_of(down ? Operator::subtract : Operator::add, variable(name), number_of(1, token_.where));
                statement.variable = variable_index(name);
                return;
            }
            if (token_.kind != Token::Kind::map)
                fail(token_.where, fmt::format("a map is wanted, and not {}", found()));
        }
        const Token name = token_;
        statement.map = map_index(token_);
        advance();
        statement.keys = keys();
        const Infix* const by = compound();
        if (before || is("++") || is("--")) {
            statement.kind = Statement::Kind::add;
            statement.value = number_of(down || is("--") ? -1 : 1, before ? statement.where : token_.where);
            if (!before)
                advance();
            return;
        }
        if (by != nullptr && (by->op == Operator::add || by->op == Operator::subtract)) {
            statement.kind = Statement::Kind::add;
            advance();
            Expression value = expression();
            if (by->op == Operator::subtract) {
                Expression minus;
                minus.kind = Expression::Kind::operation;
                minus.op = Operator::negate;
                minus.where = value.where;
                minus.operands.push_back(std::move(value));
                value = std::move(minus);
            }
            statement.value = std::move(value);
            return;
        }
        if (by != nullptr) { // not in one step
            advance();
            Expression map;
            map.kind = Expression::Kind::map;
            map.map = statement.map;
            map.operands = statement.keys;
            map.where = name.where;
            statement.kind = Statement::Kind::assign;
            statement.value = operation_of(by->op, std::move(map), expression());
            return;
        }
        expect("=", "a map");
        if (token_.kind == Token::Kind::identifier) {
            const auto* const found = std::find_if(aggregations.begin(), aggregations.end(),
                                                   [&](const Aggregation& a) { return a.name == token_.word; });
            if (found != aggregations.end())
                return aggregation(statement, *found);
        }
        statement.kind = Statement::Kind::assign;
        statement.value = expression();
    }

    void aggregation(Statement& statement, const Aggregation& function)
    {
        statement.kind = Statement::Kind::update;
        update_.kind = function.kind;
        update_.function = token_.where;
        advance();
        update_.arguments = arguments(function.name);
        if (update_.arguments.size() == function.arguments)
            return;
        const Span where = join(update_.function, last_);
        if (function.kind == MapKind::hist && update_.arguments.size() == 2)
            kernel_only(where, "hist() of finer buckets is not in this subset of bpftrace's language");
        fail(where,
             function.kind == MapKind::lhist
                 ? std::string("lhist(VALUE, MIN, MAX, STEP) wants these four")
                 : fmt::format("{}() wants {}", function.name,
                               function.arguments ? "one value" : "nothing in its brackets"));
    }

    std::vector<Expression> arguments(std::string_view function)
    {
        expect("(", fmt::format("\"{}\"", function));
        return arguments_behind_bracket();
    }

    std::vector<Expression> arguments_behind_bracket()
    {
        std::vector<Expression> found;
        if (accept(")"))
            return found;
        do
            found.push_back(expression());
        while (accept(","));
        expect(")", "an argument");
        return found;
    }

    void call(Statement& statement)
    {
        const Token function = token_;
        const std::string_view name = function.word;
        if (name == "delete" || name == "print" || name == "clear" || name == "zero") {
            advance();
            expect("(", fmt::format("\"{}\"", name));
            if (name == "print" && (token_.kind != Token::Kind::map || map_is_value()))
                return print_value(statement);
            if (token_.kind != Token::Kind::map)
                fail(token_.where, fmt::format("{}() wants a map", name));
            statement.map = map_index(token_);
            advance();
            const Span bracket = token_.where;
            statement.keys = keys();
            if (name != "delete" && !statement.keys.empty())
                kernel_only(join(bracket, last_), fmt::format("{}() takes whole maps here", name));
            if (name == "print")
                print_limits(statement);
            expect(")", "the map");
            statement.kind = name == "delete" ? Statement::Kind::remove
                : name == "print"             ? Statement::Kind::print
                : name == "zero"              ? Statement::Kind::zero
                                              : Statement::Kind::clear;
        } else if (name == "break" || name == "continue" || name == "return") {
            if (name != "return" && loops_ == 0)
                fail(function.where, fmt::format("\"{}\" belongs into a loop", name));
            advance();
            statement.kind = name == "break" ? Statement::Kind::leave
                : name == "continue"         ? Statement::Kind::next
                                             : Statement::Kind::end;
        } else if (name == "cat") {
            advance();
            print_text(statement, "cat");
            statement.kind = Statement::Kind::cat;
        } else if (name == "exit") {
            advance();
            if (!arguments(name).empty())
                kernel_only(join(function.where, last_),
                            "exit() with a status is not in this subset of bpftrace's language");
            statement.kind = Statement::Kind::exit;
        } else if (name == "dump") {
            advance();
            if (!arguments(name).empty())
                fail(join(function.where, last_), "dump() has no arguments");
            statement.kind = Statement::Kind::dump;
        } else if (name == "printf") {
            advance();
            print_text(statement, "printf");
        } else if (name == "join") {
            advance();
            join_strings(statement);
        } else if (name == "time") {
            advance();
            print_time(statement);
        } else if (one_of(name, kernel_words)) {
            kernel_only(function.where, fmt::format("\"{}\" is not in this subset of bpftrace's language", name));
        } else if (one_of(name, kernel_functions)) {
            not_here(function.where, name, true);
        } else if (std::any_of(aggregations.begin(), aggregations.end(),
                               [&](const Aggregation& a) { return a.name == name; })) {
            fail(function.where, fmt::format("the result of {}() belongs to a map: @ = {}(...)", name, name));
        } else {
            fail(function.where,
                 fmt::format("\"{}\" is no function: statements are @map = ..., $variable = ..., if, while, unroll, "
                             "delete, print, clear, zero, printf, join, cat, time and exit",
                             name));
        }
    }

    // For a word that bpftrace knows.
    [[noreturn]] static void not_here(Span where, std::string_view name, bool is_call)
    {
        for (const auto& [word, what] : of_kernel)
            if (word == name)
                kernel_only(where,
                            fmt::format("\"{}\" is {}, which no program can tell: only bpftrace can", name, what));
        if (name == "system")
            kernel_only(where, "system() runs commands as root in bpftrace, with --unsafe; not here");
        kernel_only(where,
                    fmt::format("{} is not in this subset of bpftrace's language",
                                is_call ? fmt::format("{}()", name) : fmt::format("\"{}\"", name)));
    }

    // print(@x[k]), and print(@x + 1)
    bool map_is_value()
    {
        const Lexer before = lexer_;
        const Token next = lexer_.next();
        lexer_ = before;
        return next.kind == Token::Kind::symbol && next.word != ")" && next.word != ",";
    }

    void print_limits(Statement& statement)
    {
        for (uint32_t* limit : {&statement.top, &statement.div}) {
            if (!accept(","))
                return;
            if (token_.kind != Token::Kind::number || token_.number > std::numeric_limits<int32_t>::max())
                fail(token_.where, "print(@map, TOP, DIV) wants numbers");
            *limit = static_cast<uint32_t>(token_.number);
            advance();
        }
    }

    // print(value)
    void print_value(Statement& statement)
    {
        statement.kind = Statement::Kind::printf;
        statement.is_value = true;
        statement.values.push_back(expression());
        if (is(","))
            kernel_only(token_.where, "print() of a value has no limits here");
        expect(")", "the value");
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
    void join_strings(Statement& statement)
    {
        std::vector<Expression> given = arguments("join");
        const Span where = join(statement.where, last_);
        if (given.empty() || given.size() > 2 || (given.size() == 2 && given[1].kind != Expression::Kind::text))
            fail(where, "join() is join(ADDRESS) or join(ADDRESS, \"between\")");
        Token name = token_;
        const std::string hidden = fmt::format("join {}", draft_.script.statements);
        name.word = hidden;
        const auto pointer = [&](unsigned index) {
            Expression cast, at;
            cast.kind = Expression::Kind::cast;
            cast.shape = pointer_shape(integer_shape(8, false));
            at.kind = Expression::Kind::at;
            cast.where = at.where = where;
            cast.operands.push_back(operation_of(Operator::add, variable(name), number_of(int64_t(8) * index, where)));
            at.operands.push_back(std::move(cast));
            return at;
        };
        Statement set = part_of(statement, Statement::Kind::set);
        set.variable = variable_index(name);
        set.value = std::move(given[0]);
        std::vector<Statement> strings;
        for (unsigned i = most_joined; i-- > 0;) {
            Statement one = part_of(statement, Statement::Kind::join),
                      there = part_of(statement, Statement::Kind::branch);
            Expression text;
            text.kind = Expression::Kind::value;
            text.value = Value::str_arg;
            text.where = where;
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

    void print_time(Statement& statement)
    {
        statement.kind = Statement::Kind::time;
        const auto given = arguments("time");
        if (given.size() > 1 || (given.size() == 1 && given[0].kind != Expression::Kind::text))
            fail(join(statement.where, last_), "time() wants a string, or nothing");
        statement.text = given.empty() ? "%H:%M:%S\n" : given[0].text;
    }

    void print_text(Statement& statement, std::string_view function)
    {
        statement.kind = Statement::Kind::printf;
        expect("(", fmt::format("\"{}\"", function));
        if (token_.kind != Token::Kind::text)
            fail(token_.where, fmt::format("{}() wants a string", function));
        const Token text = token_;
        read_format(statement, text);
        advance();
        while (accept(","))
            statement.values.push_back(expression());
        expect(")", statement.values.empty() ? "the text" : "a value");
        const size_t wanted = statement.format.size() - 1;
        if (statement.values.size() != wanted)
            fail(join(text.where, last_),
                 fmt::format("{}() wants {} value{} for this text, and has {}", function, wanted,
                             wanted == 1 ? "" : "s", statement.values.size()));
    }

    // As in C: %[-+ #0][width][.precision][length]conversion.
    static void read_format(Statement& statement, const Token& token)
    {
        constexpr std::string_view digits = "0123456789";
        const std::string& text = token.text;
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
            constexpr size_t most_digits = 3;
            if (width.size() > most_digits)
                fail(token.where, "a width or a precision of printf() has 3 digits at most");
            take("hljzt", length);
            piece.is_long = length.find_first_of("ljzt") != length.npos;
            const char conversion = i + 1 < text.size() ? text[++i] : '\0';
            if (conversion == '\0' || std::string_view("diuxXopcsr").find(conversion) == std::string_view::npos)
                fail(token.where,
                     conversion == '\0'
                         ? std::string("the text of printf() ends in the middle of a conversion")
                         : fmt::format("%{} is no conversion of printf(): %d, %u, %x, %X, %o, %p, %c, %s and %r are",
                                       conversion));
            if (conversion == 'r' && i + 1 < text.size() && (text[i + 1] == 'x' || text[i + 1] == 'h'))
                piece.bytes = text[++i];
            piece.conversion = conversion == 'i' ? 'd' : conversion;
            statement.format.push_back(std::move(piece));
            piece = {};
        }
        statement.format.push_back(std::move(piece));
    }

    // Each that lives is one level of nesting.
    class Depth {
    public:
        Depth(size_t& depth, Span where) : depth_(depth)
        {
            if (++depth_ > deepest)
                fail(where, fmt::format("more than {} nested operators and brackets", deepest));
        }
        Depth(const Depth&) = delete;
        Depth& operator=(const Depth&) = delete;
        ~Depth() { --depth_; }

    private:
        size_t& depth_;
    };

    Expression expression()
    {
        const Depth depth(depth_, token_.where);
        Expression found = infix(1);
        if (!accept("?"))
            return found;
        Expression choice;
        choice.kind = Expression::Kind::operation;
        choice.op = Operator::select;
        choice.operands.push_back(std::move(found));
        choice.operands.push_back(expression());
        expect(":", "the value of \"?\"");
        choice.operands.push_back(expression());
        choice.where = join(choice.operands.front().where, choice.operands.back().where);
        return choice;
    }

    Expression infix(int precedence)
    {
        const Depth depth(depth_, token_.where);
        Expression left = unary();
        for (size_t length = 0;; ++length) {
            const auto* const found = std::find_if(infixes.begin(), infixes.end(), [&](const Infix& i) {
                return token_.kind == Token::Kind::symbol && i.word == token_.word;
            });
            if (found == infixes.end() || found->precedence < precedence)
                return left;
            if (length >= deepest)
                fail(token_.where, fmt::format("more than {} nested operators", deepest));
            advance();
            left = operation_of(found->op, std::move(left), infix(found->precedence + 1));
        }
    }

    Expression unary()
    {
        const Depth depth(depth_, token_.where);
        const auto prefixed = [&](Operator op) {
            Expression found;
            found.kind = Expression::Kind::operation;
            found.op = op;
            const Span start = token_.where;
            advance();
            found.operands.push_back(unary());
            found.where = join(start, found.operands[0].where);
            return found;
        };
        if (is("-"))
            return prefixed(Operator::negate);
        if (is("!"))
            return prefixed(Operator::logical_not);
        if (is("~"))
            return prefixed(Operator::bit_not);
        if (is("*")) {
            Expression found = prefixed(Operator::add);
            found.kind = Expression::Kind::at;
            return found;
        }
        if (is("++") || is("--")) {
            const int64_t by = is("++") ? 1 : -1;
            Expression found = prefixed(Operator::add);
            return step(std::move(found.operands[0]), by, false, found.where);
        }
        if (is("&"))
            kernel_only(token_.where, "\"&\" before a value is not in this subset of bpftrace's language");
        return postfix(primary());
    }

    static Expression step(Expression of, int64_t by, bool is_before, Span where)
    {
        if (of.kind != Expression::Kind::map && of.kind != Expression::Kind::variable)
            fail(where, "++ and -- are of maps and variables");
        Expression found;
        found.kind = Expression::Kind::step;
        found.number = by;
        found.is_before = is_before;
        found.where = where;
        found.operands.push_back(std::move(of));
        return found;
    }

    // a.b, a->b, a[b], a++
    Expression postfix(Expression found)
    {
        for (size_t length = 0;; ++length) {
            const Span start = found.where;
            if (length >= deepest)
                fail(token_.where, fmt::format("more than {} nested operators", deepest));
            Expression next;
            if (is(".") || is("->")) {
                next.kind = Expression::Kind::member;
                next.number = is("->") ? 1 : 0;
                advance();
                if (token_.kind != Token::Kind::identifier && (token_.kind != Token::Kind::number || next.number == 1))
                    fail(token_.where, fmt::format("the name of a member is wanted, and not {}", this->found()));
                next.text = token_.word;
                advance();
            } else if (is("[")) {
                advance();
                next.kind = Expression::Kind::element;
                next.operands.push_back(expression());
                expect("]", "the index");
            } else if (is("++") || is("--")) {
                const int64_t by = is("++") ? 1 : -1;
                advance();
                found = step(std::move(found), by, true, join(start, last_));
                continue;
            } else {
                return found;
            }
            next.operands.insert(next.operands.begin(), std::move(found));
            next.where = join(start, last_);
            found = std::move(next);
        }
    }

    Expression primary()
    {
        Expression found;
        found.where = token_.where;
        switch (token_.kind) {
        case Token::Kind::number:
            found.kind = Expression::Kind::number;
            found.number = static_cast<int64_t>(token_.number);
            advance();
            return found;
        case Token::Kind::text:
            found.kind = Expression::Kind::text;
            found.text = token_.text;
            advance();
            return found;
        case Token::Kind::parameter: return numeric_parameter();
        case Token::Kind::map:
            found.kind = Expression::Kind::map;
            found.map = map_index(token_);
            advance();
            found.operands = keys();
            found.where = join(found.where, last_);
            return found;
        case Token::Kind::variable:
            found = variable(token_);
            advance();
            return found;
        case Token::Kind::identifier:
            if (const auto known = constants_.find(std::string(token_.word)); known != constants_.end()) {
                found = number_of(known->second, token_.where);
                advance();
                return found;
            }
            return value();
        default: break;
        }
        if (!accept("("))
            fail(token_.where, fmt::format("a value is wanted, and not {}", found_or_filter()));
        if (token_.kind == Token::Kind::identifier && cast_type(token_.word))
            return cast(found.where);
        const Span start = found.where;
        found = expression();
        if (is(",")) {
            Expression tuple;
            tuple.kind = Expression::Kind::tuple;
            tuple.operands.push_back(std::move(found));
            while (accept(","))
                tuple.operands.push_back(expression());
            found = std::move(tuple);
        }
        expect(")", "the expression");
        found.where = found.kind == Expression::Kind::tuple ? join(start, last_) : found.where;
        return found;
    }

    // (uint8)value, (struct a*)value, behind the bracket
    Expression cast(Span start)
    {
        const ShapePtr base = type_name(), shape = stars(base);
        if (!accept(")"))
            kernel_only(token_.where, "casts to arrays are not in this subset of bpftrace's language");
        const Depth depth(depth_, token_.where);
        Expression of = unary();
        if (!shape)
            fail(start, "nothing is cast to void");
        Expression found;
        if (shape->kind != Shape::Kind::integer) {
            found.kind = Expression::Kind::cast;
            found.operands.push_back(std::move(of));
        } else {
            found = to_size(std::move(of), shape->size, shape->is_signed, start);
        }
        found.shape = shape;
        found.where = join(start, last_);
        return found;
    }

    // The lowest bytes, extended as the sign says.
    static Expression to_size(Expression found, size_t size, bool is_signed, Span where)
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

    // Behind ustack: nothing, (), (N), (MODE) or (MODE, N)
    unsigned frames(bool& unwinds)
    {
        if (!accept("(") || accept(")"))
            return most_stack_frames;
        if (token_.kind == Token::Kind::identifier) {
            unwinds = token_.word == "dwarf";
            if (unwinds)
                draft_.script.beyond_bpftrace = "ustack(dwarf)";
            else if (token_.word != "bpftrace")
                kernel_only(token_.where, "a stack has bpftrace's form here: ustack, ustack(N) or ustack(dwarf)");
            advance();
            if (accept(")"))
                return most_stack_frames;
            expect(",", "the mode");
        }
        if (token_.kind != Token::Kind::number || token_.number == 0 || token_.number > most_stack_frames)
            fail(token_.where, fmt::format("ustack(N) wants a number from 1 to {}", most_stack_frames));
        const auto number = static_cast<unsigned>(token_.number);
        advance();
        expect(")", "the number");
        return number;
    }

    std::string found_or_filter() const
    {
        return token_.kind == Token::Kind::end_filter ? "the end of the filter" : found();
    }

    static bool cast_type(std::string_view word)
    {
        return word == "struct" || word == "union" || word == "enum" || word == "void" || word == "const"
            || word.ends_with("_t") || one_of(word, integer_words)
            || std::any_of(base_types.begin(), base_types.end(), [&](const BaseType& t) { return t.name == word; });
    }

    Expression value()
    {
        const Token token = token_;
        const std::string_view word = token.word;
        Expression found;
        found.kind = Expression::Kind::value;
        found.where = token.where;
        advance();
        if (is("(") || word == "sizeof")
            if (auto called = function(token))
                return *std::move(called);
        if (word == "args") {
            if (!accept(".") && !accept("->"))
                kernel_only(
                    token.where,
                    "args is args.NAME here: an argument of a usdt probe, or of a function, whose names the file has");
            if (token_.kind != Token::Kind::identifier)
                fail(token_.where, fmt::format("the name of an argument is wanted, and not {}", this->found()));
            found.value = Value::arg;
            found.text = token_.word;
            if (std::any_of(clause_->probes.begin(), clause_->probes.end(),
                            [](const Probe& probe) { return probe.kind == Probe::Kind::usdt; }))
                draft_.script.beyond_bpftrace = fmt::format("args.{}", found.text);
            advance();
            found.where = join(token.where, last_);
            return found;
        }
        if (word == "ustack") {
            found.value = Value::stack;
            found.argument = frames(found.unwinds);
            found.where = join(token.where, last_);
            return found;
        }
        for (const std::string_view kind : {"arg", "sarg"}) {
            const size_t length = kind.size();
            if (!word.starts_with(kind) || word.size() == length
                || !std::all_of(word.begin() + long(length), word.end(), [](char c) { return c >= '0' && c <= '9'; }))
                continue;
            found.on_stack = kind == "sarg";
            const unsigned most = found.on_stack ? most_stack_arguments : most_arguments;
            const std::string_view digits = word.substr(length);
            if (digits.size() > 2 || (digits.size() == 2 && digits[0] == '0')
                || std::stoul(std::string(digits)) >= most)
                fail(token.where, fmt::format("arguments are {}0 to {}{}", kind, kind, most - 1));
            found.value = Value::arg;
            found.argument = unsigned(std::stoul(std::string(digits)));
            if (digits.size() == 2)
                draft_.script.beyond_bpftrace = word;
            return found;
        }
        static const std::map<std::string_view, Value> values = {
            {"tid", Value::tid},    {"pid", Value::pid},     {"nsecs", Value::nsecs},   {"elapsed", Value::elapsed},
            {"comm", Value::comm},  {"probe", Value::probe}, {"func", Value::function}, {"retval", Value::retval},
            {"cpu", Value::cpu},    {"numaid", Value::node}, {"uid", Value::uid},       {"gid", Value::gid},
            {"cpid", Value::child}, {"rand", Value::random}};
        if (const auto known = values.find(word); known != values.end()) {
            if (is("("))
                kernel_only(token_.where, fmt::format("{} has no brackets here", word));
            found.value = known->second;
            return found;
        }
        if (word == "username") {
            found.value = Value::uid;
            return shown(std::move(found), plain_shape(Shape::Kind::user, 8));
        }
        if (one_of(word, kernel_values))
            not_here(token.where, word, false);
        if (is("(") && one_of(word, kernel_functions))
            not_here(token.where, word, true);
        if (is("(") && std::any_of(aggregations.begin(), aggregations.end(), [&](const Aggregation& a) {
                return a.name == word;
            }))
            fail(token.where, fmt::format("{}() is no value; a map is assigned it: @ = {}(...)", word, word));
        fail(token.where,
             fmt::format("\"{}\" is no value: arg0 to arg11, sarg0 to sarg9, args.NAME, str(), retval, tid, pid, comm, "
                         "nsecs, elapsed, probe, func, ustack, cpu, uid, gid and rand are",
                         word));
    }

    static Expression shown(Expression of, ShapePtr shape)
    {
        Expression found;
        found.kind = Expression::Kind::shown;
        found.type = Type::shown;
        found.shape = std::move(shape);
        found.where = of.where;
        found.operands.push_back(std::move(of));
        return found;
    }

    static Expression literal_bytes(std::string bytes, ShapePtr shape, Span where)
    {
        Expression found;
        found.kind = Expression::Kind::text;
        found.type = Type::bytes;
        found.text = std::move(bytes);
        found.shape = std::move(shape);
        found.where = where;
        return found;
    }

    // A function whose value a word is; the bracket comes next. Empty: it is none.
    std::optional<Expression> function(const Token& name)
    {
        static constexpr std::array<std::string_view, 13> known = {
            "str",      "buf",     "usym",    "uaddr", "reg",   "strftime",   "ntop",
            "strerror", "macaddr", "strncmp", "pton",  "bswap", "strcontains"};
        const std::string_view word = name.word;
        if (word == "sizeof")
            return size_of_something(name);
        if (!one_of(word, known))
            return std::nullopt;
        expect("(", fmt::format("\"{}\"", word));
        if (word == "str" && token_.kind == Token::Kind::parameter && token_.number != 0)
            return parameter_text(name);
        std::vector<Expression> given = arguments_behind_bracket();
        const Span where = join(name.where, last_);
        const auto want = [&](size_t least, size_t most, std::string_view how) {
            if (given.size() < least || given.size() > most)
                fail(where, fmt::format("{}() is {}", word, how));
        };
        const auto want_text = [&](size_t index, std::string_view how) {
            if (given[index].kind != Expression::Kind::text)
                fail(given[index].where, fmt::format("{}() is {}", word, how));
        };
        Expression found;
        found.where = where;
        found.kind = Expression::Kind::value;
        if (word == "str") {
            want(1, 2, "str(arg0) or str(arg0, LENGTH)");
            found.value = Value::str_arg;
            if (given.size() == 2 || given[0].kind != Expression::Kind::value || given[0].value != Value::arg) {
                found.operands = std::move(given);
                return found;
            }
            found.argument = given[0].argument;
            found.on_stack = given[0].on_stack;
            found.text = given[0].text;
        } else if (word == "buf") {
            want(1, 2, "buf(ADDRESS, LENGTH), or buf(X) of an array");
            found.kind = Expression::Kind::buffer;
            found.operands = std::move(given);
        } else if (word == "reg" || word == "uaddr") {
            const std::string_view how = word == "reg" ? "reg(\"NAME\")" : "uaddr(\"SYMBOL\")";
            want(1, 1, how);
            want_text(0, how);
            found.value = word == "reg" ? Value::reg : Value::symbol;
            found.text = given[0].text;
        } else if (word == "usym" || word == "strerror") {
            want(1, 1, word == "usym" ? "usym(ADDRESS)" : "strerror(NUMBER)");
            found =
                shown(std::move(given[0]), plain_shape(word == "usym" ? Shape::Kind::symbol : Shape::Kind::error, 8));
        } else if (word == "strftime") {
            want(2, 2, "strftime(\"FORMAT\", NSECS)");
            want_text(0, "strftime(\"FORMAT\", NSECS)");
            found = shown(std::move(given[1]), plain_shape(Shape::Kind::time, 8, given[0].text));
        } else if (word == "ntop") {
            want(1, 2, "ntop(ADDRESS) or ntop(FAMILY, ADDRESS)");
            found.kind = Expression::Kind::cast;
            found.shape = plain_shape(Shape::Kind::network, 0);
            found.operands.push_back(std::move(given.back()));
        } else if (word == "macaddr") {
            want(1, 1, "macaddr(ADDRESS), of char[6]");
            found.kind = Expression::Kind::cast;
            found.shape = plain_shape(Shape::Kind::mac, 6);
            found.operands.push_back(std::move(given[0]));
        } else if (word == "pton") {
            want(1, 1, "pton(\"ADDRESS\")");
            want_text(0, "pton(\"ADDRESS\")");
            return network_address(given[0]);
        } else if (word == "bswap") {
            want(1, 1, "bswap(NUMBER)");
            found.kind = Expression::Kind::operation;
            found.op = Operator::swap;
            found.operands = std::move(given);
        } else {
            const bool is_compare = word == "strncmp";
            const std::string_view how = is_compare ? "strncmp(TEXT, TEXT, LENGTH)" : "strcontains(TEXT, TEXT)";
            want(is_compare ? 3 : 2, is_compare ? 3 : 2, how);
            found.kind = Expression::Kind::operation;
            found.op = is_compare ? Operator::not_equal : Operator::contains;
            if (is_compare) {
                if (given[2].kind != Expression::Kind::number || given[2].number < 0)
                    fail(given[2].where, "strncmp() wants a number for the length");
                if (given[2].number == 0)
                    return number_of(0, where);
                found.number = given[2].number;
                given.pop_back();
            }
            found.operands = std::move(given);
        }
        found.where = where;
        return found;
    }

    // str($1), str($1 + N)
    Expression parameter_text(const Token& name)
    {
        Expression found;
        found.kind = Expression::Kind::text;
        found.text = parameter(token_.number);
        advance();
        if (accept("+")) {
            if (token_.kind != Token::Kind::number)
                fail(token_.where, "a number is wanted behind \"+\"");
            found.text = found.text.substr(std::min<uint64_t>(token_.number, found.text.size()));
            advance();
        }
        expect(")", "the parameter");
        found.where = join(name.where, last_);
        return found;
    }

    static Expression network_address(const Expression& text)
    {
        std::array<char, 16> bytes{};
        size_t size = 4;
        if (inet_pton(AF_INET, text.text.c_str(), bytes.data()) != 1) {
            size = bytes.size();
            if (inet_pton(AF_INET6, text.text.c_str(), bytes.data()) != 1)
                fail(text.where, fmt::format("\"{}\" is no address of IPv4 or IPv6", text.text));
        }
        return literal_bytes(std::string(bytes.data(), size), plain_shape(Shape::Kind::network, size), text.where);
    }

    // sizeof(type), sizeof(value)
    Expression size_of_something(const Token& name)
    {
        expect("(", "\"sizeof\"");
        Expression found;
        found.kind = Expression::Kind::size;
        if (token_.kind == Token::Kind::identifier && cast_type(token_.word)) {
            const ShapePtr base = type_name();
            found.shape = stars(base);
        } else {
            found.operands.push_back(expression());
        }
        expect(")", "\"sizeof\"");
        found.where = join(name.where, last_);
        return found;
    }

    Lexer lexer_;
    const std::vector<std::string>& parameters_;
    Token token_;
    Span last_; // of the word before token_
    std::string_view last_word_;
    Draft draft_;
    Update update_; // of the statement that is being read
    std::map<std::string, size_t> maps_;
    std::map<std::string, size_t> variables_; // of the clause
    Clause* clause_ = nullptr;
    size_t depth_ = 0, loops_ = 0;
    std::map<std::string, int64_t> constants_ = {{"AF_INET", AF_INET}, {"AF_INET6", AF_INET6}};
};

} // namespace

Draft read_grammar(std::string_view text, const std::vector<std::string>& parameters)
{
    return Parser(text, parameters).run();
}

} // namespace fastsdt::engine
