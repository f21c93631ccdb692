// SPDX-License-Identifier: BSD-2-Clause
// What open_outside() gives. outside.cpp has what is read and changed, outside_memory.cpp what the process maps for us.
//
// /proc/PID/mem is opened once. The open file stays with the memory that the process has now, and reads and writes
// nothing once that memory is gone. So no change that was meant for one program can hit another that the process
// executes later.
#pragma once
#include "arming/arena.h"
#include "base/descriptor.h"
#include "code/machine.h"
#include "process/allowed.h"
#include "process/inject.h"
#include "process/known_function.h"
#include "process/loader.h"
#include "process/outside.h"
#include "process/page_of_data.h"
#include "process/ptrace.h"
#include "process/room.h"
#include "process/view.h"
#include "process/whereabouts.h"
#include "proc/processes.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>

namespace fastsdt::engine {

class Outside : public Target {
    static constexpr uint64_t page = own_machine.page;

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

    bool stores_thread_pointers() override;
    Tids tids_at(int32_t offset) override;
    Window allocate_data(Needs needs) override;
    Window allocate(Needs needs, std::span<const WantedCode> wanted, const std::vector<Mapping>& mappings,
                    std::vector<Arena>& arenas) override;
    Arena allocate_code(std::span<const uint64_t> near, size_t size) override;
    void clear_early_forks(std::span<const Begun> living) override;
    uint64_t map_again(const Mapping& part) override;
    void free_code(const Arena& arena, size_t size) override;
    bool release(std::span<const Range> code, Range data, bool entered) override;
    bool may_come() override;
    void write_code(uint64_t address, std::span<const std::byte> bytes) override;
    std::vector<std::byte> original(const Mapping& mapping, uint64_t address, size_t size) override;
    bool guard(std::span<const Range> ranges, bool on) override;
    std::optional<uint64_t> memory_left() override { return fastsdt::engine::memory_left(view_); }

    void want_stops() override;
    std::vector<Outcome> patch(std::span<const Patch> patches, bool back) override;
    bool tries_again(unsigned times) override;
    void alone(const std::function<void()>& work) override;
    std::vector<std::byte> read_data(size_t offset, size_t size) override { return read_at(data_file_, offset, size); }

    bool change_data(size_t offset, uint64_t from, uint64_t to) override;
    void write_data(size_t offset, std::span<const std::byte> bytes) override;
    void forget_data(std::span<const Piece> contents) override;
    std::optional<Loader> loader() override;
    void hear_loader() override;
    void leave_loader() override { questions_.reset(); }
    int loader_descriptor() const override { return questions_ ? questions_->descriptor() : -1; }
    uint32_t take_question() override { return questions_ ? questions_->take() : 0; }
    bool answer_loader(uint32_t question) override { return !questions_ || questions_->answer(question); }
    bool holds_modules() override;
    bool held_all_modules() override { return questions_ && !questions_->is_passed(); }
    uint64_t executing_function(const std::vector<Mapping>& mappings) override { return find_execve(view_, mappings); }
    std::vector<Asker> executing() override { return questions_ ? questions_->executing() : std::vector<Asker>(); }
    void let_execute(pid_t thread) override;
    bool take_unanswered() override { return questions_ && questions_->take_unanswered(); }

private:
    int memory() { return view_.memory().get(); }

    void look_at_thread_pointers(const std::function<void()>& begin,
                                 const std::function<void(pid_t thread, std::optional<uint64_t> pointer)>& look);
    void refuse_filters(const std::vector<pid_t>& threads) const;
    static std::vector<Call> calls_for_data(size_t size, unsigned flags);
    static constexpr size_t data_calls = 4, code_calls = 3;
    static void add_calls_for_code(std::vector<Call>& to, const Range& place);
    static std::vector<Range> places_for(std::span<const WantedCode> wanted, std::vector<Mapping> mappings);
    Window or_unmap(const std::vector<Range>& mapped, const std::function<Window()>& work);
    Window data_at(uint64_t window, size_t size);
    Arena marked(const Range& place);

    // What the tables say that map_again() has mapped.
    std::vector<Range> mapped_again() { return mapped_again(data_); }
    std::vector<Range> mapped_again(uint64_t data);
    static bool is_mapped_again(const std::vector<Mapping>& mappings, const Range& range);
    void while_stopped(const std::function<void(Tracees&)>& work);
    Outcome patch_one(const Patch& p, bool back, const std::vector<uint64_t>& counters);
    void count_up(const Patch& p);
    void count_down(const Patch& p);
    void count_semaphore(uint64_t address, int by);
    void hold(Tracees& tracees);
    void write(uint64_t address, const void* bytes, size_t size);
    void refuse_other_memory();
    std::vector<int64_t> call(
        const std::vector<Call>& calls, const std::string& text = name_of_tables,
        const std::function<void(pid_t, size_t, int64_t)>& seen = [](pid_t, size_t, int64_t) {}, const Gate& gate = {});
    std::vector<int64_t> call_in_turn(std::span<const Call> calls);
    void need(int64_t result, const std::string& what) const;
    std::vector<int64_t> map(size_t least, size_t size, std::span<const Range> code = {});
    void resize(int file, size_t size) const;
    void take_over(pid_t thread, int64_t descriptor, size_t size);
    bool write_maker(std::span<const Range> arenas) const;

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

} // namespace fastsdt::engine
