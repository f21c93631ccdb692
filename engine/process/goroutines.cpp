// SPDX-License-Identifier: BSD-2-Clause
//
// A waiting goroutine resumes behind a call into the runtime. The exception is asynchronous preemption, which stops it between any two
// instructions: a signal handler injects a call of asyncPreempt, which saves all registers and waits in asyncPreempt2. The goroutine resumes at the
// return address of asyncPreempt.
//
//     allgs -> g: stack.lo, stack.hi, ..., sched.sp, sched.pc, ..., atomicstatus, goid       (movable/go_runtime.h: where they are)
//
// A running goroutine is on a thread, and its g.sched is stale. So every word near that thread's stack pointer is taken for an address where it may
// go on. Some are numbers, or left over from calls that have returned: such a site waits for the next try, and no true one is missed.
//
// Handlers of Go run on a stack of their own, as the kernel's frame there says (signal_frame.h). A thread that is in none may still have stale frames
// nearby. They do not count: its stack pointer is not on the frame's stack.
#include "process/goroutines.h"

#include "base/integers.h"
#include "elf/image.h"
#include "proc/memory.h"
#include "proc/threads.h"
#include "process/errand.h"
#include "process/signal_frame.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <sys/uio.h>

namespace fastsdt::engine {

#if defined(__x86_64__) || defined(__aarch64__)
namespace {

// runtime/runtime2.go
constexpr uint32_t status_idle = 0, status_running = 2, status_waiting = 4, status_dead = 6, last_status = 11,
                   scanning = 0x1000;
constexpr size_t most_goroutines = 1'000'000;
constexpr uint64_t most_numbers = uint64_t{1} << 48; // that a program lives to give
constexpr uint64_t near_top = 4096; // has the registers that asyncPreempt has saved, and where it returns to
constexpr uint64_t most_goroutine_stack = uint64_t{1} << 20; // of one that is looked at as a whole
constexpr uint64_t red_zone = 128;

// Runtime address less ELF vaddr of what the file has mapped executable.
std::optional<uint64_t> bias_of(const Image& image, const Mapping& text)
{
    for (const Segment& segment : image.segments())
        if (segment.executable && segment.offset.down_to(page_size()).value == text.offset)
            return text.start - segment.address.down_to(page_size()).value;
    return std::nullopt;
}

} // namespace

Goroutines::Goroutines(ProcessView& view, const GoRuntime& runtime, uint64_t bias, bool alone)
    : view_(&view), runtime_(runtime), bias_(bias),
      text_{runtime.text.start + bias, runtime.text.end - runtime.text.start}, alone_(alone)
{}

std::optional<Goroutines> Goroutines::of(ProcessView& view)
{
    std::optional<Goroutines> found;
    const std::string program = view.program();
    const std::vector<Mapping> mappings = view.mappings();
    const auto text = std::find_if(mappings.begin(), mappings.end(),
                                   [&](const Mapping& m) { return m.executable && m.inode != 0 && m.name == program; });
    if (text == mappings.end())
        return found;
    const bool alone = std::none_of(mappings.begin(), mappings.end(), [&](const Mapping& m) {
        return m.executable && m.inode != 0 && (m.inode != text->inode || m.device != text->device);
    });
    each_image(path_of(view.file(*text)), [&](const Image& image) {
        const auto runtime = go_runtime(image);
        const auto bias = bias_of(image, *text);
        if (runtime && bias)
            found =
                Goroutines(view, *runtime, *bias, alone && !image.section(".interp") && !image.section(".eh_frame"));
    });
    return found;
}

// The list only grows, and nothing in it is ever freed.
bool Goroutines::read_pointers()
{
    struct Slice {
        uint64_t array, size, capacity;
    };
    const int memory = view_->memory().get();
    const auto slice = value_at<Slice>(memory, runtime_.goroutines + bias_);
    if (!slice || slice->size > slice->capacity || slice->size > most_goroutines || slice->size < pointers_.size())
        return false;
    const size_t from = pointers_.size(), size = (slice->size - from) * sizeof(uint64_t);
    pointers_.resize(slice->size);
    if (size
        && pread(memory, &pointers_[from], size, static_cast<off_t>(slice->array + from * sizeof(uint64_t)))
            != static_cast<ssize_t>(size)) {
        pointers_.resize(from);
        return false;
    }
    add_pieces(from);
    return true;
}

// Memory of those that lie near each other is read as one piece: one by one a list of 100,000 takes too long.
void Goroutines::add_pieces(size_t from)
{
    constexpr uint64_t near = 1024, longest = uint64_t{1} << 16;
    const uint64_t size = std::max(runtime_.status, runtime_.number) + sizeof(uint64_t);
    std::vector<uint64_t> sorted(pointers_.begin() + ptrdiff_t(from), pointers_.end());
    std::sort(sorted.begin(), sorted.end());
    const size_t first = pieces_.size();
    for (const uint64_t pointer : sorted) {
        if (pieces_.size() == first || pointer - pieces_.back().start > longest
            || pointer - (pieces_.back().start + pieces_.back().size) > near)
            pieces_.push_back({pointer, size, {}});
        Piece& piece = pieces_.back();
        piece.size = pointer + size - piece.start;
        piece.pointers.push_back(pointer);
    }
}

bool Goroutines::prepare()
{
    pointers_.clear();
    pieces_.clear();
    if (runtime_.goroutines == 0 || !read_pointers())
        return false;
    // The first one is number 1: if that is not there, nothing is where we think. Only a program that has just been started has none, and one thread.
    return pointers_.empty()
        ? living_threads(view_->pid()).size() == 1
        : value_at<uint64_t>(view_->memory().get(), pointers_.front() + runtime_.number) == uint64_t{1};
}

// False: they cannot be read, or one of them has what none has.
bool Goroutines::read_all(std::vector<One>& running, const std::function<void(const One&)>& waiting)
{
    constexpr size_t at_once = 256; // pieces; the kernel takes 1,024
    if (!read_pointers())
        return false;
    std::vector<std::byte> bytes;
    for (size_t first = 0; first < pieces_.size(); first += at_once) {
        const auto pieces = std::span(pieces_).subspan(first, std::min(at_once, pieces_.size() - first));
        std::vector<iovec> there;
        size_t size = 0;
        for (const Piece& piece : pieces) {
            there.push_back({reinterpret_cast<void*>(piece.start), piece.size});
            size += piece.size;
        }
        bytes.resize(size);
        const iovec here{bytes.data(), size};
        if (process_vm_readv(view_->pid(), &here, 1, there.data(), there.size(), 0) != static_cast<ssize_t>(size))
            return false;
        const std::byte* at = bytes.data();
        for (const Piece& piece : pieces) {
            for (const uint64_t pointer : piece.pointers) {
                const std::byte* const g = at + (pointer - piece.start);
                const One one{load_word(g),
                              load_word(g + 8),
                              load_word(g + runtime_.sched),
                              load_word(g + runtime_.sched + 8),
                              uint32_t(load_word(g + runtime_.status)) & ~scanning,
                              load_word(g + runtime_.number)};
                const bool has_stack = one.status == status_running || one.status == status_waiting;
                if (one.status > last_status || (has_stack && one.low >= one.high) || one.number > most_numbers)
                    return false;
                if (one.status == status_running)
                    running.push_back(one);
                else if (one.status != status_idle && one.status != status_dead)
                    waiting(one);
            }
            at += piece.size;
        }
    }
    return true;
}

// Each word, as far as it can be read.
void Goroutines::scan(uint64_t from, uint64_t to, const Visit& visit)
{
    from = from / sizeof(uint64_t) * sizeof(uint64_t);
    const auto bytes = view_->read(from, to > from ? to - from : 0);
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t))
        visit(load_word(&bytes[at]));
}

