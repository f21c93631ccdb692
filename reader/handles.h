// SPDX-License-Identifier: BSD-2-Clause
// The structures behind the pointers of fastsdt/reader.h. Each begins with what the header declares, and has below it what the
// accessors go through.
#pragma once
#include "report/findings.h"

#include <fastsdt/reader.h>

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fastsdt::reader {

/// Copies of texts and bytes, each once.
class Texts {
public:
    const char* operator()(std::string_view text) { return texts_.emplace(text).first->c_str(); }
    /// NULL for an empty one.
    const char* or_null(std::string_view text) { return text.empty() ? nullptr : (*this)(text); }
    const unsigned char* operator()(std::span<const std::byte> bytes)
    {
        return reinterpret_cast<const unsigned char*>(
            (*this)(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
    }

private:
    std::set<std::string, std::less<>> texts_;
};

using Verdicts = std::vector<fastsdt_reader_verdict>;
using Findings = std::vector<fastsdt_reader_finding>;

struct Place : fastsdt_reader_place {
    const Verdicts* verdicts = nullptr; ///< by kernel; places that look the same share them
};

struct Argument : fastsdt_reader_argument {
    std::array<fastsdt_reader_reading, tracers.size()> readings;
};

struct Probe : fastsdt_reader_probe {
    Place at;
    std::vector<Argument> all_arguments;
    Findings all_findings;
};

struct Exit : fastsdt_reader_exit {
    Place at;
    Findings all_findings;
};

struct Function : fastsdt_reader_function {
    Place at;
    std::vector<const char*> all_aliases;
    std::deque<Exit> all_exits_of_it;
    Findings all_findings;
};

struct Image : fastsdt_reader_image {
    std::deque<Probe> all_probes; // deques: a probe points to its own place
    std::deque<Function> all_functions;
    std::deque<Verdicts> verdicts;
    Findings all_findings;
};

void set_error(fastsdt_reader_error* error, int kind, const Error& what);

/// Appends what the report says. @param live  what a process has of the file, or nullptr
void add(fastsdt_reader& reader, const Report& report, const LiveFile* live);

} // namespace fastsdt::reader

struct fastsdt_reader {
    fastsdt::reader::Texts texts;
    std::vector<const char*> kernels;
    std::vector<fastsdt_reader_error> troubles;
    std::deque<fastsdt::reader::Image> images;
};
