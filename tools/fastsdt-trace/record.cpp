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
    else if (options.pids.size() == 1)
        file = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", options.pids[0]), error);
    else if (options.selection.exes.size() == 1)
        file = options.selection.exes[0];
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
    if (!engine::counter_tells_time())
        throw Unusable(
            "the kernel does not tell the time by the processor's counter, which events have for their time");
    const Timeline& timeline = *options.timeline;
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
            statement.values.insert(statement.values.begin(), first.begin(), first.end());
        });
    }
    if (!engine::has_events(script))
        throw Unusable("the script has no printf() at a probe, so there would be nothing to record");
}

Recorder::Recorder(const Options& options, const engine::Script& script, const engine::ProbeNames& names)
    : options_(options), script_(script), names_(names), says_pid_(options.follows()), since_(clock_ns(CLOCK_REALTIME)),
      asleep_(asleep()), known_(script.statements)
{
    if (!options.timeline->folder.empty())
        ctf_.emplace(options.timeline->folder, !options.timeline->page.empty());
    if (options.timeline->table)
        calls_.emplace();
}

std::vector<CtfField> Recorder::fields_of(const Statement& statement, const engine::Site& site) const
{
    std::vector<CtfField> fields;
    const size_t first = says_pid_ ? 3 : 2;
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
    const int64_t pid = thread.numbers_are_ours ? stream.pid : thread.process;
    std::string process = line_of(fmt::format("/proc/{}/comm", pid)), own;
    if (thread.numbers_are_ours)
        own = line_of(fmt::format("/proc/{}/task/{}/comm", pid, stream.tid));
    if (!process.empty())
        stream.process = std::move(process);
    if (!own.empty())
        stream.thread = std::move(own);
    else if (stream.thread.empty())
        stream.thread = stream.process;
}

// nullptr: there are too many.
Recorder::Thread* Recorder::other_thread(const Number& number)
{
    const auto known = by_number_.find(number);
    if (known == by_number_.end() && threads_.size() >= most_recorded_threads)
        return nullptr;
    last_ = number;
    if (known != by_number_.end())
        return current_ = known->second;
    current_ = by_number_[number] = &threads_.emplace_back();
    if (ctf_) {
        current_->stream = &ctf_->add(number.pid, number.tid);
        current_->process = number.process;
        current_->numbers_are_ours = inner_number(number.process) == static_cast<uint64_t>(number.process);
        name(*current_);
    }
    return current_;
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
    const Number number{process, says_pid_ ? static_cast<int32_t>(word(record, Ring::values + 16)) : process,
                        static_cast<int32_t>(word(record, Ring::values + 8))};
    const uint64_t clock = word(record, Ring::clock);
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
        of_ring_ = thread;
        ++events_;
        if (ctf_)
            write(*thread, *one, clock, record.subspan(Ring::values + (says_pid_ ? 24 : 16)));
        if (calls_ && !one->tells_end)
            calls_->count(one->function);
        else if (calls_ && one->kind == Probe::Kind::entry)
            left_out_ += !calls_->enter(thread->calls, one->function, clock);
        else if (calls_ && one->kind == Probe::Kind::exit)
            calls_->leave(thread->calls, one->function, clock);
    } catch (const Unusable& error) {
        failure_ = error.what();
    }
    return true;
}

void Recorder::end_of_ring(pid_t process, size_t ring, uint64_t lost)
{
    Thread* thread = std::exchange(of_ring_, nullptr);
    if (thread)
        of_rings_[{process, ring}] = thread;
    else if (const auto before = of_rings_.find({process, ring}); lost && before != of_rings_.end())
        thread = before->second;
    if (thread && lost && calls_)
        calls_->gap(thread->calls);
    if (!thread || !thread->stream)
        return;
    if (lost && failure_.empty())
        try {
            thread->stream->discarded += lost;
            ctf_->write_packet(*thread->stream); // so that a reader knows where they are missing
        } catch (const Unusable& error) {
            failure_ = error.what();
        }
    if (std::chrono::steady_clock::now() - thread->named > name_period)
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
    clock_ = clock();
    if (calls_) {
        for (Thread& thread : threads_)
            calls_->end(thread.calls);
        calls_->print(out, clock_.frequency, options_.json);
        if (const uint64_t count = calls_->unfinished())
            tell(fmt::format("{} did not return, by longjmp(), an exception or the end; {} "
                             "when a call further out "
                             "returned, or at the end",
                             plural(count, "call"), count == 1 ? "it counts as ended" : "they count as ended"));
        if (const uint64_t count = calls_->interrupted())
            tell(fmt::format("{} open where events were lost: how long {} took is not known",
                             plural(count, "call was", "calls were"), count == 1 ? "it" : "they"));
        if (const uint64_t count = calls_->unknown())
            tell(fmt::format("{} left out: what entered there was not recorded",
                             plural(count, "exit was", "exits were")));
    }
    if (left_out_)
        say(fmt::format("{} left out: there are more threads than {}, or the process wrote over what it recorded",
                        plural(left_out_, "event was", "events were"), most_recorded_threads));
}

// For whoever looks at the trace later: what it is of, and what it lacks.
CtfNotes Recorder::notes(const std::string& summary, bool complete) const
{
    CtfNotes notes = {{"since", std::to_string(since_)}, {"until", std::to_string(clock_ns(CLOCK_REALTIME))}};
    std::vector<std::string> traced = options_.command;
    for (const auto& [option, values] : {std::pair("--exe", &options_.selection.exes),
                                         {"--comm", &options_.selection.comms},
                                         {"--cgroup", &options_.selection.cgroups},
                                         {"--container", &options_.selection.containers}})
        for (const std::string& value : *values)
            traced.push_back(fmt::format("{} {}", option, value));
    for (const uid_t user : options_.selection.users)
        traced.push_back(fmt::format("--user {}", user));
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
    if (options_.timeline->page.empty())
        tell(fmt::format("{} of {}, {} bytes: {}", plural(events_, "event"), plural(ctf_->streams(), "thread"),
                         ctf_->bytes(), ctf_->folder()));
}

} // namespace fastsdt::trace_tool
