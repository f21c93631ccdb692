// SPDX-License-Identifier: BSD-2-Clause
// The memory in which the kernel puts the records of perf events of one processor: perf_event_open(2), "MMAP layout".
#pragma once
#include "base/descriptor.h"

#include <cstddef>
#include <cstring>
#include <functional>
#include <linux/perf_event.h>
#include <memory>
#include <utility>
#include <vector>

namespace fastsdt {

class PerfRing {
public:
    /// Of this event, and of those whose output is set to it. @param size  bytes, a power of two and whole pages
    /// @return  nullptr, with errno set: EPERM beyond kernel.perf_event_mlock_kb; the event is the caller's then
    static std::unique_ptr<PerfRing> map(Descriptor& event, size_t size);
    PerfRing(const PerfRing&) = delete;
    PerfRing& operator=(const PerfRing&) = delete;
    ~PerfRing();

    int event() const { return event_.get(); }
    size_t size() const { return size_; } ///< bytes for records

    using Record = std::vector<char>; ///< with its perf_event_header
    /// What has come since the last time.
    void read(const std::function<void(const perf_event_header& header, Record record)>& each);

    /// Zeros where the record ends before that.
    template <class Number> static Number number_at(const Record& record, size_t at)
    {
        Number number{};
        if (at + sizeof number <= record.size())
            std::memcpy(&number, record.data() + at, sizeof number);
        return number;
    }

private:
    PerfRing(Descriptor event, perf_event_mmap_page* head, size_t page, size_t size)
        : event_(std::move(event)), head_(head), page_(page), size_(size)
    {}

    const Descriptor event_;
    perf_event_mmap_page* const head_; // a page, and behind it the records
    const size_t page_, size_;
};

} // namespace fastsdt
