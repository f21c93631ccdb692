// SPDX-License-Identifier: BSD-2-Clause
//
// A nop10 becomes a jump, or a jump a nop10, while threads execute it. Both are one instruction, so no thread stands
// inside. But no thread may decode half of one and half of the other. Processors fetch code in blocks of 16 aligned
// bytes or more. If the eight bytes lie in one block, they are exchanged at once (lock cmpxchg, which also compares):
//
//     66 2e 0f 1f 84 00 00 00   00 00   nop10
//     66 2e 48 e9 d0 d1 d2 d3   00 00   jmp stub
//     barrier: membarrier(SYNC_CORE) has every thread fetch anew before it goes on
//
// Otherwise the end is written first. The fifth byte of a nop10 says how an address is made up. The next five are parts
// of that address, which nobody uses. The stub is placed so that d0 is 84. Then the bytes stay a nop10 whatever d1 to
// d3 are, and it does not matter which of them a thread sees.
//
//     66 2e 0f 1f 84 d1 d2 d3   00 00   still a nop10
//     barrier                           no thread has fetched the old end
//     66 2e 48 e9 84 d1 d2 d3   00 00   two bytes of one block
//     barrier
//
// A jump becomes a nop10 in the opposite order. This does not work if the two bytes lie in different blocks (address
// modulo 16 is 13), or if the eight lie in two cache lines. Another process can change such a site, since it stops all
// threads.
//
// arm64: a nop becomes a branch, an aligned word that is exchanged at once. Both are among the instructions that one
// processor may execute while another exchanges them (Arm ARM, B2.2.5). Then the caches of data and instructions are
// synchronized, and the barrier follows.
#include "process/self.h"

#include "arming/place.h"
#include "base/descriptor.h"
#include "base/unusable.h"
#include "code/machine.h"
#include "live/live.h"
#include "proc/maps.h"
#include "process/room.h"
#include "process/signals_blocked.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#if defined(__x86_64__)
#include <asm/prctl.h> // ARCH_GET_FS
#endif
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <linux/membarrier.h>
#include <link.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h> // SYS_membarrier
#include <sys/uio.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace fastsdt::engine {
namespace {

constexpr uint64_t line = 64, block = 16;
using SiteBytes = std::array<std::byte, 8>; // arm64: the first four count
constexpr size_t kind_at = 2, end_at = 4;   // in the eight: the two bytes that tell nop from jump, and the end
constexpr bool on_x86 = own_machine.arch == Arch::x86_64;
#if defined(__aarch64__)
constexpr auto nop_bytes = std::bit_cast<std::array<uint8_t, sizeof nop_arm64>>(nop_arm64);
#else
constexpr std::array<uint8_t, own_machine.length> nop_bytes = {FASTSDT_BYTES_nop10};
#endif
static_assert(sizeof nop_bytes == own_machine.length);

enum class Way { at_once, end_first, none };

Way way_of(uint64_t at)
{
    if (!on_x86 || at % block + sizeof(SiteBytes) <= block)
        return Way::at_once;
    // A locked instruction on two cache lines stops the whole machine, or is forbidden (split_lock_detect).
    return at % line + sizeof(SiteBytes) > line || at % block + kind_at + 1 == block ? Way::none : Way::end_first;
}

// Held during a change of text: one at a time, and none while another thread forks, so that a child gets neither
// half-changed text nor a locked loader. Signals are blocked meanwhile: a handler might fork, or leave by longjmp.
std::mutex changing;

void watch_forks()
{
    static const int watched =
        pthread_atfork([] { changing.lock(); }, [] { changing.unlock(); }, [] { changing.unlock(); });
    if (watched != 0)
        throw Unusable(fmt::format("this process: pthread_atfork: {}", std::strerror(watched)));
}

void refuse_filter()
{
    std::ifstream in("/proc/thread-self/status");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("Seccomp:")) {
            if (line.find_first_of("123456789") != line.npos)
                throw Unusable(
                    "this process has a seccomp filter, which could kill it for a system call: open the trace "
                    "before the filter is installed, or trace from another process");
            return;
        }
    throw Unusable("this process: /proc/thread-self/status cannot be read, so a seccomp filter cannot be ruled out");
}

long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

// Makes every thread of this process fetch its instructions anew before it goes on.
void barrier()
{
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0)
        return;
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) == 0
        && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0)
        return;
    throw Unusable(fmt::format("this process: membarrier(SYNC_CORE), Linux 4.16: {}", std::strerror(errno)));
}

