// SPDX-License-Identifier: BSD-2-Clause
// `fastsdt-trace record` and `functions`: what threads recorded becomes a trace, a table of calls, or both. No value is made a text.
#pragma once
#include "process/match.h"
#include "ctf.h"
#include "functions.h"
#include "maps/events.h"
#include "options.h"
#include "process/clock.h"

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

/// The script that records what the options name: entries and exits, and each probe with all of its arguments.
std::string timeline_script(const Timeline& timeline);
/// Has each event of the script, where it stands at sites, say which probe was hit and by whom. Throws Unusable where no trace is possible.
void complete_script(engine::Script& script, const Options& options);

class Recorder : public engine::RecordSink {
public:
    /// All have to outlive it. Throws Unusable if the trace cannot be written.
    Recorder(const Options& options, const engine::Script& script, const engine::ProbeNames& names);

    /// Whether the exits of a function are armed in all processes, or it never returns: @param entry  its site. To be set before the first event.
    std::function<bool(const engine::Site& entry)> tells_ends = [](const engine::Site&) { return true; };

    bool take(pid_t process, const engine::Statement& statement, std::span<const std::byte> record) override;
    void end_of_ring(pid_t process, size_t ring, uint64_t lost, bool overwritten) override;
    void begin_of_read(pid_t process) override;
    void end_of_read(pid_t process) override;

    /// To be called often: now and then it writes what there is so far, for the case that this tool is killed.
    void keep();

    uint64_t events() const { return events_; }
    bool whole() const { return left_out_ == 0 && !unpaired_; }
    const std::string& failure() const { return failure_; } ///< why nothing more is written; empty: it is
    /// After the last event. Prints the table, and says what calls lack. Throws Unusable.
    void finish(std::ostream& out);
    /// Before write(): stacks as --folded has them, and how often they were seen. Throws Unusable.
    void samples(const std::map<std::string, uint64_t>& stacks);
    /// The trace is whole: says where it is. @param summary  the report's last line  @param complete  nothing is missing  Throws Unusable.
    void write(const std::string& summary, bool complete);
    const std::string& folder() const { return ctf_->folder(); } ///< of the trace, then
    void keep_folder() { ctf_->keep(); }                         ///< also where it is to go with this object

private:
    struct Number {
        pid_t process; ///< as this tool sees it
        int32_t pid, tid;
        uint64_t goroutine; ///< 0: a thread. Else tid is 0
        auto operator<=>(const Number&) const = default;
    };
    struct Thread {
        CtfStream* stream = nullptr;
        Number number{};
        bool numbers_are_ours = false; ///< of process and thread
        std::chrono::steady_clock::time_point named;
        CallTable::Thread calls;
        size_t waiting = 0;      ///< events in Go::events
        bool since_loss = false; ///< it is in Go::since_loss
    };
    /// An event of a process with goroutines, or (without `thread`) that events were lost there.
    struct Held {
        uint64_t clock = 0;
        Thread* thread = nullptr;
        size_t statement = 0, probe = 0;
        CallTable::Place place;
        size_t at = 0, size = 0;   ///< its values, of Go::values
        uint64_t lost = 0;         ///< so many
        Thread* of_ring = nullptr; ///< that the ring had at last
    };
    /// A goroutine's events are in the rings of all threads that have executed it. So they wait until all rings are known to have been read up to
    /// there.
    struct Go {
        std::vector<Held> events;
        std::vector<std::byte> values;
        uint64_t read = 0;               ///< clock when all rings were begun to be read
        std::vector<Thread*> since_loss; ///< those with events
    };
    struct Class {
        size_t number = SIZE_MAX; ///< in classes_
        engine::Probe::Kind kind = engine::Probe::Kind::usdt;
        size_t function = 0;               ///< of the table
        bool tells_end = true;             ///< entry
        std::vector<unsigned char> fields; ///< bytes of each value; 0: a string
    };
    Thread* other_thread(const Number& number);
    const Class& fresh_class(const engine::Statement& statement, size_t probe);
    std::vector<CtfField> fields_of(const engine::Statement& statement, const engine::Site& site) const;
    Thread* spare_goroutine();
    void perform(Thread& thread, const Class& one, uint64_t clock, const CallTable::Place& place,
                 std::span<const std::byte> values);
    void perform(Go& go, uint64_t until);
    void lose(Go& go, const Held& held);
    void write_mark(Thread& thread, std::string_view probe, std::string_view name, uint64_t clock,
                    std::optional<uint64_t> count = {});
    void write(Thread& thread, const Class& one, uint64_t clock, std::span<const std::byte> values);
    static void name(Thread& thread);
    CtfClock clock() const;
    CtfNotes notes(const std::string& summary, bool complete) const;

    const Options& options_;
    const engine::Script& script_;
    const engine::ProbeNames& names_;
    const bool says_pid_, says_executor_;
    const size_t own_values_; ///< that each record has before the script's
    const engine::Moment begin_ = engine::read_clocks();
    const int64_t since_;  // 1970, in ns
    const int64_t asleep_; // of the machine, at the begin
    CtfClock clock_;       // at the end
    std::optional<CtfWriter> ctf_;
    std::optional<CallTable> calls_;
    std::deque<Thread> threads_;
    std::vector<Thread*> spare_; // of goroutines that have nothing open
    uint64_t next_search_ = 0;   // for such: after so many events
    std::map<Number, Thread*> by_number_;
    Number last_{};
    Thread* current_ = nullptr;                            // last_
    Thread* of_ring_ = nullptr;                            // the last one of the ring that is read
    uint64_t first_of_ring_ = 0, last_of_ring_ = 0;        // clocks of what was taken of it
    std::map<pid_t, Go> go_;                               // by process
    std::map<std::pair<pid_t, size_t>, Thread*> of_rings_; // the last one of each that had records
    std::vector<std::vector<Class>> known_;                // by statement and probe
    std::vector<CtfClass> classes_;
    std::map<CtfClass, size_t> numbers_; // of them
    uint64_t events_ = 0, left_out_ = 0, kept_events_ = 0;
    bool unpaired_ = false; ///< calls of Go were taken for their thread's
    size_t goroutines_ = 0; // that have streams
    std::chrono::steady_clock::time_point kept_ = std::chrono::steady_clock::now();
    std::string failure_;
};

} // namespace fastsdt::trace_tool
