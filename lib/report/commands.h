// SPDX-License-Identifier: BSD-2-Clause
// Command lines for tracers, made from a place to attach to. Users paste them into a root shell, and the names in them
// come from the file: only plain words get into a command.
#pragma once
#include "elf/image.h"
#include "report/plan.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fastsdt {

template <typename... Args> void remark(AttachPoint& point, fmt::format_string<Args...> text, Args&&... args)
{
    point.remarks.push_back(fmt::format(text, std::forward<Args>(args)...));
}

/// The text as one word of a POSIX shell.
std::string shell_quoted(std::string_view text);

/// A command line of a tracer that finds a probe by its name, and attaches at the note's pc.
struct NamedCommand {
    std::string_view tracer; ///< gdb, systemtap, bcc, lttng
    std::string line;
};
/// The commands for a probe. None for entries, for names that are not plain words, and for tracers that cannot attach
/// here.
std::vector<NamedCommand> commands_by_name(const Image& image, const AttachPoint& point);

/// Fills in AttachPoint::bpftrace, perf and remarks, for the points of one image.
class Commands {
public:
    explicit Commands(const Image& image);
    /// `symbol`: the function's name if the point is an entry and has one. `names`: of the probe's arguments, or nullptr.
    void write(AttachPoint& point, std::string_view symbol, const ArgumentNames* names);
    /// Fills in exits_bpftrace and exits_perf of an entry with exits.
    void write_exits(AttachPoint& point, std::string_view symbol);

private:
    void write_bpftrace(AttachPoint& point, std::string_view symbol, const ArgumentNames* names);
    void write_perf(AttachPoint& point);
    std::string new_event(const std::string& group, const std::string& wanted);

    std::string bpftrace_path() const;
    void write_exits_bpftrace(AttachPoint& point, std::string_view symbol);
    void write_exits_perf(AttachPoint& point);

    std::string path_;
    Arch arch_;
    std::set<std::string> events_;
    std::unordered_map<std::string, unsigned> next_number_; // for "group/event"
};

} // namespace fastsdt
