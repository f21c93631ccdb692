// SPDX-License-Identifier: BSD-2-Clause
#include "actions.h"

#include "base/descriptor.h"
#include "base/printable.h"
#include "process/clock.h"
#include "say.h"
#include "values.h"

#include <fmt/printf.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fastsdt::trace_tool {

using engine::Datum;
using engine::Expression;
using engine::Format;
using engine::is_wide;
using engine::MapKind;
using engine::Operator;
using engine::Shape;
using engine::Statement;
using engine::Type;

namespace {

constexpr size_t of_printed_stack = 8; ///< blanks before each frame, as bpftrace has them

// One value, as snprintf() would print it. Strings are of the process, and it chose what is in them.
std::string formatted_value(const Format& format, const Expression& e, const Datum& datum,
                            const std::vector<std::string>& names)
{
    std::string for_text = "%" + format.how;
    std::erase_if(for_text, [](char c) { return c == '#' || c == '+' || c == ' '; });
    if (for_text.size() > 1 && for_text[1] == '0')
        for_text.erase(1, for_text.find_first_not_of('0', 1) - 1);
    for_text += 's';
    switch (format.conversion) {
    case 'r': return fmt::sprintf(for_text, buffer_text(datum.text, format.bytes));
    case 's':
        return fmt::sprintf(for_text,
                            e.type == Type::stack ? stack_text(datum, of_printed_stack)
                                                  : printable(text_of(e.type, e.shape, datum, names)));
    case 'p': return fmt::sprintf(for_text, fmt::format("0x{:x}", static_cast<uint64_t>(datum.number)));
    case 'c': {
        const auto character = static_cast<char>(datum.number);
        const std::string text(1, character);
        return fmt::sprintf(for_text, character == '\n' || character == '\t' ? text : printable(text));
    }
    case 'd':
        return format.is_long ? fmt::sprintf("%" + format.how + "lld", static_cast<long long>(datum.number))
                              : fmt::sprintf("%" + format.how + "d", static_cast<int>(datum.number));
    default:
        return format.is_long
            ? fmt::sprintf("%" + format.how + "ll" + format.conversion, static_cast<unsigned long long>(datum.number))
            : fmt::sprintf("%" + format.how + format.conversion, static_cast<unsigned>(datum.number));
    }
}

// As tables have a value of so many bytes.
std::string raw(const Expression& e, const Datum& datum, size_t bytes)
{
    std::string all = datum.text;
    if (!is_wide(e.type))
        all.assign(reinterpret_cast<const char*>(&datum.number), sizeof datum.number);
    all.resize(bytes, '\0');
    return all;
}

Datum text_datum(std::string text)
{
    text.resize(std::min(text.size(), engine::string_size - 1));
    return {0, std::move(text)};
}

} // namespace

bool Actions::run(const engine::Clause& clause, const engine::Probe& probe)
{
    probe_ = &probe;
    by_ = {};
    variables_.assign(clause.variables.size(), {});
    maps_.reset();
    shown_ = nullptr;
    if (clause.filter && number(*clause.filter) == 0)
        return true;
    return run(clause.actions) != Flow::exit;
}

Actions::Flow Actions::run(const std::vector<Statement>& statements)
{
    for (const Statement& statement : statements)
        if (const Flow flow = run(statement); flow != Flow::on)
            return flow;
    return Flow::on;
}

Actions::Flow Actions::run(const Statement& statement)
{
    switch (statement.kind) {
    case Statement::Kind::set: variables_[statement.variable] = value(*statement.value); return Flow::on;
    case Statement::Kind::value: value(*statement.value); return Flow::on;
    case Statement::Kind::branch: return run(number(*statement.value) != 0 ? statement.then : statement.otherwise);
    case Statement::Kind::loop: return loop(statement);
    case Statement::Kind::leave: return Flow::leave;
    case Statement::Kind::next: return Flow::next;
    case Statement::Kind::end: return Flow::end;
    case Statement::Kind::update:
    case Statement::Kind::assign:
    case Statement::Kind::add:
    case Statement::Kind::remove:
        change(statement);
        shown_ = nullptr;
        if (!shared_.script.maps[statement.map].of_tool)
            maps_.reset();
        return Flow::on;
    default: return perform(statement, values(statement.values)) ? Flow::on : Flow::exit;
    }
}

