// SPDX-License-Identifier: BSD-2-Clause
// The ways to print a report.
#pragma once
#include "base/printable.h"
#include "live/live.h"
#include "report/armable.h"
#include "report/findings.h"
#include "report/plan.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

struct Style {
    bool colour = false;
    bool tree = false;                     // directories were named: say whose probes take two traps
    bool summary = false;                  // counts, no single probes
    bool verbose = false;                  // infos too, and single functions
    std::optional<fastsdt::Severity> only; // just the probes with a finding at least this bad
};

/// What a terminal is told where Style::colour is set.
namespace ansi {
inline constexpr std::string_view reset = "\033[0m", bold = "\033[1m", dim = "\033[2m", red = "\033[31m",
                                  green = "\033[32m", yellow = "\033[33m";
}

/// What the report of one image may come to: far more than a sound file's does (docs/json.md), and in proportion to its size.
class Budget {
public:
    void begin(const fastsdt::Image& image, size_t kernels);
    /// False: that much more is too much. The first time for an image, a sentence on stderr says so.
    bool spend(size_t bytes);
    /// No image's report was too long.
    bool whole() const { return whole_; }

private:
    std::string name_;
    uint64_t left_ = 0;
    bool said_ = false, whole_ = true;
};

/// Prints while the files are read one after the other.
class Output {
public:
    virtual ~Output() = default;
    virtual void report(const fastsdt::Report& report) = 0;
    /// A file, or a member of one, that could not be read. The message is on stderr already.
    virtual void unusable(const std::string& path, const std::string& message) = 0;
    virtual void finish() = 0;
    /// All of each report was printed.
    bool whole() const { return budget_.whole(); }

protected:
    Budget budget_;
};

std::unique_ptr<Output> text_output(Style style);
/// `only`: just the probes with a finding at least this bad.
std::unique_ptr<Output> json_output(const std::vector<fastsdt::Kernel>& kernels, std::optional<fastsdt::Severity> only);
/// SARIF 2.1.0: findings at least this bad.
std::unique_ptr<Output> sarif_output(fastsdt::Severity least);
/// Whether the site is shown under --only.
bool shown(const fastsdt::SiteReport& site, std::optional<fastsdt::Severity> only);

void print_process_text(const fastsdt::Process& process, const std::function<bool(const fastsdt::LiveSite&)>& select,
                        Style style);
void print_process_json(const fastsdt::Process& process, const std::function<bool(const fastsdt::LiveSite&)>& select);

/// Where to attach for one kernel.
class PlanOutput {
public:
    PlanOutput(Style style, bool json, const fastsdt::Kernel& kernel);
    /// Begins an image with this many points. They follow one by one, since there may be a million.
    void begin_image(const fastsdt::Image& image, size_t points);
    void point(const fastsdt::Image& image, const fastsdt::AttachPoint& point);
    void end_image();
    void unusable(const std::string& path, const std::string& message);
    void finish();
    bool whole() const { return budget_.whole(); }

private:
    void begin_file();
    void flush();
    std::string_view on(std::string_view code) const;
    const Style style_;
    const bool json_;
    const fastsdt::Kernel kernel_;
    size_t files_ = 0;
    std::string out_;
    bool first_ = true; // of the points of an image
    Budget budget_;
};

/// What fastsdt-trace can arm by moving instructions.
class ArmableOutput {
public:
    ArmableOutput(Style style, bool json);
    void image(const fastsdt::Image& image, const fastsdt::Notes& notes);
    void unusable(const std::string& path, const std::string& message);
    void finish();
    bool whole() const { return budget_.whole(); }

private:
    void begin_file();
    void function(const fastsdt::ArmableFunction& one);
    void site(const fastsdt::ArmableSite& one);
    void summary(const fastsdt::ArmableCounts& counts);
    void next();
    bool spend(size_t bytes);
    std::string_view on(std::string_view code) const;
    const Style style_;
    const bool json_;
    size_t files_ = 0;
    std::string out_;
    bool first_ = true; // of a list
    Budget budget_;
};

/// Writes to stdout; on failure the program ends with status 2.
void put(std::string_view text);
