// SPDX-License-Identifier: BSD-2-Clause
// Statements, with what their words mean; passes/values.h has the values in them. What is only another way to write something becomes
// that: $x += 1, @x++, unroll, for, join().
#include "base/clock.h"
#include "script/format.h"
#include "script/passes/values.h"
#include "script/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstring>
#include <iterator>
#include <limits>

namespace fastsdt::engine {
namespace {

constexpr int64_t most_cat_bytes = int64_t(1) << 30;

class Resolver : Values {
public:
    Resolver(const ast::Script& written, const std::vector<std::string>& parameters) : Values(written, parameters) {}

    Draft run(const Surroundings& around)
    {
        draft_.script.source = written_.source;
        draft_.script.parameters = written_.parameters;
        draft_.records = written_.records;
        draft_.script.has_lines = around.is_newer; // show_debug_info
        for (const ast::Script::Setting& each : written_.settings)
            setting(each);
        for (const auto& [name, text] : around.settings)
            setting(name, text);
        for (const ast::Clause& clause : written_.clauses)
            if (!clause.probes.empty()) // an error was in its first one
                this->clause(clause);
        refuse_unknown_options();
        settle_stack_form();
        for (const ast::MapSize& each : written_.sizes)
            size(each);
        return std::move(draft_);
    }

private:
    void size(const ast::MapSize& written)
    {
        for (Map& map : draft_.script.maps)
            if (map.name == written.map) {
                map.most_keys = written.keys;
                map.is_lru = written.kind.ends_with("lruhash");
                return;
            }
        draft_.script.unused.push_back(written.map);
    }

    // One of the environment's, where it means something here.
    void setting(const std::string& name, const std::string& text)
    {
        const char* const end = text.data() + text.size();
        if (name == "stack_mode")
            stack_form(text, nowhere, true);
        else if (name == "dummy_ts_map")
            draft_.script.clock_map = text;
        else if (name == "max_cat_bytes") {
            uint64_t bytes = 0;
            const auto [last, error] = std::from_chars(text.data(), end, bytes);
            if (last != end || error != std::errc())
                fail(nowhere, fmt::format("max_cat_bytes is a number of bytes, and not \"{}\"", text));
            draft_.script.cat_bytes = std::min<uint64_t>(bytes, most_cat_bytes);
        }
    }

    // What a setting of bpftrace's means here. Most are of BPF and of how bpftrace finds things: they change no result.
    void setting(const ast::Script::Setting& setting)
    {
        static constexpr std::array<std::string_view, 13> of_bpf = {"cache_user_symbols",
                                                                    "cpp_demangle",
                                                                    "lazy_symbolication",
                                                                    "license",
                                                                    "log_size",
                                                                    "max_ast_nodes",
                                                                    "max_bpf_progs",
                                                                    "max_probes",
                                                                    "max_type_res_iterations",
                                                                    "on_stack_limit",
                                                                    "perf_rb_pages",
                                                                    "symbol_source",
                                                                    "use_blazesym"};
        const Expression value = setting.value && !std::holds_alternative<ast::Word>(setting.value->node)
            ? this->value(*setting.value)
            : Expression();
        const auto* const word = setting.value ? std::get_if<ast::Word>(&setting.value->node) : nullptr;
        std::string name = setting.name; // or as the variable of the environment is called
        if (constexpr std::string_view prefix = "BPFTRACE_"; name.starts_with(prefix)) {
            name.erase(0, prefix.size());
            std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
        }
        if (name == "print_maps_on_exit") {
            draft_.script.prints_maps = word ? word->word != "false" : value.number != 0;
            return;
        }
        if (name == "missing_probes")
            return missing(word ? word->word : value.text, setting.where);
        if (name == "stack_mode")
            return stack_form(word ? word->word : value.text, setting.where, true);
        if (name == "show_debug_info") {
            draft_.script.has_lines = word ? word->word != "false" && word->word != "disable" : value.number != 0;
            return;
        }
        if (name == "max_cat_bytes" && value.kind == Expression::Kind::number && value.number >= 0) {
            draft_.script.cat_bytes = size_t(std::min<int64_t>(value.number, most_cat_bytes));
            return;
        }
        const bool is_usual = (name == "max_strlen" && value.number == int64_t(string_size))
            || (name == "max_map_keys" && value.number <= bpftrace_keys);
        if (is_usual || std::find(of_bpf.begin(), of_bpf.end(), name) != of_bpf.end() || name.starts_with("unstable_"))
            return;
        if (name == "max_strlen" || name == "max_map_keys" || name == "str_trunc_trailer")
            kernel_only(setting.where,
                        fmt::format("{} of that value is not in this subset of bpftrace's language", setting.name));
        fail(setting.where, fmt::format("{}: not a known configuration option", setting.name));
    }

