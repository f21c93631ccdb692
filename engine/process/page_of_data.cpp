// SPDX-License-Identifier: BSD-2-Clause
#include "process/page_of_data.h"

#include "base/unusable.h"
#include "code/machine.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace fastsdt::engine {

PageOfData::PageOfData(int file, size_t from) : offset_(from)
{
    void* const at =
        mmap(nullptr, own_machine.page, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(from));
    if (at == MAP_FAILED)
        throw Unusable(fmt::format("mmap of a page of the tables: {}", std::strerror(errno)));
    bytes_ = static_cast<std::byte*>(at);
}

PageOfData::PageOfData(PageOfData&& other) noexcept
    : offset_(other.offset_), bytes_(std::exchange(other.bytes_, nullptr))
{}

PageOfData& PageOfData::operator=(PageOfData&& other) noexcept
{
    std::swap(offset_, other.offset_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

PageOfData::~PageOfData()
{
    if (bytes_)
        munmap(bytes_, own_machine.page);
}

void* PageOfData::at(size_t offset) const
{
    return bytes_ && offset / own_machine.page * own_machine.page == offset_ ? bytes_ + (offset - offset_) : nullptr;
}

} // namespace fastsdt::engine
