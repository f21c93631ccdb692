// SPDX-License-Identifier: BSD-2-Clause
// What is behind the handles of fastsdt/trace.h, and what every function of it is wrapped in.
#pragma once
#include "follow.h"
#include "functions.h"
#include "parse.h"
#include "self.h"
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
    fastsdt::engine::Script script;
    std::unique_ptr<fastsdt::api::Function> function; ///< null: a script
    std::unique_ptr<fastsdt::engine::Target> target;
    fastsdt::engine::Self* self = nullptr; ///< the target, if it is this process
    std::unique_ptr<fastsdt::engine::Session> session;
    std::optional<fastsdt::engine::Follow> follow; ///< of another process
};

struct fastsdt_trace {
    pid_t pid = 0;    ///< that is traced
    pid_t opener = 0; ///< that has the handle
    bool own() const { return pid == opener; }
    std::mutex one_at_a_time; ///< of another process; this process has one for all handles
    std::vector<fastsdt_trace_attachment*> attachments;
};

namespace fastsdt::api {

/// An error of a kind of its own. Unusable is FASTSDT_TRACE_REFUSED, engine::ScriptError FASTSDT_TRACE_TEXT.
struct Failure : std::runtime_error {
    Failure(int kind, const std::string& what) : std::runtime_error(what), kind(kind) {}
    int kind;
};

void set_error(fastsdt_trace_error* error, int kind, const std::string& text, engine::Position where = {0, 0});

/// The handle may be used here, by this process and thread. Throws Failure.
void check_usable(const fastsdt_trace* trace);
void check_usable(const fastsdt_trace_attachment* attachment);

/// While a process is changed or read: its lock, and no function is called by what this thread hits.
class Work {
public:
    explicit Work(fastsdt_trace& trace);

private:
    std::unique_lock<std::mutex> lock_;
    Nested nested_;
};

/// What `work` returns, or `otherwise` and an error.
/// @param script  what a ScriptError is about
template <class F, class T>
T guarded(fastsdt_trace_error* error, T otherwise, F&& work, const char* script = "") noexcept
{
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
