// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel puts a frame on the stack for each signal handler: signal_frame.h. On x86-64 its first word leads to the restorer, which is the C
// library's or the program's own. Zig's has other instructions, so the segment registers tell of such a frame.
//
// A stack is read from the stack pointer up, word by word: whatever looks like a frame counts, also one that is long gone.
// So nothing is missed, and a false find only means that memory stays. The interrupted code may have run on another stack,
// which is read too.
//
// A program may switch between threads of its own in a signal handler. Then frames, or copies of them, lie on stacks on which no thread of the
// process runs, anywhere in its memory. To read all of it takes too long while the process is stopped. So all is read before the stop, and at the
// stop only what is near a frame that was found. If a program switches so for the first time in between, its frames are missed.
#include "process/frames.h"

#include "base/integers.h"
#include "process/errand.h"
#include "process/signal_frame.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h> // SYS_*
#include <unistd.h>

namespace fastsdt::engine {
namespace {

constexpr uint64_t most_stack_bytes = uint64_t{8} << 20;
constexpr unsigned most_frames = 1000;
constexpr size_t most_bytes = size_t{64} << 20; // of all stacks that are read for one thread

} // namespace

FrameSearch::FrameSearch(const Descriptor& memory, std::vector<Mapping> mappings)
    : memory_(memory), mappings_(std::move(mappings))
{}

bool FrameSearch::comes_back(const user_regs_struct& registers, std::span<const Range> code)
{
    const auto is_inside = [&](uint64_t address) {
        return std::any_of(code.begin(), code.end(), [&](const Range& range) { return range.has(address); });
    };
    bool inside = is_inside(program_counter(registers));
    return inside || !each(registers, [&](uint64_t counter) { inside = inside || is_inside(counter); }) || inside;
}

#if defined(__x86_64__)
namespace {

using signal_frame::restorer;
constexpr uint64_t user_segments = 0x2b'0000'0000'0033; // cs, gs, fs, ss
// Of a frame or a copy of it: a word that no other has, and how far before it the pc is.
constexpr uint64_t telling_word = user_segments;
constexpr size_t pc_before = signal_frame::segments - signal_frame::pc,
                 sp_before = signal_frame::segments - signal_frame::sp,
                 stack_before = signal_frame::segments - signal_frame::stack;
constexpr uint64_t around = uint64_t{16} << 10; // how far from a frame another may be, or a handler's stack pointer

} // namespace

bool FrameSearch::is_restorer(uint64_t address)
{
    const Mapping* const m = mapping_at(mappings_, address, sizeof restorer);
    if (!m || !m->executable)
        return false;
    const auto [found, fresh] = restorers_.try_emplace(address, false);
    if (fresh)
        found->second = signal_frame::is_restorer(read_at(memory_, address, sizeof restorer));
    return found->second;
}

bool FrameSearch::is_frame(const std::byte* at)
{
    if (!signal_frame::is_64_bit(at))
        return false;
    if (is_restorer(load_word(at)))
        return true;
    const Mapping* const m =
        load_word(at + signal_frame::segments) == user_segments ? mapping_at(mappings_, load_word(at)) : nullptr;
    return m && m->executable;
}
#elif defined(__aarch64__)
bool FrameSearch::is_frame(const std::byte* at)
{
    return signal_frame::has_record(at);
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
bool FrameSearch::each(const user_regs_struct& registers, const std::function<void(uint64_t counter)>& visit)
{
    std::vector<uint64_t> stacks = {stack_pointer(registers)};
    std::map<const Mapping*, uint64_t> read_from; // by mapping: the lowest address that was read
    size_t read_bytes = 0;
    for (unsigned frames = 0; !stacks.empty(); ++frames) {
        if (frames > most_frames)
            return false;
        const uint64_t sp = (stacks.back() + 7) / 8 * 8;
        stacks.pop_back();
        const Mapping* const stack = mapping_at(mappings_, sp);
        if (!stack)
            continue;
        const auto [before, fresh] = read_from.try_emplace(stack, sp);
        if (!fresh && before->second <= sp)
            continue;
        before->second = sp;
        const auto bytes = read_at(memory_, sp, std::min(stack->end - sp, most_stack_bytes));
        read_bytes += bytes.size();
        if (read_bytes > most_bytes)
            return false;
        for (size_t at = 0; at + signal_frame::size <= bytes.size(); at += 8) {
            if (!is_frame(&bytes[at]))
                continue;
            visit(load_word(&bytes[at + signal_frame::pc]));
            stacks.push_back(load_word(&bytes[at + signal_frame::sp]));
        }
    }
    leave_out_below(registers, read_from);
    return true;
}
#else
bool FrameSearch::each(const user_regs_struct&, const std::function<void(uint64_t counter)>&)
{
    return false; // how frames look is not known here
}
#endif

#if defined(__x86_64__)
// A mapping that is surely one thread's stack and nothing else: the first thread's, or one with the thread's control block at its end.
void FrameSearch::leave_out_below(const user_regs_struct& registers, const std::map<const Mapping*, uint64_t>& lowest)
{
    constexpr uint64_t red_zone = 128;
    const std::optional<uint64_t> pointer = thread_pointer(registers);
    if (pointer)
        thread_pointers_.insert(*pointer);
    const auto found = lowest.find(mapping_at(mappings_, stack_pointer(registers)));
    if (found == lowest.end())
        return;
    const auto& [stack, from] = *found;
    if (stack->name == "[stack]" || (pointer && control_block_in(*stack) == pointer))
        unused_below_[stack] = from - std::min(from, red_zone);
}

// Of a stack that a C library has made: behind a page without rights, and at its end a word that has its own address, and the third has it
// again. glibc keeps those of threads that have ended.
std::optional<uint64_t> FrameSearch::control_block_in(const Mapping& mapping)
{
    constexpr uint64_t at_most = 4096;
    const auto [known, fresh] = control_blocks_.try_emplace(&mapping);
    const Mapping* const before = &mapping == &mappings_.front() ? nullptr : &mapping - 1;
    if (!fresh || !before || before->end != mapping.start || before->readable || before->writable || before->executable)
        return known->second;
    const uint64_t from = mapping.end - std::min(mapping.end - mapping.start, at_most);
    const auto bytes = read_at(memory_, from, mapping.end - from);
    for (size_t at = 0; at + 24 <= bytes.size(); at += sizeof(uint64_t))
        if (load_word(&bytes[at]) == from + at && load_word(&bytes[at + 16]) == from + at)
            known->second = from + at;
    return known->second;
}

// Below that address no handler has left anything that it goes back to.
uint64_t FrameSearch::begin_of_use(const Mapping& mapping)
{
    if (const auto unused = unused_below_.find(&mapping); unused != unused_below_.end())
        return unused->second / sizeof(uint64_t) * sizeof(uint64_t);
    const std::optional<uint64_t> block = control_block_in(mapping);
    return block && !thread_pointers_.contains(*block) ? mapping.end : mapping.start;
}

namespace {

// Pages that are used, of mappings of one process, by address: to read others would give them memory.
class UsedPages {
public:
    UsedPages(pid_t pid, pid_t thread)
        : pages_(open(fmt::format("/proc/{}/task/{}/pagemap", pid, thread).c_str(), O_RDONLY | O_CLOEXEC))
    {}

    /// Empty: they cannot be told, or not in a reasonable time.
    std::optional<std::vector<Range>> of(const Mapping& mapping) const
    {
        constexpr uint64_t most_entries = uint64_t{16} << 30; // bytes of a mapping; a sanitizer's shadow has terabytes
        std::vector<Range> ranges;
        if (!pages_)
            return {};
        if (scan(mapping, ranges))
            return ranges;
        if (mapping.end - mapping.start > most_entries || !read_entries(mapping, ranges))
            return {};
        return ranges;
    }

private:
    static void add(std::vector<Range>& ranges, uint64_t start, uint64_t size)
    {
        if (!ranges.empty() && ranges.back().start + ranges.back().size == start)
            ranges.back().size += size;
        else
            ranges.push_back({start, size});
    }

    // By PAGEMAP_SCAN, from Linux 6.7 on: passes over what is not there in no time. As in <linux/fs.h> of that version.
    bool scan(const Mapping& mapping, std::vector<Range>& ranges) const
    {
        struct Region {
            uint64_t start, end, categories;
        };
        struct Scan {
            uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages, inverted, all, any, wanted;
        };
        constexpr uint64_t present = uint64_t{1} << 3, swapped = uint64_t{1} << 4, zero = uint64_t{1} << 5;
        constexpr size_t at_once = 1024;
        std::vector<Region> regions(at_once);
        for (uint64_t at = mapping.start; at < mapping.end;) {
            Scan scan{.size = sizeof(Scan),
                      .flags = 0,
                      .start = at,
                      .end = mapping.end,
                      .walk_end = 0,
                      .regions = reinterpret_cast<uint64_t>(regions.data()),
                      .region_count = at_once,
                      .most_pages = 0,
                      .inverted = zero,
                      .all = zero,
                      .any = present | swapped,
                      .wanted = present | swapped};
            const int found = ioctl(pages_.get(), _IOWR('f', 16, Scan), &scan);
            if (found < 0 || scan.walk_end <= at) {
                ranges.clear();
                return false;
            }
            for (size_t i = 0; i < size_t(found); ++i)
                add(ranges, regions[i].start, regions[i].end - regions[i].start);
            at = scan.walk_end;
        }
        return true;
    }

    bool read_entries(const Mapping& mapping, std::vector<Range>& ranges) const
    {
        constexpr uint64_t present = uint64_t{1} << 63,
                           swapped = uint64_t{1} << 62; // Documentation/admin-guide/mm/pagemap.rst
        const uint64_t page = page_size();
        std::vector<uint64_t> entries(4096);
        for (uint64_t at = mapping.start; at < mapping.end;) {
            const size_t wanted = std::min<uint64_t>(entries.size(), (mapping.end - at) / page);
            const ssize_t got = pread(pages_.get(), entries.data(), wanted * sizeof(uint64_t),
                                      static_cast<off_t>(at / page * sizeof(uint64_t)));
            if (got < static_cast<ssize_t>(sizeof(uint64_t)))
                return got == 0; // the process has ended
            for (size_t i = 0; i < static_cast<size_t>(got) / sizeof(uint64_t); ++i, at += page)
                if (entries[i] & (present | swapped))
                    add(ranges, at, page);
        }
        return true;
    }

    const Descriptor pages_;
};

// What a frame on the thread's alternate stack has interrupted goes on before that stack is used again, or never. Unless the stack is none
// while a handler runs on it.
bool is_on_alternate_stack(std::span<const std::byte> bytes, size_t at, uint64_t address)
{
    constexpr uint32_t disarms = uint32_t{1} << 31; // SS_AUTODISARM
    if (at < stack_before)
        return false;
    const std::byte* const stack = &bytes[at - stack_before]; // stack_t
    const uint64_t start = load_word(stack), flags = load_word(stack + signal_frame::stack_flags),
                   size = load_word(stack + signal_frame::stack_size);
    return !(flags & disarms) && address - start < size;
}

// Words that tell of a frame, in memory from `start` on, which is a word's address.
void each_telling(std::span<const std::byte> bytes, uint64_t start,
                  const std::function<void(const FrameSearch::Kept&)>& visit)
{
    constexpr uint64_t largest = uint64_t{32} << 10; // with the vector registers
    for (size_t at = sp_before; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t))
        if (load_word(&bytes[at]) == telling_word && !is_on_alternate_stack(bytes, at, start + at))
            visit({start + at, load_word(&bytes[at - pc_before]),
                   load_word(&bytes[at - sp_before]) - (start + at) < largest});
}

// Memory of a device, and our tables. All else that is shared may be a stack: MAP_SHARED, shm_open(), memfd_create().
bool is_no_stack(const Mapping& mapping)
{
    const std::string_view name = mapping.name;
    return mapping.shared
        && (name.starts_with("/memfd:fastsdt")
            || (name.starts_with("/dev/") && !name.starts_with("/dev/zero") && !name.starts_with("/dev/shm/")));
}

// Each piece of what is used of the process's memory, with the end of the one before. False: there is more than `most`, or it cannot be told.
bool each_piece(pid_t pid, pid_t thread, const Descriptor& memory, const std::vector<Mapping>& mappings, uint64_t most,
                const std::function<void(const Mapping&, uint64_t at, std::span<const std::byte>)>& visit)
{
    constexpr uint64_t at_once = uint64_t{256} << 10;
    const UsedPages pages(pid, thread);
    std::vector<std::byte> bytes(at_once);
    for (const Mapping& m : mappings) {
        if (!m.writable || is_no_stack(m))
            continue;
        const auto all_used = pages.of(m);
        if (!all_used)
            return false;
        for (const Range& used : *all_used) {
            if (used.size > most)
                return false;
            most -= used.size;
            for (uint64_t at = used.start; at < used.start + used.size;) {
                const uint64_t wanted = std::min(at_once, used.start + used.size - at);
                const ssize_t got = pread(memory.get(), bytes.data(), wanted, static_cast<off_t>(at));
                const uint64_t read = static_cast<uint64_t>(std::max<ssize_t>(got, 0));
                visit(m, at, std::span(bytes).first(read));
                // A page that the running program has unmapped meanwhile says nothing of those behind it.
                at = read == wanted ? at + (at_once - stack_before)
                                    : (at + read) / smallest_page * smallest_page + smallest_page;
                if (got == 0)
                    return true; // the process has ended
            }
        }
    }
    return true;
}

} // namespace

bool FrameSearch::each_kept(std::span<const Range> places, const std::function<void(const Kept&)>& visit)
{
    size_t read_bytes = 0;
    for (const Range& place : places) {
        const Mapping* const m = mapping_at(mappings_, place.start);
        const uint64_t from = m ? std::max(place.start, begin_of_use(*m)) : UINT64_MAX;
        if (from >= place.start + place.size)
            continue;
        std::vector<std::byte> bytes(place.start + place.size - from);
        read_bytes += bytes.size();
        if (read_bytes > most_bytes)
            return false;
        const ssize_t got = pread(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(from));
        each_telling(std::span(bytes).first(static_cast<size_t>(std::max<ssize_t>(got, 0))), from, visit);
    }
    return true;
}

std::optional<std::vector<Range>> places_of_frames(pid_t pid, pid_t thread, const Descriptor& memory,
                                                   const std::vector<Mapping>& mappings, uint64_t most)
{
    std::vector<Range> places;
    const bool all = each_piece(
        pid, thread, memory, mappings, most, [&](const Mapping& m, uint64_t at, std::span<const std::byte> bytes) {
            each_telling(bytes, at, [&](const FrameSearch::Kept& frame) {
                const uint64_t start = std::max(m.start, frame.address - std::min(frame.address, around)),
                               end = std::min(m.end, frame.address + around);
                if (!places.empty() && places.back().start >= m.start
                    && places.back().start + places.back().size >= start)
                    places.back().size = std::max(end, places.back().start + places.back().size) - places.back().start;
                else
                    places.push_back({start, end - start});
            });
        });
    return all ? std::optional(std::move(places)) : std::nullopt;
}

bool is_kept(pid_t pid, pid_t thread, const Descriptor& memory, const std::vector<Mapping>& mappings,
             std::span<const uint64_t> frames, uint64_t pointer)
{
    constexpr uint64_t key_in_control_block = 0x30; // sysdeps/x86_64/nptl/tls.h, pointer_guard
    const auto read = read_at(memory, pointer + key_in_control_block, sizeof(uint64_t));
    const uint64_t key = read.empty() ? 0 : load_word(read.data());
    const auto is_near = [&](uint64_t address, uint64_t below, uint64_t above) {
        return std::any_of(frames.begin(), frames.end(),
                           [&](uint64_t frame) { return address - (frame - below) < below + above; });
    };
    // What somebody goes back by is a stack pointer or an address of a structure: a multiple of 8.
    const auto leads_there = [&](uint64_t address) {
        return address % sizeof(uint64_t) == 0 && is_near(address, around, 0);
    };
    bool found = false;
    const auto look = [&](const Mapping&, uint64_t start, std::span<const std::byte> bytes) {
        for (size_t at = 0; !found && at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
            const uint64_t value = load_word(&bytes[at]), plain = std::rotr(value, 17) ^ key; // PTR_DEMANGLE
            found = (leads_there(value) || leads_there(plain)) && !is_near(start + at, 2 * around, 0);
        }
    };
    return !each_piece(pid, thread, memory, mappings, most_searched, look) || found;
}
#else
void FrameSearch::leave_out_below(const user_regs_struct&, const std::map<const Mapping*, uint64_t>&) {}
bool FrameSearch::each_kept(std::span<const Range>, const std::function<void(const Kept&)>&)
{
    return true;
}
std::optional<std::vector<Range>> places_of_frames(pid_t, pid_t, const Descriptor&, const std::vector<Mapping>&,
                                                   uint64_t)
{
    return std::vector<Range>();
}
bool is_kept(pid_t, pid_t, const Descriptor&, const std::vector<Mapping>&, std::span<const uint64_t>, uint64_t)
{
    return true;
}
#endif

bool waits_for_child([[maybe_unused]] const user_regs_struct& registers, [[maybe_unused]] const Descriptor& memory)
{
#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
    const auto number = static_cast<long>(registers.orig_rax);
    uint64_t flags = registers.rdi;
    if (number == SYS_vfork)
        return true;
#else
    // Of a thread that makes no system call any more, x8 may still have the number, and x0 something else.
    constexpr unsigned char svc[] = {0x01, 0, 0, 0xd4};
    const auto before = read_at(memory, registers.pc - sizeof svc, sizeof svc);
    if (before.size() != sizeof svc || std::memcmp(before.data(), svc, sizeof svc) != 0)
        return false;
    const auto number = static_cast<long>(registers.regs[8]);
    uint64_t flags = registers.regs[0];
#endif
    if (number == SYS_clone3) { // struct clone_args begins with the flags
        const auto first = read_at(memory, flags, sizeof flags);
        if (first.size() == sizeof flags)
            flags = load_word(first.data());
    }
    return (number == SYS_clone || number == SYS_clone3) && (flags & CLONE_VFORK);
#else
    return false;
#endif
}

} // namespace fastsdt::engine
