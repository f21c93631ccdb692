// SPDX-License-Identifier: BSD-2-Clause
// fastsdt-probe's parts: options, places, run, screen, report.
#pragma once
#include "counter.h"
#include "elf/image.h"
#include "kernel/kernel.h"
#include "observe.h"
#include "process.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::probe {

constexpr int all_attached = 0, some_refused = 1, unusable = 2;

struct Options {
    std::string file;                 ///< as given; with --pid alone /proc/PID/exe
    std::string file_name;            ///< as printed
    std::vector<std::string> command; ///< what to run; empty: nothing
    pid_t pid = 0;                    ///< 0: none
    double seconds = 0;               ///< 0: no limit
    unsigned runs = 0;                ///< of --time; 0: no timing
    bool dry = false, children = false, force = false, live = false, json = false;
    std::string output; ///< file; empty: standard output

    std::vector<std::string> probes, entries, exits, symbols, addresses, offsets;
    bool everything = false, at_note = false, on_return = false;
};

/// Reads the command line. A status: the program has to end with it; the message is printed already.
std::optional<int> read_options(int argc, char** argv, Options& options);

/// Prints one line, with names made safe.
void say(const std::string& message);

/// A target and what is reported about it.
struct Row {
    Target target;
    std::string kind, name;
    std::string arguments; ///< of a USDT probe, as in its note
    Arch arch = Arch::unknown;
    Vaddr address;
    std::string place;
    Judgement model;
    Observation seen;
    bool skipped = false; ///< not attached, because the program would break or the kernel's refusal could not be seen
    Counted counted;
    std::optional<double> ns_per_hit;
};

/// All places that the options name. Gives up if one does not exist.
std::vector<Row> find_rows(const Image& image, const Options& options, const Kernel& kernel);

/// What happened.
struct Result {
    bool ran = false;
    Scope scope = Scope::tree;
    std::optional<int> wait_status; ///< of a program that was run
};

/// Attaches, runs or waits, and fills in what was counted.
Result run(std::vector<Row>& rows, const Options& options, Signals& signals);

/// A screen of --live: the busiest places, as many as the terminal has lines.
class LiveScreen {
public:
    void show(const std::vector<Row*>& rows, const Options& options);

private:
    std::vector<uint64_t> before_; ///< hits at the last screen
    double at_ = 0;                ///< its time
};
/// The arguments of a probe at its last seen hit: "5 -1 ?". "?": in memory, which may have changed since.
std::string argument_values(const Row& row);

/// "ok", the name of an errno, or "unsafe", "untried".
std::string attach_result(const Row& row);
/// What the kernel did: "xol", "emulate", "emulate-unsafe", ..., "unknown".
std::string_view mode(const Row& row);
std::string text_report(const std::vector<Row>& rows, const Options& options, const Result& result);
std::string json_report(const std::vector<Row>& rows, const Options& options, const Result& result);
/// Kernel release, as uname says.
std::string release();

} // namespace fastsdt::probe
