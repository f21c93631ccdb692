// SPDX-License-Identifier: BSD-2-Clause
// Where a Go program goes on that is stopped: not only its threads stand somewhere, but its goroutines too.
#pragma once
#include "arming/target.h"
#include "movable/go_runtime.h"
#include "process/view.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <sys/user.h>
#include <vector>

namespace fastsdt::engine {

class Goroutines {
public:
    /// Of the program that a process executes. Empty: it is no Go program, or none whose runtime is known.
    static std::optional<Goroutines> of(ProcessView& view);

    /// Whether nothing but Go is in it: no C code, which may switch stacks by itself.
    bool is_alone() const { return alone_; }
    /// Whether an address is in what Go's compiler made.
    bool has(uint64_t address) const { return text_.has(address); }

    /// Reads where goroutines are, for a stop that is soon. False: where they are is not known (arm64, where nobody needs it), what is there is not
    /// as it should be, or it is more than can be looked at.
    bool prepare();
    size_t size() const { return pointers_.size(); } ///< how many there have ever been at once, as of then
    /// Calls `visit` with each word by which a goroutine or a thread may go on somewhere, besides the threads' program counters: all threads are
    /// stopped, and prepare() was called. @return  false: it cannot be told
    using Visit = std::function<void(uint64_t)>;
    bool each(std::span<const user_regs_struct> threads, const Visit& visit);
    /// The same of threads alone: what their handlers have interrupted.
    bool each_handler(std::span<const user_regs_struct> threads, const Visit& visit);

private:
    struct One {
        uint64_t low = 0, high = 0; ///< of its stack
        uint64_t sp = 0, counter = 0;
        uint32_t status = 0;
        uint64_t number = 0;
    };
    struct Piece {
        uint64_t start = 0, size = 0;
        std::vector<uint64_t> pointers; ///< to each g in it
    };
    Goroutines(ProcessView& view, const GoRuntime& runtime, uint64_t bias, bool alone);
    bool read_pointers();
    void add_pieces(size_t from);
    bool read_all(std::vector<One>& running, const std::function<void(const One&)>& waiting);
    bool look_at_running(const One& one, std::span<const user_regs_struct> threads, const Visit& visit);
    void look_at_thread(const user_regs_struct& thread, uint64_t end, const Visit& visit);
    bool is_frame(const std::byte* at); ///< of a signal: signal_frame.h
    void scan(uint64_t from, uint64_t to, const Visit& visit);

    ProcessView* view_;
    GoRuntime runtime_;
    uint64_t bias_ = 0;
    Range text_;
    bool alone_ = false;
    std::vector<uint64_t> pointers_;     // to each g, as they are listed
    std::vector<Piece> pieces_;          // of memory, that have all of those
    std::vector<uint64_t> interrupted_;  // stack pointers of what handlers have interrupted
    std::map<uint64_t, bool> restorers_; // x86-64
};

} // namespace fastsdt::engine
