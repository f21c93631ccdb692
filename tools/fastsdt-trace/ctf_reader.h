// SPDX-License-Identifier: BSD-2-Clause
// Reads the traces that CtfWriter writes, and no others: babeltrace2 reads all. Somebody may have changed the files.
#pragma once
#include "ctf.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

class CtfReader {
public:
    /// Reads the metadata, and what the packets say. Throws Unusable.
    explicit CtfReader(const std::string& folder);

    struct Thread {
        std::string file;
        int64_t pid = 0, tid = 0;
        std::string process, thread; ///< names, as they were at last
        bool is_goroutine() const { return tid == 0 && thread.starts_with(ctf_goroutine); }
        uint64_t discarded = 0;
        uint64_t bytes = 0; ///< of its events
    };
    const std::vector<Thread>& threads() const { return threads_; }
    const std::vector<CtfClass>& classes() const { return classes_; }
    uint64_t begin() const { return begin_; } ///< of the first event: nanoseconds since 1970
    uint64_t end() const { return end_; }     ///< of the last event
    const CtfNotes& notes() const { return notes_; }

    struct Value {
        uint64_t number = 0;
        std::string text; ///< of a string
    };
    /// Its events: number of the class, nanoseconds since 1970, a value for each field. Throws Unusable.
    /// @param gap  events were lost here: what was open may have ended, and what ends may have begun unseen
    using Visit = std::function<void(size_t, uint64_t, const std::vector<Value>&)>;
    void read(const Thread& thread, const Visit& visit, const std::function<void()>& gap) const;

private:
    struct Packet {
        uint64_t begin = 0, end = 0, discarded = 0;
        int64_t pid = 0, tid = 0;
        std::string process, thread;
        std::vector<std::byte> events;
    };
    void read_metadata();
    void each_packet(const std::string& file, const std::function<void(const Packet&)>& visit) const;
    uint64_t ns(uint64_t clock) const;
    [[noreturn]] void fail(const std::string& file, const char* what) const;

    std::string folder_;
    CtfClock clock_;
    std::vector<CtfClass> classes_;
    std::vector<Thread> threads_;
    uint64_t begin_ = 0, end_ = 0;
    CtfNotes notes_;
};

/// What events of a class are: a call's begin or end, a moment, samples, what ctf_gap says or ctf_left.
struct Drawn {
    enum class Kind { begin, end, instant, samples, gap, left } kind = Kind::instant;
    std::string name;
    size_t function = 0;    ///< the same for entry and exits
    bool has_end = true;    ///< an entry without: `kind` is a moment's
    std::string plain = {}; ///< the function's name, or the probe's
    std::string file = {};
};
std::vector<Drawn> drawn_of(const std::vector<CtfClass>& classes);

} // namespace fastsdt::trace_tool
