// SPDX-License-Identifier: BSD-2-Clause
// Events: what threads have recorded in their rings (maps/tables.h), in the order of each thread. The process may have written
// anything there: positions and sizes are checked, values are only taken for numbers and text.
#pragma once
#include "maps/read.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

struct Event {
    uint64_t clock = 0;                   ///< the processor's counter; 0: not known
    const Statement* statement = nullptr; ///< of a clause with sites
    std::vector<Datum> values;            ///< of Statement::values
    pid_t process = 0;                    ///< these two: by which thread, the same for all of its events
    size_t ring = 0;
};

/// Where the bytes of records go, instead of becoming events.
class RecordSink {
public:
    virtual ~RecordSink() = default;
    /// What one thread recorded, in its order. @param record  as Ring has it; the process may change it meanwhile
    /// @return  false: it becomes an event
    virtual bool take(pid_t process, const Statement& statement, std::span<const std::byte> record) = 0;
    /// What a ring has is taken. @param ring  which one of the process  @param lost  so many behind the last record of it, now or before
    /// @param overwritten  older ones than what was taken now were lost, where rings are overwritten
    virtual void end_of_ring(pid_t process, size_t ring, uint64_t lost, bool overwritten) = 0;
    /// All rings of a process are read between these two. What was recorded before the first is taken then, but for what follows a record that is
    /// not complete.
    virtual void begin_of_read(pid_t process) = 0;
    virtual void end_of_read(pid_t process) = 0;
};

class EventReader {
public:
    /// All have to outlive it. @param sink  nullptr: all become events
    EventReader(const Script& script, const Tables& tables, pid_t process = 0, RecordSink* sink = nullptr);

    /// Adds what came since the last time, and makes room for more. A record that is not complete yet, and what is behind it, stays:
    /// `last`: nobody records any more. An incomplete one counts as lost then if another is behind it; else its thread ended before it executed
    /// the probe's instruction. Where rings are overwritten: adds what they have now and had not the last time; what is incomplete is left out.
    void read(Window window, const ReadData& read, const ChangeData& change, bool last, std::vector<Event>& to);
    /// Events that were not read so far and will not be.
    uint64_t lost() const { return lost_; }
    /// Whether a ring has lost records to newer ones before they were read.
    bool overwritten() const { return overwritten_; }
    /// Events that came between a dump() and its reading: their threads recorded nothing meanwhile.
    uint64_t between() const { return between_; }

private:
    using Clock = std::chrono::steady_clock;
    struct Place {
        uint64_t position = 0;      ///< of the next record
        uint64_t lost = 0;          ///< as the ring's header had it
        uint64_t hole = UINT64_MAX; ///< position of a record that is not complete
        Clock::time_point since;    ///< so long
        bool counted = false;       ///< it is among the lost ones
    };
    void read_ring(size_t ring, const ReadData& read, const ChangeData& change, bool last, std::vector<Event>& to);
    void read_newest(size_t ring, const ReadData& read, const ChangeData& change, std::vector<Event>& to);
    size_t size_at(std::span<const std::byte> record, uint64_t position, uint64_t head) const;
    void decode(size_t ring, std::span<const std::byte> record, std::vector<Event>& to) const;

    const Tables& tables_;
    const pid_t process_;
    RecordSink* const sink_;
    struct Kind {
        const Statement* statement = nullptr; ///< nullptr: none that records events
        size_t size = 0;                      ///< of its records
    };
    std::vector<Kind> kinds_;        // by the statement's number
    std::map<size_t, Place> places_; // by the ring's offset
    uint64_t lost_ = 0;
    bool overwritten_ = false;
    uint64_t between_ = 0;
};

} // namespace fastsdt::engine
