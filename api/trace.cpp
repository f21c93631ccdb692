// SPDX-License-Identifier: BSD-2-Clause
// Handles: opened, attached, detached, closed.
//
// An attachment to this process is never freed. A thread may stay in one of its stubs for any time, and then write to
// its tables. So stubs and tables stay, and the next attachment of the same text uses them.
#include "base/printable.h"
#include "base/unusable.h"
#include "handles.h"
#include "process/outside.h"

#include <fastsdt.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace fastsdt::api {
namespace {

using engine::Position;
using engine::Script;
using engine::ScriptError;
using engine::State;
using engine::Statement;

// Shared by all handles to this process. A forked child makes its own: another thread of the parent may have held the
// lock.
struct Own {
    pid_t pid = getpid();
    std::mutex one_at_a_time;
    std::vector<std::unique_ptr<fastsdt_trace_attachment>> attachments;
};

Own& own()
{
    static std::atomic<Own*> all; // never freed: threads hit sites until the very end
    Own* now = all;
    while (!now || now->pid != getpid()) {
        auto fresh = std::make_unique<Own>();
        if (all.compare_exchange_strong(now, fresh.get()))
            now = fresh.release();
    }
    return *now;
}

[[noreturn]] void wrong_options(const char* why)
{
    throw Failure(FASTSDT_TRACE_MISUSE, fmt::format("fastsdt_trace_options: {}", why));
}

Wanted read_options(const fastsdt_trace& trace, const fastsdt_trace_options* options)
{
    Wanted wanted;
    if (trace.reads_memory)
        wanted.flags |= FASTSDT_TRACE_READ_MEMORY;
    if (!options)
        return wanted;
    // A caller that knows more of the structure than we do may say so only by zeros.
    constexpr size_t first_size = offsetof(fastsdt_trace_options, buffer) + sizeof options->buffer, most_size = 4096;
    if (options->size < first_size || options->size > most_size)
        wrong_options("its size is not set");
    const auto* const bytes = reinterpret_cast<const unsigned char*>(options);
    for (size_t i = sizeof *options; i < options->size; ++i)
        if (bytes[i] != 0)
            wrong_options("this version of libfastsdt-trace does not know one of its members");
    if (options->flags
        & ~unsigned(FASTSDT_TRACE_READ_MEMORY | FASTSDT_TRACE_NO_MOVE | FASTSDT_TRACE_MOVE_FAULTING
                    | FASTSDT_TRACE_ADDRESSES))
        wrong_options("this version of libfastsdt-trace does not know one of its flags");
    if ((options->flags & FASTSDT_TRACE_NO_MOVE) && (options->flags & FASTSDT_TRACE_MOVE_FAULTING))
        wrong_options("FASTSDT_TRACE_NO_MOVE and FASTSDT_TRACE_MOVE_FAULTING exclude each other");
    wanted.flags |= options->flags;
    constexpr size_t least_buffer = size_t(4) << 10, most_buffer = size_t(1) << 30;
    if (options->buffer != 0 && (options->buffer < least_buffer || options->buffer > most_buffer))
        wrong_options("a buffer has 4 KiB to 1 GiB");
    if (options->buffer != 0)
        wanted.buffer = std::bit_ceil(options->buffer);
    return wanted;
}

Script parse_script(const char* text, const Wanted& wanted)
{
    Script script = engine::parse(text);
    if (wanted.has(FASTSDT_TRACE_ADDRESSES) && !script.stack_form)
        script.stack_form = engine::StackForm::perf;
    if (engine::has_dump(script))
        throw Unusable(
            "dump() prints what fastsdt-trace --flight keeps; here fastsdt_trace_events_read() reads events");
    for (const engine::Clause& clause : script.clauses)
        if (!clause.probes.front().has_sites())
            throw ScriptError(clause.where, "BEGIN, END and interval are left to the program that attaches");
    const auto is_for_tool = [](const engine::ValueType& type) {
        return type.kind == engine::ValueKind::bytes || type.kind == engine::ValueKind::shown;
    };
    for (const engine::Map& map : script.maps)
        if (map.fine_bits)
            throw ScriptError(map.where,
                              map.name + " has finer buckets than hist(VALUE), which only fastsdt-trace prints");
        else if (map.series)
            throw ScriptError(map.where, map.name + " is a tseries(), which only fastsdt-trace prints");
        else if (is_for_tool(map.type) || std::any_of(map.keys.begin(), map.keys.end(), is_for_tool))
            throw ScriptError(
                map.where, map.name + " holds what only fastsdt-trace prints: integers and strings are for a program");
    engine::each_statement(std::as_const(script), [](const Statement& statement) {
        if (std::any_of(statement.values.begin(), statement.values.end(),
                        [](const engine::Expression& value) { return value.type.kind == engine::ValueKind::bytes; }))
            throw ScriptError(statement.where,
                              "only fastsdt-trace prints bytes: integers and strings are for a program");
    });
    if (const Statement* const found = unsafe_statement(script))
        throw ScriptError(found->where, "only fastsdt-trace --unsafe runs commands and sends signals");
    return script;
}

Script parse_probes(const char* probes, Function& function)
{
    Script script = engine::parse(std::string(probes) + " {}");
    if (script.clauses.size() != 1 || !script.clauses.front().actions.empty())
        throw ScriptError(script.clauses.front().where,
                          "probes and a filter are wanted, and no action: the function is the action");
    if (!script.clauses.front().probes.front().has_sites())
        throw ScriptError(script.clauses.front().where,
                          "BEGIN, END and interval are left to the program that attaches");
    Statement call;
    call.kind = Statement::Kind::call;
    call.function = reinterpret_cast<uint64_t>(&Function::deliver);
    call.context = reinterpret_cast<uint64_t>(&function);
    script.clauses.front().actions.push_back(std::move(call));
    return script;
}

// Arms the sites that are matched. What they are watched for may come with any of them.
void arm(fastsdt_trace_attachment& attachment)
{
    if (attachment.function)
        attachment.function->set_names(attachment.session->probes());
    attachment.session->arm();
    if (attachment.follow && attachment.session->is_to_be_watched())
        attachment.trace->watch();
}

void disarm(fastsdt_trace_attachment& attachment)
{
    attachment.session->disarm();
    for (const engine::SiteState& state : attachment.session->states())
        if (state.state == State::armed)
            throw Failure(FASTSDT_TRACE_BUSY, "a thread keeps standing in a site: try again");
}

void begin(fastsdt_trace_attachment& attachment)
{
    const fastsdt_trace& trace = *attachment.trace;
    attachment.begin_ns = since_1970();
    if (attachment.session) { // it was attached before
        attachment.self->forget_data(attachment.session->contents());
        std::vector<engine::Event> old; // of the attachment before
        attachment.session->read_events(old, true);
        attachment.lost_before = attachment.session->lost_events();
        attachment.waiting.clear();
        attachment.session->match_again();
    } else {
        if (trace.own()) {
            auto self = engine::open_self();
            attachment.self = self.get();
            attachment.target = std::move(self);
        } else {
            attachment.target = engine::open_outside(trace.pid);
            attachment.follow.emplace(attachment.target->view());
        }
        attachment.session = std::make_unique<engine::Session>(
            attachment.script, *attachment.target,
            engine::Session::Options{.calls = attachment.wanted.has(FASTSDT_TRACE_READ_MEMORY),
                                     .moves = !attachment.wanted.has(FASTSDT_TRACE_NO_MOVE),
                                     .moves_faulting = attachment.wanted.has(FASTSDT_TRACE_MOVE_FAULTING),
                                     .ring_size = attachment.wanted.buffer});
    }
    arm(attachment);
}

fastsdt_trace_attachment* attach_own(fastsdt_trace& trace, const char* text, const Wanted& wanted,
                                     fastsdt_trace_function* function, void* context)
{
    auto& all = own().attachments;
    const auto kept = std::find_if(all.begin(), all.end(), [&](const auto& a) {
        return !a->trace && a->text == text && a->wanted == wanted && !a->function == !function;
    });
    fastsdt_trace_attachment* attachment = kept == all.end() ? nullptr : kept->get();
    trace.attachments.reserve(trace.attachments.size() + 1);
    if (!attachment) {
        auto fresh = std::make_unique<fastsdt_trace_attachment>();
        fresh->text = text;
        fresh->wanted = wanted;
        if (function)
            fresh->function = std::make_unique<Function>();
        fresh->script = function ? parse_probes(text, *fresh->function) : parse_script(text, wanted);
        all.push_back(std::move(fresh));
        attachment = all.back().get();
    }
    attachment->trace = &trace;
    try {
        if (function) {
            attachment->function->forget_missed();
            attachment->function->enable(function, context);
        }
        begin(*attachment);
    } catch (...) {
        try {
            if (attachment->session)
                attachment->session->disarm();
            if (!function || attachment->function->disable())
                attachment->trace = nullptr;
        } catch (const Unusable&) {
            // It may still be armed. So it keeps its handle, and no later attachment takes it; nobody reads what its
            // stubs count.
        }
        throw;
    }
    trace.attachments.push_back(attachment);
    return attachment;
}

// Where attaching failed.
void put_back(fastsdt_trace_attachment& attachment)
{
    try {
        if (attachment.session)
            attachment.session->disarm();
    } catch (const Unusable&) {
        // As the error says, which is on its way.
    }
}

fastsdt_trace_attachment* attach_outside(fastsdt_trace& trace, const char* text, const Wanted& wanted)
{
    auto attachment = std::make_unique<fastsdt_trace_attachment>();
    attachment->trace = &trace;
    attachment->text = text;
    attachment->wanted = wanted;
    attachment->script = parse_script(text, wanted);
    trace.attachments.reserve(trace.attachments.size() + 1);
    try {
        begin(*attachment);
    } catch (...) {
        put_back(*attachment);
        throw;
    }
    trace.attachments.push_back(attachment.get());
    return attachment.release();
}

// Puts the sites back and waits for calls. Where it throws, the attachment is still there, and this can be tried again.
void release(fastsdt_trace_attachment& attachment)
{
    try {
        disarm(attachment);
    } catch (const Unusable&) {
        // If the process has ended or executes another program, its sites are gone with its memory.
        if (!attachment.follow)
            throw;
        const engine::Follow::News news = attachment.follow->news();
        if (!news.ended && !news.executed)
            throw;
    }
    if (attachment.function && !attachment.function->disable())
        throw Failure(FASTSDT_TRACE_BUSY,
                      "a thread is still in the function: its sites are the file's again; detach again later");
}

// What is released.
void forget(fastsdt_trace_attachment& attachment)
{
    std::erase(attachment.trace->attachments, &attachment);
    if (attachment.self) {
        attachment.notify.reset();
        attachment.waiting = {};
        attachment.self->forget_data(attachment.session->contents());
        attachment.trace = nullptr;
    } else {
        delete &attachment;
    }
}

} // namespace

