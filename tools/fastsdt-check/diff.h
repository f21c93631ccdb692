// SPDX-License-Identifier: BSD-2-Clause
// Two builds of a program compared by what scripts rely on: names of probes, number, sizes and signs of their arguments. It needs no
// more than what any program may know of a file, so it is written as one: with fastsdt/reader.h.
#pragma once
#include "output.h"

#include <fastsdt/reader.h>

#include <array>
#include <map>
#include <set>

class Diff {
public:
    enum Side { before, after };
    using Select = std::function<bool(std::string_view provider, std::string_view name)>;
    /// Adds the probes of a file. All images of one side, as the members of an archive, count as one.
    void add(Side side, const fastsdt_reader* file, const Select& select);
    /// Prints what differs; true if a script that worked with the old build may not work with the new one.
    bool print(const std::string& old_path, const std::string& new_path, bool json, const Style& style) const;

private:
    struct Known {
        std::set<std::string> arguments; // one text for each form among its sites: "-4 8"
        size_t sites = 0, semaphores = 0;
    };
    std::array<std::map<std::string, Known>, 2> probes_; // by provider:name
};
