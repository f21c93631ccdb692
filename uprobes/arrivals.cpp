// SPDX-License-Identifier: BSD-2-Clause
//
// By perf's records PERF_RECORD_MMAP2 and PERF_RECORD_FORK of an event that counts nothing, one ring for each processor:
// include/uapi/linux/perf_event.h, perf_event_mmap_event() and perf_event_task() in kernel/events/core.c.
#include "arrivals.h"

#include "base/clock.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fastsdt {
namespace {

// An executed program makes some ten records of 100 bytes. So a ring has room for some 250 to 2,000 programs, which one processor starts
// while we get none: memory that the kernel locks, 64 MiB of it on a large machine.
size_t ring_size(size_t processors)
{
    constexpr size_t all = size_t{64} << 20, least = size_t{256} << 10, most = size_t{2} << 20;
    return std::bit_floor(std::clamp(all / processors, least, most));
}

} // namespace

Arrivals::~Arrivals() = default;

std::unique_ptr<Arrivals> Arrivals::open()
{
    std::unique_ptr<Arrivals> arrivals(new Arrivals());
    arrivals->readiness_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.mmap = attr.mmap2 = attr.task = 1;
    attr.sample_id_all = 1;
    attr.sample_type = PERF_SAMPLE_TIME;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
    attr.wakeup_watermark = 1; // bytes: with each record
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < processors; ++cpu) {
        Descriptor event(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
        if (!event && errno == ENODEV) // a processor that is switched off
            continue;
        if (!event)
            return nullptr;
        epoll_event readable{};
        readable.events = EPOLLIN;
        if (epoll_ctl(arrivals->readiness_.get(), EPOLL_CTL_ADD, event.get(), &readable) < 0)
            return nullptr;
        auto ring = PerfRing::map(event, ring_size(static_cast<size_t>(processors)));
        if (!ring)
            return nullptr;
        arrivals->rings_.push_back(std::move(ring));
    }
    return arrivals;
}

void Arrivals::read(PerfRing& ring, std::vector<Event>& to)
{
    ring.read([&](const perf_event_header& header, const PerfRing::Record& record) {
        Event event;
        event.pid = PerfRing::number_at<pid_t>(record, 8);
        event.time =
            PerfRing::number_at<uint64_t>(record, record.size() - sizeof(uint64_t)); // sample_id_all puts it last
        if (header.type == PERF_RECORD_LOST) {
            lost_ = true;
        } else if (header.type == PERF_RECORD_FORK) { // pid, ppid, tid, ptid, time
            event.parent = PerfRing::number_at<pid_t>(record, 12);
            to.push_back(std::move(event));
        } else if (header.type
                   == PERF_RECORD_MMAP2) { // pid, tid, addr, len, pgoff, maj, min, ino, generation, prot, flags, name
            constexpr size_t inode_at = 48, name_at = 72;
            event.inode = PerfRing::number_at<uint64_t>(record, inode_at);
            if (record.size() > name_at + sizeof(uint64_t)) {
                const char* const name = record.data() + name_at;
                event.file.assign(name, strnlen(name, record.size() - name_at - sizeof(uint64_t)));
                to.push_back(std::move(event));
            }
        }
    });
}

std::vector<Arrivals::Event> Arrivals::take()
{
    const auto now = static_cast<uint64_t>(clock_ns(CLOCK_MONOTONIC));
    std::vector<Event> events = std::exchange(later_, {});
    for (const auto& ring : rings_)
        read(*ring, events);
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    const auto end = std::find_if(events.begin(), events.end(), [&](const Event& event) { return event.time > now; });
    later_.assign(std::make_move_iterator(end), std::make_move_iterator(events.end()));
    events.erase(end, events.end());
    return events;
}

} // namespace fastsdt
