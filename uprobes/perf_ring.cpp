// SPDX-License-Identifier: BSD-2-Clause
#include "perf_ring.h"

#include <algorithm>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace fastsdt {

std::unique_ptr<PerfRing> PerfRing::map(Descriptor& event, size_t size)
{
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const memory = mmap(nullptr, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    if (memory == MAP_FAILED)
        return nullptr;
    return std::unique_ptr<PerfRing>(
        new PerfRing(std::move(event), static_cast<perf_event_mmap_page*>(memory), page, size));
}

PerfRing::~PerfRing()
{
    munmap(head_, page_ + size_);
}

void PerfRing::read(const std::function<void(const perf_event_header& header, Record record)>& each)
{
    const char* const records = reinterpret_cast<const char*>(head_) + page_;
    const uint64_t end = __atomic_load_n(&head_->data_head, __ATOMIC_ACQUIRE);
    uint64_t at = head_->data_tail;
    const auto copy = [&](size_t length) {
        Record bytes(length);
        for (size_t done = 0; done < length;) { // it may go over the ring's end
            const size_t from = (at + done) % size_, part = std::min(length - done, size_ - from);
            std::memcpy(bytes.data() + done, records + from, part);
            done += part;
        }
        return bytes;
    };
    while (at < end) {
        perf_event_header header{};
        std::memcpy(&header, copy(sizeof header).data(), sizeof header);
        if (header.size < sizeof header)
            break;
        Record record = copy(header.size);
        at += header.size;
        each(header, std::move(record));
    }
    __atomic_store_n(&head_->data_tail, end, __ATOMIC_RELEASE);
}

} // namespace fastsdt
