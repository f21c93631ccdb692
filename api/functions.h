// SPDX-License-Identifier: BSD-2-Clause
// Functions of the program that stubs call, and the threads that are in them.
#pragma once
#include "maps/hit.h"

#include <fastsdt/trace.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fastsdt::api {

/// While it lives, this thread is in an attached function or in this library: hits deeper in this stack are not
/// delivered.
class Nested {
public:
    Nested();
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested();
    /// Whether a hit whose stub's frame is at `frame` is deeper in the stack than a Nested of this thread. A hit in a
    /// signal handler with a stack of its own is on another stack, where addresses do not tell.
    static bool at(const void* frame);

private:
    const void* outer_;
};

/// A function that is attached. Never freed once a stub has its address.
class Function {
public:
    /// From now on hits are delivered.
    void enable(fastsdt_trace_function* function, void* context);
    /// From now on no hit is delivered. False: after half a second some thread is still in the function.
    bool disable();
    /// The names of probes, by Site::probe. To be called before a site of a new probe is armed.
    void set_names(const std::vector<std::string>& names);
    uint64_t missed() const { return missed_; }
    void forget_missed() { missed_ = 0; }

    /// An engine::CalledFunction: the statement's function; its context is the address of a Function.
    static void deliver(uint64_t context, const engine::Hit* hit) noexcept;

private:
    std::atomic<fastsdt_trace_function*> function_ = nullptr;
    std::atomic<void*> context_ = nullptr;
    std::atomic<uint64_t> running_ = 0, missed_ = 0;
    // None is freed: a thread may be reading any of them.
    std::vector<std::unique_ptr<const std::vector<std::string>>> all_names_;
    std::atomic<const std::vector<std::string>*> names_ = nullptr;
};

} // namespace fastsdt::api
