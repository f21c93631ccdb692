// SPDX-License-Identifier: BSD-2-Clause
// The ways to print a report.
#pragma once
#include "findings.h"
#include "live.h"
#include "plan.h"
#include "printable.h"

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

/// What is printed while the files are read one after the other.
class Output {
public:
    virtual ~Output() = default;
    virtual void report(const fastsdt::Report& report) = 0;
    /// A file, or a member of one, that could not be read. The message is on stderr already.
    virtual void unusable(const std::string& path, const std::string& message) = 0;
    virtual void finish() = 0;
};

/// The version of the JSON that docs/json.md describes.
inline constexpr int json_schema = 1;

std::unique_ptr<Output> text_output(Style style);
/// `only`: just the probes with a finding at least this bad.
std::unique_ptr<Output> json_output(const std::vector<fastsdt::Kernel>& kernels, std::optional<fastsdt::Severity> only);
/// SARIF 2.1.0: findings at least this bad.
std::unique_ptr<Output> sarif_output(fastsdt::Severity least);
/// Whether the site is shown under --only.
bool shown(const fastsdt::Site& site, std::optional<fastsdt::Severity> only);

void print_process_text(const fastsdt::Process& process, const std::function<bool(const fastsdt::LiveSite&)>& select,
                        Style style);
void print_process_json(const fastsdt::Process& process, const std::function<bool(const fastsdt::LiveSite&)>& select);

/// Where to attach for one kernel.
class PlanOutput {
public:
    PlanOutput(Style style, bool json, const fastsdt::Kernel& kernel);
    /// An image with so many points, which follow one by one: there may be a million.
    void begin_image(const fastsdt::Image& image, size_t points);
    void point(const fastsdt::Image& image, const fastsdt::AttachPoint& point);
    void end_image();
    void unusable(const std::string& path, const std::string& message);
    void finish();

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
};

/// Writes to stdout; on failure the program ends with status 2.
void put(std::string_view text);