// After this all processors that fetch anew fetch the bytes that were written.
void tell_caches(uint64_t at, uint64_t size)
{
    __builtin___clear_cache(reinterpret_cast<char*>(at), reinterpret_cast<char*>(at + size)); // nothing on x86
}

// Exchanges eight bytes within a cache line; arm64: an aligned word. False: other bytes than `from` are there.
bool exchange(uint64_t at, const SiteBytes& from, const SiteBytes& to)
{
#if defined(__x86_64__)
    uint64_t now = std::bit_cast<uint64_t>(from);
    bool done = false;
    asm volatile("lock cmpxchgq %3, %1"
                 : "=@ccz"(done), "+m"(*reinterpret_cast<uint64_t*>(at)), "+a"(now)
                 : "r"(std::bit_cast<uint64_t>(to))
                 : "memory");
    return done;
#else
    uint32_t now = 0, wanted = 0;
    std::memcpy(&now, from.data(), sizeof now);
    std::memcpy(&wanted, to.data(), sizeof wanted);
    if (!__atomic_compare_exchange_n(reinterpret_cast<uint32_t*>(at), &now, wanted, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED))
        return false;
    tell_caches(at, sizeof wanted);
    return true;
#endif
}

std::string forbidden()
{
    return fmt::format(
        " (PR_SET_MDWE; SELinux: execmem, execmod); another process can trace it: fastsdt-trace --pid {}", getpid());
}

// PROT_BTI, if the page at this address has it: without it mprotect() takes it away (arch/arm64/include/asm/mman.h).
int guarded([[maybe_unused]] uint64_t address)
{
#if defined(__aarch64__)
    constexpr unsigned long bti = 1 << 17; // HWCAP2_BTI, arch/arm64/include/uapi/asm/hwcap.h
    if (!(getauxval(AT_HWCAP2) & bti))
        return 0;
    std::ifstream maps("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
        uint64_t start = 0, end = 0;
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
            here = start <= address && address < end;
        else if (here && line.starts_with("VmFlags:"))
            return line.find(" bt") != std::string::npos ? PROT_BTI : 0;
    }
#endif
    return 0;
}

// Makes memory writable, and at the end only readable and executable again. It stays executable throughout, since
// threads are in it.
class Writable {
public:
    Writable() = default;
    Writable(const Writable&) = delete;
    Writable& operator=(const Writable&) = delete;
    ~Writable()
    {
        for (const auto& [range, guard] : ranges_)
            mprotect(reinterpret_cast<void*>(range.first), range.second - range.first, PROT_READ | PROT_EXEC | guard);
    }
    /// All pages of `size` bytes.
    void open(uint64_t at, uint64_t size)
    {
        const uint64_t smallest = page_size(); // what lies behind stays as it is
        const uint64_t first = at / smallest * smallest, end = (at + size + smallest - 1) / smallest * smallest;
        if (ranges_.contains({first, end}))
            return;
        const int guard = guarded(first);
        if (mprotect(reinterpret_cast<void*>(first), end - first, PROT_READ | PROT_WRITE | PROT_EXEC | guard) < 0)
            throw Unusable(fmt::format("this process: its text at {:#x} cannot be made writable: {}{}", first,
                                       std::strerror(errno), errno == EACCES ? forbidden() : ""));
        ranges_.insert({{first, end}, guard});
    }

private:
    std::map<std::pair<uint64_t, uint64_t>, int> ranges_;
};

// Runs `work` while no module can be unmapped: dlclose() needs the lock that dl_iterate_phdr() holds. Exceptions of
// `work` are passed on without going through the loader.
void with_modules_held(const std::function<void()>& work)
{
    struct Held {
        const std::function<void()>& work;
        std::exception_ptr thrown;
    } held{work, nullptr};
    dl_iterate_phdr(
        [](dl_phdr_info*, size_t, void* data) {
            Held& held = *static_cast<Held*>(data);
            try {
                held.work();
            } catch (...) {
                held.thrown = std::current_exception();
            }
            return 1; // no further module
        },
        &held);
    if (held.thrown)
        std::rethrow_exception(held.thrown);
}