    void missing(std::string_view how, Span where)
    {
        static const std::map<std::string_view, Script::Missing> known = {
            {"error", Script::Missing::error}, {"warn", Script::Missing::warn}, {"ignore", Script::Missing::ignore}};
        const auto found = known.find(how);
        if (found == known.end())
            fail(where, fmt::format("missing_probes is error, warn or ignore, and not \"{}\"", how));
        draft_.script.missing = found->second;
    }

    void clause(const ast::Clause& written)
    {
        Clause clause;
        clause.probes = written.probes;
        clause.where = written.where;
        scopes_.assign(1, {});
        clause_ = &clause;
        std::vector<Statement> before;
        if (written.filter)
            clause.filter = into(before, [&] { return value(*written.filter); });
        if (before.empty()) {
            statements(clause.actions, written.body);
        } else { // a filter with statements is a condition
            Statement made = statement(Statement::Kind::branch, clause.filter->where);
            made.value = std::exchange(clause.filter, std::nullopt);
            statements(made.then, written.body);
            clause.actions = std::move(before);
            put(clause.actions, std::move(made));
        }
        draft_.script.clauses.push_back(std::move(clause));
    }

    // ---- Statements

    void statements(std::vector<Statement>& to, const ast::Block& block)
    {
        scopes_.emplace_back();
        for (const ast::Stmt& each : block)
            add(to, each);
        scopes_.pop_back();
    }

    void add(std::vector<Statement>& to, const ast::Stmt& statement) override
    {
        into(to, [&] { std::visit([&](const auto& node) { add(to, node, statement.where); }, statement.node); });
    }

    // unroll(N) { ... }
    void add(std::vector<Statement>& to, const ast::Unroll& node, Span)
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

    void add(std::vector<Statement>& to, const ast::Assign& node, Span where)
    {
        if (const auto* const map = std::get_if<ast::MapAt>(&node.target.node))
            return set_map(to, *map, node, node.value, where);
        const auto& name = std::get<ast::VariableOf>(node.target.node).name;
        const Span at = node.target.where;
        Expression made = node.op ? changed(*node.op, variable(name, at), node.value) : value(node.value);
        put(to, set(variable_index(name, at), std::move(made), where));
    }

    Expression changed(Operator op, Expression before, const ast::Expr& by)
    {
        Expression right = value(by);
        const Span where = join(before.where, right.where);
        return operation_of(op, std::move(before), std::move(right), where);
    }

    void set_map(std::vector<Statement>& to, const ast::MapAt& map, const ast::Assign& node, const ast::Expr& value,
                 Span where)
    {
        if (const auto* const block = std::get_if<ast::BlockValue>(&value.node); block && !block->body.empty())
            if (const auto* const last = std::get_if<ast::Alone>(&block->body.back().node);
                last && last->is_last) { // it may be a count()
                scopes_.emplace_back();
                for (size_t i = 0; i + 1 < block->body.size(); ++i)
                    add(to, block->body[i]);
                set_map(to, map, node, last->value, where);
                scopes_.pop_back();
                return;
            }
        const auto* const call = std::get_if<ast::Call>(&value.node);
        if (call && !node.op && call->name == "tseries")
            return time_series(to, map, node.target.where, *call, where);
        const AggregationWord* const aggregation = call && !node.op ? aggregation_of(call->name) : nullptr;
        const bool adds = node.op == Operator::add || node.op == Operator::subtract;
        Statement made = statement(aggregation ? Statement::Kind::update
                                       : adds  ? Statement::Kind::add
                                               : Statement::Kind::assign,
                                   where);
        made.map = map_of(map, node.target.where);
        made.keys = values(map.keys);
        Update update;
        if (aggregation) {
            aggregate(update, *aggregation, *call, value.where, draft_.script.maps[made.map]);
        } else if (node.op && !adds) { // not in one step
            Expression before =
                engine::made(Expression::Kind::map, {node.target.where.start, map.name.size()}, [&](Expression& e) {
                    e.map = made.map;
                    e.operands = made.keys;
                });
            made.value = changed(*node.op, std::move(before), value);
        } else {
            made.value = this->value(value);
            if (node.op == Operator::subtract)
                made.value = operation_of(Operator::negate, *std::move(made.value), value.where);
        }
        put(to, std::move(made), std::move(update));
    }

