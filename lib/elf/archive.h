// SPDX-License-Identifier: BSD-2-Clause
// Files mapped into memory, and the members of ar archives.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace fastsdt {

/// A whole file, mapped privately. Throws Unusable if it is not a regular file that can be read; what is none is not even
/// opened, since opening a device may act on it.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return bytes_; }
    int descriptor() const { return descriptor_; } ///< of the open file, for its attributes

    /// Reading a mapped file that somebody has shortened raises SIGBUS. On SIGBUS, writes `message` (which must stay
    /// valid) to stderr and ends the program with `status`.
    static void exit_when_shortened(const char* message, int status);
    /// For a program that may not end just there: what has gone reads as zeros from then on, of any file that is mapped.
    static void survive_shortening();
    static bool was_shortened(); ///< since then

private:
    int descriptor_ = -1;
    std::span<const std::byte> bytes_;
};

bool is_archive(std::span<const std::byte> file);

/// Calls `visit` with name and contents of each member of the archive at `path`, symbol and name tables left out.
/// A thin archive holds only names: those files are mapped for the call, each once however often it is named. Names outside of
/// the archive's directory (absolute ones, and with "..") are read only if asked for: an archive may come from anywhere.
/// What cannot be read goes to `trouble`.
enum class Outside { refuse, read };
void each_member(const std::string& path, std::span<const std::byte> file, Outside outside,
                 const std::function<void(const std::string& name, std::span<const std::byte>)>& visit,
                 const std::function<void(const std::string&)>& trouble);

} // namespace fastsdt
