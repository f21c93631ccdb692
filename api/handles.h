// SPDX-License-Identifier: BSD-2-Clause
// The structures behind the handles of fastsdt/trace.h, and guarded(), which wraps each of its functions.
#pragma once
#include "base/descriptor.h"
#include "base/no_cancel.h"
#include "functions.h"
#include "process/follow.h"
#include "process/self.h"
#include "script/parse.h"
#include "session.h"
#include "watch.h"

#include <fastsdt/trace.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fastsdt::api {

/// fastsdt_trace_options, checked.
struct Wanted {
    unsigned flags = 0; ///< FASTSDT_TRACE_READ_MEMORY, ...
    size_t buffer = engine::usual_ring_size;
    bool has(unsigned flag) const { return (flags & flag) != 0; }
    bool operator==(const Wanted&) const = default;
};

/// Events that the watch has taken at most; what comes then stays in the threads' buffers, or is lost.
inline constexpr size_t most_waiting = 65536;

} // namespace fastsdt::api

struct fastsdt_trace_attachment {
    fastsdt_trace* trace = nullptr; ///< null: detached, and kept for the same text
    std::string text;
    fastsdt::api::Wanted wanted; ///< as it was attached
    fastsdt::engine::Script script;
    std::unique_ptr<fastsdt::api::Function> function; ///< null: a script
    std::unique_ptr<fastsdt::engine::Target> target;
    fastsdt::engine::Target* self = nullptr; ///< the target, if it is this process
    std::unique_ptr<fastsdt::engine::Session> session;
    uint64_t lost_before = 0;                      ///< Session::lost_events() when it was attached
    std::optional<fastsdt::engine::Follow> follow; ///< of another process
    int64_t begin_ns = 0;                          ///< when it was attached, since 1970
    std::chrono::steady_clock::time_point looked;  ///< when the watch looked for changes
    std::chrono::steady_clock::duration pause{};   ///< of the watch, before it looks for events again
    fastsdt::Descriptor notify;                    ///< an eventfd, if somebody wants to hear of events
    std::vector<fastsdt::engine::Event> waiting;   ///< events that the watch has taken
    void hear();                                   ///< from now on the eventfd is not readable
};

struct fastsdt_trace {
    pid_t pid = 0;    ///< the process that is traced
    pid_t opener = 0; ///< the process that has the handle
    bool reads_memory = false;
    bool own() const { return pid == opener; }
    /// From now on a thread looks at the attachments that want it.
    void watch();
    std::mutex one_at_a_time; ///< for another process; all handles to this process share one
    std::vector<fastsdt_trace_attachment*> attachments;
    fastsdt::api::Watch watcher; ///< the last member: it ends first
};

namespace fastsdt::api {

/// An error that names its kind. Unusable becomes FASTSDT_TRACE_REFUSED, engine::ScriptError FASTSDT_TRACE_TEXT.
struct Failure : std::runtime_error {
    Failure(int kind, const std::string& what) : std::runtime_error(what), kind(kind) {}
    int kind;
};

void set_error(fastsdt_trace_error* error, int kind, const std::string& text, engine::Position where = {0, 0});

/// Throws Failure if this process or thread may not use the handle now.
void check_usable(const fastsdt_trace* trace);
void check_usable(const fastsdt_trace_attachment* attachment);

int64_t since_1970(); ///< now, in ns

/// Lives while a process is changed or read. Holds the lock, and keeps hits of this thread from calling functions.
class Work {
public:
    explicit Work(fastsdt_trace& trace);

private:
    std::unique_lock<std::mutex> lock_;
    Nested nested_;
};

/// Returns what `work` returns. If it throws, sets the error and returns `otherwise`.
/// @param script  the text that a ScriptError is about
template <class F, class T>
T guarded(fastsdt_trace_error* error, T otherwise, F&& work, const char* script = "") noexcept
{
    const NoCancel no_cancel;
    try {
        if (error)
            *error = {};
        return work();
    } catch (const Failure& e) {
        set_error(error, e.kind, e.what());
    } catch (const engine::ScriptError& e) {
        set_error(error, FASTSDT_TRACE_TEXT, e.what(), engine::position(script, e.where));
    } catch (const Unusable& e) {
        set_error(error, FASTSDT_TRACE_REFUSED, e.what());
    } catch (const std::bad_alloc&) {
        set_error(error, FASTSDT_TRACE_MEMORY, "no memory is left");
    } catch (const std::exception& e) {
        set_error(error, FASTSDT_TRACE_REFUSED, e.what());
    }
    return otherwise;
}

} // namespace fastsdt::api
