// SPDX-License-Identifier: BSD-2-Clause
// Writes a trace in the Common Trace Format 1.8 (diamon.org/ctf): a folder with the text `metadata` and a file for each thread, its
// stream, and for each goroutine: `tid` is 0 there and `thread` ctf_goroutine with its number. A stream is packets, and a packet is
// events in the order of their clock. The folder appears whole or not at all.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::trace_tool {

inline constexpr uint32_t ctf_magic = 0xC1FC1FC1; ///< of packets
/// Numbers of classes from this one on have a larger header.
inline constexpr uint16_t ctf_extended = 65535;

struct CtfField {
    std::string name;
    size_t bytes = 8; ///< of an integer; 0: a string
    bool is_signed = false;
    auto operator<=>(const CtfField&) const = default;
};

/// Of a function whose exits are not armed: its entries are moments, and begin nothing.
inline constexpr std::string_view without_end = "without-end:";

/// Begins the name of a goroutine's stream.
inline constexpr std::string_view ctf_goroutine = "goroutine ";

/// What samples have for their probe's begin: a stack, as flamegraph.pl has it, and how often it was seen. They have no time.
inline constexpr std::string_view ctf_samples = "profile:";

/// Of goroutines. Events were lost somewhere here: open calls end. Without fields.
inline constexpr std::string_view ctf_gap = "gap:";
/// So many of the innermost calls have been left without an exit, by a panic. One field, their number.
inline constexpr std::string_view ctf_left = "left:";

/// What events have in common.
struct CtfClass {
    std::string name;
    std::string probe; ///< as a script names it, with its file; before that without_end
    std::vector<CtfField> fields;
    auto operator<=>(const CtfClass&) const = default;
};

/// What a trace says of itself, beside its events: the report's last lines, for example. Keys are words.
using CtfNotes = std::vector<std::pair<std::string, std::string>>;

/// A clock's value is cycles; `offset_s` seconds and `offset` cycles more are since 1970.
struct CtfClock {
    uint64_t frequency = 0, offset_s = 0, offset = 0;
};

struct CtfStream {
    CtfStream(size_t number, int64_t pid, int64_t tid) : pid(pid), tid(tid), number_(number) {}
    int64_t pid, tid;
    std::string process, thread; ///< names
    uint64_t discarded = 0;      ///< events that were lost so far

private:
    friend class CtfWriter;
    size_t number_;
    std::vector<std::byte> bytes_; // of the packet, behind its header
    size_t used_ = 0;
    uint64_t first_ = 0, last_ = 0; // clock of the packet's events
    uint64_t packets_ = 0;
};

class CtfWriter {
public:
    /// Makes a folder beside the one that is wanted. Throws Unusable, also if that is there already.
    /// @param passing  it never has that name, and goes with the writer
    explicit CtfWriter(const std::string& folder, bool passing = false);
    CtfWriter(const CtfWriter&) = delete;
    CtfWriter& operator=(const CtfWriter&) = delete;
    /// Removes what finish() has not renamed. So does the end of the program by exit().
    ~CtfWriter();

    CtfStream& add(int64_t pid, int64_t tid) { return streams_.emplace_back(streams_.size(), pid, tid); }

    /// Room for an event of this class and its fields, which are to be put there; they begin behind each other. The clock of a stream
    /// never goes back: an earlier value counts as the last one. Throws Unusable.
    std::byte* event(CtfStream& stream, size_t number, uint64_t clock, size_t most)
    {
        if (stream.bytes_.size() - stream.used_ < most_header + most)
            make_room(stream, most_header + most);
        return put_header(stream, number, clock);
    }
    /// @param end  of what was put there
    void done(CtfStream& stream, const std::byte* end)
    {
        stream.used_ = static_cast<size_t>(end - stream.bytes_.data());
        ++events_;
    }

    /// Ends a packet: what was lost so far was lost in it, or behind it. Throws Unusable.
    void write_packet(CtfStream& stream);

    /// Makes the folder what it would be if this was all, under the name that it has until finish(): whoever is killed leaves that. Throws Unusable.
    void write_so_far(std::span<const CtfClass> classes, const CtfClock& clock);
    /// The same, and gives the folder its name. Throws Unusable.
    void finish(std::span<const CtfClass> classes, const CtfClock& clock, CtfNotes notes = {});

    /// The folder stays, under the name that it has.
    static void keep();

    uint64_t events() const { return events_; }
    uint64_t bytes() const { return written_; } ///< of the streams
    size_t streams() const { return streams_.size(); }
    /// Where it is after finish().
    const std::string& folder() const { return passing_ ? fresh_ : folder_; }

private:
    static constexpr size_t most_header = 14;
    void make_room(CtfStream& stream, size_t bytes);
    std::byte* put_header(CtfStream& stream, size_t number, uint64_t clock);
    void write_metadata(std::span<const CtfClass> classes, const CtfClock& clock);
    void append(const std::string& file, std::span<const std::byte> first, std::span<const std::byte> second);
    [[noreturn]] void fail(int error) const;

    std::string folder_, fresh_; // fresh_: where it is until finish()
    bool passing_;
    CtfNotes notes_;
    std::string uuid_; // 16 bytes
    std::deque<CtfStream> streams_;
    uint64_t events_ = 0, written_ = 0;
    size_t held_ = 0; // bytes of all streams' buffers
};

} // namespace fastsdt::trace_tool