    // @m[keys] = tseries(VALUE, INTERVAL, COUNT, "avg"): @m[keys, now / INTERVAL] = avg(VALUE); without the last one
    // what was assigned last in each interval. The tool prints COUNT of them, and forgets the older ones.
    void time_series(std::vector<Statement>& to, const ast::MapAt& map, Span map_where, const ast::Call& call,
                     Span where)
    {
        constexpr int64_t most_intervals = 1'000'000;
        std::vector<Expression> given = values(call.arguments);
        if (given.size() < 3 || given.size() > 4 || given[1].kind != Expression::Kind::number
            || given[2].kind != Expression::Kind::number
            || (given.size() == 4 && given[3].kind != Expression::Kind::text))
            fail(call.word, "tseries() is tseries(VALUE, INTERVAL, COUNT) or tseries(VALUE, INTERVAL, COUNT, \"avg\")");
        const Map::Series series{given[1].number, given[2].number};
        if (series.interval <= 0)
            fail(given[1].where, "an interval is some nanoseconds: 100ms");
        if (series.count <= 0 || series.count > most_intervals)
            fail(given[2].where, fmt::format("1 to {} intervals are kept", most_intervals));
        const AggregationWord* const by = given.size() == 4 ? aggregation_of(given[3].text) : nullptr;
        if (given.size() == 4 && (!by || by->arguments != 1 || !is_one_number(by->kind)))
            fail(given[3].where, "an interval's values are aggregated by avg, max, min or sum");
        Statement made = statement(by ? Statement::Kind::update : Statement::Kind::assign, where);
        made.map = map_of(map, map_where);
        made.keys = values(map.keys);
        made.keys.push_back(operation_of(Operator::divide, clock(where), number_of(series.interval, where), where));
        Map& of = draft_.script.maps[made.map];
        if (of.series && *of.series != series)
            fail(where, fmt::format("{} has other intervals elsewhere", of.name));
        of.series = series;
        Expression value = cast_to({integer_shape(8, true), nullptr}, std::move(given[0]), where);
        Update update;
        update.is_series = true;
        if (by) {
            update.kind = by->kind;
            update.function = call.word;
            update.arguments.push_back(std::move(value));
        } else {
            made.value = std::move(value);
        }
        put(to, std::move(made), std::move(update));
    }

    // Nanoseconds since 1970, as the clocks agree now: intervals of a second begin with one.
    Expression clock(Span where)
    {
        if (draft_.script.clock_map.empty())
            return operation_of(Operator::add, builtin(Value::nsecs, where), number_of(boot_, where), where);
        const ast::MapAt map{draft_.script.clock_map, {}};
        return engine::made(Expression::Kind::map, where, [&](Expression& e) { e.map = map_of(map, where); });
    }

    const int64_t boot_ = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);