int64_t since_1970()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

void set_error(fastsdt_trace_error* error, int kind, const std::string& text, Position where)
{
    if (!error)
        return;
    error->kind = kind;
    error->line = static_cast<unsigned>(where.line);
    error->column = static_cast<unsigned>(where.column);
    const std::string clean = cut(printable(text), sizeof error->text - 1);
    std::memcpy(error->text, clean.c_str(), clean.size() + 1);
}

void check_usable(const fastsdt_trace* trace)
{
    if (!trace)
        throw Failure(FASTSDT_TRACE_MISUSE, "there is no handle: NULL");
    if (trace->opener != getpid())
        throw Failure(FASTSDT_TRACE_MISUSE,
                      fmt::format("process {} opened the handle, and this is process {}: a forked child "
                                  "opens its own",
                                  trace->opener, getpid()));
    if (const char here = 0; Nested::at(&here))
        throw Failure(FASTSDT_TRACE_MISUSE, "called from a function that is attached");
}

void check_usable(const fastsdt_trace_attachment* attachment)
{
    if (!attachment)
        throw Failure(FASTSDT_TRACE_MISUSE, "there is no attachment: NULL");
    check_usable(attachment->trace);
}

namespace {

using Clock = std::chrono::steady_clock;
using Pause = std::optional<Clock::duration>;

// What nobody tells of, as fastsdt-trace looks for it.
void look_for_changes(fastsdt_trace_attachment& attachment)
{
    attachment.follow->news(); // reads what is mapped
    attachment.session->look_for_filters();
    attachment.session->look_for_handlers();
    attachment.session->follow_stack();
    attachment.session->free_slots();
}

// Soon again where there was something, and where there was nothing later each time.
void look_for_events(fastsdt_trace_attachment& attachment)
{
    constexpr Clock::duration soonest = std::chrono::milliseconds(1), latest = std::chrono::milliseconds(10);
    const size_t before = attachment.waiting.size();
    if (before < most_waiting)
        attachment.session->read_events(attachment.waiting, false);
    if (attachment.waiting.size() == before) {
        attachment.pause = std::clamp(2 * attachment.pause, soonest, latest);
        return;
    }
    attachment.pause = soonest;
    const uint64_t one = 1;
    if (write(attachment.notify.get(), &one, sizeof one) != sizeof one)
        return; // it is readable already
}

// @return  when to look again; empty: not before somebody asks
Pause look_at(fastsdt_trace_attachment& attachment)
{
    constexpr Clock::duration period = std::chrono::milliseconds(100);
    Pause next;
    try {
        const bool over = attachment.follow && attachment.follow->is_gone();
        if (!over && attachment.follow && attachment.session->is_to_be_watched()) {
            next = period;
            if (const auto now = Clock::now(); now - attachment.looked >= period) {
                attachment.looked = now;
                look_for_changes(attachment);
            }
        }
        if (attachment.notify) {
            look_for_events(attachment);
            if (!over)
                next = std::min(next.value_or(period), attachment.pause);
        }
    } catch (const std::exception&) {
        next = period; // it ends, or another traces it just now
    }
    return next;
}

Pause look_at_all(fastsdt_trace& trace)
{
    const Work work(trace);
    Pause next;
    for (fastsdt_trace_attachment* const attachment : trace.attachments)
        if (const Pause pause = look_at(*attachment))
            next = std::min(next.value_or(*pause), *pause);
    return next;
}

} // namespace