Actions::Flow Actions::loop(const Statement& statement)
{
    for (int32_t turn = 0; number(*statement.value) != 0; ++turn) {
        if (turn == engine::most_turns) {
            say(fmt::format("a loop of {} was ended after {} turns, and the rest of the clause left out", probe_->text,
                            engine::most_turns));
            return Flow::end;
        }
        const Flow flow = run(statement.then);
        if (flow == Flow::leave)
            break;
        if (flow != Flow::on && flow != Flow::next)
            return flow;
    }
    return Flow::on;
}

// A map that is assigned, or counted in.
void Actions::change(const Statement& statement)
{
    const engine::Map& map = shared_.script.maps[statement.map];
    const Values keys = values(statement.keys);
    switch (statement.kind) {
    case Statement::Kind::remove:
        if (map.of_tool)
            processes_.given().remove(statement.map, keys);
        else
            processes_.remove(statement.map, keys);
        return;
    case Statement::Kind::update:
        processes_.given().update(statement.map, keys, statement.value ? value(*statement.value).number : 0);
        return;
    case Statement::Kind::add: {
        const int64_t by = value(*statement.value).number;
        const auto sum = [by](int64_t to) { return int64_t(uint64_t(to) + uint64_t(by)); };
        if (map.only_adds) {
            const engine::Entry* const given = processes_.given().find(statement.map, keys);
            processes_.given().assign(statement.map, keys, {sum(given ? given->value.number : 0), {}});
        } else {
            assign(statement.map, keys, {sum(map_value(statement.map, keys).number), {}});
        }
        return;
    }
    default: assign(statement.map, keys, value(*statement.value));
    }
}

void Actions::assign(size_t index, const Values& keys, Datum value)
{
    const engine::Map& map = shared_.script.maps[index];
    if (map.only_adds) { // what processes have added so far is in what read() adds up
        maps_.reset();
        const engine::Entry* const given = processes_.given().find(index, keys);
        const auto all = uint64_t(map_value(index, keys).number), own = uint64_t(given ? given->value.number : 0);
        processes_.given().assign(index, keys, {int64_t(uint64_t(value.number) - (all - own)), {}});
    } else if (map.of_tool) {
        processes_.given().assign(index, keys, std::move(value));
    } else {
        processes_.assign(index, value.number);
    }
}

// Its keys stay.
void Actions::zero(size_t map)
{
    const engine::Maps before = processes_.read();
    processes_.clear(map, false);
    for (const engine::Entry& entry : before.maps[map])
        if (shared_.script.maps[map].kind == MapKind::integer && entry.keys.empty()
            && !shared_.script.maps[map].of_tool)
            processes_.assign(map, 0);
        else
            processes_.given().make(map, entry.keys);
    maps_.reset();
}

