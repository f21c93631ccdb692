// SPDX-License-Identifier: BSD-2-Clause
//
// /proc/PID/mem is opened once. The open file stays with the memory that the process has now, and reads and writes
// nothing once that memory is gone. So no change that was meant for one program can hit another that the process
// executes later.
#include "process/outside.h"

#include "arming/arena.h"
#include "arming/place.h"
#include "base/descriptor.h"
#include "code/machine.h"
#include "process/allowed.h"
#include "process/inject.h"
#include "process/known_function.h"
#include "process/loader.h"
#include "process/page_of_data.h"
#include "process/ptrace.h"
#include "process/view.h"
#include "process/whereabouts.h"
#include "process/room.h"
#include "proc/threads.h"
#include "proc/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <set>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h> // SYS_*
#include <thread>
#include <unistd.h>
#include <utility>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U // Linux 6.3
#endif

namespace fastsdt::engine {
namespace {

constexpr uint64_t page = own_machine.page;

class Outside : public Target {
public:
    explicit Outside(pid_t pid)
        : pid_(pid), view_(pid),
          whereabouts_(*this, [this](const std::function<void(Tracees&)>& work) { while_stopped(work); })
    {
        if (!arms_nothing.empty())
            throw Unusable(fmt::format("process {}: the user-space engine {}; trace it with the kernel's probes", pid,
                                       arms_nothing));
        if (pid == getpid())
            throw Unusable(fmt::format("process {}: that is this process itself", pid));
        refuse_zombie(pid);
        const pid_t thread = living_thread(pid);
        if (!thread)
            throw Unusable(fmt::format("process {}: there is no such process", pid));
        refuse_thread(pid);
        const bool has_memory = bool(view_.memory());
        const int error = errno;
        if (has_memory ? view_.has_gone() : view_.look().empty())
            throw Unusable(fmt::format("process {}: it has no memory: a kernel thread", pid));
        if (!has_memory) {
            // ptrace refuses by the same rules, and seize() explains its refusal.
            as_tracer([&] { Tracees(pid_).seize(thread); });
            throw Unusable(
                fmt::format("process {}: /proc/{}/mem cannot be opened: {}", pid, pid, std::strerror(error)));
        }
    }

    // Before it is made to call the kernel.
    void refuse_filters() const { refuse_filters(living_threads(pid_)); }

    ProcessView& view() override { return view_; }

    std::vector<Mapping> mappings() override { return view_.look(); }

    std::vector<std::byte> read(uint64_t address, size_t size) override { return view_.read(address, size); }

    bool stores_thread_pointers() override
    {
        bool all = true;
        look_at_thread_pointers([&] { all = true; },
                                [&](pid_t, std::optional<uint64_t> pointer) {
                                    all = all && pointer && value_at<uint64_t>(memory(), *pointer) == *pointer;
                                });
        return all;
    }

    Tids tids_at(int32_t offset) override
    {
        Tids found = Tids::unknown;
        look_at_thread_pointers(
            [&] { found = Tids::unknown; },
            [&](pid_t thread, std::optional<uint64_t> pointer) {
                if (!pointer || *pointer == 0 || found == Tids::elsewhere)
                    return;
                const auto numbers = status_numbers(pid_, thread, "NSpid:");
                const auto word = value_at<uint32_t>(memory(), *pointer + static_cast<uint64_t>(int64_t{offset}));
                found = word && !numbers.empty() && *word == numbers.back() ? Tids::there : Tids::elsewhere;
            });
        return found;
    }

    // A reservation takes nothing where no page is used, unless memory is locked: then it is there as a whole at once.
    Window allocate_data(Needs needs) override
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
        throw Unusable(fmt::format("process {}: its limits leave no room for tables of {} KiB: {} (ulimit -l, -v)",
                                   pid_, least >> 10, std::strerror(static_cast<int>(-error))));
    }