#if defined(__x86_64__)
bool Goroutines::is_frame(const std::byte* at)
{
    using signal_frame::restorer;
    const uint64_t address = load_word(at);
    if (!signal_frame::is_64_bit(at) || address < page_size() || address >> 47)
        return false;
    const auto [known, fresh] = restorers_.try_emplace(address, false);
    if (fresh)
        known->second = signal_frame::is_restorer(view_->read(address, sizeof restorer));
    return known->second;
}
#else
bool Goroutines::is_frame(const std::byte* at)
{
    return signal_frame::has_record(at);
}
#endif

// @param end  of what may be its stack
void Goroutines::look_at_thread(const user_regs_struct& thread, uint64_t end, const Visit& visit)
{
    const uint64_t sp = stack_pointer(thread) / sizeof(uint64_t) * sizeof(uint64_t);
    const uint64_t from = sp - sizeof(uint64_t); // x86-64: the restorer itself has taken its address from the stack
    const auto bytes = end > from ? view_->read(from, end - from) : std::vector<std::byte>();
    size_t last = 0;
    for (size_t at = 0; at + signal_frame::size <= bytes.size(); at += sizeof(uint64_t)) {
        const std::byte* const frame = &bytes[at];
        if (!is_frame(frame))
            continue;
        const Range stack{load_word(frame + signal_frame::stack),
                          load_word(frame + signal_frame::stack + signal_frame::stack_size)};
        if (stack.has(from + at) && !stack.has(stack_pointer(thread)))
            continue; // it is on that stack no more
        visit(load_word(frame + signal_frame::pc));
        interrupted_.push_back(load_word(frame + signal_frame::sp));
        last = at + signal_frame::size;
    }
    if (last == 0)
        return;
    static_assert(sizeof thread % sizeof(uint64_t) == 0);
    for (const uint64_t reg : std::bit_cast<std::array<uint64_t, sizeof thread / sizeof(uint64_t)>>(thread))
        visit(reg);
    scan(sp - red_zone, from + last, visit);
}

