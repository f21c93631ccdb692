// SPDX-License-Identifier: BSD-2-Clause
// Maps as bpftrace 0.17 prints them (src/output.cpp), as text or as JSON.
#pragma once
#include "code/site.h"
#include "maps/maps.h"

#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

/// What the last line says of a run.
struct Summary {
    size_t sites = 0, armed = 0;
    size_t by_kernel = 0; ///< of those that are armed
    struct Reason {
        engine::SiteState state;
        size_t sites = 0;
    };
    using Reasons = std::map<std::string, Reason>; ///< by the sentence for one
    Reasons reasons;                               ///< of those that are not armed
    size_t left_out = 0;                           ///< no sites of the script: Site::left_out()
    Reasons reasons_to_leave_out;
    size_t late = 0;         ///< of those that are armed: not from the start on
    double late_seconds = 0; ///< since then all of these are
    uint64_t dropped = 0;
    uint64_t unread = 0;
    uint64_t lost = 0;                    ///< events
    bool overwritten = false;             ///< older events, as --flight wants it
    uint64_t between = 0;                 ///< events that came between a dump() and its reading
    uint64_t cut = 0;                     ///< stacks
    uint64_t forked = 0;                  ///< hits of forked children that are not followed
    size_t followed = 0;                  ///< forked children that have recorded something
    std::optional<uint64_t> samples = {}; ///< for profile probes
    uint64_t lost_samples = 0;
    bool throttled = false;   ///< the kernel took fewer samples than it should have
    size_t processes = 0;     ///< that had sites
    size_t found = 0;         ///< of them, those that had begun before they were found, and not at the start
    double found_seconds = 0; ///< so long they were not traced at most
    size_t refused = 0;       ///< processes that were wanted and could not be traced
    size_t missed = 0;        ///< processes that were wanted and ended before they could be traced
    bool missed_more = false; ///< and it is not known how many others

    /// "sites 12 of 14 armed (1 taken by the kernel, 1 has no nop10); dropped 0"
    std::string text() const;
    void count(const engine::Site& site, const engine::SiteState& state, bool armed);
    /// What would arm more: "--move-faulting arms ...", empty: nothing
    std::string cure() const;
    /// Whether a site of the script is not armed because of the instructions that stand there.
    bool has_immovable() const;
    /// "the code never returns (12), has too few bytes there (7)": the most frequent reasons
    std::string why_left_out() const;
    bool complete() const
    {
        return armed == sites && (sites != 0 || left_out == 0) && dropped == 0 && unread == 0 && lost == 0
            && forked == 0 && late == 0 && found == 0 && refused == 0 && missed == 0 && !missed_more
            && lost_samples == 0 && !throttled;
    }
};

/// How a value is written.
enum class Style {
    value, ///< as bpftrace 0.17 prints what was assigned
    key,   ///< a key
    newer, ///< both, since 0.21: pointers in hexadecimal, structures with blanks
};
/// A key, or a value that was assigned or printed, not quoted and not made safe. @param probes  names, by the index that a datum of
/// type probe is. A stack: as folded() has it, with offsets.
std::string text_of(const engine::ValueType& type, const engine::Datum& datum, const std::vector<std::string>& probes,
                    Style style = Style::value);

/// The lines of a stack as bpftrace prints them: behind an empty one, each with so many blanks before it.
std::string stack_text(const engine::Datum& stack, size_t indent);
/// Blanks before a frame: those that bpftrace has there, but none before addresses alone.
size_t indent_of(const engine::Script& script, size_t usual);
/// "root;caller;leaf", as flame graphs have it, or "root+12;caller+34;leaf+0".
std::string folded(const engine::Datum& stack, bool offsets);

class Output {
public:
    Output(const engine::Script& script, std::ostream& out, bool is_newer = false)
        : script_(script), out_(out), is_newer_(is_newer)
    {}
    virtual ~Output() = default;

    /// @param probes  names, by the index that a key of type probe is
    /// @param is_asked  by print(): an empty one is printed too
    /// @param top  only this many entries, the largest; 0: all. @param div  values are divided by it; 0: by nothing
    void map(size_t index, const std::vector<engine::Entry>& entries, const std::vector<std::string>& probes,
             uint32_t top = 0, uint32_t div = 0, bool is_asked = true);
    enum class Kind { printf, time, cat, join, system };
    virtual void text(const std::string& text, Kind kind) = 0;
    /// print(value). @param e  what it is a value of
    void value(const engine::Expression& e, const engine::Datum& datum, const std::vector<std::string>& probes);
    virtual void summary(const Summary& summary) = 0;
    virtual void last() {}                   ///< what comes now is the end
    virtual int keys() const { return -1; }  ///< readable when a user has pressed a key; -1: nobody listens
    virtual bool take_key() { return true; } ///< @return  whether the run goes on

protected:
    using Entries = std::vector<const engine::Entry*>;
    /// Enums' constants and pointers have forms of their own, beside booleans.
    virtual bool has_forms() const { return is_newer_; }
    virtual bool is_json() const { return false; }
    virtual void number(const std::string& number) = 0; ///< of print(value), as the next four
    virtual void stack(const engine::Datum& stack) = 0;
    virtual void bytes(const engine::Shape& shape, const std::string& bytes) = 0;
    virtual void string(const std::string& text) = 0;
    virtual void values(const engine::Map& map, const Entries& entries, uint32_t div) = 0;
    virtual void histograms(const engine::Map& map, const Entries& entries, uint32_t div) = 0;
    virtual void statistics(const engine::Map& map, const Entries& entries, uint32_t div) = 0;
    /// What one key of a tseries() has.
    struct Series {
        engine::Entry entry; ///< its keys, without the number of the interval
        struct Point {
            int64_t nanoseconds; ///< since 1970: when the interval began
            std::optional<int64_t> value;
        };
        std::vector<Point> points; ///< from the first interval with a value on to the last one of the whole map
    };
    virtual void series(const engine::Map& map, const std::vector<Series>& all) = 0;

    std::string value_of(const engine::Map& map, const engine::Entry& entry, uint32_t div) const;
    /// Of an entry's key.
    std::string key(const engine::Map& map, const engine::Entry& entry, size_t index) const
    {
        return text_of(map.keys[index], entry.keys[index], *probes_, is_newer_ ? Style::newer : Style::key);
    }
    const std::vector<std::string>& probes() const { return *probes_; }

    /// The buckets from the first that is not empty to the last.
    struct Range {
        size_t first = 0, end = 0;
        uint64_t most = 0;
    };
    static Range filled(const std::vector<uint64_t>& buckets);

    const engine::Script& script_;
    std::ostream& out_;
    const bool is_newer_; ///< as bpftrace prints since 0.21, where that differs

private:
    void series(const engine::Map& map, const std::vector<engine::Entry>& entries);

    const std::vector<std::string>* probes_ = nullptr;
};

/// @param folded  maps that have a stack for a key: a line for each entry, as flamegraph.pl reads it
std::unique_ptr<Output> text_output(const engine::Script& script, std::ostream& out, bool folded = false,
                                    bool is_newer = false);
std::unique_ptr<Output> json_output(const engine::Script& script, std::ostream& out, bool is_newer = false);

} // namespace fastsdt::trace_tool
