// SPDX-License-Identifier: BSD-2-Clause
//
//   test()       if (!state.running || !member()) goto no
//   at fork      if (member()) { tasks[child] = 1; ++state.live_tasks; }
//   at exit      if (tasks had this task) if (--state.live_tasks == 0) notice(tree_empty);
//   at exec      if (is_root()) { if (state.starts_at_exec) state.running = 1; if (another thread) notice(leader_changed); }
//
// A tree is a set of kernel task addresses, which need no layout of a kernel structure and mean the same in every pid
// namespace; the root process, and those that are listed, are known by their numbers.
#include "bpf_members.h"

#include "base/unusable.h"
#include "proc/processes.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#ifdef FASTSDT_HAVE_LIBBPF
#include <bpf/bpf.h>

namespace fastsdt {
namespace {

using A = BpfAssembler;

// r1 = map, r2 = what is at an offset of the stack
void look_up(A& a, int map, int at)
{
    a.map(A::r1, map);
    a.move(A::r2, A::r10);
    a.add(A::r2, at);
    a.call(BPF_FUNC_map_lookup_elem);
}

} // namespace

BpfMembers::BpfMembers(Members members) : members_(members)
{
    config_ = BpfMap(BPF_MAP_TYPE_ARRAY, "fastsdt_state", 4, sizeof(CounterState), 1, BPF_F_MMAPABLE);
    constexpr size_t most_tasks = 1 << 20; // allocated as they come
    const bool follows = members == Members::tree || members == Members::trees;
    if (follows)
        tasks_ = BpfMap(BPF_MAP_TYPE_HASH, "fastsdt_tasks", 8, 4, most_tasks, BPF_F_NO_PREALLOC);
    if (members == Members::listed || members == Members::trees)
        list_ = BpfMap(BPF_MAP_TYPE_HASH, "fastsdt_list", 4, 4, most_tasks, BPF_F_NO_PREALLOC);
    ring_ = BpfMap(BPF_MAP_TYPE_RINGBUF, "fastsdt_notices", 0, 0, 4096);
    // The kernel skips a program that runs already on the same CPU (its counter recursion_misses), and from 7.x on a
    // program can be preempted there. A task that forks or exits in between is missed. So two programs, at tracepoints
    // of different times, report each fork, and two each exit. The first that reports counts.
    if (follows) {
        attach_ended_task("sched_process_free");        // (task), by RCU after it was waited for
        attach_ended_task("sched_process_exit");        // (task)
        attach_new_task("task_newtask", 0, false);      // (child, clone flags)
        attach_new_task("sched_process_fork", 8, true); // (parent, child)
    }
    if (!list_) // of what is listed nobody waits for an exec
        attach_exec();
    queue_.emplace(ring_);
    void* const memory = mmap(nullptr, sizeof(CounterState), PROT_READ | PROT_WRITE, MAP_SHARED, config_.fd(), 0);
    if (memory == MAP_FAILED)
        throw Unusable(Error::of_system(errno, "BPF map"));
    state_ = static_cast<CounterState*>(memory);
}

BpfMembers::~BpfMembers()
{
    munmap(state_, sizeof(CounterState));
}

int BpfMembers::notices() const
{
    return queue_->descriptor();
}

std::optional<Notice> BpfMembers::next_notice()
{
    if (noticed_.empty())
        queue_->take([this](std::span<const std::byte> record) {
            Notice notice{};
            if (record.size() >= sizeof notice) {
                std::memcpy(&notice, record.data(), sizeof notice);
                noticed_.push_back(notice);
            }
        });
    if (noticed_.empty())
        return std::nullopt;
    const Notice notice = noticed_.front();
    noticed_.erase(noticed_.begin());
    return notice;
}

bool BpfMembers::write(pid_t pid, bool is_member) const
{
    const auto number = static_cast<uint32_t>(pid), one = 1u;
    return is_member ? list_.update(&number, &one) : list_.erase(&number);
}

void BpfMembers::test(A& a, A::Label no) const
{
    a.map_value(A::r1, config_.fd());
    a.load(BPF_W, A::r2, A::r1, offsetof(CounterState, running));
    a.jump_if(BPF_JEQ, A::r2, 0, no);
    test_member(a, no);
}

void own_number(BpfAssembler& a, BpfAssembler::Label not_here)
{
    if (const auto own = inner_pid_namespace("self")) {
        // struct bpf_pidns_info { pid, tgid }
        a.wide(A::r1, own->device);
        a.wide(A::r2, own->inode);
        a.move(A::r3, A::r10);
        a.add(A::r3, -32);
        a.move(A::r4, 8);
        a.call(BPF_FUNC_get_ns_current_pid_tgid);
        a.jump_if(BPF_JNE, A::r0, 0, not_here);
        a.load(BPF_W, A::r0, A::r10, -28);
    } else {
        a.call(BPF_FUNC_get_current_pid_tgid);
        a.shift_right(A::r0, 32);
    }
}

void BpfMembers::test_root(A& a, A::Label yes) const
{
    const auto no = a.label();
    own_number(a, no);
    a.map_value(A::r1, config_.fd());
    a.load(BPF_W, A::r2, A::r1, offsetof(CounterState, root));
    a.jump_if(BPF_JEQ, A::r0, A::r2, yes);
    a.bind(no);
}

// Goes to `no` unless the current task is one whose hits count.
void BpfMembers::test_member(A& a, A::Label no) const
{
    if (members_ == Members::everyone)
        return;
    const auto yes = a.label(), not_listed = a.label();
    if (list_) {
        own_number(a, not_listed);
        a.store(BPF_W, A::r10, -24, A::r0);
        look_up(a, list_.fd(), -24);
        a.jump_if(BPF_JNE, A::r0, 0, yes);
        a.bind(not_listed);
    } else {
        test_root(a, yes);
    }
    if (tasks_) {
        a.call(BPF_FUNC_get_current_task);
        a.store(BPF_DW, A::r10, -24, A::r0);
        look_up(a, tasks_.fd(), -24);
        a.jump_if(BPF_JNE, A::r0, 0, yes);
    }
    a.jump(no);
    a.bind(yes);
}

void BpfMembers::add_to_state(A& a, size_t field, int32_t value) const
{
    a.map_value(A::r1, config_.fd());
    a.move(A::r2, value);
    a.add_atomic(A::r1, static_cast<int>(field), A::r2);
}

void BpfMembers::send(A& a, Notice notice) const
{
    a.store(BPF_DW, A::r10, -8, static_cast<int32_t>(notice));
    a.map(A::r1, ring_.fd());
    a.move(A::r2, A::r10);
    a.add(A::r2, -8);
    a.move(A::r3, 8);
    a.move(A::r4, 0);
    a.call(BPF_FUNC_ringbuf_output);
}

void BpfMembers::attach(const char* tracepoint, A& code)
{
    attached_.push_back(attach_to_tracepoint(tracepoint, code));
}

// `child`: where the tracepoint has it. `last`: no other tracepoint comes after this one.
void BpfMembers::attach_new_task(const char* tracepoint, int child, bool last)
{
    A a; // the parent is the current task
    const auto out = a.label(), added = a.label();
    a.move(A::r6, A::r1);
    test_member(a, out);
    a.load(BPF_DW, A::r1, A::r6, child);
    a.store(BPF_DW, A::r10, -8, A::r1);
    a.store(BPF_W, A::r10, -16, 1);
    a.map(A::r1, tasks_.fd());
    a.move(A::r2, A::r10);
    a.add(A::r2, -8);
    a.move(A::r3, A::r10);
    a.add(A::r3, -16);
    a.move(A::r4, BPF_NOEXIST);
    a.call(BPF_FUNC_map_update_elem);
    a.jump_if(BPF_JEQ, A::r0, 0, added);
    a.add(A::r0, EEXIST);
    a.shift_left(A::r0, 32); // before 6.4 the kernel calls a function that returns an int, and only its 32 bits are set
    a.jump_if(BPF_JEQ, A::r0, 0, out);
    if (last)
        add_to_state(a, offsetof(CounterState, lost_tasks), 1);
    a.jump(out);
    a.bind(added);
    add_to_state(a, offsetof(CounterState, live_tasks), 1);
    a.bind(out);
    a.leave();
    attach(tracepoint, a);
}

void BpfMembers::attach_ended_task(const char* tracepoint)
{
    A a;
    const auto out = a.label();
    a.load(BPF_DW, A::r1, A::r1, 0);
    a.store(BPF_DW, A::r10, -8, A::r1);
    a.map(A::r1, tasks_.fd());
    a.move(A::r2, A::r10);
    a.add(A::r2, -8);
    a.call(BPF_FUNC_map_delete_elem);
    a.jump_if(BPF_JNE, A::r0, 0, out);
    add_to_state(a, offsetof(CounterState, live_tasks), -1);
    a.map_value(A::r1, config_.fd());
    a.load(BPF_DW, A::r2, A::r1, offsetof(CounterState, live_tasks));
    a.jump_if(BPF_JNE, A::r2, 0, out);
    send(a, Notice::tree_empty);
    a.bind(out);
    a.leave();
    attach(tracepoint, a);
}

void BpfMembers::attach_exec()
{
    A a; // sched_process_exec(task, old pid, binary): before the new program's first instruction
    const auto root = a.label(), running = a.label(), out = a.label();
    a.move(A::r6, A::r1);
    test_root(a, root);
    a.jump(out);
    a.bind(root);
    a.map_value(A::r1, config_.fd());
    a.load(BPF_W, A::r2, A::r1, offsetof(CounterState, starts_at_exec));
    a.jump_if(BPF_JEQ, A::r2, 0, running);
    a.store(BPF_W, A::r1, offsetof(CounterState, running), 1);
    a.bind(running);
    a.call(BPF_FUNC_get_current_pid_tgid);
    a.shift_left(A::r0, 32);
    a.load(BPF_DW, A::r1, A::r6, 8);
    a.shift_left(A::r1, 32);
    a.jump_if(BPF_JEQ, A::r0, A::r1, out);
    send(a, Notice::leader_changed);
    a.bind(out);
    a.leave();
    attach("sched_process_exec", a);
}

} // namespace fastsdt

#else // without libbpf: nothing is available

namespace fastsdt {

BpfMembers::BpfMembers(Members members) : members_(members)
{
    throw Unusable("fastsdt was built without libbpf");
}
BpfMembers::~BpfMembers() = default;
void own_number(BpfAssembler&, BpfAssembler::Label) {}
void BpfMembers::test(BpfAssembler&, BpfAssembler::Label) const {}
bool BpfMembers::write(pid_t, bool) const
{
    return false;
}
int BpfMembers::notices() const
{
    return -1;
}
std::optional<Notice> BpfMembers::next_notice()
{
    return std::nullopt;
}

} // namespace fastsdt
#endif