Work::Work(fastsdt_trace& trace) : lock_(trace.own() ? own().one_at_a_time : trace.one_at_a_time) {}

} // namespace fastsdt::api

using namespace fastsdt::api;

void fastsdt_trace_attachment::hear()
{
    uint64_t count = 0;
    if (notify && read(notify.get(), &count, sizeof count) != sizeof count)
        return; // it is not
}

void fastsdt_trace::watch()
{
    watcher.start([this] { return look_at_all(*this); });
}

unsigned fastsdt_trace_version(void)
{
    return FASTSDT_VERSION;
}

fastsdt_trace* fastsdt_trace_open(pid_t pid, fastsdt_trace_error* error)
{
    return guarded(error, static_cast<fastsdt_trace*>(nullptr), [&] {
        if (const char here = 0; Nested::at(&here))
            throw Failure(FASTSDT_TRACE_MISUSE, "called from a function that is attached");
        auto trace = std::make_unique<fastsdt_trace>();
        trace->opener = getpid();
        trace->pid = pid ? pid : trace->opener;
        const Work work(*trace);
        if (trace->own())
            fastsdt::engine::open_self(); // so that a refusal comes here and not with the first script
        else
            fastsdt::engine::open_outside(pid);
        return trace.release();
    });
}

int fastsdt_trace_read_memory(fastsdt_trace* trace, fastsdt_trace_error* error)
{
    return guarded(error, -1, [&] {
        check_usable(trace);
        const Work work(*trace);
        trace->reads_memory = true;
        return 0;
    });
}

