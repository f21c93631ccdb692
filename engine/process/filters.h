// SPDX-License-Identifier: BSD-2-Clause
// Seccomp filters of a process. A filter may kill a thread for a system call that a stub makes, or answer it with an error.
// A process sets one by prctl(PR_SET_SECCOMP) or seccomp(), and nobody is told; afterwards it is too late. So a stub makes
// system calls only in a process that has nothing which sets a filter.
#pragma once
#include "process/view.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fastsdt::engine {

class Filters {
public:
    explicit Filters(ProcessView& view) : view_(view) {}

    /// Why it may set a filter: "FILE calls seccomp()". Empty: no code that it has mapped does. Reads files that were not mapped
    /// at the last look: some 10 ms for each MB of code.
    ///
    /// It is a reading of instructions, and no proof. It does not see code that is made after the look (a just-in-time
    /// compiler's first), code of a library that is mapped after it, and a number that is the result of a computation.
    std::string setter(const std::vector<Mapping>& mappings); ///< these it has

    /// Why its filters forbid what stubs call. Empty: none of its threads has one, or all have the same number of them, and they allow it. Then
    /// that is what the threads have that are looked at: a part of them each time if there are many. Stops each thread for a moment where some are
    /// new.
    /// @param processor  stubs ask for its number by a call, too
    std::string obstacle(bool processor);
    /// How many filters each thread has that allow what stubs call; 0: they were not asked.
    uint64_t allowing() const { return allowing_; }

private:
    bool has_others();

    ProcessView& view_;
    uint64_t allowing_ = 0;
    std::string refused_;                                           // by filters that stand
    std::map<std::pair<std::string, uint64_t>, std::string> files_; // by device and inode: what setter() says of it
    size_t next_ = 0;                                               // of its threads
};

} // namespace fastsdt::engine
