// SPDX-License-Identifier: BSD-2-Clause
// The one way in which the tools write a file: it appears whole, with the right owner and rights, or not at all.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace fastsdt {

/// A place where a file will be written. Throws Unusable, in which case the place is as it was.
class OutputFile {
public:
    /// Follows symbolic links as the kernel does, here and only here. Refuses what is not a regular file (devices, FIFOs, directories,
    /// links that lead nowhere) and, if `try_now`, directories in which no file can be made. Leaves nothing behind. A
    /// file that is to be changed in place is then opened by path().
    explicit OutputFile(const std::string& path, bool try_now = true);

    const std::string& path() const { return path_; } ///< without symbolic links in the last component
    /// Names of the file besides path(), which will keep the old contents.
    size_t other_names() const { return before_ ? before_->st_nlink - 1 : 0; }

    /// Writes a new file beside the place and renames it to path(). It has the rights that a new file has.
    void write(std::string_view contents);

    /// The same of what is appended piece by piece: a file that need not fit into memory. Ends with what `fill` throws, and leaves nothing
    /// then. An append, also of nothing, ends it where a signal waits.
    using Append = std::function<void(std::string_view)>;
    void write(const std::function<void(const Append&)>& fill);

    /// The same with owner, group, mode, ACL, file capabilities and other extended attributes of `like`, a descriptor
    /// of the file that was read. Throws if one of them cannot be kept, except the owner: a user who may not give files
    /// away owns the new file, which then loses set-user-id and set-group-id.
    void write(std::span<const std::byte> contents, int like);

    /// The same in place: `source` has to be the file that this place had at the beginning, there and unchanged. Device,
    /// inode, size and times are compared just before the rename. write() does so too where both are one file.
    void change(std::span<const std::byte> contents, int source);

private:
    void write(const std::function<void(const Append&)>& fill, const int* like, bool in_place);

    std::string asked_, path_;
    std::optional<struct stat> before_;
};

} // namespace fastsdt
