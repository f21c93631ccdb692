// SPDX-License-Identifier: BSD-2-Clause
// Tables and arenas for stubs: what another process maps for us, and gives back.
#include "arming/place.h"
#include "process/outside_target.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h> // SYS_*

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U // Linux 6.3
#endif

namespace fastsdt::engine {

// A reservation takes nothing where no page is used, unless memory is locked: then it is there as a whole at once.
Window Outside::allocate_data(Needs needs)
{
    const size_t least = needs.least = whole_pages(needs.least);
    const size_t room = room_for_tables(view_, needs), locked = std::clamp(most_locked, least, room);
    std::vector<size_t> sizes = {room, locked, least};
    if (has_locked_memory(view_))
        sizes.erase(sizes.begin());
    int64_t error = 0;
    for (const size_t size : sizes) {
        const int64_t at = map(least, size)[1];
        error = std::min<int64_t>(at, 0);
        if (error == -EAGAIN || error == -ENOMEM)
            continue; // RLIMIT_MEMLOCK; another limit
        need(at, fmt::format("mmap of {} bytes for the tables", size));
        if (size > locked && has_locked_memory(view_)) { // by mlockall(MCL_FUTURE), which is not seen before
            call({{SYS_munmap, {static_cast<uint64_t>(at), size}}});
            continue;
        }
        const Range mapped{static_cast<uint64_t>(at), size};
        return or_unmap({mapped}, [&] { return data_at(mapped.start, size); });
    }
    throw Unusable(fmt::format("process {}: its limits leave no room for tables of {} KiB: {} (ulimit -l, -v)", pid_,
                               least >> 10, std::strerror(static_cast<int>(-error))));
}

// By one errand, unless a limit of the process is in the way. The tables say of so many arenas that they are about to be mapped.
Window Outside::allocate(Needs needs, std::span<const WantedCode> wanted, const std::vector<Mapping>& mappings,
                         std::vector<Arena>& arenas)
{
    const size_t least = needs.least = whole_pages(needs.least);
    const size_t size = room_for_tables(view_, needs);
    const std::vector<Range> places = places_for(wanted.first(std::min(wanted.size(), Maker::most_arenas)), mappings);
    if (places.empty() || has_locked_memory(view_))
        return allocate_data(needs);
    std::vector<int64_t> results;
    try {
        results = map(least, size, places);
    } catch (const NoRoom&) {
        return allocate_data(needs);
    } catch (const NoRoomNear&) {
        return allocate_data(needs);
    }
    const auto window = static_cast<uint64_t>(results[1]);
    const bool locked = results[1] >= 0 && size > std::max(most_locked, least) && has_locked_memory(view_);
    std::vector<Call> away; // what is not as it was to be
    if (locked)
        away.push_back({SYS_munmap, {window, size}});
    const auto of_arena = [&](size_t i, size_t call) { return results.at(data_calls + i * code_calls + call); };
    std::vector<bool> given(places.size());
    for (size_t i = 0; results.size() > data_calls && i < places.size(); ++i) {
        given[i] = of_arena(i, 0) == static_cast<int64_t>(places[i].start);
        if (given[i] && (locked || of_arena(i, 1) != 0 || of_arena(i, 2) != 0)) {
            away.push_back({SYS_munmap, {places[i].start, places[i].size}});
            given[i] = false;
        }
    }
    if (!away.empty())
        call(away);
    if (locked || results[1] == -EAGAIN || results[1] == -ENOMEM)
        return allocate_data(needs);
    need(results[1], fmt::format("mmap of {} bytes for the tables", size));
    std::vector<Range> mapped = {{window, size}};
    for (size_t i = 0; i < places.size(); ++i)
        if (given[i])
            mapped.push_back(places[i]);
    return or_unmap(mapped, [&] {
        const Window made = data_at(window, size);
        arenas.resize(places.size());
        for (size_t i = 0; i < places.size(); ++i)
            if (given[i])
                arenas[i] = marked(places[i]);
        return made;
    });
}

Arena Outside::allocate_code(std::span<const uint64_t> near, size_t size)
{
    size = whole_pages(size);
    for (unsigned tries = 0; tries < 8; ++tries) {
        const uint64_t at = find_place(view_.look(), near, size + page);
        if (!at)
            return {};
        const Range place{at, size + page};
        write_maker(std::span(&place, 1));
        // All of it, or nothing: one of its threads may have been faster. Only what is ours is changed then.
        std::vector<Call> calls;
        add_calls_for_code(calls, place);
        const auto results = call(calls);
        const int64_t mapped = results[0];
        if (mapped == static_cast<int64_t>(at)) {
            if (results[1] == 0 && results[2] == 0)
                return marked(place);
            call({{SYS_munmap, {at, size + page}}});
            need(results[1], "mprotect of the mark");
            need(results[2], "madvise(MADV_WIPEONFORK)");
        }
        if (mapped == -EEXIST)
            continue;
        if (mapped == -ENOMEM && at > view_.look().back().end)
            return {}; // a kernel whose programs have fewer addresses (arm64 with 39 or 42 bits)
        if (mapped == -EACCES)
            throw Unusable(fmt::format("process {}: it may have no new executable memory (SELinux: execmem)", pid_));
        need(mapped, "mmap for the stubs");
        throw Unusable(fmt::format("process {}: this kernel does not know MAP_FIXED_NOREPLACE (Linux 4.17)", pid_));
    }
    return {};
}

// Who was forked then has the descriptor, or the mapping, or both.
void Outside::clear_early_forks(std::span<const Begun> living)
{
    struct stat own{}, its{};
    if (!data_file_ || fstat(data_file_.get(), &own) < 0)
        return;
    for (const auto& [pid, start] : living) {
        if (pid == pid_ || start + 1 < making_.first || start > making_.second + 1)
            continue;
        std::vector<Call> calls;
        if (stat(fmt::format("/proc/{}/fd/{}", pid, descriptor_).c_str(), &its) == 0 && its.st_dev == own.st_dev
            && its.st_ino == own.st_ino)
            calls.push_back({SYS_close, {static_cast<uint64_t>(descriptor_)}});
        try {
            const std::vector<Mapping> now = mappings_of(pid);
            const Mapping* const tables = data_ ? mapping_at(now, data_) : nullptr;
            if (tables && tables->start == data_ && tables->inode == own.st_ino && tables->shared) {
                Outside other(pid);
                const auto fronts = find_arenas(other, now);
                if (std::none_of(fronts.begin(), fronts.end(), [this](const Front& f) { return f.data == data_; }))
                    calls.push_back({SYS_munmap, {tables->start, tables->end - tables->start}});
            }
            if (!calls.empty())
                Outside(pid).call(calls);
        } catch (const Unusable&) {
            // It ends, or nobody may change it.
        }
    }
}

// The file by its name, as the process sees it: it may be another by now, and the mappings tell. Its first page is a copy, since tools
// take the first page of a file for the place where it is loaded.
uint64_t Outside::map_again(const Mapping& part)
{
    struct stat status{};
    const size_t number = mapped_again().size();
    const std::string name = view_.path(part.name);
    if (number == Tables::most_again || has_locked_memory(view_) || stat(name.c_str(), &status) < 0
        || !S_ISREG(status.st_mode) || status.st_ino != part.inode)
        return 0;
    const uint64_t size = part.end - part.start, head = part.offset == 0 ? page_size() : 0;
    const uint64_t at = find_place(view_.look(), std::span(&part.start, 1), whole_pages(size));
    const auto head_bytes = read(part.start, head);
    if (!at || size < head || head_bytes.size() != head)
        return 0;
    using Kind = Call::Argument::Kind;
    const Call::Argument file(Kind::result, 0);
    std::vector<Call> calls = {
        {SYS_openat, {static_cast<uint64_t>(AT_FDCWD), Kind::text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY}}};
    if (size > head)
        calls.push_back(
            {SYS_mmap,
             {at + head, size - head, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, part.offset + head}});
    if (head)
        calls.push_back(
            {SYS_mmap, {at, head, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~uint64_t{0}, 0}});
    calls.push_back({SYS_madvise, {at, size, MADV_DONTDUMP}});
    calls.push_back({SYS_close, {file}});
    const auto name_it = [&](const Range& range) {
        put_data(Tables::again + 16 * number + 8, range.size);
        put_data(Tables::again + 16 * number, range.start);
    };
    name_it({at, size});
    try {
        const std::vector<int64_t> results = call(calls, part.name);
        const std::vector<Mapping>& now = view_.look();
        const Mapping* const made = mapping_at(now, at + head);
        if (is_mapped_again(now, {at, size}) && !has_locked_memory(view_)
            && (size == head
                || (made && made->start == at + head && made->inode == part.inode && made->device == part.device
                    && made->offset == part.offset + head))) {
            write_code(at, head_bytes);
            return at;
        }
        std::vector<Call> away; // what came to be mapped
        for (size_t i = 0; i < calls.size(); ++i)
            if (const auto& [address, length, rights, flags, file_, offset] = calls[i].arguments;
                calls[i].number == SYS_mmap && results.at(i) == static_cast<int64_t>(address.value))
                away.push_back({SYS_munmap, {address, length}});
        if (!away.empty())
            call(away);
    } catch (const Unusable&) {
        if (is_mapped_again(view_.look(), {at, size}))
            return 0; // whoever gives back the tables gives it back too
    }
    name_it({});
    return 0; // it is read by calls, or not
}

void Outside::free_code(const Arena& arena, size_t size)
{
    try {
        call({{SYS_munmap, {arena.code, whole_pages(size) + page}}});
    } catch (const Unusable&) {
        // It stays, empty, until the process ends.
    }
}

bool Outside::release(std::span<const Range> code, Range data, bool entered)
{
    if (entered && whereabouts_.comes_back_to(code))
        return false;
    std::vector<Call> away;
    const std::vector<Mapping>& now = view_.look();
    for (const Range& range : mapped_again(data.start))
        if (is_mapped_again(now, range))
            away.push_back({SYS_munmap, {range.start, range.size}});
    for (const Range& range : code)
        away.push_back({SYS_munmap, {range.start, range.size}});
    away.push_back({SYS_munmap, {data.start, data.size}}); // the last, since they name the others
    call_in_turn(away);
    return true;
}

std::vector<Call> Outside::calls_for_data(size_t size, unsigned flags)
{
    using Kind = Call::Argument::Kind;
    const Call::Argument file(Kind::result, 0), window(Kind::result, 1);
    return {{SYS_memfd_create, {Kind::text, flags}},
            {SYS_mmap, {0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0}},
            {SYS_madvise, {window, size, MADV_DONTDUMP}}, // a core dump would have all of the tables
            {SYS_close, {file}}};
}

// The mark behind the code is where the first of them has mapped it. If that failed, its error is no page's address, and the calls for
// the mark change nothing.
void Outside::add_calls_for_code(std::vector<Call>& to, const Range& place)
{
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    const Call::Argument mark(Call::Argument::Kind::result, to.size(), place.size - page);
    to.push_back({SYS_mmap, {place.start, place.size, PROT_READ | PROT_EXEC, flags, ~uint64_t{0}, 0}});
    to.push_back({SYS_mprotect, {mark, page, PROT_READ | PROT_WRITE}});
    to.push_back({SYS_madvise, {mark, page, MADV_WIPEONFORK}});
}

// Where code and its mark may go, beside each other. Empty: there is no place for one.
std::vector<Range> Outside::places_for(std::span<const WantedCode> wanted, std::vector<Mapping> mappings)
{
    std::vector<Range> places;
    for (const WantedCode& each : wanted) {
        const uint64_t size = whole_pages(each.size) + page, at = find_place(mappings, each.near, size);
        if (!at)
            return {};
        places.push_back({at, size});
        Mapping taken;
        taken.start = at;
        taken.end = at + size;
        mappings.insert(std::upper_bound(mappings.begin(), mappings.end(), at,
                                         [](uint64_t start, const Mapping& m) { return start < m.start; }),
                        taken);
    }
    return places;
}

// What we have mapped goes if `work` throws: our own limits may be in the way too.
Window Outside::or_unmap(const std::vector<Range>& mapped, const std::function<Window()>& work)
{
    try {
        return work();
    } catch (...) {
        std::vector<Call> away;
        for (const Range& range : mapped)
            away.push_back({SYS_munmap, {range.start, range.size}});
        try {
            call(away);
        } catch (const std::exception&) {
            // It ends, or nobody may change it any more.
        }
        throw;
    }
}

Window Outside::data_at(uint64_t window, size_t size)
{
    resize(data_file_.get(), size);
    return {data_ = window, size};
}

// The arena of a place that has been mapped.
Arena Outside::marked(const Range& place)
{
    const uint64_t mark = place.start + place.size - page;
    const Mark words{data_ + Tables::slice, 0, view_.inner_number()};
    write(mark, &words, sizeof words);
    return {place.start, data_, mark, 0};
}

std::vector<Range> Outside::mapped_again(uint64_t data)
{
    std::array<Range, Tables::most_again> ranges{};
    const auto bytes = read(data + Tables::again, sizeof ranges);
    if (bytes.size() == sizeof ranges)
        std::memcpy(ranges.data(), bytes.data(), sizeof ranges);
    const auto end = std::find_if(ranges.begin(), ranges.end(), [](const Range& range) { return range.start == 0; });
    return {ranges.begin(), end};
}

// Whether these mappings are as map_again() makes them: the process may have put something else there.
bool Outside::is_mapped_again(const std::vector<Mapping>& mappings, const Range& range)
{
    const uint64_t end = range.start + range.size;
    uint64_t at = range.start;
    for (const Mapping& m : mappings) {
        if (m.end <= range.start || m.start >= end)
            continue;
        if (m.start != at || m.end > end || !m.readable || m.writable || m.executable || m.shared)
            return false;
        at = m.end;
    }
    return at == end && range.size != 0;
}

// A window of `size` bytes, of which `least` are there so far, and, if it could be mapped, code. @return  what the calls for the window
// returned, its address or -errno as the second; and those for the code, if they were made
std::vector<int64_t> Outside::map(size_t least, size_t size, std::span<const Range> code)
{
    for (unsigned flags : {MFD_CLOEXEC | MFD_NOEXEC_SEAL, MFD_CLOEXEC | MFD_ALLOW_SEALING}) {
        std::vector<Call> calls = calls_for_data(size, flags);
        for (const Range& place : code)
            add_calls_for_code(calls, place);
        bool mapped = false;
        std::exception_ptr failed; // the errand goes on: what it maps is to be given back
        const auto seen = [&](pid_t thread, size_t index, int64_t result) {
            if (index == 0 && result >= 0)
                try {
                    take_over(thread, result, least);
                } catch (const std::exception&) {
                    failed = std::current_exception();
                }
            if (index == 1)
                mapped = result >= 0;
        };
        // Should we be killed before the tables say what else is to be mapped, nothing else is.
        const Gate gate{code.empty() ? SIZE_MAX : data_calls, [&] { return mapped && !failed && write_maker(code); }};
        const uint64_t begin = ticks_since_boot();
        auto results = call(calls, name_of_tables, seen, gate);
        making_ = {begin, ticks_since_boot()};
        if (failed) {
            if (mapped)
                call({{SYS_munmap, {static_cast<uint64_t>(results[1]), size}}});
            std::rethrow_exception(failed);
        }
        if (results[0] == -EINVAL)
            continue; // a kernel before 6.3
        need(results[0], "memfd_create");
        return results;
    }
    throw Unusable(fmt::format("process {}: memfd_create: {}", pid_, std::strerror(EINVAL)));
}

void Outside::resize(int file, size_t size) const
{
    if (ftruncate(file, static_cast<off_t>(size)) < 0)
        throw Unusable(fmt::format("process {}: {} bytes for the tables: {}{}", pid_, size, std::strerror(errno),
                                   errno == EFBIG ? " (ulimit -f of this tool)" : ""));
}

// Opens the target's memfd for us. Its other threads may have put another file at that descriptor: a file whose
// opening may have an effect must not be opened, and none that holds something changed. So only an empty file of a
// memfd's kind is taken.
void Outside::take_over(pid_t thread, int64_t descriptor, size_t size)
{
    descriptor_ = descriptor;
    const Descriptor path(
        open(fmt::format("/proc/{}/task/{}/fd/{}", pid_, thread, descriptor).c_str(), O_PATH | O_CLOEXEC));
    const Descriptor own(memfd_create(name_of_tables, MFD_CLOEXEC));
    struct stat theirs{}, ours{};
    if (fstat(path.get(), &theirs) < 0 || fstat(own.get(), &ours) < 0 || theirs.st_dev != ours.st_dev
        || theirs.st_size != 0 || !S_ISREG(theirs.st_mode))
        throw Unusable(fmt::format("process {}: it replaced the file of the tables while it was prepared", pid_));
    Descriptor file(open(fmt::format("/proc/self/fd/{}", path.get()).c_str(), O_RDWR | O_CLOEXEC));
    if (!file)
        throw Unusable(
            fmt::format("process {}: its memory for the tables cannot be shared: {}", pid_, std::strerror(errno)));
    resize(file.get(), size);
    // What it needs at first is in our memory control group, not in the target's, which may be small. No error: then the
    // first that touches a page pays.
    (void)!fallocate(file.get(), 0, 0, static_cast<off_t>(size));
    // Its other threads may have opened the file too.
    if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) < 0 || fstat(file.get(), &theirs) < 0
        || static_cast<uint64_t>(theirs.st_size) < size)
        throw Unusable(
            fmt::format("process {}: its memory for the tables cannot be sealed: {}", pid_, std::strerror(errno)));
    data_file_ = std::move(file);
    write_maker({});
}

// Who is to know of it if we are killed next. False: it cannot be written, and nobody will.
bool Outside::write_maker(std::span<const Range> arenas) const
{
    Maker maker{Tracer::self(), {}};
    std::copy(arenas.begin(), arenas.end(), maker.arenas.begin());
    const auto parts = encode(maker);
    return std::all_of(parts.begin(), parts.end(), [this](const auto& part) {
        const auto& [offset, bytes] = part;
        return pwrite(data_file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset))
            == static_cast<ssize_t>(bytes.size());
    });
}

} // namespace fastsdt::engine
