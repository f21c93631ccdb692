// SPDX-License-Identifier: BSD-2-Clause
// The structures behind the handles of fastsdt/trace.h, and guarded(), which wraps each of its functions.
#pragma once
#include "base/no_cancel.h"
#include "functions.h"
#include "process/follow.h"
#include "process/self.h"
#include "script/parse.h"
#include "session.h"

#include <fastsdt/trace.h>

#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct fastsdt_trace_attachment {
    fastsdt_trace* trace = nullptr; ///< null: detached, and kept for the same text
    std::string text;
    bool reads_memory = false; ///< fastsdt_trace::reads_memory when it was attached
    fastsdt::engine::Script script;
    std::unique_ptr<fastsdt::api::Function> function; ///< null: a script
    std::unique_ptr<fastsdt::engine::Target> target;
    fastsdt::engine::Target* self = nullptr; ///< the target, if it is this process
    std::unique_ptr<fastsdt::engine::Session> session;
    uint64_t lost_before = 0;                      ///< Session::lost_events() when it was attached
    std::optional<fastsdt::engine::Follow> follow; ///< of another process
};

struct fastsdt_trace {
    pid_t pid = 0;    ///< the process that is traced
    pid_t opener = 0; ///< the process that has the handle
    bool reads_memory = false;
    bool own() const { return pid == opener; }
    std::mutex one_at_a_time; ///< for another process; all handles to this process share one
    std::vector<fastsdt_trace_attachment*> attachments;
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
