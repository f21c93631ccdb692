// SPDX-License-Identifier: BSD-2-Clause
#include "arming/arena.h"

#include "code/machine.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

struct Header {
    char magic[8];
    uint32_t version, patches;
    uint64_t start, size, mark, data, data_size;
    uint64_t start_time, pid_namespace;
    uint32_t pid, unused;
};
struct Record {
    uint64_t at, semaphore;
    std::array<std::byte, 8> before, after;
};
constexpr char magic[8] = {'f', 'a', 's', 't', 's', 'd', 't', '\n'};

// When a process began; 0: there is none, or it is none any more that could trace: one that nobody has waited for.
uint64_t start_time_of(const std::string& process)
{
    std::ifstream in("/proc/" + process + "/stat");
    std::string text;
    std::getline(in, text, '\0');            // an iterator would throw if the process ends meanwhile
    const size_t name_end = text.rfind(')'); // the name may contain anything
    if (name_end == text.npos)
        return 0;
    std::istringstream fields(text.substr(name_end + 1));
    std::string state, skipped;
    fields >> state; // field 3
    if ((state == "Z" || state == "X") && living_threads(std::atoi(process.c_str())).empty())
        return 0;
    for (int field = 4; field < 22; ++field)
        fields >> skipped;
    uint64_t ticks = 0;
    fields >> ticks;
    return ticks;
}

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

Tracer Tracer::self()
{
    return {static_cast<uint32_t>(getpid()), start_time_of("self"), namespace_of("self", "pid")};
}

bool Tracer::may_run() const
{
    if (pid == 0)
        return false;
    if (pid_namespace == namespace_of("self", "pid"))
        return start_time != 0 && start_time_of(std::to_string(pid)) == start_time;
    // In another namespace it has another number here, but the same start, unless the time is another there.
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string process = entry.path().filename();
        if (std::atoi(process.c_str()) <= 0)
            continue;
        // From our namespace down to its own, of which there is one if that is ours.
        const pid_t here = std::atoi(process.c_str());
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

bool begins_arena(std::span<const std::byte> bytes)
{
    return bytes.size() >= sizeof magic && std::memcmp(bytes.data(), magic, sizeof magic) == 0;
}

size_t size_of_front(size_t patches)
{
    return (sizeof(Header) + patches * sizeof(Record) + 63) / 64 * 64;
}

std::vector<std::byte> encode(const Front& front)
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
    header.pid = front.tracer.pid;
    std::vector<std::byte> bytes(size_of_front(front.patches.size()));
    std::memcpy(bytes.data(), &header, sizeof header);
    for (size_t i = 0; i < front.patches.size(); ++i) {
        const Patch& p = front.patches[i];
        const Record record{p.at, p.semaphore, p.before, p.after};
        std::memcpy(bytes.data() + sizeof header + i * sizeof record, &record, sizeof record);
    }
    return bytes;
}

std::vector<Front> find_arenas(Target& target)
{
    // What tracers can have made, and no more: a stub is longer than the least of these, and a program has not that many sites.
    constexpr size_t least_stub = 16, most_patches = size_t{1} << 20;
    std::vector<Front> fronts;
    size_t patches = 0;
    for (const Mapping& m : target.mappings()) {
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
        Front front{header.start,
                    header.size,
                    header.mark,
                    header.data,
                    header.data_size,
                    {header.pid, header.start_time, header.pid_namespace},
                    {}};
        const auto records = target.read(m.start + sizeof header, header.patches * sizeof(Record));
        for (size_t i = 0; (i + 1) * sizeof(Record) <= records.size(); ++i) {
            Record record;
            std::memcpy(&record, records.data() + i * sizeof record, sizeof record);
            Patch p;
            p.at = record.at;
            p.before = record.before;
            p.after = record.after;
            p.semaphore = record.semaphore;
            p.length = own_machine.exchanged;
            front.patches.push_back(p);
        }
        uint64_t mark = 0;
        const auto word = target.read(header.mark, sizeof mark);
        std::memcpy(&mark, word.data(), word.size());
        if (word.size() == sizeof mark && mark == 0)
            front.tracer = {};
        fronts.push_back(std::move(front));
    }
    return fronts;
}

} // namespace fastsdt::engine