// What a file has, up to the 10 KiB that bpftrace prints. Nothing that could wait is read.
void Actions::cat(const std::string& file)
{
    constexpr size_t most = size_t(10) << 10;
    const Descriptor from(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status{};
    if (!from || fstat(from.get(), &status) < 0 || S_ISDIR(status.st_mode)) {
        say(fmt::format("cat: {}: {}", file, from ? "it is no file" : std::strerror(errno)));
        return;
    }
    std::string text(most, '\0');
    size_t length = 0;
    for (ssize_t got = 1; got > 0 && length < most; length += size_t(std::max<ssize_t>(got, 0)))
        got = read(from.get(), text.data() + length, most - length);
    text.resize(length);
    output_.text(text, Output::Kind::cat);
}

void Actions::join(const Statement& statement, const Values& values)
{
    std::vector<std::string>& strings = joining_[by_];
    if (!values.empty()) {
        strings.resize(std::min<size_t>(strings.size(), statement.top)); // the end of an earlier one may be lost
        strings.push_back(printable(values[0].text));
        return;
    }
    strings.erase(std::find(strings.begin(), strings.end(), ""), strings.end()); // bpftrace prints none behind it
    output_.text(fmt::format("{}", fmt::join(strings, statement.text)), Output::Kind::join);
    joining_.erase(by_);
}

std::string Actions::formatted(const Statement& statement, const Values& values) const
{
    std::string text;
    for (size_t i = 0; i < values.size(); ++i)
        text += statement.format[i].text
            + formatted_value(statement.format[i], statement.values[i], values[i], shared_.names.names());
    return text + statement.format.back().text;
}

bool Actions::perform(const Statement& statement, const Values& values)
{
    const Statement* const before = std::exchange(shown_, nullptr);
    const std::vector<std::string>& names = shared_.names.names();
    switch (statement.kind) {
    case Statement::Kind::print: {
        const engine::Maps maps = processes_.read();
        output_.map(statement.map, maps.maps[statement.map], names, statement.top, statement.div);
        shown_ = &statement;
        return true;
    }
    case Statement::Kind::clear:
        processes_.clear(statement.map, before && before->map == statement.map);
        maps_.reset();
        return true;
    case Statement::Kind::zero: zero(statement.map); return true;
    case Statement::Kind::printf:
        if (statement.is_value)
            output_.value(statement.values[0], values[0], names);
        else
            output_.text(formatted(statement, values), Output::Kind::printf);
        return true;
    case Statement::Kind::join: join(statement, values); return true;
    case Statement::Kind::cat: cat(formatted(statement, values)); return true;
    case Statement::Kind::time: {
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        output_.text(time_text(statement.text, now.tv_sec, now.tv_nsec), Output::Kind::time);
        return true;
    }
    case Statement::Kind::exit: return false;
    case Statement::Kind::dump: processes_.ask_for_events(); return true;
    default: return true; // of sites
    }
}

Actions::Values Actions::values(const std::vector<Expression>& all)
{
    Values found;
    for (const Expression& e : all)
        found.push_back(value(e));
    return found;
}

Datum Actions::value(const Expression& e)
{
    using Kind = Expression::Kind;
    switch (e.kind) {
    case Kind::number: return {e.number, {}};
    case Kind::text: return {0, e.text};
    case Kind::variable: return variables_[e.variable];
    case Kind::map: return map_value(e.map, values(e.operands));
    case Kind::operation:
        if (e.op == Operator::select)
            return value(e.operands[number(e.operands[0]) != 0 ? 1 : 2]);
        return {static_cast<int64_t>(operation(e)), {}};
    case Kind::value: return own_value(e);
    case Kind::shown: return {value(e.operands[0]).number, {}};
    case Kind::part: return part(e);
    case Kind::tuple: return tuple(e);
    case Kind::step: return step(e);
    default: // an address leads nowhere here: there is no process
        return {0, e.type == Type::bytes ? std::string(e.shape->size, '\0') : std::string()};
    }
}

Datum Actions::own_value(const Expression& e)
{
    using engine::Value;
    switch (e.value) {
    case Value::probe: return text_datum(probe_->text);
    case Value::comm: {
        std::array<char, 17> name{};
        prctl(PR_GET_NAME, name.data());
        return text_datum(name.data());
    }
    case Value::pid:
    case Value::tid: return {getpid(), {}};
    case Value::uid: return {static_cast<int64_t>(getuid()), {}};
    case Value::gid: return {static_cast<int64_t>(getgid()), {}};
    case Value::cpu:
    case Value::node: {
        unsigned cpu = 0, node = 0;
        getcpu(&cpu, &node);
        return {static_cast<int64_t>(e.value == Value::cpu ? cpu : node), {}};
    }
    case Value::child: return {processes_.empty() ? 0 : processes_.first().pid(), {}};
    case Value::random: return {static_cast<int64_t>(random_()), {}};
    default: break;
    }
    const uint64_t now = engine::boot_time();
    return {static_cast<int64_t>(e.value == Value::elapsed ? now - shared_.start_ns : now), {}};
}

Datum Actions::part(const Expression& e)
{
    const Expression& of = e.operands[0];
    const std::string all = raw(of, value(of), size_of(of.type, of.shape));
    if (e.type == Type::integer)
        return {number_in(all, static_cast<size_t>(e.number), e.shape->size, e.shape->is_signed), {}};
    const std::string bytes = all.substr(std::min(static_cast<size_t>(e.number), all.size()), e.shape->size);
    return e.type == Type::string ? text_datum(bytes.c_str()) : Datum{0, bytes};
}

Datum Actions::tuple(const Expression& e)
{
    std::string all;
    for (size_t i = 0; i < e.operands.size(); ++i) {
        const Shape& shape = *e.shape->members[i].shape;
        const size_t bytes = shape.is_number() ? 8 : (shape.size + 7) / 8 * 8;
        all += raw(e.operands[i], value(e.operands[i]), bytes);
    }
    all.resize(e.shape->size, '\0');
    return {0, std::move(all)};
}

Datum Actions::step(const Expression& e)
{
    const Expression& of = e.operands[0];
    const Datum before = value(of);
    const Datum after{int64_t(uint64_t(before.number) + uint64_t(e.number)), {}};
    if (of.kind == Expression::Kind::variable)
        variables_[of.variable] = after;
    else
        assign(of.map, values(of.operands), after);
    maps_.reset();
    return e.is_before ? before : after;
}

bool Actions::compare(const Expression& e)
{
    std::string a = value(e.operands[0]).text, b = value(e.operands[1]).text;
    if (e.op == Operator::contains)
        return a.find(b) != a.npos;
    if (e.number > 0) { // strncmp(): what is behind the end of the shorter is a difference
        a.resize(std::min(a.size(), static_cast<size_t>(e.number)));
        b.resize(std::min(b.size(), static_cast<size_t>(e.number)));
    }
    return (a == b) == (e.op == Operator::equal);
}

// As script.h has it: nothing is signed but comparisons of two signed numbers, x / 0 is 0, and x % 0 is x.
uint64_t Actions::operation(const Expression& e)
{
    const Expression& left = e.operands[0];
    if (is_wide(left.type))
        return compare(e);
    const uint64_t a = number(left);
    switch (e.op) {
    case Operator::negate: return 0 - a;
    case Operator::logical_not: return a == 0;
    case Operator::bit_not: return ~a;
    case Operator::logical_and: return a != 0 && number(e.operands[1]) != 0;
    case Operator::logical_or: return a != 0 || number(e.operands[1]) != 0;
    case Operator::swap: return __builtin_bswap64(a) >> (64 - 8 * e.number);
    default: break;
    }
    const uint64_t b = number(e.operands[1]);
    const bool with_sign = left.is_signed && e.operands[1].is_signed;
    const bool less = with_sign ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
    switch (e.op) {
    case Operator::bit_or: return a | b;
    case Operator::bit_xor: return a ^ b;
    case Operator::bit_and: return a & b;
    case Operator::equal: return a == b;
    case Operator::not_equal: return a != b;
    case Operator::less: return less;
    case Operator::less_equal: return less || a == b;
    case Operator::greater: return !less && a != b;
    case Operator::greater_equal: return !less;
    case Operator::shift_left: return a << (b & 63);
    case Operator::shift_right: return a >> (b & 63);
    case Operator::add: return a + b;
    case Operator::subtract: return a - b;
    case Operator::multiply: return a * b;
    case Operator::divide: return b == 0 ? 0 : a / b;
    case Operator::modulo: return b == 0 ? a : a % b;
    default: break;
    }
    throw std::logic_error("no such operation");
}

// 0, or nothing, where the key is not there.
Datum Actions::map_value(size_t index, const Values& keys)
{
    const engine::Map& map = shared_.script.maps[index];
    const auto of = [&](const engine::Entry& entry) {
        return is_assigned(map.kind) ? entry.value : Datum{entry.number, {}};
    };
    Datum none;
    if (is_assigned(map.kind) && map.type == Type::bytes)
        none.text.assign(map.shape->size, '\0');
    if (map.of_tool) {
        const engine::Entry* const given = processes_.given().find(index, keys);
        return given ? of(*given) : none;
    }
    if (!maps_)
        maps_ = processes_.read();
    for (const engine::Entry& entry : maps_->maps[index])
        if (entry.keys == keys)
            return of(entry);
    return none;
}

} // namespace fastsdt::trace_tool
