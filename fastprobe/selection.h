// SPDX-License-Identifier: BSD-2-Clause
// Which functions the user asked for.
#pragma once
#include "base/result.h"
#include <regex.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fastprobe {

/// "_Z3fooi.constprop.0" -> "foo(int)"; C names stay as they are, without the suffix that a compiler gives a clone.
std::string source_name(const std::string& symbol);
/// "foo.constprop.0" -> "foo"; empty suffixes and names that begin with a dot stay.
std::string without_clone_suffix(const std::string& symbol);

/// include, exclude and list. A function matches a regular expression if its symbol or its source name does, anywhere
/// in the name; a line of a list is a whole symbol, or a whole source name, with or without its parameters and, of a template, the type
/// of its result.
class Selection {
public:
    /// POSIX extended regular expressions.
    fastsdt::Result<void> add_include(const char* regex) { return add(include_, regex); }
    fastsdt::Result<void> add_exclude(const char* regex) { return add(exclude_, regex); }
    /// One name per line; blank lines and what follows a '#' are ignored.
    fastsdt::Result<void> add_list(const char* path);

    /// Without include and list: everything that exclude does not match. With them: what one of them names.
    bool selects(const std::string& symbol) const;
    /// The lines of lists that were the name of no function for which selects() was asked; none if it never was.
    std::vector<std::string> unmatched() const;

private:
    struct Free {
        void operator()(regex_t* r) const
        {
            regfree(r);
            delete r;
        }
    };
    using Regexes = std::vector<std::unique_ptr<regex_t, Free>>;
    static fastsdt::Result<void> add(Regexes& to, const char* regex);
    Regexes include_, exclude_;
    bool listed(const std::string& name) const;
    mutable std::map<std::string, std::atomic<bool>>
        list_; // whether the name was a function's: a link of LTO asks in many threads
    mutable std::atomic<bool> asked_ = false;
    bool has_list_ = false;
};

} // namespace fastprobe
