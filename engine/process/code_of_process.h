// SPDX-License-Identifier: BSD-2-Clause
// What unwinding a process's stacks without its frame pointers needs: the rows of .eh_frame of all files that it has mapped. Code that no file has
// has none: stacks that lead there are cut, which is counted.
#pragma once
#include "maps/tables.h"
#include "process/view.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// The code of a process, with rows. A file is read once for all processes that map it, and kept while somebody has it.
class CodeOfProcess {
public:
    /// Eight bytes on the first page of a file by which it is told from another in its place: of the build id, if linkers put it there, else
    /// where the section headers are.
    struct Mark {
        uint64_t at = 0, word = 0; ///< `at` 0: there are none
    };
    /// Executable code of a file that is loaded as one piece.
    struct FileCode {
        uint64_t offset = 0, size = 0; ///< in the file
        std::vector<UnwindRow> rows;
        Mark mark;
    };
    using Piece = std::shared_ptr<const FileCode>;
    /// Runtime addresses.
    struct Module {
        uint64_t start = 0, end = 0;
        uint64_t base = 0; ///< its rows count from there
        Piece code;        ///< not without rows. Empty: nothing is there
        bool operator==(const Module&) const = default;
    };

    /// @param view  has to outlive it
    explicit CodeOfProcess(ProcessView& view) : view_(view) {}
    /// As of the view's last look, by address. Empty: the process has ended.
    std::vector<Module> modules();
    /// Of all files that it has had.
    size_t rows() const;

private:
    using CodeOfFile = std::shared_ptr<const std::vector<FileCode>>;
    static CodeOfFile read(const Descriptor& file);
    Piece code_of(const Mapping& mapping);
    Piece code_of_vdso(const Mapping& mapping);

    ProcessView& view_;
    std::map<std::string, CodeOfFile> files_; // by device and inode
};

} // namespace fastsdt::engine