int fastsdt_trace_close(fastsdt_trace* trace, fastsdt_trace_error* error)
{
    return guarded(error, -1, [&] {
        check_usable(trace);
        const bool watched = trace->watcher.stop();
        try {
            const Work work(*trace);
            for (fastsdt_trace_attachment* const attachment : trace->attachments)
                release(*attachment);
            while (!trace->attachments.empty())
                forget(*trace->attachments.back());
        } catch (...) {
            if (watched)
                trace->watch();
            throw;
        }
        delete trace;
        return 0;
    });
}

fastsdt_trace_attachment* fastsdt_trace_attach(fastsdt_trace* trace, const char* script, fastsdt_trace_error* error)
{
    return fastsdt_trace_attach_with(trace, script, nullptr, error);
}

fastsdt_trace_attachment* fastsdt_trace_attach_with(fastsdt_trace* trace, const char* script,
                                                    const fastsdt_trace_options* options, fastsdt_trace_error* error)
{
    return guarded(
        error, static_cast<fastsdt_trace_attachment*>(nullptr),
        [&] {
            check_usable(trace);
            if (!script)
                throw Failure(FASTSDT_TRACE_MISUSE, "there is no script: NULL");
            const Work work(*trace);
            const Wanted wanted = read_options(*trace, options);
            return trace->own() ? attach_own(*trace, script, wanted, nullptr, nullptr)
                                : attach_outside(*trace, script, wanted);
        },
        script ? script : "");
}

fastsdt_trace_attachment* fastsdt_trace_attach_function(fastsdt_trace* trace, const char* probes,
                                                        fastsdt_trace_function* function, void* context,
                                                        fastsdt_trace_error* error)
{
    return guarded(
        error, static_cast<fastsdt_trace_attachment*>(nullptr),
        [&] {
            check_usable(trace);
            if (!probes || !function)
                throw Failure(FASTSDT_TRACE_MISUSE, "there are no probes, or there is no function: NULL");
            if (!trace->own())
                throw Failure(FASTSDT_TRACE_MISUSE,
                              fmt::format("process {} cannot call a function of this one", trace->pid));
            const Work work(*trace);
            return attach_own(*trace, probes, read_options(*trace, nullptr), function, context);
        },
        probes ? probes : "");
}

int fastsdt_trace_update(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error)
{
    return guarded(error, -1, [&] {
        check_usable(attachment);
        const Work work(*attachment->trace);
        attachment->session->match_again();
        arm(*attachment);
        return 0;
    });
}

int fastsdt_trace_detach(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error)
{
    return guarded(error, -1, [&] {
        check_usable(attachment);
        const Work work(*attachment->trace);
        release(*attachment);
        forget(*attachment);
        return 0;
    });
}

int fastsdt_trace_events_descriptor(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error)
{
    return guarded(error, -1, [&] {
        check_usable(attachment);
        const Work work(*attachment->trace);
        if (!attachment->notify) {
            fastsdt::Descriptor made(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
            if (!made)
                throw fastsdt::Unusable(fmt::format("no descriptor can be made: {}", std::strerror(errno)));
            attachment->trace->watch();
            attachment->notify = std::move(made);
        }
        return attachment->notify.get();
    });
}