    // By one errand, unless a limit of the process is in the way. The tables say of so many arenas that they are about to be mapped.
    Window allocate(Needs needs, std::span<const WantedCode> wanted, const std::vector<Mapping>& mappings,
                    std::vector<Arena>& arenas) override
    {
        const size_t least = needs.least = whole_pages(needs.least);
        const size_t size = room_for_tables(view_, needs);
        const std::vector<Range> places =
            places_for(wanted.first(std::min(wanted.size(), Maker::most_arenas)), mappings);
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

    Arena allocate_code(std::span<const uint64_t> near, size_t size) override
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
                throw Unusable(
                    fmt::format("process {}: it may have no new executable memory (SELinux: execmem)", pid_));
            need(mapped, "mmap for the stubs");
            throw Unusable(fmt::format("process {}: this kernel does not know MAP_FIXED_NOREPLACE (Linux 4.17)", pid_));
        }
        return {};
    }

    // Who was forked then has the descriptor, or the mapping, or both.
    void clear_early_forks(std::span<const Begun> living) override
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
    uint64_t map_again(const Mapping& part) override
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

    void free_code(const Arena& arena, size_t size) override
    {
        try {
            call({{SYS_munmap, {arena.code, whole_pages(size) + page}}});
        } catch (const Unusable&) {
            // It stays, empty, until the process ends.
        }
    }

    bool release(std::span<const Range> code, Range data, bool entered) override
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

    bool may_come() override
    {
        bool comes = false;
        patiently([&] { as_tracer([&] { comes = errand_under_way(pid_, memory()); }); });
        return comes;
    }

    // Without a tracer, where the kernel lets us: see hold().
    void write_code(uint64_t address, std::span<const std::byte> bytes) override
    {
        if (pwrite(memory(), bytes.data(), bytes.size(), static_cast<off_t>(address))
            == static_cast<ssize_t>(bytes.size()))
            return;
        patiently([&] {
            as_tracer([&] {
                Tracees tracees(pid_);
                for (const pid_t thread : threads_of(pid_))
                    if (tracees.seize(thread, 0))
                        break;
                refuse_other_memory();
                hold(tracees);
                write(address, bytes.data(), bytes.size());
            });
        });
    }

    std::vector<std::byte> original(const Mapping& mapping, uint64_t address, size_t size) override
    {
        return read_at(view_.file(mapping), mapping.offset + (address - mapping.start), size);
    }

    bool guard(std::span<const Range> ranges, bool on) override
    {
        std::vector<Call> calls;
        for (const Range& range : ranges)
            calls.push_back(
                {SYS_mprotect, {range.start, range.size, PROT_READ | PROT_EXEC | (on ? uint64_t{PROT_WRITE} : 0)}});
        const auto results = call_in_turn(calls);
        return std::all_of(results.begin(), results.end(), [](int64_t result) { return result == 0; });
    }

    std::optional<uint64_t> memory_left() override { return fastsdt::engine::memory_left(view_); }

    void want_stops() override
    {
        patiently([&] { refuse_sharer(pid_); });
    }

    std::vector<Outcome> patch(std::span<const Patch> patches, bool back) override
    {
        std::vector<Outcome> outcomes;
        whereabouts_.look_ahead(patches, back);
        for (size_t from = 0, count = 0; from < patches.size(); from += count) {
            count = std::min(whereabouts_.prepare_stop(), patches.size() - from);
            while_stopped([&](Tracees& tracees) {
                const auto now = patches.subspan(from, count);
                const Standing standing = whereabouts_.of(tracees, now, back);
                outcomes.resize(from);
                for (const Patch& p : now) {
                    const auto obstacle = whereabouts_.obstacle(p, back, standing);
                    outcomes.push_back(obstacle ? *obstacle : patch_one(p, back, standing.of(p)));
                }
            });
        }
        waits_for_goroutine_ = false;
        for (size_t i = 0; i < patches.size(); ++i)
            waits_for_goroutine_ = waits_for_goroutine_ || (patches[i].of_go && outcomes[i] == Outcome::busy);
        return outcomes;
    }