    // hist(VALUE, BITS): each power of two has 2^BITS buckets, and smaller numbers have one each. By numbers of them: with e = log2(VALUE >> BITS),
    // or 0, that is (e << BITS) + (VALUE >> e); -1 for those below 0.
    void fine_histogram(Update& update, Map& map)
    {
        constexpr int64_t most_bits = 5;
        const Expression bits = std::move(update.arguments.back());
        update.arguments.pop_back();
        const Span where = update.arguments[0].where;
        if (bits.kind != Expression::Kind::number || bits.number < 0 || bits.number > most_bits)
            fail(bits.where, fmt::format("hist(VALUE, BITS) takes a number from 0 to {} for the second", most_bits));
        if (bits.number == 0)
            return;
        map.fine_bits = unsigned(bits.number);
        update.kind = MapKind::lhist;
        const auto with = [&](Operator op, size_t variable, Expression right) {
            return operation_of(op, this->variable(variable, where), std::move(right), where);
        };
        const auto change = [&](std::vector<Statement>& to, size_t variable, Operator op, Expression right) {
            put(to, set(variable, with(op, variable, std::move(right)), where));
        };
        const size_t value = hidden_variable(where), rest = hidden_variable(where), exponent = hidden_variable(where);
        put(*before_, set(value, std::move(update.arguments[0]), where));
        put(*before_, set(rest, with(Operator::shift_right, value, bits), where));
        put(*before_, set(exponent, number_of(0, where), where));
        for (const int64_t half : {32, 16, 8, 4, 2, 1}) {
            Statement more = statement(Statement::Kind::branch, where);
            more.value = with(Operator::shift_right, rest, number_of(half, where));
            change(more.then, exponent, Operator::add, number_of(half, where));
            change(more.then, rest, Operator::shift_right, number_of(half, where));
            put(*before_, std::move(more));
        }
        Expression bucket =
            operation_of(Operator::select, with(Operator::shift_right, value, number_of(63, where)), where);
        bucket.operands.push_back(number_of(-1, where));
        bucket.operands.push_back(operation_of(Operator::add, with(Operator::shift_left, exponent, bits),
                                               with(Operator::shift_right, value, variable(exponent, where)), where));
        update.arguments = {std::move(bucket), number_of(0, where), number_of((64 - bits.number) << bits.number, where),
                            number_of(1, where)};
    }

    void aggregate(Update& update, const AggregationWord& function, const ast::Call& call, Span where, Map& map)
    {
        update.kind = function.kind;
        update.function = call.word;
        update.arguments = values(call.arguments);
        if (update.arguments.size() == function.arguments)
            return;
        if (function.kind == MapKind::hist && update.arguments.size() == 2)
            return fine_histogram(update, map);
        fail(where,
             function.kind == MapKind::lhist ? std::string("lhist(VALUE, MIN, MAX, STEP) wants these four")
                                             : fmt::format("{}() wants {}", function.word, function.wants));
    }

    void add(std::vector<Statement>& to, const ast::Alone& node, Span where) { alone(to, node.value, where); }

    void alone(std::vector<Statement>& to, const ast::Expr& e, Span where)
    {
        if (const ast::Expr* const argument = argument_of_macro(e)) // of which each mention does what it does
            return outside([&] { alone(to, *argument, where); });
        if (const auto* const step = std::get_if<ast::Step>(&e.node))
            return this->step(to, *step, e.where);
        if (const auto* const choice = std::get_if<ast::Choice>(&e.node); choice && is_statement(*choice)) {
            Statement made = statement(Statement::Kind::branch, where);
            made.value = value(*choice->condition);
            into(made.then, [&] { alone(made.then, *choice->yes, choice->yes->where); });
            into(made.otherwise, [&] { alone(made.otherwise, *choice->no, choice->no->where); });
            return put(to, std::move(made));
        }
        if (const auto* const call = std::get_if<ast::Call>(&e.node)) {
            if (macro_for(*call, where)) {
                expand(*call, where, false);
                return;
            }
            if (!function_of(call->name) && !builtin_of(call->name))
                return this->call(to, *call, where);
        }
        if (const auto* const block = std::get_if<ast::BlockValue>(&e.node))
            return statements(to, block->body);
        Statement made = statement(Statement::Kind::value, where);
        made.value = value(e);
        put(to, std::move(made));
    }

    // a ? f() : g(), of which one is none of a value's functions.
    static bool is_statement(const ast::Choice& choice)
    {
        const auto is = [](const ast::Expr& e) {
            const auto* const call = std::get_if<ast::Call>(&e.node);
            const auto* const inner = std::get_if<ast::Choice>(&e.node);
            return (call && statement_of(call->name)) || (inner && is_statement(*inner));
        };
        return choice.yes && (is(*choice.yes) || is(*choice.no));
    }

