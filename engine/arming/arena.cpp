// SPDX-License-Identifier: BSD-2-Clause
#include "arming/arena.h"

#include "base/addresses.h"
#include "code/machine.h"
#include "proc/threads.h"
#include "proc/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

struct Header {
    char magic[8];
    uint32_t version, patches;
    uint64_t start, size, mark, data, data_size;
    uint64_t start_time, pid_namespace, number;
    uint32_t pid, follows;
};
struct PatchRecord {
    uint64_t at, semaphore;
    std::array<std::byte, 8> before, after;
};
constexpr char magic[8] = {'f', 'a', 's', 't', 's', 'd', 't', '\n'};

// 0: there is no such process, or it is another user's.
uint64_t namespace_of(const std::string& process, const char* kind)
{
    struct stat status{};
    return stat(("/proc/" + process + "/ns/" + kind).c_str(), &status) == 0 ? status.st_ino : 0;
}

// Our /proc has the processes of our namespace and of those below it. That it has all there are is seen by kthreadd's.
bool sees_all_processes()
{
    constexpr uint64_t initial = 0xeffffffc; // PROC_PID_INIT_INO, include/linux/proc_ns.h
    return namespace_of("self", "pid") == initial && access("/proc/2", F_OK) == 0;
}

} // namespace

uint64_t start_time_of(const std::string& process)
{
    const auto stat = read_stat(process);
    if (!stat || (has_ended(stat->state) && living_threads(std::atoi(process.c_str())).empty()))
        return 0;
    return stat->start;
}

uint64_t ticks_since_boot()
{
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    return static_cast<uint64_t>(now.tv_sec) * ticks + static_cast<uint64_t>(now.tv_nsec) * ticks / 1'000'000'000;
}

Tracer Tracer::self()
{
    static std::mutex mutex;
    static Tracer known; // asked for each of many sites; a forked process is another one
    const std::lock_guard lock(mutex);
    if (const auto pid = static_cast<uint32_t>(getpid()); known.pid != pid)
        known = {pid, start_time_of("self"), namespace_of("self", "pid")};
    return known;
}

bool Tracer::may_run() const
{
    if (pid == 0)
        return false;
    if (pid_namespace == namespace_of("self", "pid"))
        return start_time != 0 && start_time_of(std::to_string(pid)) == start_time;
    // In another namespace it has another number here, but the same start, unless the time is another there.
    for (const pid_t here : listed_processes()) {
        const std::string process = std::to_string(here);
        // From our namespace down to its own, of which there is one if that is ours.
        const std::vector<uint64_t> numbers = status_numbers(here, here, "NSpid:");
        if (numbers.size() < 2 || numbers.back() != pid)
            continue;
        const uint64_t of = namespace_of(process, "pid"), start = start_time_of(process);
        if ((of == 0 || of == pid_namespace) && start != 0
            && (start == start_time || namespace_of(process, "time") != namespace_of("self", "time")))
            return true;
    }
    return !sees_all_processes();
}

namespace {
struct MakerWords {
    uint64_t pid, start_time, pid_namespace, start, size;
};
static_assert(Tables::maker + sizeof(MakerWords) <= Tables::clock);

template <class T> std::vector<std::byte> copied_bytes(const T& value)
{
    const auto* const first = reinterpret_cast<const std::byte*>(&value);
    return {first, first + sizeof value};
}

template <class T> T read_from(Target& target, uint64_t address)
{
    T value{};
    if (const auto bytes = target.read(address, sizeof value); bytes.size() == sizeof value)
        std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}
} // namespace

std::vector<std::pair<size_t, std::vector<std::byte>>> encode(const Maker& maker)
{
    const auto& [first, second] = maker.arenas;
    const MakerWords words{maker.tracer.pid, maker.tracer.start_time, maker.tracer.pid_namespace, first.start,
                           first.size};
    return {{Tables::second_arena, copied_bytes(second)}, {Tables::maker, copied_bytes(words)}};
}

Maker read_maker(Target& target, uint64_t data)
{
    const auto words = read_from<MakerWords>(target, data + Tables::maker);
    return {{static_cast<uint32_t>(words.pid), words.start_time, words.pid_namespace},
            {{{words.start, words.size}, read_from<Range>(target, data + Tables::second_arena)}}};
}

