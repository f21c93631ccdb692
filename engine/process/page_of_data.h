// SPDX-License-Identifier: BSD-2-Clause
// A page of another process's tables in our memory.
#pragma once
#include <cstddef>

namespace fastsdt::engine {

class PageOfData {
public:
    PageOfData() = default;
    /// @param file  of the tables  @param from  offset, a multiple of the page size  Throws Unusable.
    PageOfData(int file, size_t from);
    PageOfData(PageOfData&& other) noexcept;
    PageOfData& operator=(PageOfData&& other) noexcept;
    ~PageOfData();

    /// Where a word of the tables is here; nullptr: this page does not have it.
    void* at(size_t offset) const;

private:
    size_t offset_ = 0;
    std::byte* bytes_ = nullptr;
};

} // namespace fastsdt::engine
