// SPDX-License-Identifier: BSD-2-Clause
// The process whose sites are armed: one interface; process/self.cpp and outside.cpp implement it. Used from one thread, since
// ptrace is bound to a thread.
#pragma once
#include "code/loader.h"
#include "code/site.h"
#include "proc/maps.h"
#include "maps/read.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace fastsdt::engine {

class ProcessView; // process/view.h

/// Runtime addresses.
struct Range {
    uint64_t start = 0, size = 0;
    bool has(uint64_t address) const { return address - start < size; }
};

/// What allocate_code() takes.
struct WantedCode {
    std::span<const uint64_t> near;
    size_t size = 0;
};

/// Memory of the target by runtime address. All functions throw Unusable, which says what failed, where, and what to
/// do.
class Target {
public:
    virtual ~Target() = default;

    /// What else is asked of the process, by rooms above this one.
    virtual ProcessView& view() = 0;
    /// Bytes that it can take without the kernel ending it. Empty: as many as there are.
    virtual std::optional<uint64_t> memory_left() { return {}; }
    /// What the target has mapped now, by address.
    virtual std::vector<Mapping> mappings() = 0;
    /// Up to `size` bytes; fewer where the memory ends.
    virtual std::vector<std::byte> read(uint64_t address, size_t size) = 0;
    /// Whether the thread pointer of each thread leads to a word that holds the same pointer, as in programs for x86-64
    /// (ELF Handling For Thread-Local Storage, 3.4.6). Not so in a static program that has not begun. False on other
    /// architectures.
    virtual bool stores_thread_pointers() = 0;

    /// Whether each thread's number, as gettid() gives it, is at this offset from its thread pointer, in 4 bytes. `unknown`: no
    /// thread has a thread pointer yet.
    enum class Tids { there, elsewhere, unknown };
    virtual Tids tids_at(int32_t /*offset*/) { return Tids::unknown; }

    /// Allocates the tables: zeros, readable and writable, shared with us. Once for a run, before allocate_code().
    /// It may be more than the least, as far as the process can spare it: it takes memory only where it is used.
    virtual Window allocate_data(Needs needs) = 0;
    /// Allocates memory for stubs, empty so far. A 32-bit displacement of the code reaches `mark` of the answer too. The mark has
    /// the address of the tables' first slice.
    /// @param near  addresses: a jump has to reach the code from each, and each from the code: 2 GiB (arm64: 128 MiB)
    virtual Arena allocate_code(std::span<const uint64_t> near, size_t size) = 0;
    /// allocate_data(), and allocate_code() of each where that takes no further stop of a thread: so some of these may be missing.
    /// @param mappings  of just now  @param arenas  those that were allocated, by `wanted`; else their `code` is 0
    virtual Window allocate(Needs needs, std::span<const WantedCode> /*wanted*/,
                            const std::vector<Mapping>& /*mappings*/, std::vector<Arena>& /*arenas*/)
    {
        return allocate_data(needs);
    }
    /// Unmaps what allocate_code() gave for `size`, where nothing has been executed yet. What cannot be unmapped stays.
    virtual void free_code(const Arena& arena, size_t size) = 0;
    /// Unmaps memory that stubs were in, and their tables, if it is certain that no thread comes back to it. False: it is
    /// not, and all stays. Nobody may enter the stubs any more: all their sites are disarmed.
    /// @param code  ranges with stubs and marks  @param data  the tables  @param entered  false: there has never been a jump to them
    virtual bool release(std::span<const Range> code, Range data, bool entered = true) = 0;
    /// Whether a tracer that was killed may still map something: a thread has not yet come back from what it was told to do.
    virtual bool may_come() { return false; }
    /// Writes stubs. They are not executed yet.
    virtual void write_code(uint64_t address, std::span<const std::byte> bytes) = 0;

    /// What became of a patch.
    /// Throws Unusable where it is known that the process could not be stopped: nothing is begun then.
    virtual void want_stops() {}
    enum class Outcome {
        done,
        changed, ///< the site has neither `before` nor `after`: it is somebody else's and left alone
        busy,    ///< a thread stands where the change would tear an instruction; try again
        unknown, ///< a thread may come back to where it would; where all of them stand cannot be told
    };
    /// Writes `after` of each patch where `before` stands; `back`: the other way round. Stops the target as few times
    /// as keep each stop short. A site that has the wanted bytes already is done. No patch may cross a page.
    virtual std::vector<Outcome> patch(std::span<const Patch> patches, bool back) = 0;
    /// Whether to try again what was busy so many times; waits first where that helps.
    virtual bool tries_again(unsigned times)
    {
        constexpr unsigned most = 5;
        return times < most;
    }