    // A goroutine that was preempted where a jump is to be made goes on soon, when it is its turn.
    bool tries_again(unsigned times) override
    {
        constexpr unsigned most = 30, doubled_every = 4;
        if (!waits_for_goroutine_ || times == 0)
            return Target::tries_again(times);
        if (times < most)
            std::this_thread::sleep_for(std::chrono::milliseconds(2U << std::min(times / doubled_every, 5U)));
        return times < most;
    }

    // By a lock on a file that only those can open who may trace the process. Who holds it forever ends the process's tracing, which
    // he could do by ptrace as well.
    void alone(const std::function<void()>& work) override
    {
        const pid_t thread = living_thread(pid_);
        const Descriptor file(
            thread ? open(fmt::format("/proc/{}/task/{}/maps", pid_, thread).c_str(), O_RDONLY | O_CLOEXEC) : -1);
        patiently([&] {
            if (file && flock(file.get(), LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
                throw Busy(fmt::format("process {}: another tracer is at work on it", pid_));
        });
        work();
    }

    std::vector<std::byte> read_data(size_t offset, size_t size) override { return read_at(data_file_, offset, size); }

    bool change_data(size_t offset, uint64_t from, uint64_t to) override
    {
        if (!page_.at(offset)) {
            struct stat status{};
            // Sealed by take_over(): it cannot get shorter later.
            if (fstat(data_file_.get(), &status) < 0 || offset >= static_cast<uint64_t>(status.st_size))
                return false;
            page_ = PageOfData(data_file_.get(), offset / page * page);
        }
        return __atomic_compare_exchange_n(static_cast<uint64_t*>(page_.at(offset)), &from, to, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    }

    void write_data(size_t offset, std::span<const std::byte> bytes) override
    {
        if (pwrite(data_file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset))
            != static_cast<ssize_t>(bytes.size()))
            throw Unusable(fmt::format("process {}: its tables cannot be written: {}", pid_, std::strerror(errno)));
    }

    void forget_data(std::span<const Piece> contents) override
    {
        for (const Piece& piece : contents)
            write_data(piece.offset, std::vector<std::byte>(piece.size));
    }

    std::optional<Loader> loader() override
    {
        const auto debug = read_debug_state(read_auxv(view_), memory());
        if (!debug || !debug->value.r_brk)
            return std::nullopt;
        return Loader{debug->value.r_brk, debug->address + offsetof(r_debug, r_state)};
    }
    // Who is held before its constructors stands where the dynamic linker's jump is made, and all that it has mapped is seen.
    void hear_loader() override
    {
        if (questions_)
            return;
        questions_ = std::make_unique<LoaderQuestions>(data_file_.get());
        const auto at = loader();
        const auto counter = stopped_at(pid_);
        if (at && counter && *counter >= at->breakpoint && *counter - at->breakpoint < loader_function)
            questions_->answer_next();
    }
    void leave_loader() override { questions_.reset(); }
    int loader_descriptor() const override { return questions_ ? questions_->descriptor() : -1; }
    uint32_t take_question() override { return questions_ ? questions_->take() : 0; }
    bool answer_loader(uint32_t question) override { return !questions_ || questions_->answer(question); }
    // In this order: whoever has set the state anew since has asked, or has mapped nothing yet.
    bool holds_modules() override
    {
        const auto debug = questions_ ? read_debug_state(read_auxv(view_), memory()) : std::nullopt;
        return debug && (debug->value.r_state != r_debug::RT_CONSISTENT || questions_->is_open()) && held_all_modules();
    }
    bool held_all_modules() override { return questions_ && !questions_->is_passed(); }
    uint64_t executing_function(const std::vector<Mapping>& mappings) override { return find_execve(view_, mappings); }
    std::vector<Asker> executing() override { return questions_ ? questions_->executing() : std::vector<Asker>(); }
    void let_execute(pid_t thread) override
    {
        if (questions_)
            questions_->let_execute(thread);
    }
    bool take_unanswered() override { return questions_ && questions_->take_unanswered(); }

private:
    int memory() { return view_.memory().get(); }

    // Of each thread. @param begin  is called first, and again where it is tried again
    void look_at_thread_pointers(const std::function<void()>& begin,
                                 const std::function<void(pid_t thread, std::optional<uint64_t> pointer)>& look)
    {
        patiently([&] {
            as_tracer([&] {
                Tracees tracees(pid_);
                tracees.seize_all(0);
                begin();
                tracees.look_at_each([&](const Tracees::Task& task) {
                    look(task.number, thread_pointer(Tracees::registers(task.number)));
                });
                refuse_other_memory();
            });
        });
    }

    // Before anything is changed: whether one that has a filter could make calls as they will be made. Each is judged again with its own
    // addresses, on the thread that makes it.
    void refuse_filters(const std::vector<pid_t>& threads) const
    {
        const auto filtered =
            std::find_if(threads.begin(), threads.end(), [this](pid_t thread) { return has_seccomp(pid_, thread); });
        if (filtered == threads.end())
            return;
        std::vector<Call> calls = calls_for_data(page, MFD_CLOEXEC);
        add_calls_for_code(calls, {page, 2 * page});
        calls.push_back({SYS_munmap, {page, page}});
        patiently([&] {
            as_tracer([&] {
                Tracees tracees(pid_);
                if (tracees.seize(*filtered, 0)
                    && tracees.stop(*filtered, std::chrono::steady_clock::now() + std::chrono::seconds(1)))
                    refuse_filter(pid_, *filtered, calls);
            });
        });
    }

    static std::vector<Call> calls_for_data(size_t size, unsigned flags)
    {
        using Kind = Call::Argument::Kind;
        const Call::Argument file(Kind::result, 0), window(Kind::result, 1);
        return {{SYS_memfd_create, {Kind::text, flags}},
                {SYS_mmap, {0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0}},
                {SYS_madvise, {window, size, MADV_DONTDUMP}}, // a core dump would have all of the tables
                {SYS_close, {file}}};
    }
    static constexpr size_t data_calls = 4, code_calls = 3;

    // The mark behind the code is where the first of them has mapped it. If that failed, its error is no page's address, and the calls for
    // the mark change nothing.
    static void add_calls_for_code(std::vector<Call>& to, const Range& place)
    {
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
        const Call::Argument mark(Call::Argument::Kind::result, to.size(), place.size - page);
        to.push_back({SYS_mmap, {place.start, place.size, PROT_READ | PROT_EXEC, flags, ~uint64_t{0}, 0}});
        to.push_back({SYS_mprotect, {mark, page, PROT_READ | PROT_WRITE}});
        to.push_back({SYS_madvise, {mark, page, MADV_WIPEONFORK}});
    }

    // Where code and its mark may go, beside each other. Empty: there is no place for one.
    static std::vector<Range> places_for(std::span<const WantedCode> wanted, std::vector<Mapping> mappings)
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
    Window or_unmap(const std::vector<Range>& mapped, const std::function<Window()>& work)
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

    Window data_at(uint64_t window, size_t size)
    {
        resize(data_file_.get(), size);
        return {data_ = window, size};
    }

    // The arena of a place that has been mapped.
    Arena marked(const Range& place)
    {
        const uint64_t mark = place.start + place.size - page;
        const Mark words{data_ + Tables::slice, 0, view_.inner_number()};
        write(mark, &words, sizeof words);
        return {place.start, data_, mark, 0};
    }

    // What the tables say that map_again() has mapped.
    std::vector<Range> mapped_again() { return mapped_again(data_); }
    std::vector<Range> mapped_again(uint64_t data)
    {
        std::array<Range, Tables::most_again> ranges{};
        const auto bytes = read(data + Tables::again, sizeof ranges);
        if (bytes.size() == sizeof ranges)
            std::memcpy(ranges.data(), bytes.data(), sizeof ranges);
        const auto end =
            std::find_if(ranges.begin(), ranges.end(), [](const Range& range) { return range.start == 0; });
        return {ranges.begin(), end};
    }
    // Whether these mappings are as map_again() makes them: the process may have put something else there.
    static bool is_mapped_again(const std::vector<Mapping>& mappings, const Range& range)
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

    // Runs `work` with all threads stopped, and with the memory open, checked to be still the same program's.
    void while_stopped(const std::function<void(Tracees&)>& work)
    {
        patiently([&] {
            as_tracer([&] {
                const Hurry hurry;
                Tracees tracees(pid_);
                tracees.seize_all();
                tracees.stop_all();
                refuse_other_memory();
                hold(tracees);
                work(tracees);
            });
        });
    }

    // Exchanges one instruction for another. All threads are stopped, and none stands inside it. The bytes lie within a
    // page, so that the write is whole even if we are killed meanwhile.
    Outcome patch_one(const Patch& p, bool back, const std::vector<uint64_t>& counters)
    {
        const auto& from = back ? p.after : p.before;
        const auto& to = back ? p.before : p.after;
        const auto now = read(p.at, p.length);
        if (now.size() != p.length)
            return Outcome::changed;
        if (std::equal(now.begin(), now.end(), to.begin())) {
            if (back && counted_.contains(p.at))
                count_down(p); // the jump was lost
            return Outcome::done;
        }
        // x86: a breakpoint on our jump, the kernel's or a debugger's, stays; what it hides begins like the nop10.
        const bool beside_breakpoint = own_machine.arch == Arch::x86_64 && now[0] == breakpoint && from[0] == to[0];
        const size_t kept = back && beside_breakpoint ? 1 : 0;
        if (!std::equal(now.begin() + kept, now.end(), from.begin() + kept))
            return Outcome::changed;
        // A thread may stand inside the nop10: before a kernel's former call, which begins at the sixth byte. Or between instructions
        // that move; where the jump is, none can.
        const auto inside = std::upper_bound(counters.begin(), counters.end(), p.at);
        if (inside != counters.end() && *inside < p.at + p.covers && !(back && p.moves()))
            return Outcome::busy;
        if (!back)
            count_up(p); // before: if we are killed in between, it is only one too many
        if (pwrite(memory(), to.data() + kept, p.length - kept, static_cast<off_t>(p.at + kept))
            != static_cast<ssize_t>(p.length - kept)) {
            const int error = errno;
            if (!back)
                count_down(p);
            throw Unusable(
                fmt::format("process {}: its code at {:#x} cannot be written: {}", pid_, p.at, std::strerror(error)));
        }
        if (back)
            count_down(p);
        return Outcome::done;
    }

    // A jump that was lost and is made again is counted once. A module that was unmapped and mapped again has a new semaphore: 0.
    void count_up(const Patch& p)
    {
        const auto value = p.semaphore ? value_at<uint16_t>(memory(), p.semaphore) : std::nullopt;
        if (value.value_or(0) == 0 || !counted_.contains(p.at))
            count_semaphore(p.semaphore, 1);
        if (value)
            counted_.insert(p.at);
    }
    void count_down(const Patch& p)
    {
        count_semaphore(p.semaphore, -1);
        counted_.erase(p.at);
    }

    void count_semaphore(uint64_t address, int by)
    {
        const auto value = address ? value_at<uint16_t>(memory(), address) : std::nullopt;
        if (!value || *value == (by < 0 ? 0 : UINT16_MAX))
            return;
        const auto now = static_cast<uint16_t>(*value + by);
        write(address, &now, sizeof now);
    }

    // Where proc_mem.force_override is "ptrace", only a thread's tracer may write code through its file (Linux 6.12, proc_mem_foll_force() in
    // fs/proc/base.c; Debian's kernels).
    void hold(Tracees& tracees)
    {
        if (!tracees.find(view_.holder()) && !tracees.tasks().empty())
            view_.hold(tracees.tasks().front().number);
    }

    void write(uint64_t address, const void* bytes, size_t size)
    {
        const ssize_t wrote = pwrite(memory(), bytes, size, static_cast<off_t>(address));
        if (wrote == static_cast<ssize_t>(size))
            return;
        const int error = errno;
        refuse_other_memory();
        throw Unusable(fmt::format("process {}: its memory at {:#x} cannot be written: {}", pid_, address,
                                   wrote < 0 ? std::strerror(error) : "not all of it"));
    }

    void refuse_other_memory()
    {
        if (view_.has_gone())
            throw Unusable(fmt::format("process {}: it has ended or executes another program", pid_));
    }

    std::vector<int64_t> call(
        const std::vector<Call>& calls, const std::string& text = name_of_tables,
        const std::function<void(pid_t, size_t, int64_t)>& seen = [](pid_t, size_t, int64_t) {}, const Gate& gate = {})
    {
        std::vector<int64_t> results;
        patiently([&] { as_tracer([&] { results = send(pid_, memory(), calls, text, seen, gate); }); });
        return results;
    }

    // As many as one wants, none of which needs another's result: an errand has little room.
    std::vector<int64_t> call_in_turn(std::span<const Call> calls)
    {
        constexpr size_t at_once = 8;
        std::vector<int64_t> results;
        for (; !calls.empty(); calls = calls.subspan(std::min(calls.size(), at_once))) {
            const auto some = calls.first(std::min(calls.size(), at_once));
            const auto of_some = call({some.begin(), some.end()});
            results.insert(results.end(), of_some.begin(), of_some.end());
        }
        return results;
    }

    void need(int64_t result, const std::string& what) const
    {
        if (result < 0 && result > -4096)
            throw Unusable(
                fmt::format("process {}: {} failed in it: {}", pid_, what, std::strerror(static_cast<int>(-result))));
    }

    // A window of `size` bytes, of which `least` are there so far, and, if it could be mapped, code. @return  what the calls for the window
    // returned, its address or -errno as the second; and those for the code, if they were made
    std::vector<int64_t> map(size_t least, size_t size, std::span<const Range> code = {})
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
            const Gate gate{code.empty() ? SIZE_MAX : data_calls,
                            [&] { return mapped && !failed && write_maker(code); }};
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

    void resize(int file, size_t size) const
    {
        if (ftruncate(file, static_cast<off_t>(size)) < 0)
            throw Unusable(fmt::format("process {}: {} bytes for the tables: {}{}", pid_, size, std::strerror(errno),
                                       errno == EFBIG ? " (ulimit -f of this tool)" : ""));
    }

    // Opens the target's memfd for us. Its other threads may have put another file at that descriptor: a file whose
    // opening may have an effect must not be opened, and none that holds something changed. So only an empty file of a
    // memfd's kind is taken.
    void take_over(pid_t thread, int64_t descriptor, size_t size)
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
    bool write_maker(std::span<const Range> arenas) const
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

    const pid_t pid_;
    ProcessView view_;
    Descriptor data_file_;
    PageOfData page_;
    uint64_t data_ = 0;
    int64_t descriptor_ = -1;                // of the tables' file in the process, for a moment
    std::pair<uint64_t, uint64_t> making_{}; // when that was
    std::unique_ptr<LoaderQuestions> questions_;
    Whereabouts whereabouts_;
    bool waits_for_goroutine_ = false; // at the last patch(): a site was busy for it
    std::set<uint64_t> counted_;       // sites for which we have counted a semaphore up
};

} // namespace

std::unique_ptr<Target> open_outside(pid_t pid)
{
    return open_outside(pid, open_forked(pid));
}

std::unique_ptr<Target> open_forked(pid_t pid)
{
    return std::make_unique<Outside>(pid);
}

std::unique_ptr<Target> open_outside(pid_t, std::unique_ptr<Target> forked)
{
    static_cast<const Outside&>(*forked).refuse_filters();
    return forked;
}

} // namespace fastsdt::engine