class OwnProcess final : public Target {
public:
    OwnProcess()
    {
        if (!arms_nothing.empty())
            throw Unusable(
                fmt::format("this process: the user-space engine {}; trace it with the kernel's probes", arms_nothing));
        refuse_filter();
        barrier();
        watch_forks();
    }

    ProcessView& view() override { return view_; }

    // Of a child too that was forked since.
    std::vector<Mapping> mappings() override { return read_maps(getpid()); }

    // The kernel reads, so that memory which is not mapped any more causes no fault.
    std::vector<std::byte> read(uint64_t address, size_t size) override
    {
        std::vector<std::byte> bytes(size);
        const iovec to = {bytes.data(), size}, from = {reinterpret_cast<void*>(address), size};
        const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
        return bytes;
    }

    // Looks at this thread only: the C library stores the pointer for every thread that it makes. Threads that it did
    // not make need the word too, since they execute its code.
    bool stores_thread_pointers() override
    {
#if defined(__x86_64__)
        uint64_t pointer = 0, word = 0;
        if (syscall(SYS_arch_prctl, ARCH_GET_FS, &pointer) < 0 || pointer == 0)
            return false;
        std::memcpy(&word, reinterpret_cast<const void*>(pointer), sizeof word);
        return word == pointer;
#else
        return false;
#endif
    }

    // The same of threads' numbers.
    Tids tids_at(int32_t offset) override
    {
        pid_t word = 0;
        std::memcpy(&word, static_cast<const char*>(__builtin_thread_pointer()) + offset, sizeof word);
        return word == static_cast<pid_t>(syscall(SYS_gettid)) ? Tids::there : Tids::elsewhere;
    }

    // Private memory: a child that was forked in the middle of a stub then counts in memory of its own. Small pages: what lies
    // side by side need not be used together.
    Window allocate_data(Needs needs) override
    {
        size_ = needs.least = whole_pages(needs.least);
        const auto map = [](size_t size) {
            void* const at =
                mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (at == MAP_FAILED)
                throw Unusable(fmt::format("this process: {} bytes for the tables: {}", size, std::strerror(errno)));
            return at;
        };
        const size_t wanted = room_for_tables(view_, needs);
        void* at = map(size_);
        // Locked memory is there as a whole at once.
        if (!has_locked_memory(view_)) {
            munmap(at, size_);
            at = map(size_ = wanted);
        }
        madvise(at, size_, MADV_NOHUGEPAGE); // fails on kernels without huge pages
        madvise(at, size_, MADV_DONTDUMP);
        return {data_ = reinterpret_cast<uint64_t>(at), size_};
    }

    Arena allocate_code(std::span<const uint64_t> near, size_t size) override
    {
        size = whole_pages(size);
        const auto map = [](uint64_t at, uint64_t size, int protection) {
            return mmap(reinterpret_cast<void*>(at), size, protection,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)
                == reinterpret_cast<void*>(at);
        };
        int error = EEXIST;
        for (unsigned tries = 0; tries < 8 && error == EEXIST; ++tries) {
            const uint64_t at = find_place(mappings(), near, size + own_machine.page);
            if (!at)
                return {};
            const uint64_t mark = at + size;
            if (!map(at, size + own_machine.page, PROT_READ | PROT_WRITE)) {
                error = errno; // EEXIST: another thread was faster
                continue;
            }
            // Writing makes all pages private copies from the start. If only some were, changing the protection of one
            // would split the mapping, and find_arenas() looks for one mapping.
            std::memset(reinterpret_cast<void*>(at), 0, size);
            if (madvise(reinterpret_cast<void*>(mark), own_machine.page, MADV_WIPEONFORK) == 0
                && mprotect(reinterpret_cast<void*>(at), size, PROT_READ | PROT_EXEC) == 0) {
                *reinterpret_cast<Mark*>(mark) = {data_ + Tables::slice, 0, static_cast<uint64_t>(getpid())};
                return {at, data_, mark, 0};
            }
            error = errno;
            munmap(reinterpret_cast<void*>(at), size + own_machine.page); // nothing has ever been executed there
        }
        throw Unusable(fmt::format("this process: memory for the stubs: {}{}", std::strerror(error),
                                   error == EACCES ? forbidden() : ""));
    }

    void free_code(const Arena& arena, size_t size) override
    {
        munmap(reinterpret_cast<void*>(arena.code), whole_pages(size) + own_machine.page);
    }

