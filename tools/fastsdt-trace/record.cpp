// SPDX-License-Identifier: BSD-2-Clause
#include "record.h"

#include "arch/args.h"
#include "base/clock.h"
#include "base/demangle.h"
#include "base/integers.h"
#include "base/printable.h"
#include "base/search_path.h"
#include "base/unusable.h"
#include "code/machine.h"
#include "proc/processes.h"
#include "proc/text.h"
#include "say.h"
#include "script/language.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

namespace fastsdt::trace_tool {

using engine::Expression;
using engine::Probe;
using engine::Statement;
using engine::ValueKind;
using engine::Value;

namespace {

// A process may say that it has as many threads as it likes.
constexpr size_t most_recorded_threads = size_t(1) << 16;
constexpr auto name_period = std::chrono::milliseconds(100); ///< a thread may change its name

Expression value_of(Value value)
{
    Expression e;
    e.kind = Expression::Kind::value;
    e.value = value;
    e.type.kind = value == Value::probe ? ValueKind::probe : ValueKind::integer;
    return e;
}

std::string line_of(const std::string& file)
{
    std::string line;
    std::ifstream in(file);
    std::getline(in, line);
    return line;
}

// Seconds in which the machine was suspended so far.
int64_t asleep()
{
    timespec all{}, awake{};
    clock_gettime(CLOCK_MONOTONIC, &awake);
    clock_gettime(CLOCK_BOOTTIME, &all);
    constexpr double ns = 1e-9;
    return std::lround(static_cast<double>(all.tv_sec - awake.tv_sec)
                       + static_cast<double>(all.tv_nsec - awake.tv_nsec) * ns);
}

uint64_t word(std::span<const std::byte> bytes, size_t offset)
{
    return load(&bytes[offset], 8, false);
}

// What a script calls a value: "id" of args.id and str(args.id), "arg0", "tid".
std::string name_of(const Expression& e, const engine::Site& site, size_t index)
{
    if (e.kind == Expression::Kind::value) {
        const bool is_argument = e.value == Value::arg || e.value == Value::str_arg;
        if (is_argument && e.text.empty() && !e.on_stack && e.argument < site.argument_names.size()
            && !site.argument_names[e.argument].empty())
            return site.argument_names[e.argument];
        if (e.value == Value::reg || e.value == Value::symbol)
            return e.text;
    }
    const std::string name = engine::name_of(e);
    return name.empty() ? fmt::format("value{}", index) : name;
}

} // namespace

std::string program_of(const Options& options)
{
    std::error_code error;
    std::string file;
    if (!options.command.empty())
        file =
            options.command[0].find('/') == std::string::npos ? in_search_path(options.command[0]) : options.command[0];
    else if (options.pids.size() == 1) {
        file = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", options.pids[0]), error);
        if (error)
            throw Unusable(unreadable(options.pids[0], error.value()));
    } else if (options.selection.of(Way::exe).size() == 1)
        file = options.selection.of(Way::exe)[0];
    if (file.empty())
        throw Unusable("which probes are meant? Name them with --probes or --functions");
    return file;
}

std::string timeline_script(const Timeline& timeline)
{
    std::string text;
    std::vector<std::string> functions, probes;
    for (const std::string& place : timeline.functions) {
        functions.push_back("uprobe:" + function_place(place, "--functions"));
        functions.push_back("uretprobe:" + function_place(place, "--functions"));
    }
    for (const std::string& place : timeline.probes)
        probes.push_back(probe_place(place, "--probes"));
    if (functions.empty() && probes.empty())
        probes.emplace_back("usdt:*:*:*");
    if (!functions.empty())
        text += fmt::format("{} {{ print(0); }}\n", fmt::join(functions, ", "));
    if (timeline.samples)
        text += fmt::format("profile:hz:{} {{ @samples[ustack(dwarf)] = count(); }}\n", timeline.samples);
    // One clause for each number of arguments that a site may have.
    for (size_t count = 0; count <= most_arguments && !probes.empty(); ++count) {
        std::string format, values;
        for (size_t i = 0; i < count; ++i) {
            format += "%d";
            values += fmt::format(", arg{}", i);
        }
        text += fmt::format("{} {{ printf(\"{}\"{}); }}\n", fmt::join(probes, ", "), format, values);
    }
    return text;
}

void complete_script(engine::Script& script, const Options& options)
{
    if (const std::string why = engine::counter_obstacle(); !why.empty())
        throw Unusable(why + "; events have that for their time");
    const Timeline& timeline = *options.timeline;
    const bool has_go = may_be_go(script, options);
    for (engine::Clause& clause : script.clauses) {
        if (!clause.has_sites())
            continue;
        const bool is_usdt = clause.probes[0].kind == Probe::Kind::usdt;
        engine::each_statement(clause.actions, [&](Statement& statement) {
            if (statement.kind != Statement::Kind::printf)
                return;
            for (const Expression& e : statement.values)
                if (e.type.kind == ValueKind::stack)
                    throw Unusable(
                        "a trace has no stacks: ustack is a map's key, or printed by a script without record");
                else if (e.type.kind == ValueKind::bytes)
                    throw Unusable("a trace has integers and strings: of a structure or an array print its members");
            if (timeline.generated && is_usdt)
                clause.arguments = statement.values.size();
            else if (timeline.generated)
                statement.values.clear();
            std::vector<Expression> first = {value_of(Value::probe), value_of(Value::tid)};
            if (options.follows())
                first.push_back(value_of(Value::pid));
            if (has_go)
                for (const Value value : {Value::executor, Value::depth})
                    first.push_back(value_of(value));
            statement.values.insert(statement.values.begin(), first.begin(), first.end());
        });
    }
    if (!engine::has_events(script))
        throw Unusable("the script has no printf() at a probe, so there would be nothing to record");
}

Recorder::Recorder(const Options& options, const engine::Script& script, const engine::ProbeNames& names)
    : options_(options), script_(script), names_(names), says_pid_(options.follows()),
      says_executor_(uses(script, Value::executor)), own_values_(2 + (says_pid_ ? 1 : 0) + (says_executor_ ? 2 : 0)),
      since_(clock_ns(CLOCK_REALTIME)), asleep_(asleep()), known_(script.statements)
{
    if (!options.timeline->folder.empty())
        ctf_.emplace(options.timeline->folder, options.timeline->passing);
    if (options.timeline->table || says_executor_) // which knows what a panic has left
        calls_.emplace();
}

std::vector<CtfField> Recorder::fields_of(const Statement& statement, const engine::Site& site) const
{
    std::vector<CtfField> fields;
    const size_t first = own_values_;
    const auto arguments = parse_arguments(site.arguments, engine::own_machine.arch);
    for (size_t i = first; i < statement.values.size(); ++i) {
        const Expression& e = statement.values[i];
        CtfField field{name_of(e, site, i - first), e.type.kind == ValueKind::string ? size_t(0) : 8, e.type.is_signed};
        if (site.kind == Probe::Kind::usdt && e.kind == Expression::Kind::value && e.value == Value::arg
            && !e.on_stack) {
            size_t index = e.argument;
            if (!e.text.empty())
                index = static_cast<size_t>(std::find(site.argument_names.begin(), site.argument_names.end(), e.text)
                                            - site.argument_names.begin());
            if (index < arguments.size()) {
                const int size = arguments[index].size;
                field.is_signed = arguments[index].is_signed;
                if (size == 1 || size == 2 || size == 4)
                    field.bytes = static_cast<size_t>(size);
            }
        }
        fields.push_back(field);
    }
    return fields;
}

const Recorder::Class& Recorder::fresh_class(const Statement& statement, size_t probe)
{
    auto& of_statement = known_[statement.number];
    if (of_statement.size() <= probe)
        of_statement.resize(names_.names().size());
    Class& found = of_statement[probe];
    const engine::Site& site = *names_.site(probe);
    CtfClass one{site.kind == Probe::Kind::usdt        ? site.provider + ':' + site.name
                     : site.kind == Probe::Kind::entry ? "uprobe:" + shown_name(site.name)
                                                       : "uretprobe:" + shown_name(site.name),
                 names_.names()[probe], fields_of(statement, site)};
    found.kind = site.kind;
    unpaired_ = unpaired_ || (site.go && !says_executor_ && site.kind != Probe::Kind::usdt);
    found.tells_end = site.kind != Probe::Kind::entry || tells_ends(site);
    if (!found.tells_end)
        one.probe.insert(0, without_end);
    if (calls_ && found.kind != Probe::Kind::usdt)
        found.function = calls_->add(shown_name(site.name), site.file);
    for (const CtfField& field : one.fields)
        found.fields.push_back(static_cast<unsigned char>(field.bytes));
    const auto [same, added] = numbers_.try_emplace(one, classes_.size());
    found.number = same->second;
    if (added)
        classes_.push_back(std::move(one));
    return found;
}

// In another pid namespace than ours numbers of threads mean others here: then all have the name of the process.
void Recorder::name(Thread& thread)
{
    thread.named = std::chrono::steady_clock::now();
    CtfStream& stream = *thread.stream;
    const int64_t pid = thread.numbers_are_ours ? stream.pid : thread.number.process;
    std::string process = line_of(fmt::format("/proc/{}/comm", pid)), own;
    if (thread.number.goroutine)
        own = fmt::format("{}{}", ctf_goroutine, thread.number.goroutine);
    else if (thread.numbers_are_ours)
        own = line_of(fmt::format("/proc/{}/task/{}/comm", pid, stream.tid));
    if (!process.empty())
        stream.process = std::move(process);
    if (!own.empty())
        stream.thread = std::move(own);
    else if (stream.thread.empty())
        stream.thread = stream.process;
}

// A server may have one for each request. Those that have nothing open are forgotten, unless a trace has a stream of each.
Recorder::Thread* Recorder::spare_goroutine()
{
    if (ctf_)
        return nullptr;
    if (spare_.empty() && events_ >= next_search_) {
        next_search_ = events_ + most_recorded_threads;
        std::erase_if(by_number_, [&](const auto& each) {
            Thread* const thread = each.second;
            const bool idle = each.first.goroutine && thread->calls.stack.depth() == 0 && thread->waiting == 0;
            if (idle)
                spare_.push_back(thread);
            return idle;
        });
        const std::set<Thread*> gone(spare_.begin(), spare_.end());
        for (auto& [process, go] : go_) {
            std::erase_if(go.since_loss, [&](Thread* one) { return gone.contains(one); });
            for (Held& held : go.events)
                held.of_ring = gone.contains(held.of_ring) ? nullptr : held.of_ring;
        }
        std::erase_if(of_rings_, [&](const auto& each) { return gone.contains(each.second); });
        current_ = nullptr;
        of_ring_ = nullptr;
    }
    if (spare_.empty())
        return nullptr;
    Thread* const one = spare_.back();
    spare_.pop_back();
    one->calls.last = 0;
    one->since_loss = false;
    return one;
}

// nullptr: there are too many.
Recorder::Thread* Recorder::other_thread(const Number& number)
{
    const auto known = by_number_.find(number);
    Thread* const thread = known != by_number_.end() ? known->second
        : threads_.size() < most_recorded_threads    ? &threads_.emplace_back()
                                                     : spare_goroutine();
    if (!thread)
        return nullptr;
    last_ = number;
    current_ = thread;
    if (known != by_number_.end())
        return thread;
    by_number_[number] = thread;
    thread->number = number;
    if (ctf_) {
        thread->stream = &ctf_->add(number.pid, number.tid);
        goroutines_ += number.goroutine != 0;
        thread->numbers_are_ours = inner_number(number.process) == static_cast<uint64_t>(number.process);
        name(*thread);
    }
    return thread;
}

void Recorder::write(Thread& thread, const Class& one, uint64_t clock, std::span<const std::byte> values)
{
    std::byte* to = ctf_->event(*thread.stream, one.number, clock, values.size());
    const std::byte* from = values.data();
    for (const unsigned char bytes : one.fields) {
        if (bytes != 0) { // of a smaller integer the low bytes are the first, and what is behind them is written over
            static_assert(std::endian::native == std::endian::little);
            std::memcpy(to, from, 8);
            to += bytes;
            from += 8;
            continue;
        }
        const auto* const end = static_cast<const std::byte*>(std::memchr(from, 0, engine::string_size - 1));
        const size_t length = end ? static_cast<size_t>(end - from) : engine::string_size - 1;
        std::memcpy(to, from, length);
        to[length] = std::byte(0);
        to += length + 1;
        from += engine::string_size;
    }
    ctf_->done(*thread.stream, to);
}

bool Recorder::take(pid_t process, const Statement& statement, std::span<const std::byte> record)
{
    using engine::Ring;
    if (statement.kind != Statement::Kind::printf)
        return false;
    if (!failure_.empty())
        return true;
    const uint64_t probe = word(record, Ring::values);
    Number number{process, says_pid_ ? static_cast<int32_t>(word(record, Ring::values + 16)) : process,
                  static_cast<int32_t>(word(record, Ring::values + 8)), 0};
    CallTable::Place place;
    if (says_executor_) {
        const size_t at = Ring::values + (says_pid_ ? 24 : 16);
        const uint64_t executor = word(record, at);
        place = {executor & engine::go_stack_bit ? executor : 0, word(record, at + 8)};
        if (executor && !(executor & engine::go_stack_bit)) {
            number.tid = 0;
            number.goroutine = executor;
        }
    }
    const uint64_t clock = word(record, Ring::clock);
    const auto values = record.subspan(Ring::values + 8 * own_values_);
    try {
        const auto& known = known_[statement.number];
        const Class* const one = probe < known.size() && known[probe].number != SIZE_MAX ? &known[probe]
            : names_.site(probe) ? &fresh_class(statement, probe)
                                 : nullptr;
        Thread* const thread = current_ && last_ == number ? current_ : other_thread(number);
        if (!one || !thread) { // the process wrote this, or has too many
            ++left_out_;
            return true;
        }
        first_of_ring_ = of_ring_ ? first_of_ring_ : clock;
        last_of_ring_ = clock;
        of_ring_ = thread;
        ++events_;
        auto go = go_.find(process);
        if (go == go_.end() && number.goroutine)
            go = go_.try_emplace(process).first;
        if (go == go_.end()) {
            perform(*thread, *one, clock, place, values);
            return true;
        }
        std::vector<std::byte>& held = go->second.values;
        go->second.events.push_back(
            {clock, thread, statement.number, size_t(probe), place, held.size(), values.size(), 0, nullptr});
        held.insert(held.end(), values.begin(), values.end());
        ++thread->waiting;
    } catch (const Unusable& error) {
        failure_ = error.what();
    }
    return true;
}

void Recorder::perform(Thread& thread, const Class& one, uint64_t clock, const CallTable::Place& place,
                       std::span<const std::byte> values)
{
    const bool enters = one.kind == Probe::Kind::entry;
    const size_t left = calls_ && place.depth && (enters || one.kind == Probe::Kind::exit)
        ? calls_->left_for(thread.calls, place, enters, clock)
        : 0;
    if (ctf_ && left)
        write_mark(thread, ctf_left, "calls left by a panic", clock, left);
    if (ctf_)
        write(thread, one, clock, values);
    if (calls_ && !one.tells_end)
        calls_->count(one.function);
    else if (calls_ && enters)
        left_out_ += !calls_->enter(thread.calls, one.function, clock, place);
    else if (calls_ && one.kind == Probe::Kind::exit)
        calls_->leave(thread.calls, one.function, clock);
}

// In the order of their clock. That is a goroutine's own, whichever threads it is executed by.
void Recorder::perform(Go& go, uint64_t until)
{
    std::stable_sort(go.events.begin(), go.events.end(),
                     [](const Held& a, const Held& b) { return a.clock < b.clock; });
    const auto end =
        std::partition_point(go.events.begin(), go.events.end(), [&](const Held& held) { return held.clock <= until; });
    for (auto held = go.events.begin(); held != end; ++held) {
        if (!held->thread) {
            lose(go, *held);
            continue;
        }
        --held->thread->waiting;
        if (!held->thread->since_loss)
            go.since_loss.push_back(held->thread);
        held->thread->since_loss = true;
        perform(*held->thread, known_[held->statement][held->probe], held->clock, held->place,
                std::span(go.values).subspan(held->at, held->size));
    }
    go.events.erase(go.events.begin(), end);
    std::vector<std::byte> rest;
    for (Held& held : go.events) {
        const auto from = go.values.begin() + static_cast<std::ptrdiff_t>(held.at);
        held.at = rest.size();
        rest.insert(rest.end(), from, from + static_cast<std::ptrdiff_t>(held.size));
    }
    go.values = std::move(rest);
}

// Any goroutine may have been executed by that thread.
void Recorder::lose(Go& go, const Held& held)
{
    for (Thread* const thread : std::exchange(go.since_loss, {})) {
        thread->since_loss = false;
        if (calls_)
            calls_->gap(thread->calls);
        if (ctf_ && thread != held.of_ring)
            write_mark(*thread, ctf_gap, "events were lost", held.clock);
    }
    if (ctf_ && held.of_ring) {
        held.of_ring->stream->discarded += held.lost;
        if (held.lost)
            ctf_->write_packet(*held.of_ring->stream); // so that a reader knows where they are missing
        else
            write_mark(*held.of_ring, ctf_gap, "events were lost", held.clock);
    }
}

void Recorder::write_mark(Thread& thread, std::string_view probe, std::string_view name, uint64_t clock,
                          std::optional<uint64_t> count)
{
    CtfClass one{std::string(name), std::string(probe), {}};
    if (count)
        one.fields.push_back({"count", 8, false});
    const auto [same, added] = numbers_.try_emplace(one, classes_.size());
    if (added)
        classes_.push_back(std::move(one));
    std::byte* const to = ctf_->event(*thread.stream, same->second, clock, 8);
    if (count)
        std::memcpy(to, &*count, 8);
    ctf_->done(*thread.stream, to + (count ? 8 : 0));
}

void Recorder::begin_of_read(pid_t process)
{
    if (const auto go = go_.find(process); go != go_.end())
        go->second.read = engine::read_clocks().counter;
}

void Recorder::end_of_read(pid_t process)
{
    const auto go = go_.find(process);
    if (go == go_.end() || !failure_.empty())
        return;
    try {
        perform(go->second, go->second.read);
    } catch (const Unusable& error) {
        failure_ = error.what();
    }
}

void Recorder::end_of_ring(pid_t process, size_t ring, uint64_t lost, bool overwritten)
{
    Thread* thread = std::exchange(of_ring_, nullptr);
    const bool has_any = thread;
    if (thread)
        of_rings_[{process, ring}] = thread;
    else if (const auto before = of_rings_.find({process, ring}); lost && before != of_rings_.end())
        thread = before->second;
    if (const auto go = go_.find(process); go != go_.end()) {
        // Somewhere between these two, or before the first.
        Held held;
        held.clock = has_any ? last_of_ring_ : go->second.read;
        held.lost = lost;
        held.of_ring = thread;
        if (lost)
            go->second.events.push_back(held);
        held.clock = lost ? engine::read_clocks().counter : first_of_ring_ - 1;
        held.lost = 0;
        if (lost || (overwritten && has_any))
            go->second.events.push_back(held);
    } else if (thread && lost) {
        if (calls_)
            calls_->gap(thread->calls);
        if (thread->stream && failure_.empty())
            try {
                thread->stream->discarded += lost;
                ctf_->write_packet(*thread->stream); // so that a reader knows where they are missing
            } catch (const Unusable& error) {
                failure_ = error.what();
            }
    }
    if (thread && thread->stream && std::chrono::steady_clock::now() - thread->named > name_period)
        name(*thread);
}

// The counter against the kernel's clock from the begin on, and where that clock stands now.
CtfClock Recorder::clock() const
{
    __extension__ using Wide = unsigned __int128;
    constexpr uint64_t second = 1'000'000'000, least = 20'000'000;
    // The counter may have stood still while the machine was suspended.
    engine::Moment begin = asleep() == asleep_ ? begin_ : engine::read_clocks(), now = engine::read_clocks();
    while (now.ns - begin.ns < least)
        now = engine::read_clocks();
    const uint64_t before = engine::boot_time();
    const auto wall = static_cast<uint64_t>(clock_ns(CLOCK_REALTIME));
    const uint64_t since_boot = before + (engine::boot_time() - before) / 2;
    const uint64_t ns = wall - since_boot + now.ns;
    CtfClock clock;
    const uint64_t passed = now.ns - begin.ns;
    clock.frequency = static_cast<uint64_t>((Wide(now.counter - begin.counter) * second + passed / 2) / passed);
    const Wide cycles = Wide(ns) * clock.frequency / second - now.counter;
    clock.offset_s = static_cast<uint64_t>(cycles / clock.frequency);
    clock.offset = static_cast<uint64_t>(cycles % clock.frequency);
    return clock;
}

void Recorder::keep()
{
    constexpr auto period = std::chrono::seconds(1);
    const auto now = std::chrono::steady_clock::now();
    if (!ctf_ || !failure_.empty() || now - kept_ < period || kept_events_ == events_)
        return;
    try {
        ctf_->write_so_far(classes_, clock());
    } catch (const Unusable& error) {
        failure_ = error.what();
    }
    kept_ = std::chrono::steady_clock::now();
    kept_events_ = events_;
}

void Recorder::finish(std::ostream& out)
{
    if (!failure_.empty())
        throw Unusable(failure_);
    for (auto& [process, go] : go_)
        perform(go, UINT64_MAX);
    clock_ = clock();
    if (options_.timeline->table) {
        for (Thread& thread : threads_)
            calls_->end(thread.calls);
        calls_->print(out, clock_.frequency, options_.json);
        if (const uint64_t count = calls_->unfinished())
            tell(fmt::format("{} did not return, by longjmp(), an exception, a panic or the end; {} "
                             "when a call further out "
                             "returned, or at the end",
                             plural(count, "call"), count == 1 ? "it counts as ended" : "they count as ended"));
        if (const uint64_t count = calls_->interrupted())
            tell(fmt::format("{} open where events were lost: how long {} took is not known",
                             plural(count, "call was", "calls were"), count == 1 ? "it" : "they"));
        if (const uint64_t count = calls_->unknown())
            tell(fmt::format("{} an entry {} not counted: the call began before, or the entry was lost",
                             plural(count, "return without", "returns without"), count == 1 ? "is" : "are"));
    }
    if (unpaired_)
        say(go_by_thread);
    if (left_out_)
        say(fmt::format(
            "{} left out: there are more threads and goroutines than {}, or the process wrote over what it recorded",
            plural(left_out_, "event was", "events were"), most_recorded_threads));
}

// For whoever looks at the trace later: what it is of, and what it lacks.
CtfNotes Recorder::notes(const std::string& summary, bool complete) const
{
    CtfNotes notes = {{"since", std::to_string(since_)}, {"until", std::to_string(clock_ns(CLOCK_REALTIME))}};
    std::vector<std::string> traced = options_.command;
    if (!options_.selection.empty())
        traced.push_back(options_.selection.words());
    if (!options_.pids.empty())
        traced.push_back(fmt::format("-p {}", fmt::join(options_.pids, ",")));
    notes.emplace_back("traced", fmt::format("{}", fmt::join(traced, " ")));
    notes.emplace_back("complete", complete ? "yes" : "no");
    notes.emplace_back("summary", summary);
    for (const std::string& sentence : said())
        notes.emplace_back(fmt::format("said_{}", notes.size()), sentence);
    return notes;
}

void Recorder::samples(const std::map<std::string, uint64_t>& stacks)
{
    if (!ctf_ || stacks.empty())
        return;
    const size_t number = classes_.size();
    classes_.push_back({"samples",
                        fmt::format("{}hz:{}", ctf_samples, options_.timeline->samples),
                        {{"count", 8, false}, {"stack", 0, false}}});
    CtfStream& stream = threads_.empty() ? ctf_->add(options_.pid, 0) : *threads_.front().stream;
    for (const auto& [stack, count] : stacks) {
        std::byte* to = ctf_->event(stream, number, 0, 8 + stack.size() + 1);
        std::memcpy(to, &count, 8);
        std::memcpy(to + 8, stack.c_str(), stack.size() + 1);
        ctf_->done(stream, to + 8 + stack.size() + 1);
    }
}

void Recorder::write(const std::string& summary, bool complete)
{
    if (!ctf_)
        return;
    ctf_->finish(classes_, clock_, notes(summary, complete));
    if (!options_.timeline->passing)
        tell(fmt::format("{} of {}{}, {} bytes: {}", plural(events_, "event"),
                         plural(ctf_->streams() - goroutines_, "thread"),
                         goroutines_ ? " and " + plural(goroutines_, "goroutine") : "", ctf_->bytes(), ctf_->folder()));
}

} // namespace fastsdt::trace_tool