bool Goroutines::each_handler(std::span<const user_regs_struct> threads, const Visit& visit)
{
    constexpr uint64_t most = uint64_t{1} << 16; // Go's stack for handlers has 32 KiB
    interrupted_.clear();
    for (const user_regs_struct& thread : threads)
        look_at_thread(thread, stack_pointer(thread) + most, visit);
    return true;
}

// Near where its thread has it: that may be in the runtime meanwhile, on another stack.
bool Goroutines::look_at_running(const One& one, std::span<const user_regs_struct> threads, const Visit& visit)
{
    const auto look = [&](uint64_t sp) {
        const bool has = sp >= one.low && sp <= one.high;
        if (has)
            scan(std::max(one.low, sp - red_zone), std::min(one.high, sp + near_top), visit);
        return has;
    };
    bool on_it = false, known = false;
    for (const user_regs_struct& thread : threads)
        on_it = look(stack_pointer(thread)) || on_it;
    for (const uint64_t sp : interrupted_)
        known = look(sp) || known;
    if (on_it)
        return true;
    known = look(one.sp) || known;
    if (one.high - one.low <= most_goroutine_stack) {
        scan(one.low, one.high, visit);
        return true;
    }
    return known;
}

bool Goroutines::each(std::span<const user_regs_struct> threads, const Visit& visit)
{
    std::vector<One> running;
    const auto waits = [&](const One& one) {
        if (std::ranges::any_of(runtime_.preemption,
                                [&](const GoRange& range) { return range.has(one.counter - bias_); }))
            scan(one.sp, std::min(one.high, one.sp + near_top), visit);
    };
    return each_handler(threads, visit) && read_all(running, waits)
        && std::ranges::all_of(running, [&](const One& one) { return look_at_running(one, threads, visit); });
}

#else

std::optional<Goroutines> Goroutines::of(ProcessView&)
{
    return std::nullopt;
}

bool Goroutines::prepare()
{
    return false;
}

bool Goroutines::each(std::span<const user_regs_struct>, const Visit&)
{
    return false;
}

bool Goroutines::each_handler(std::span<const user_regs_struct>, const Visit&)
{
    return false;
}
#endif

} // namespace fastsdt::engine
