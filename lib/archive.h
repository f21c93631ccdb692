// SPDX-License-Identifier: BSD-2-Clause
// Files mapped into memory, and the members of ar archives.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace fastsdt {

/// A whole file, mapped privately. Throws Unusable if it is not a regular file that can be read.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return bytes_; }
    int descriptor() const { return descriptor_; } ///< of the open file, for its attributes

    /// A mapped file that somebody shortens is no longer there to read. Ends the program with `status` then, after
    /// writing `message` (which has to live on) to stderr.
    static void exit_when_shortened(const char* message, int status);

private:
    int descriptor_ = -1;
    std::span<const std::byte> bytes_;
};

bool is_archive(std::span<const std::byte> file);

/// Calls `visit` with name and contents of each member of the archive at `path`, symbol and name tables left out.
/// A thin archive holds only names: those files are mapped for the call. What cannot be read goes to `trouble`.
void each_member(const std::string& path, std::span<const std::byte> file,
                 const std::function<void(const std::string& name, std::span<const std::byte>)>& visit,
                 const std::function<void(const std::string&)>& trouble);

} // namespace fastsdt