    // Its own threads are not stopped, and may be in a stub at any time.
    bool release(std::span<const Range>, Range, bool) override { return false; }

    // Of each file once, for as long as the process lives: see release().
    uint64_t map_again(const Mapping& part) override
    {
        static std::mutex mutex;
        static std::map<std::tuple<std::string, uint64_t, uint64_t>, std::pair<uint64_t, uint64_t>>
            known; // size, address
        const std::lock_guard lock(mutex);
        refuse_filter();
        const uint64_t size = part.end - part.start;
        const auto [found, fresh] = known.try_emplace({part.device, part.inode, part.offset}, size, 0);
        if (!fresh || known.size() > Tables::most_again || has_locked_memory(view_))
            return found->second.first >= size ? found->second.second : 0;
        const Descriptor file(open(part.name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), static_cast<off_t>(part.offset));
        if (at == MAP_FAILED)
            return 0;
        const auto address = reinterpret_cast<uint64_t>(at);
        const std::vector<Mapping> now = mappings();
        const Mapping* const made = mapping_at(now, address, size);
        if (!made || made->inode != part.inode || made->device != part.device) { // its name leads to another file
            munmap(at, size);
            return 0;
        }
        madvise(at, size, MADV_DONTDUMP);
        if (part.offset
            == 0) { // tools take the first page of a file for the place where it is loaded: that of ours is a copy
            const size_t head = page_size();
            if (mmap(at, head, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at
                || pread(file.get(), at, head, 0) < 0 || mprotect(at, head, PROT_READ) < 0) {
                munmap(at, size);
                return 0;
            }
        }
        found->second.second = address;
        return address;
    }

    void write_code(uint64_t address, std::span<const std::byte> bytes) override
    {
        refuse_filter();
        const SignalsBlocked blocked;
        const std::lock_guard lock(changing);
        Writable writable;
        writable.open(address, bytes.size());
        std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
        tell_caches(address, bytes.size());
        if (!on_x86)
            barrier();
    }

    std::vector<Outcome> patch(std::span<const Patch> patches, bool back) override
    {
        refuse_filter();
        std::vector<Outcome> outcomes(patches.size(), Outcome::changed);
        const SignalsBlocked blocked;
        const std::lock_guard lock(changing);
        with_modules_held([&] { change(patches, back, outcomes); });
        return outcomes;
    }

    bool stops_threads() const override { return false; }

    State obstacle(uint64_t at, std::span<const std::byte> bytes) const override
    {
        if (way_of(at) == Way::none)
            return State::not_under_threads;
        // The kernel had a call here, and a thread may still stand before it.
        if (bytes.size() < sizeof nop_bytes || std::memcmp(bytes.data(), nop_bytes.data(), sizeof nop_bytes) != 0)
            return State::stale_call;
        return State::ready;
    }

    bool change_data(size_t offset, uint64_t from, uint64_t to) override
    {
        return offset < size_
            && __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(data_ + offset), &from, to, false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }

    std::vector<std::byte> read_data(size_t offset, size_t size) override
    {
        if (offset >= size_)
            return {};
        std::vector<std::byte> bytes(std::min(size, size_ - offset));
        const auto* const from = reinterpret_cast<const std::byte*>(data_) + offset;
        size_t i = 0;
        for (; offset % sizeof(uint64_t) == 0 && i + sizeof(uint64_t) <= bytes.size(); i += sizeof(uint64_t)) {
            // Other threads write these words meanwhile.
            const uint64_t word = __atomic_load_n(reinterpret_cast<const uint64_t*>(from + i), __ATOMIC_RELAXED);
            std::memcpy(&bytes[i], &word, sizeof word);
        }
        std::copy(from + i, from + bytes.size(), bytes.begin() + static_cast<std::ptrdiff_t>(i));
        return bytes;
    }

    void write_data(size_t offset, std::span<const std::byte> bytes) override
    {
        if (offset <= size_ && bytes.size() <= size_ - offset)
            std::memcpy(reinterpret_cast<void*>(data_ + offset), bytes.data(), bytes.size());
    }

    void forget_data(std::span<const Piece> contents) override
    {
        for (const Piece& piece : contents) {
            if (piece.offset + piece.size > size_)
                continue;
            const uint64_t start = data_ + piece.offset, end = start + piece.size;
            const uint64_t first = whole_pages(start), last = end / own_machine.page * own_machine.page;
            const auto zero = [](uint64_t from, uint64_t to) {
                for (; from < to; from += sizeof(uint64_t))
                    __atomic_store_n(reinterpret_cast<uint64_t*>(from), 0, __ATOMIC_RELAXED);
            };
            if (first < last && madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) == 0) {
                zero(start, first);
                zero(last, end);
            } else { // small, or locked
                zero(start, end);
            }
        }
    }

private:
    struct Change {
        const Patch* patch;
        size_t index;
        SiteBytes from, between, to; // between: the nop10's kind with the jump's end
    };

