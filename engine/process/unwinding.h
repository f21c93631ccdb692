// SPDX-License-Identifier: BSD-2-Clause
// What stubs need to unwind a process's stacks without its frame pointers, in the tables (maps/tables.h).
#pragma once
#include "arming/target.h"
#include "maps/tables.h"
#include "process/code_of_process.h"

#include <cstddef>
#include <map>
#include <vector>

namespace fastsdt::engine {

/// A file's rows are written once; where they find no room, there are none.
class Unwinding {
public:
    /// Reads the files that the view has seen mapped. It has to outlive this.
    explicit Unwinding(ProcessView& view);
    /// Rows that the tables should have: for these files, and others that come.
    size_t capacity() const;
    /// Takes note of what is mapped as of the view's last look, and writes it. Does nothing where the process has ended.
    void write(Target& target, const Tables& tables, Window window);
    CodeOfProcess& code() { return code_; }

private:
    using Module = CodeOfProcess::Module;

    CodeOfProcess code_;
    std::map<CodeOfProcess::Piece, size_t> at_; // of the rows, in the data
    std::vector<Module> written_;               // by their places in the tables
    size_t used_ = 0;                           // rows
};

} // namespace fastsdt::engine
