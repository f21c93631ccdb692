// SPDX-License-Identifier: BSD-2-Clause
#include "counter.h"

#include "elf/image.h"
#include "proc/text.h"
#include "proc/threads.h"
#include "process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <sys/prctl.h>

namespace fastsdt {
namespace {

[[noreturn]] void cannot_attach(int error, pid_t pid)
{
    throw Unusable(error == ESRCH ? unreadable(pid, error) : Error::of_system(error, "cannot attach uprobes"));
}

} // namespace

Counter::Counter(std::vector<Target> targets, pid_t pid, Scope scope, Means best)
    : targets_(std::move(targets)), pid_(pid), scope_(scope), means_(best), errors_(targets_.size())
{
    // The kernel filters by the first thread's memory, which is gone if that thread has ended before the others.
    kernel_filters_ = scope == Scope::process && !first_thread_ended(pid);
    if (scope == Scope::everyone)
        means_ = Means::perf_events;
    if (means_ == Means::bpf_multi
        && (multi_support() == MultiSupport::none
            || (kernel_filters_ && multi_support() == MultiSupport::everyone_only)))
        means_ = Means::bpf_events;
    if (means_ != Means::perf_events)
        try {
            const Members members = scope == Scope::tree ? Members::tree
                : kernel_filters_                        ? Members::everyone
                                                         : Members::process;
            programs_ = std::make_unique<BpfPrograms>(targets_.size(), members, means_ == Means::bpf_multi);
            programs_->state().root = static_cast<uint32_t>(pid);
        } catch (const Unusable& error) {
            means_ = Means::perf_events;
            limitation_ = fmt::format("BPF cannot be used ({})", error.what());
        }
    if (means_ == Means::perf_events)
        scope_ = Scope::everyone;
    attach();
}

Counter::~Counter()
{
    stop();
}

void Counter::attach()
{
    if (targets_.empty())
        return;
    if (means_ == Means::perf_events)
        return attach_for_everyone();
    // One program for each run of targets of the same file and kind.
    for (size_t first = 0, last; first < targets_.size(); first = last) {
        for (last = first + 1; last < targets_.size() && targets_[last].path == targets_[first].path
             && targets_[last].on_return == targets_[first].on_return;)
            ++last;
        attach_run(first, last);
    }
}

void Counter::attach_run(size_t first, size_t last)
{
    const std::span<const Target> targets(targets_.data() + first, last - first);
    const int program = targets.front().on_return ? programs_->return_program() : programs_->entry_program();
    std::vector<uint64_t> cookies(targets.size());
    std::iota(cookies.begin(), cookies.end(), first);
    const pid_t only = kernel_filters_ ? pid_ : 0;
    const std::vector<int> errors = means_ == Means::bpf_multi
        ? link_each_uprobe(program, targets, only, cookies, links_)
        : link_each_event(program, targets, only, cookies, events_, links_);
    for (size_t i = 0; i < errors.size(); ++i) {
        if (concerns_all(errors[i]))
            cannot_attach(errors[i], pid_);
        errors_[first + i] = errors[i];
    }
}

void Counter::attach_for_everyone()
{
    allow_many_descriptors();
    events_per_target_ = static_cast<size_t>(sysconf(_SC_NPROCESSORS_CONF));
    for (size_t i = 0; i < targets_.size(); ++i)
        for (size_t cpu = 0; cpu < events_per_target_; ++cpu) {
            events_.push_back(open_uprobe_event(targets_[i], -1, static_cast<int>(cpu), true));
            if (events_.back() || errno == ENODEV) // a processor that is switched off
                continue;
            if (concerns_all(errno))
                cannot_attach(errno, pid_);
            errors_[i] = errno;
        }
}

void Counter::start()
{
    if (programs_)
        programs_->count(true);
    else
        prctl(PR_TASK_PERF_EVENTS_ENABLE); // all that this process has opened
}

void Counter::start_at_exec()
{
    if (programs_)
        __atomic_store_n(&programs_->state().starts_at_exec, 1, __ATOMIC_SEQ_CST);
    else
        start();
}

void Counter::stop()
{
    if (programs_) {
        __atomic_store_n(&programs_->state().starts_at_exec, 0, __ATOMIC_SEQ_CST);
        programs_->count(false);
    } else {
        prctl(PR_TASK_PERF_EVENTS_DISABLE);
    }
}

Counted Counter::counted(size_t target) const
{
    Counted result;
    result.error = errors_[target];
    if (programs_) {
        result.hits = programs_->hits(target);
        if (const auto seen = programs_->seen(target)) {
            for (unsigned char byte : seen->bytes)
                result.live.push_back(std::byte(byte));
            result.registers.assign(std::begin(seen->registers), std::end(seen->registers));
        }
        return result;
    }
    for (size_t i = 0; i < events_per_target_; ++i) {
        const Descriptor& event = events_[target * events_per_target_ + i];
        uint64_t count = 0;
        if (event && read(event.get(), &count, sizeof count) == sizeof count)
            result.hits += count;
    }
    return result;
}

void Counter::handle_notice()
{
    while (const auto notice = programs_->next_notice())
        if (*notice == Notice::leader_changed && kernel_filters_) {
            links_.clear();
            events_.clear();
            attach();
            attached_again_ = true;
        }
}

bool Counter::others_live() const
{
    return programs_ && __atomic_load_n(&programs_->state().live_tasks, __ATOMIC_SEQ_CST) > 0;
}

void Counter::root_ended()
{
    if (programs_)
        __atomic_store_n(&programs_->state().root, 0, __ATOMIC_SEQ_CST);
}

} // namespace fastsdt
