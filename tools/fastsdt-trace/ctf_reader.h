// SPDX-License-Identifier: BSD-2-Clause
// Reads the traces that CtfWriter writes, and no others: babeltrace2 reads all. Somebody may have changed the files.
#pragma once
#include "ctf.h"

#include <cstdint>
#include <functional>
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
        uint64_t discarded = 0;
    };
    const std::vector<Thread>& threads() const { return threads_; }
    const std::vector<CtfClass>& classes() const { return classes_; }
    uint64_t begin() const { return begin_; } ///< of the first event: nanoseconds since 1970

    struct Value {
        uint64_t number = 0;
        std::string text; ///< of a string
    };
    /// Its events: number of the class, nanoseconds since 1970, a value for each field. Throws Unusable.
    using Visit = std::function<void(size_t, uint64_t, const std::vector<Value>&)>;
    void read(const Thread& thread, const Visit& visit) const;

private:
    struct Packet {
        uint64_t begin = 0, discarded = 0;
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
    uint64_t begin_ = 0;
};

} // namespace fastsdt::trace_tool
