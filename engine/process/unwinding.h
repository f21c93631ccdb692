// SPDX-License-Identifier: BSD-2-Clause
// What stubs need to unwind a process's stacks without its frame pointers: the rows of .eh_frame of all files that it has mapped, in the
// tables (maps/tables.h). A file's rows are written once. A module whose rows find no room, and code that no file has, have none: stacks
// that lead there are cut, which the stub counts.
#pragma once
#include "arming/target.h"
#include "maps/tables.h"
#include "process/view.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::engine {

class Unwinding {
public:
    /// Reads the files that the view has seen mapped. It has to outlive this.
    explicit Unwinding(ProcessView& view);
    /// Rows that the tables should have: for these files, and others that come.
    size_t capacity() const;
    /// Takes note of what is mapped as of the view's last look, and writes it. Does nothing where the process has ended.
    void write(Target& target, const Tables& tables, Window window);

private:
    /// Executable code of a file that is loaded as one piece.
    struct FileCode {
        uint64_t offset = 0, size = 0; ///< in the file
        std::vector<UnwindRow> rows;
    };
    /// Read once for all processes that map the file, and kept while one of them is traced.
    using CodeOfFile = std::shared_ptr<const std::vector<FileCode>>;
    struct Code {
        const FileCode* in_file;
        std::optional<size_t> at; ///< of the rows, in the data
    };
    struct File {
        CodeOfFile kept;
        std::vector<Code> pieces;
    };
    struct Module {
        uint64_t start = 0, end = 0, base = 0;
        Code* code = nullptr;
        bool operator==(const Module&) const = default;
    };
    static CodeOfFile read(const Descriptor& file);
    std::vector<Module> modules_now();
    Code* code_of(const Mapping& mapping);

    ProcessView& view_;
    std::map<std::string, File> files_; // by device and inode
    std::vector<Module> written_;       // by their places in the tables; without code: nothing is there
    size_t used_ = 0;                   // rows
};

} // namespace fastsdt::engine