    void change(std::span<const Patch> patches, bool back, std::vector<Outcome>& outcomes)
    {
        const auto now_mapped = mappings();
        std::vector<Change> changes;
        Writable writable;
        for (size_t i = 0; i < patches.size(); ++i) {
            const Patch& p = patches[i];
            const Mapping* const text = mapping_at(now_mapped, p.at, sizeof nop_bytes);
            if (!text || !text->readable || !text->executable || text->writable || text->shared)
                continue;
            Change change{&p, i, back ? p.after : p.before, {}, back ? p.before : p.after};
            if (now_is(p.at, change.to)) {
                outcomes[i] = Outcome::done;
            } else if (can_be_made(change, back)) {
                writable.open(text->start, text->end - text->start); // the whole: a part would split the mapping
                changes.push_back(change);
            }
        }
        if (changes.empty())
            return;
        const auto semaphore = [&](const Change& change, int by) {
            const uint64_t at = change.patch->semaphore;
            const Mapping* const m =
                at && at % sizeof(uint16_t) == 0 ? mapping_at(now_mapped, at, sizeof(uint16_t)) : nullptr;
            if (m && m->writable)
                __atomic_fetch_add(reinterpret_cast<uint16_t*>(at), static_cast<uint16_t>(by), __ATOMIC_RELAXED);
        };
        // Takes one step of the orders at the head of this file, for the sites of either way at once: they share the
        // barriers.
        const auto step = [&](SiteBytes Change::* from, SiteBytes Change::* to) {
            bool some = false;
            std::erase_if(changes, [&](const Change& c) {
                if (c.*from == c.*to)
                    return false;
                some = true;
                if (exchange(c.patch->at, c.*from, c.*to))
                    return false;
                if (!back)
                    semaphore(c, -1);
                return true; // somebody else has changed the site
            });
            if (some)
                barrier();
        };
        if (!back)
            for (const Change& c : changes)
                semaphore(c, 1);
        step(&Change::from, &Change::between);
        step(&Change::between, &Change::to);
        for (const Change& c : changes) {
            outcomes[c.index] = Outcome::done;
            if (back)
                semaphore(c, -1);
        }
    }

    static bool now_is(uint64_t at, const SiteBytes& bytes)
    {
        return std::memcmp(reinterpret_cast<const void*>(at), bytes.data(), own_machine.exchanged) == 0;
    }

    static bool can_be_made(Change& change, bool back)
    {
        const auto* const now = reinterpret_cast<const std::byte*>(change.patch->at);
        const SiteBytes& nop = back ? change.to : change.from;
        const SiteBytes& jump = back ? change.from : change.to;
        const Way way = way_of(change.patch->at);
        constexpr size_t exchanged = own_machine.exchanged;
        if (way == Way::none || change.patch->length != exchanged
            || std::memcmp(nop.data(), nop_bytes.data(), exchanged) != 0
            || std::memcmp(now + exchanged, nop_bytes.data() + exchanged, sizeof nop_bytes - exchanged) != 0
            || (way == Way::end_first && jump[end_at] != nop[end_at]))
            return false;
        // A breakpoint on our jump, the kernel's or a debugger's, stays.
        if (on_x86 && back && *now == breakpoint)
            change.from[0] = change.to[0] = breakpoint;
        change.between = change.from;
        if (way == Way::end_first) {
            const SiteBytes& kind = back ? change.to : change.from;
            const SiteBytes& end = jump;
            change.between = kind;
            std::copy(end.begin() + end_at, end.end(), change.between.begin() + end_at);
        }
        return now_is(change.patch->at, change.from);
    }

    ProcessView view_{getpid()};
    uint64_t data_ = 0;
    size_t size_ = 0;
};

} // namespace

std::unique_ptr<Target> open_self()
{
    return std::make_unique<OwnProcess>();
}

} // namespace fastsdt::engine