    /// Up to `size` bytes that the file has which is mapped there. Empty: it cannot be read. @param mapping  that has the address
    virtual std::vector<std::byte> original(const Mapping& /*mapping*/, uint64_t /*address*/, size_t /*size*/)
    {
        return {};
    }
    /// Keeps the kernel from setting probes in text, or lets it again. Where a jump took the place of several instructions, a uprobe on
    /// the first of them would crash the process: the kernel steps over that one as the file has it, and goes on in the middle of
    /// the jump. It registers none in writable text (valid_vma() in kernel/events/uprobes.c), so the text is made writable meanwhile.
    /// @param ranges  whole pages, each within one mapping  @return  false: not all of them
    virtual bool guard(std::span<const Range> /*ranges*/, bool /*on*/) { return false; }

    /// A process, and when it began: clock ticks after boot, rounded down.
    struct Begun {
        pid_t pid = 0;
        uint64_t start = 0;
    };
    /// Closes and unmaps the tables in processes that were forked just when they were made, before there were stubs.
    virtual void clear_early_forks(std::span<const Begun> /*living*/) {}

    /// Maps a part of a file once more, to be read only, and names that in the tables (Tables::again): it is there as long as they are. What is
    /// mapped is a part of `part`'s file: device, inode, offset and size tell. @return  its address; 0: that cannot be
    virtual uint64_t map_again(const Mapping& /*part*/) { return 0; }

    /// Whether patch() stops all threads first. If not, they run through the sites while those change: see process/self.cpp.
    virtual bool stops_threads() const { return true; }
    /// Why a site that others could change cannot be changed this way; ready: it can be.
    /// @param bytes  what it has now
    virtual State obstacle(uint64_t /*at*/, std::span<const std::byte> /*bytes*/) const { return State::ready; }

    /// Runs `work` while no other tracer of this process is in a `work` of its own.
    virtual void alone(const std::function<void()>& work) { work(); }

    /// Up to `size` bytes of the tables as they are now, or what is left of them after the target's end.
    virtual std::vector<std::byte> read_data(size_t offset, size_t size) = 0;
    /// Makes the aligned word at `offset` of the tables `to` if it is `from`, in one step for all threads. @return  whether
    /// it was. Does nothing where the tables end before, or are not there.
    virtual bool change_data(size_t offset, uint64_t from, uint64_t to) = 0;

    /// The same whatever the word is now, unless another writes it at that moment.
    void put_data(size_t offset, uint64_t value)
    {
        const ReadData read = [this](size_t from, size_t size) { return read_data(from, size); };
        change_data(offset, word_at(read, offset), value);
    }

    /// Writes words that no stub reads meanwhile. Throws Unusable.
    virtual void write_data(size_t offset, std::span<const std::byte> bytes) = 0;

    /// Zeros these, and gives their memory back until something is recorded again. A thread may still be in a stub; no site is
    /// armed, or the pieces are of a process that has ended.
    virtual void forget_data(std::span<const Piece> contents) = 0;

    /// Where the process's dynamic linker says what it has mapped. Empty: it has none, or it need not be asked.
    virtual std::optional<Loader> loader() { return std::nullopt; }
    /// From now on the stub there is answered: see Session::loader_descriptor().
    virtual void hear_loader() {}
    /// Afterwards no thread waits in the stub any more.
    virtual void leave_loader() {}
    /// Readable when a thread waits there. -1: none will
    virtual int loader_descriptor() const { return -1; }
    /// take_question() first, then match and arm, then answer_loader(): false if a thread went on without the answer.
    virtual uint32_t take_question() { return 0; }
    virtual bool answer_loader(uint32_t /*question*/) { return true; }
    /// Whether what the dynamic linker has mapped just now executes nothing before it has asked and was answered. That is so from then
    /// on until answer_loader(), as long as held_all_modules().
    virtual bool holds_modules() { return false; }
    virtual bool held_all_modules() { return false; }

    /// Runtime address of the C library's execve(). 0: it is not known. Its stub is heard as that of the dynamic linker is: hear_loader().
    virtual uint64_t executing_function(const std::vector<Mapping>& /*mappings*/) { return 0; }
    /// Who waits there. It goes on when it is let.
    struct Asker {
        pid_t thread = 0;     ///< in its own pid namespace
        uint64_t program = 0; ///< runtime address of the name of what it is about to execute
    };
    virtual std::vector<Asker> executing() { return {}; }
    virtual void let_execute(pid_t /*thread*/) {}
    /// Whether one went on without that since the last call, or did not even wait.
    virtual bool take_unanswered() { return false; }
};

} // namespace fastsdt::engine
