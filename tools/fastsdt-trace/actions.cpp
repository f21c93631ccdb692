// SPDX-License-Identifier: BSD-2-Clause
#include "actions.h"

#include "base/descriptor.h"
#include "base/printable.h"
#include "output_of.h"
#include "process/clock.h"
#include "say.h"
#include "script/format.h"
#include "script/parse.h"
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
#include <iostream>
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
using engine::MapKind;
using engine::Statement;
using engine::ValueKind;

namespace {

constexpr size_t of_printed_stack = 8; ///< blanks before each frame, as bpftrace has them

// Lines and tabs stay, as bpftrace prints them.
std::string printable_lines(std::string_view text)
{
    std::string all;
    while (!text.empty()) {
        const size_t end = std::min(text.find_first_of("\n\t"), text.size());
        all += printable(text.substr(0, end)) + std::string(text.substr(end, 1));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return all;
}

// One value, as snprintf() would print it. Strings are of the process, and it chose what is in them.
std::string formatted_value(const Format& format, const Expression& e, const Datum& datum,
                            const std::vector<std::string>& names, size_t indent, bool keeps_lines)
{
    const auto safe = [&](const std::string& text) { return keeps_lines ? printable_lines(text) : printable(text); };
    std::string for_text = "%" + format.how;
    std::erase_if(for_text, [](char c) { return c == '#' || c == '+' || c == ' '; });
    if (for_text.size() > 1 && for_text[1] == '0')
        for_text.erase(1, for_text.find_first_not_of('0', 1) - 1);
    for_text += 's';
    switch (format.conversion) {
    case 'r': return fmt::sprintf(for_text, buffer_text(datum.text, format.bytes));
    case 's':
        return fmt::sprintf(
            for_text,
            e.type.kind == ValueKind::stack ? stack_text(datum, indent) : safe(text_of(e.type, datum, names)));
    case 'p': return fmt::sprintf(for_text, fmt::format("0x{:x}", static_cast<uint64_t>(datum.number)));
    case 'c': {
        return fmt::sprintf(for_text, printable_lines(std::string(1, static_cast<char>(datum.number))));
    }
    default: break;
    }
    if (engine::is_for_reals(format.conversion))
        return fmt::sprintf("%" + format.how + format.conversion,
                            real_number(*e.type.shape, static_cast<uint64_t>(datum.number)));
    // Of an integer as many bytes as the length says, as C has it.
    const unsigned unused = 64 - 8 * format.size;
    const auto bits = static_cast<uint64_t>(datum.number) << unused;
    const std::string how = "%" + format.how + "ll" + format.conversion;
    return format.conversion == 'd' ? fmt::sprintf(how, static_cast<long long>(static_cast<int64_t>(bits) >> unused))
                                    : fmt::sprintf(how, static_cast<unsigned long long>(bits >> unused));
}

} // namespace

bool Actions::run(const engine::Clause& clause, const engine::Probe& probe, const Samples::Sample* sample)
{
    probe_ = &probe;
    sample_ = sample;
    by_ = {};
    maps_.reset();
    shown_ = nullptr;
    auto [program, fresh] = programs_.try_emplace(&clause);
    if (fresh)
        program->second = engine::ir::lower(shared_.script, clause);
    return engine::ir::interpret(program->second, *this);
}

void Actions::too_many_turns()
{
    say(fmt::format("a loop of {} was ended after {} turns, and the rest of the clause left out", probe_->text,
                    engine::most_turns));
}

std::optional<std::string> Actions::name(engine::Value what)
{
    if (what == engine::Value::probe)
        return probe_->text;
    if (sample_)
        return sample_->comm;
    std::array<char, 17> name{};
    prctl(PR_GET_NAME, name.data());
    return name.data();
}

std::optional<uint64_t> Actions::ask(engine::Value what)
{
    using engine::Value;
    switch (what) { // a sample says what the tool would say of itself
    case Value::pid: return sample_ ? sample_->pid : getpid();
    case Value::tid: return sample_ ? sample_->tid : getpid();
    case Value::uid:
    case Value::gid: {
        if (!sample_)
            return what == Value::uid ? getuid() : getgid();
        struct stat of{};
        if (stat(fmt::format("/proc/{}/task/{}", sample_->pid, sample_->tid).c_str(), &of) < 0)
            return std::nullopt;
        return what == Value::uid ? of.st_uid : of.st_gid;
    }
    case Value::cpu:
    case Value::node: {
        if (sample_ && what == Value::cpu)
            return sample_->cpu;
        unsigned cpu = 0, node = 0;
        getcpu(&cpu, &node);
        return what == Value::cpu ? cpu : node;
    }
    case Value::child: return processes_.empty() ? 0 : processes_.first().pid();
    case Value::random: return random_();
    case Value::nsecs: return sample_ ? sample_->time : engine::boot_time();
    case Value::start: return shared_.start_ns;
    case Value::arg:
    case Value::str_arg:
    case Value::elapsed:
    case Value::comm:
    case Value::probe:
    case Value::function:
    case Value::goroutine:
    case Value::cgroup:
    case Value::executor:
    case Value::depth:
    case Value::retval:
    case Value::stack:
    case Value::reg:
    case Value::symbol: break;
    }
    throw std::logic_error("no number that the tool has");
}

// ---- Maps

void Actions::changed(size_t map)
{
    shown_ = nullptr;
    if (!shared_.script.maps[map].of_tool)
        maps_.reset();
}

// In a process's maps stacks and symbols have their names by now, and no number: those that a clause has are places in names_, far above addresses.
constexpr int64_t first_name = int64_t(1) << 62;

std::string Actions::bytes(const engine::ValueType& type, Datum datum)
{
    if (type.has_name() && !datum.text.empty()) {
        const auto [found, fresh] = places_.try_emplace(datum.text, names_.size());
        if (fresh)
            names_.push_back(datum.text);
        datum.number = first_name + int64_t(found->second);
    }
    return bytes_of(type, datum);
}

Datum Actions::named(const engine::ValueType& type, Datum datum) const
{
    const bool is_place = datum.number >= first_name && uint64_t(datum.number - first_name) < names_.size();
    return type.has_name() && is_place ? Datum{0, names_[size_t(datum.number - first_name)]} : datum;
}

uint64_t Actions::frames(uint64_t stack)
{
    const Datum datum = named({ValueKind::stack}, {int64_t(stack), {}});
    if (!datum.text.empty())
        return engine::frames_of(datum).size();
    return shared_.profile ? shared_.profile->frames(stack) : 0;
}

Actions::Values Actions::keys(size_t map, std::string_view bytes) const
{
    Values found = keys_of(shared_.script.maps[map], bytes);
    for (size_t i = 0; i < found.size(); ++i)
        found[i] = named(shared_.script.maps[map].keys[i], std::move(found[i]));
    return found;
}

// A map of the tool's that says how many keys it has at most.
bool Actions::has_room(size_t index, const Values& keys)
{
    const engine::Map& map = shared_.script.maps[index];
    engine::Given& given = processes_.given();
    if (map.most_keys == 0 || !map.of_tool || given.find(index, keys) || given.entries(index) < map.most_keys)
        return true;
    if (map.is_lru) {
        given.remove_any(index);
        return true;
    }
    if (shared_.options.warns && full_.insert(index).second)
        say(fmt::format(
            "WARNING: Map full; can't update element. {} has {} keys; let {} = hash(N) says how many it may "
            "have",
            map.name, map.most_keys, map.name));
    return false;
}

void Actions::update(size_t map, std::string_view key, uint64_t value)
{
    if (!has_room(map, keys(map, key)))
        return;
    processes_.given().update(map, keys(map, key), static_cast<int64_t>(value));
    changed(map);
}

void Actions::remove(size_t map, std::string_view key)
{
    if (shared_.script.maps[map].of_tool)
        processes_.given().remove(map, keys(map, key));
    else
        processes_.remove(map, keys(map, key));
    changed(map);
}

void Actions::add(size_t map, std::string_view key, uint64_t value)
{
    const Values of = keys(map, key);
    const auto sum = [value](int64_t to) { return Datum{int64_t(uint64_t(to) + value), {}}; };
    if (shared_.script.maps[map].only_adds) {
        const engine::Entry* const given = processes_.given().find(map, of);
        processes_.given().assign(map, of, sum(given ? given->value.number : 0));
    } else {
        assign(map, of, sum(value_of(map, of).value_or(Datum{}).number));
    }
    changed(map);
}

void Actions::assign(size_t map, std::string_view key, std::string_view value)
{
    const engine::Map& of = shared_.script.maps[map];
    assign(map, keys(map, key), named(of.type, datum_of(of.type, value)));
    changed(map);
}

void Actions::assign(size_t index, const Values& keys, Datum value)
{
    const engine::Map& map = shared_.script.maps[index];
    if (!has_room(index, keys))
        return;
    if (map.only_adds) { // what processes have added so far is in what read() adds up
        maps_.reset();
        const engine::Entry* const given = processes_.given().find(index, keys);
        const auto all = uint64_t(value_of(index, keys).value_or(Datum{}).number),
                   own = uint64_t(given ? given->value.number : 0);
        processes_.given().assign(index, keys, {int64_t(uint64_t(value.number) - (all - own)), {}});
    } else if (map.of_tool) {
        processes_.given().assign(index, keys, std::move(value));
    } else {
        processes_.assign(index, value.number);
    }
}

std::optional<std::string> Actions::get(size_t map, std::string_view key)
{
    const engine::Map& of = shared_.script.maps[map];
    const auto value = value_of(map, keys(map, key));
    return value ? std::optional(bytes(of.type, *value)) : std::nullopt;
}

std::optional<Datum> Actions::value_of(size_t index, const Values& keys)
{
    const engine::Map& map = shared_.script.maps[index];
    const auto of = [&](const engine::Entry& entry) {
        return is_assigned(map.kind) ? entry.value : Datum{one_number(map, entry), {}};
    };
    if (map.of_tool) {
        const engine::Entry* const given = processes_.given().find(index, keys);
        return given ? std::optional(of(*given)) : std::nullopt;
    }
    for (const engine::Entry& entry : recorded(index))
        if (entry.keys == keys)
            return of(entry);
    return std::nullopt;
}

// What processes and the tool have in a map, as the clause sees it.
const std::vector<engine::Entry>& Actions::recorded(size_t map)
{
    if (!maps_)
        maps_ = processes_.read();
    return maps_->maps[map];
}

size_t Actions::entries(size_t map)
{
    return shared_.script.maps[map].of_tool ? processes_.given().entries(map) : recorded(map).size();
}

std::vector<std::string> Actions::all_keys(size_t map)
{
    const engine::Map& of = shared_.script.maps[map];
    std::vector<Values> keys;
    if (of.of_tool)
        keys = processes_.given().keys(map);
    else
        for (const engine::Entry& entry : recorded(map))
            keys.push_back(entry.keys);
    std::vector<std::string> all;
    for (const Values& each : keys) {
        std::string& bytes = all.emplace_back();
        for (size_t i = 0; i < each.size(); ++i)
            bytes += this->bytes(of.keys[i], each[i]);
    }
    std::reverse(all.begin(), all.end()); // the last one comes first
    return all;
}

// ---- Statements

bool Actions::record(const Statement& statement, const std::vector<std::string>& values)
{
    Values read;
    for (size_t i = 0; i < values.size(); ++i)
        read.push_back(named(statement.values[i].type, datum_of(statement.values[i].type, values[i])));
    for (size_t i = 0; shared_.profile && i < read.size(); ++i)
        if (const engine::ValueType& type = statement.values[i].type; type.has_name() && read[i].text.empty())
            read[i].text =
                shared_.profile->name_of(type, static_cast<uint64_t>(read[i].number), sample_ ? sample_->pid : 0);
    return perform(statement, read);
}

// Its keys stay.
void Actions::zero(size_t map)
{
    const engine::Maps before = processes_.read();
    processes_.clear(map, false);
    if (shared_.script.maps[map].series && is_assigned(shared_.script.maps[map].kind))
        return maps_.reset(); // of intervals there is no value to begin with
    for (const engine::Entry& entry : before.maps[map])
        if (shared_.script.maps[map].kind == MapKind::integer && entry.keys.empty()
            && !shared_.script.maps[map].of_tool)
            processes_.assign(map, 0);
        else
            processes_.given().make(map, entry.keys);
    maps_.reset();
}

// What a file has, up to what is to be printed of it. Nothing that could wait is read.
void Actions::cat(const std::string& file)
{
    const size_t most = shared_.script.cat_bytes;
    const Descriptor from(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status{};
    if (!from || fstat(from.get(), &status) < 0 || S_ISDIR(status.st_mode)) {
        say(fmt::format("cat: {}: {}", file, from ? "it is no file" : std::strerror(errno)));
        return;
    }
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 1; got > 0 && text.size() < most; text.append(piece.data(), size_t(std::max<ssize_t>(got, 0))))
        got = read(from.get(), piece.data(), std::min(piece.size(), most - text.size()));
    output_.text(text, Output::Kind::cat);
}

// What a shell prints that runs the command; it is waited for, as in bpftrace.
void Actions::system(const std::string& command)
{
    std::cout.flush();
    const auto text = output_of("/bin/sh", {"sh", "-c", command});
    if (!text)
        return say(fmt::format("system: /bin/sh: {}", std::strerror(errno)));
    output_.text(*text, Output::Kind::system);
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
            + formatted_value(statement.format[i], statement.values[i], values[i], shared_.names.names(),
                              indent_of(shared_.script, of_printed_stack), shared_.options.is_newer);
    return text + statement.format.back().text;
}

// warnf() and errorf(): beside what is printed, with the place in the script.
void Actions::said(const Statement& statement, const std::string& what) const
{
    const engine::Position at = engine::position(shared_.options.text, statement.where);
    std::cout.flush();
    std::fputs(fmt::format("{}:{}:{}-{}: {}: {}{}", printable(shared_.options.name), at.line, at.column,
                           at.column + statement.where.length, statement.text, what, what.ends_with('\n') ? "" : "\n")
                   .c_str(),
               stderr);
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
        if (statement.text == "WARNING" && !shared_.options.warns)
            return true;
        if (!statement.text.empty())
            said(statement, formatted(statement, values));
        else if (statement.is_value)
            output_.value(statement.values[0], values[0], names);
        else
            output_.text(formatted(statement, values), Output::Kind::printf);
        return true;
    case Statement::Kind::join: join(statement, values); return true;
    case Statement::Kind::cat: cat(formatted(statement, values)); return true;
    case Statement::Kind::system: system(formatted(statement, values)); return true;
    case Statement::Kind::time: {
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        output_.text(time_text(statement.text, now.tv_sec, now.tv_nsec), Output::Kind::time);
        return true;
    }
    case Statement::Kind::exit:
        if (!values.empty())
            status_ = static_cast<int>(values[0].number & 0xff);
        return false;
    default: return true; // of sites
    }
}

} // namespace fastsdt::trace_tool
