// SPDX-License-Identifier: BSD-2-Clause
// Files mapped into memory, and the members of ar archives.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace fastsdt {

/// A whole file, mapped privately. Throws Unusable if it is not a regular file that can be read.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

bool is_archive(std::span<const std::byte> file);

/// Calls `visit` with name and contents of each member of the archive at `path`, symbol and name tables left out.
/// A thin archive holds only names: those files are mapped for the call. What cannot be read goes to `trouble`.
void each_member(const std::string& path, std::span<const std::byte> file,
                 const std::function<void(const std::string& name, std::span<const std::byte>)>& visit,
                 const std::function<void(const std::string&)>& trouble);

} // namespace fastsdt
