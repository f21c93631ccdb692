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
#include <cstring>
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

Script parse_script(const char* text)
{
    Script script = engine::parse(text);
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

// Arms the sites that are matched.
void arm(fastsdt_trace_attachment& attachment)
{
    if (attachment.function)
        attachment.function->set_names(attachment.session->probes());
    attachment.session->arm();
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
    if (attachment.session) { // it was attached before
        attachment.self->forget_data(attachment.session->contents());
        std::vector<engine::Event> old; // of the attachment before
        attachment.session->read_events(old, true);
        attachment.lost_before = attachment.session->lost_events();
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
            attachment.script, *attachment.target, engine::Session::Options{.calls = attachment.reads_memory});
    }
    arm(attachment);
}

fastsdt_trace_attachment* attach_own(fastsdt_trace& trace, const char* text, fastsdt_trace_function* function,
                                     void* context)
{
    auto& all = own().attachments;
    const auto kept = std::find_if(all.begin(), all.end(), [&](const auto& a) {
        return !a->trace && a->text == text && a->reads_memory == trace.reads_memory && !a->function == !function;
    });
    fastsdt_trace_attachment* attachment = kept == all.end() ? nullptr : kept->get();
    trace.attachments.reserve(trace.attachments.size() + 1);
    if (!attachment) {
        auto fresh = std::make_unique<fastsdt_trace_attachment>();
        fresh->text = text;
        fresh->reads_memory = trace.reads_memory;
        if (function)
            fresh->function = std::make_unique<Function>();
        fresh->script = function ? parse_probes(text, *fresh->function) : parse_script(text);
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

fastsdt_trace_attachment* attach_outside(fastsdt_trace& trace, const char* text)
{
    auto attachment = std::make_unique<fastsdt_trace_attachment>();
    attachment->trace = &trace;
    attachment->text = text;
    attachment->reads_memory = trace.reads_memory;
    attachment->script = parse_script(text);
    trace.attachments.reserve(trace.attachments.size() + 1);
    begin(*attachment);
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
        attachment.self->forget_data(attachment.session->contents());
        attachment.trace = nullptr;
    } else {
        delete &attachment;
    }
}

} // namespace

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

Work::Work(fastsdt_trace& trace) : lock_(trace.own() ? own().one_at_a_time : trace.one_at_a_time) {}

} // namespace fastsdt::api

using namespace fastsdt::api;

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
        {
            const Work work(*trace);
            for (fastsdt_trace_attachment* const attachment : trace->attachments)
                release(*attachment);
            while (!trace->attachments.empty())
                forget(*trace->attachments.back());
        }
        delete trace;
        return 0;
    });
}

fastsdt_trace_attachment* fastsdt_trace_attach(fastsdt_trace* trace, const char* script, fastsdt_trace_error* error)
{
    return guarded(
        error, static_cast<fastsdt_trace_attachment*>(nullptr),
        [&] {
            check_usable(trace);
            if (!script)
                throw Failure(FASTSDT_TRACE_MISUSE, "there is no script: NULL");
            const Work work(*trace);
            return trace->own() ? attach_own(*trace, script, nullptr, nullptr) : attach_outside(*trace, script);
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
            return attach_own(*trace, probes, function, context);
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