    // @x++ and ++$x alone: nobody wants the value.
    void step(std::vector<Statement>& to, const ast::Step& node, Span where)
    {
        const Span sign = node.is_before ? Span{where.start + where.length - 2, 2} : Span{where.start, 2};
        const Span of = node.of->where;
        if (const auto* const map = std::get_if<ast::MapAt>(&node.of->node)) {
            Statement made = statement(Statement::Kind::add, where);
            made.map = map_of(*map, of);
            made.keys = values(map->keys);
            made.value = number_of(node.by, sign);
            return put(to, std::move(made));
        }
        const std::string& name = std::get<ast::VariableOf>(node.of->node).name;
        Expression before = variable(name, of);
        put(to,
            set(variable_index(name, of),
                operation_of(node.by > 0 ? Operator::add : Operator::subtract, std::move(before), number_of(1, sign),
                             node.is_before ? where : of),
                where));
    }

    void add(std::vector<Statement>& to, const ast::If& node, Span where)
    {
        Statement made = statement(Statement::Kind::branch, where);
        made.value = value(node.condition);
        statements(made.then, node.then);
        statements(made.otherwise, node.otherwise);
        put(to, std::move(made));
    }

    void add(std::vector<Statement>& to, const ast::While& node, Span where)
    {
        Statement made = statement(Statement::Kind::loop, where);
        made.value = into(made.then, [&] { return value(node.condition); });
        if (!made.then.empty()) { // a condition with statements: each turn begins with them
            Statement leaves = statement(Statement::Kind::branch, where);
            leaves.value = operation_of(Operator::logical_not, *std::move(made.value), where);
            put(leaves.then, statement(Statement::Kind::leave, where));
            put(made.then, std::move(leaves));
            made.value = number_of(1, where);
        }
        statements(made.then, node.body);
        put(to, std::move(made));
    }

    // for ($kv : @map)
    static constexpr unsigned loops_since = 21;
    void add(std::vector<Statement>& to, const ast::Each& node, Span where)
    {
        if (clause_->has_sites())
            kernel_only(where, "a probe cannot loop over a map; BEGIN, END and interval can", loops_since);
        Statement made = statement(Statement::Kind::each, where);
        made.map = map_of(std::get<ast::MapAt>(node.map.node), node.map.where);
        scopes_.emplace_back();
        made.variable = scopes_.back()[node.name] = new_variable(node.name, where);
        clause_->variables[made.variable].is_entry = true;
        statements(made.then, node.body);
        scopes_.pop_back();
        put(to, std::move(made));
    }

    // Without a value the first assignment says what it is.
    void add(std::vector<Statement>& to, const ast::Let& node, Span where)
    {
        std::optional<Expression> first;
        if (node.value)
            first = value(*node.value);
        if (node.type && (node.type->shape || node.type->of))
            first = cast_to(*node.type, first ? *std::move(first) : number_of(0, where), where);
        const size_t index = scopes_.back()[node.name] = new_variable(node.name, where);
        clause_->variables[index].is_declared = node.type.has_value();
        if (first)
            put(to, set(index, *std::move(first), where));
    }

    // $at = from, $end = to, and as long as $at < $end: $i = $at, $at = $at + 1, and what is to be done.
    void add(std::vector<Statement>& to, const ast::Range& node, Span where)
    {
        std::vector<Expression> both = in_order({&node.from, &node.to});
        scopes_.emplace_back();
        const auto fresh = [&](const std::string& name) { return scopes_.back()[name] = new_variable(name, where); };
        const std::string at_name = "at " + node.name, end_name = "end " + node.name; // no text can say these
        const size_t at = fresh(at_name), own = fresh(node.name);
        put(to, set(at, std::move(both[0]), where));
        put(to, set(fresh(end_name), std::move(both[1]), where));
        Statement loop = statement(Statement::Kind::loop, where);
        loop.value = operation_of(Operator::less, variable(at_name, where), variable(end_name, where), where);
        put(loop.then, set(own, variable(at_name, where), where));
        put(loop.then,
            set(at, operation_of(Operator::add, variable(at_name, where), number_of(1, where), where), where));
        statements(loop.then, node.body);
        scopes_.pop_back();
        put(to, std::move(loop));
    }