bool begins_arena(std::span<const std::byte> bytes)
{
    return bytes.size() >= sizeof magic && std::memcmp(bytes.data(), magic, sizeof magic) == 0;
}

size_t size_of_front(size_t patches)
{
    return up_to(sizeof(Header) + patches * sizeof(PatchRecord), 64);
}

static Header header_of(const Front& front)
{
    Header header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.version = Front::version;
    header.patches = static_cast<uint32_t>(front.patches.size());
    header.start = front.start;
    header.size = front.size;
    header.mark = front.mark;
    header.data = front.data;
    header.data_size = front.data_size;
    header.start_time = front.tracer.start_time;
    header.pid_namespace = front.tracer.pid_namespace;
    header.number = front.number;
    header.pid = front.tracer.pid;
    header.follows = front.follows;
    return header;
}

std::vector<std::byte> encode(const Front& front)
{
    const Header header = header_of(front);
    std::vector<std::byte> bytes(size_of_front(front.patches.size()));
    std::memcpy(bytes.data(), &header, sizeof header);
    for (size_t i = 0; i < front.patches.size(); ++i) {
        const Patch& p = front.patches[i];
        const PatchRecord record{p.at, p.semaphore, p.before, p.after};
        std::memcpy(bytes.data() + sizeof header + i * sizeof record, &record, sizeof record);
    }
    return bytes;
}

std::vector<std::byte> head_of(const Front& front)
{
    const Header header = header_of(front);
    const auto* const first = reinterpret_cast<const std::byte*>(&header);
    return {first, first + sizeof header};
}

std::vector<Front> find_arenas(Target& target)
{
    return find_arenas(target, target.mappings());
}

std::vector<Front> find_arenas(Target& target, const std::vector<Mapping>& mappings)
{
    // What tracers can have made, and no more: a stub is longer than the least of these, and a program has not that many sites.
    constexpr size_t least_stub = 16, most_patches = size_t{1} << 20;
    std::vector<Front> fronts;
    size_t patches = 0;
    for (const Mapping& m : mappings) {
        if (!m.executable || m.writable || m.shared || m.inode != 0 || m.name.starts_with('['))
            continue;
        const auto bytes = target.read(m.start, sizeof(Header));
        Header header;
        if (bytes.size() != sizeof header)
            continue;
        std::memcpy(&header, bytes.data(), sizeof header);
        if (!begins_arena(bytes) || header.version != Front::version || header.start != m.start
            || header.size > m.end - m.start || header.size > own_machine.most_code
            || size_of_front(header.patches) + header.patches * least_stub > header.size
            || header.patches > most_patches - patches)
            continue;
        patches += header.patches;
        Front front{header.start,  header.size,         header.mark,
                    header.data,   header.data_size,    {header.pid, header.start_time, header.pid_namespace},
                    header.number, header.follows != 0, {}};
        const auto records = target.read(m.start + sizeof header, header.patches * sizeof(PatchRecord));
        for (size_t i = 0; (i + 1) * sizeof(PatchRecord) <= records.size(); ++i) {
            PatchRecord record;
            std::memcpy(&record, records.data() + i * sizeof record, sizeof record);
            Patch p;
            p.at = record.at;
            p.before = record.before;
            p.after = record.after;
            p.semaphore = record.semaphore;
            p.length = is_moved_jump(p.after) ? own_machine.moved_jump : own_machine.exchanged;
            front.patches.push_back(p);
        }
        const auto mark = target.read(header.mark, sizeof(uint64_t));
        if (mark == std::vector<std::byte>(sizeof(uint64_t)) && !front.follows) // a child's
            front.tracer = {};
        fronts.push_back(std::move(front));
    }
    return fronts;
}

bool has_own_arena(Target& target, const std::vector<Mapping>& mappings)
{
    const std::vector<Front> fronts = find_arenas(target, mappings);
    return std::any_of(fronts.begin(), fronts.end(), [](const Front& f) { return f.tracer == Tracer::self(); });
}

} // namespace fastsdt::engine
