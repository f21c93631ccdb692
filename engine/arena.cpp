// SPDX-License-Identifier: BSD-2-Clause
#include "arena.h"

#include "machine.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
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
    uint64_t start, size, mark, data;
    uint64_t start_time, pid_namespace;
    uint32_t pid, unused;
};
struct Record {
    uint64_t at, semaphore;
    std::array<std::byte, 8> before, after;
};
constexpr char magic[8] = {'f', 'a', 's', 't', 's', 'd', 't', '\n'};

uint64_t start_time_of(const std::string& stat)
{
    std::ifstream in(stat);
    std::string text;
    std::getline(in, text, '\0');            // an iterator would throw where the process ends in between
    const size_t name_end = text.rfind(')'); // the name may have anything in it
    if (name_end == text.npos)
        return 0;
    std::istringstream fields(text.substr(name_end + 1)); // from field 3 on
    std::string skipped;
    for (int field = 3; field < 22; ++field)
        fields >> skipped;
    uint64_t ticks = 0;
    fields >> ticks;
    return ticks;
}

uint64_t own_pid_namespace()
{
    struct stat status{};
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

} // namespace

Tracer Tracer::self()
{
    return {static_cast<uint32_t>(getpid()), start_time_of("/proc/self/stat"), own_pid_namespace()};
}

bool Tracer::may_run() const
{
    if (pid == 0)
        return false;
    if (pid_namespace != own_pid_namespace())
        return true;
    return start_time_of(fmt::format("/proc/{}/stat", pid)) == start_time;
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
    std::vector<Front> fronts;
    for (const Mapping& m : target.mappings()) {
        if (!m.executable || m.writable || m.shared || m.inode != 0 || m.name.starts_with('['))
            continue;
        const auto bytes = target.read(m.start, sizeof(Header));
        Header header;
        if (bytes.size() != sizeof header)
            continue;
        std::memcpy(&header, bytes.data(), sizeof header);
        if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.version != Front::version
            || header.start != m.start || header.size > m.end - m.start || size_of_front(header.patches) > header.size)
            continue;
        Front front{header.start,
                    header.size,
                    header.mark,
                    header.data,
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