    void add(std::vector<Statement>& to, const ast::Way& node, Span where)
    {
        using Kind = ast::Way::Kind;
        put(to,
            statement(node.kind == Kind::leave      ? Statement::Kind::leave
                          : node.kind == Kind::next ? Statement::Kind::next
                                                    : Statement::Kind::end,
                      where));
    }

    void call(std::vector<Statement>& to, const ast::Call& node, Span where)
    {
        const std::string& name = node.name;
        if (name == "assert")
            return assert_that(to, node, where);
        const auto kind = statement_of(name);
        if (!kind) {
            if (is_elsewhere(name, Elsewhere::function))
                kernel_only(node.word, why_not_here(name, true));
            if (aggregation_of(name))
                fail(node.word, fmt::format("the result of {}() belongs to a map: @ = {}(...)", name, name));
            fail(node.word, unknown_statement(name));
        }
        if (*kind == Statement::Kind::join)
            return join_strings(to, node, where);
        Statement made = statement(*kind, where);
        fill(made, node);
        put(to, std::move(made));
    }

    // assert(CONDITION, "what"): if (!CONDITION) { errorf("assert failed: what"); exit(1) }
    void assert_that(std::vector<Statement>& to, const ast::Call& node, Span where)
    {
        const std::vector<Expression> given = values(node.arguments);
        if (given.size() != 2 || given[1].kind != Expression::Kind::text)
            fail(where, "assert() is assert(CONDITION, \"what it means\")");
        Statement failed = statement(Statement::Kind::branch, where);
        failed.value = operation_of(Operator::logical_not, given[0], where);
        Statement says = statement(Statement::Kind::printf, where), ends = statement(Statement::Kind::exit, where);
        says.text = "ERROR";
        says.format.emplace_back().text = fmt::format("assert failed: {}", given[1].text);
        ends.values.push_back(number_of(1, where));
        put(failed.then, std::move(says));
        put(failed.then, std::move(ends));
        put(to, std::move(failed));
    }

    void fill(Statement& statement, const ast::Call& node)
    {
        using Kind = Statement::Kind;
        switch (statement.kind) {
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
        case Kind::system:
        case Kind::printf:
            statement.text = node.name == "warnf" ? "WARNING" : node.name == "errorf" ? "ERROR" : "";
            return print_text(statement, node);
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
        case Kind::signal: return signal(statement, node);
        case Kind::dump:
            if (!node.arguments.empty())
                fail(statement.where, "dump() has no arguments");
            return;
        default: break;
        }
        throw std::logic_error("no such statement");
    }

    // signal("USR1"), signal("SIGUSR1"), signal(10)
    void signal(Statement& statement, const ast::Call& node)
    {
        auto given = values(node.arguments);
        if (given.size() != 1)
            fail(statement.where, "signal() is signal(\"NAME\") or signal(NUMBER)");
        if (Expression& which = given[0]; which.kind == Expression::Kind::text) {
            const std::string_view name =
                which.text.starts_with("SIG") ? std::string_view(which.text).substr(3) : std::string_view(which.text);
            int number = 1;
            while (number < NSIG && !(sigabbrev_np(number) && name == sigabbrev_np(number)))
                ++number;
            if (number == NSIG)
                fail(which.where, fmt::format("there is no signal {}", which.text));
            which = number_of(number, which.where);
        }
        statement.value = std::move(given[0]);
    }

