// SPDX-License-Identifier: BSD-2-Clause
// Files mapped into memory, and the members of ar archives.
#pragma once
#include "base/descriptor.h"
#include "base/result.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace fastsdt {

/// Which other files an archive may lead to, and how files are read.
struct Access {
    /// A thin archive holds only names. Those outside of the archive's directory (absolute ones, and with "..") are read only if asked
    /// for: an archive may come from anywhere. `alone`: no other file is read at all.
    enum Outside { refuse, read, alone } outside = refuse;
    /// A copy of what the file has now. Reading a mapped file that somebody has shortened raises SIGBUS, which a library cannot handle.
    bool copy = false;
    const char* cure = "--outside reads them"; ///< for members that are left out because of `refuse`
};

/// A whole file, mapped privately or copied. Throws Unusable if it is not a regular file that can be read; what is none is not even
/// opened, since opening a device may act on it.
class MappedFile {
public:
    explicit MappedFile(const std::string& path, bool copy = false);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return bytes_; }
    int descriptor() const { return descriptor_.get(); } ///< of the open file, for its attributes

    /// Reading a mapped file that somebody has shortened raises SIGBUS. On SIGBUS, writes `message` (which must stay
    /// valid) to stderr and ends the program with `status`.
    static void exit_when_shortened(const char* message, int status);
    /// For a program that may not end just there: what has gone reads as zeros from then on, of any file that is mapped.
    static void survive_shortening();
    static bool was_shortened(); ///< since then

private:
    Descriptor descriptor_;
    std::span<const std::byte> bytes_;
};

bool is_archive(std::span<const std::byte> file);

/// Calls `visit` with name and contents of each member of the archive at `path`, symbol and name tables left out.
/// The files that a thin archive names are opened for the call, each once however often it is named. What cannot be read goes to
/// `trouble`.
void each_member(const std::string& path, std::span<const std::byte> file, Access access,
                 const std::function<void(const std::string& name, std::span<const std::byte>)>& visit,
                 const std::function<void(const Error&)>& trouble);

} // namespace fastsdt