    // delete(@m[keys]), clear(@m), print(@m, TOP, DIV)
    void of_map(Statement& statement, const ast::Call& node)
    {
        const auto* const map = !node.arguments.empty() ? std::get_if<ast::MapAt>(&node.arguments[0].node) : nullptr;
        if (!map)
            fail(node.arguments.empty() ? statement.where : node.arguments[0].where,
                 fmt::format("{}() wants a map", node.name));
        statement.map = map_of(*map, node.arguments[0].where);
        statement.keys = values(map->keys);
        if (statement.kind != Statement::Kind::remove && !statement.keys.empty())
            fail(map->brackets, fmt::format("{}() takes whole maps", node.name));
        size_t next = 1;
        if (statement.kind == Statement::Kind::remove && node.arguments.size() > 1 && map->keys.empty())
            statement.keys = keys_of(node.arguments[next++]); // delete(@m, key)
        if (statement.kind == Statement::Kind::print)
            for (uint32_t* limit : {&statement.top, &statement.div})
                if (next < node.arguments.size()) {
                    const Expression number = value(node.arguments[next]);
                    if (number.kind != Expression::Kind::number || number.type.kind != ValueKind::integer
                        || number.number < 0 || number.number > std::numeric_limits<int32_t>::max())
                        fail(node.arguments[next].where, "print(@map, TOP, DIV) wants numbers");
                    *limit = static_cast<uint32_t>(number.number);
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
            fail(node.arguments[1].where, "print() of a value takes nothing else");
    }

    void print_text(Statement& statement, const ast::Call& node)
    {
        std::vector<Expression> given = values(node.arguments);
        if (given.empty() || given[0].kind != Expression::Kind::text)
            fail(given.empty() ? statement.where : given[0].where, fmt::format("{}() wants a string", node.name));
        statement.format = read_format(given[0].text, given[0].where);
        statement.values.assign(std::make_move_iterator(given.begin() + 1), std::make_move_iterator(given.end()));
        const size_t wanted = statement.format.size() - 1;
        if (statement.values.size() != wanted)
            fail({node.arguments[0].where.start,
                  statement.where.start + statement.where.length - node.arguments[0].where.start},
                 fmt::format("{}() wants {} value{} for this text, and has {}", node.name, wanted,
                             wanted == 1 ? "" : "s", statement.values.size()));
    }

    // join(POINTERS), join(POINTERS, "between"): $p = POINTERS, and as long as $p[i] is not 0 an event with str($p[i]); then one that
    // says that they are complete.
    void join_strings(std::vector<Statement>& to, const ast::Call& node, Span where)
    {
        std::vector<Expression> given = values(node.arguments);
        if (given.empty() || given.size() > 2 || (given.size() == 2 && given[1].kind != Expression::Kind::text))
            fail(where, "join() is join(ADDRESS) or join(ADDRESS, \"between\")");
        const std::string hidden = fmt::format("join {}", draft_.script.statements);
        put(to, set(variable_index(hidden, where), std::move(given[0]), where));
        const auto pointer = [&](unsigned index) {
            const Expression cast = made(Expression::Kind::cast, where, [&](Expression& e) {
                e.type.shape = pointer_shape(integer_shape(8, false));
                e.operands.push_back(
                    operation_of(Operator::add, variable(hidden, where), number_of(int64_t(8) * index, where), where));
            });
            return made(Expression::Kind::at, where, [&](Expression& e) { e.operands.push_back(cast); });
        };
        std::vector<Statement> strings; // the innermost first
        for (unsigned i = most_joined; i-- > 0;) {
            Statement one = statement(Statement::Kind::join, where), there = statement(Statement::Kind::branch, where);
            Expression text = builtin(Value::str_arg, where);
            text.operands.push_back(pointer(i));
            one.values.push_back(std::move(text));
            one.top = i;
            there.value = pointer(i);
            put(there.then, std::move(one));
            there.then.insert(there.then.end(), std::make_move_iterator(strings.begin()),
                              std::make_move_iterator(strings.end()));
            strings.clear();
            put(strings, std::move(there));
        }
        to.push_back(std::move(strings.front()));
        Statement complete = statement(Statement::Kind::join, where);
        complete.text = given.size() == 2 ? given[1].text : " ";
        put(to, std::move(complete));
    }
};

} // namespace

Draft resolve(const ast::Script& script, const std::vector<std::string>& parameters, const Surroundings& around)
{
    return Resolver(script, parameters).run(around);
}

} // namespace fastsdt::engine
