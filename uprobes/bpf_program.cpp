// SPDX-License-Identifier: BSD-2-Clause
//
//   at a probe   if (state.running && member()) { ++counts[cookie]; now and then: seen[cookie] = bytes at ip; }
//   at fork      if (member()) { tasks[child] = 1; ++state.live_tasks; }
//   at exit      if (tasks had this task) if (--state.live_tasks == 0) notice(tree_empty);
//   at exec      if (is_root()) { if (state.starts_at_exec) state.running = 1; if (another thread) notice(leader_changed); }
//
// The tree is a set of kernel task addresses, which need no layout of a kernel structure and mean the same in every pid
// namespace; the root process is known by its number. Counts are per CPU and atomic: a program can be preempted by
// another task's on the same CPU.
#include "bpf_program.h"

#include "base/unusable.h"

#ifdef FASTSDT_HAVE_LIBBPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <vector>

namespace fastsdt {
namespace {

// Offset of the instruction pointer in what a uprobe program gets, struct pt_regs of the architecture.
#if defined(__x86_64__)
constexpr int16_t ip_offset = 128;
#elif defined(__aarch64__)
constexpr int16_t ip_offset = 256; // struct user_pt_regs: 31 registers, sp, pc
#else
constexpr int16_t ip_offset = -1; // nothing is read
#endif

constexpr ino_t initial_pid_namespace = 0xEFFFFFFC; // PROC_PID_INIT_INO, include/linux/proc_ns.h

/// libbpf's options, all 0 but the size that tells libbpf's version. LIBBPF_OPTS() warns with clang in C++.
template <class Options> Options sized()
{
    Options options{};
    options.sz = sizeof options;
    return options;
}

enum Register : uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10 };

class Assembler {
public:
    void move(Register to, Register from) { emit(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
    void move(Register to, int32_t value) { emit(BPF_ALU64 | BPF_MOV | BPF_K, to, r0, 0, value); }
    void add(Register to, int32_t value) { emit(BPF_ALU64 | BPF_ADD | BPF_K, to, r0, 0, value); }
    void bit_and(Register to, int32_t value) { emit(BPF_ALU64 | BPF_AND | BPF_K, to, r0, 0, value); }
    void shift_right(Register to, int32_t bits) { emit(BPF_ALU64 | BPF_RSH | BPF_K, to, r0, 0, bits); }
    void shift_left(Register to, int32_t bits) { emit(BPF_ALU64 | BPF_LSH | BPF_K, to, r0, 0, bits); }
    void load(int size, Register to, Register from, int16_t offset)
    {
        emit(BPF_LDX | size | BPF_MEM, to, from, offset, 0);
    }
    void store(int size, Register to, int16_t offset, Register from)
    {
        emit(BPF_STX | size | BPF_MEM, to, from, offset, 0);
    }
    void store(int size, Register to, int16_t offset, int32_t value)
    {
        emit(BPF_ST | size | BPF_MEM, to, r0, offset, value);
    }
    void add_atomic(Register to, int16_t offset, Register from)
    {
        emit(BPF_STX | BPF_DW | 0xc0 /* BPF_ATOMIC */, to, from, offset, BPF_ADD);
    }
    void wide(Register to, uint64_t value)
    {
        load_wide(to, 0, static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32));
    }
    void map(Register to, int fd) { load_wide(to, BPF_PSEUDO_MAP_FD, static_cast<uint32_t>(fd), 0); }
    void map_value(Register to, int fd) { load_wide(to, BPF_PSEUDO_MAP_VALUE, static_cast<uint32_t>(fd), 0); }
    void call(bpf_func_id function) { emit(BPF_JMP | BPF_CALL, r0, r0, 0, function); }
    void jump(const char* label) { jump_if(BPF_JA, r0, 0, label); }
    void jump_if(int condition, Register left, int32_t right, const char* label)
    {
        jumps_.emplace_back(code_.size(), label);
        emit(static_cast<uint8_t>(BPF_JMP | condition | BPF_K), left, r0, 0, right);
    }
    void jump_if(int condition, Register left, Register right, const char* label)
    {
        jumps_.emplace_back(code_.size(), label);
        emit(static_cast<uint8_t>(BPF_JMP | condition | BPF_X), left, right, 0, 0);
    }
    void label(const char* name) { labels_[name] = code_.size(); }
    void leave()
    {
        move(r0, 0);
        emit(BPF_JMP | BPF_EXIT, r0, r0, 0, 0);
    }

    Descriptor assemble(bpf_prog_type type, const char* name, uint32_t attach_type)
    {
        for (const auto& [at, label] : jumps_)
            code_[at].off = static_cast<int16_t>(labels_.at(label) - at - 1);
        auto options = sized<bpf_prog_load_opts>();
        options.expected_attach_type = static_cast<bpf_attach_type>(attach_type);
        return Descriptor(bpf_prog_load(type, name, "Dual BSD/GPL", code_.data(), code_.size(), &options));
    }

private:
    void emit(int opcode, Register to, Register from, int16_t offset, int32_t immediate)
    {
        code_.push_back({static_cast<uint8_t>(opcode), static_cast<uint8_t>(to & 15), static_cast<uint8_t>(from & 15),
                         offset, immediate});
    }
    void load_wide(Register to, int kind, uint32_t low, uint32_t high)
    {
        emit(BPF_LD | BPF_DW | BPF_IMM, to, Register(kind), 0, static_cast<int32_t>(low));
        emit(0, r0, r0, 0, static_cast<int32_t>(high));
    }

    std::vector<bpf_insn> code_;
    std::vector<std::pair<size_t, std::string>> jumps_;
    std::map<std::string, size_t> labels_;
};

// Goes to `yes` if the current task belongs to the root process. Changes r0 to r5, uses the stack at -32.
void test_root(Assembler& a, int config, const char* yes)
{
    struct stat own{};
    if (stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != initial_pid_namespace) {
        // struct bpf_pidns_info { pid, tgid }
        a.wide(r1, own.st_dev);
        a.wide(r2, own.st_ino);
        a.move(r3, r10);
        a.add(r3, -32);
        a.move(r4, 8);
        a.call(BPF_FUNC_get_ns_current_pid_tgid);
        a.jump_if(BPF_JNE, r0, 0, "not the root");
        a.load(BPF_W, r0, r10, -28);
    } else {
        a.call(BPF_FUNC_get_current_pid_tgid);
        a.shift_right(r0, 32);
    }
    a.map_value(r1, config);
    a.load(BPF_W, r2, r1, offsetof(CounterState, root));
    a.jump_if(BPF_JEQ, r0, r2, yes);
    a.label("not the root");
}

// Goes to `no` unless the current task is one whose hits count.
void test_member(Assembler& a, Members members, int config, int tasks, const char* no)
{
    if (members == Members::everyone)
        return;
    test_root(a, config, "member");
    if (members == Members::tree) {
        a.call(BPF_FUNC_get_current_task);
        a.store(BPF_DW, r10, -24, r0);
        a.map(r1, tasks);
        a.move(r2, r10);
        a.add(r2, -24);
        a.call(BPF_FUNC_map_lookup_elem);
        a.jump_if(BPF_JNE, r0, 0, "member");
    }
    a.jump(no);
    a.label("member");
}

void add_to_state(Assembler& a, int config, int16_t field, int32_t value)
{
    a.map_value(r1, config);
    a.move(r2, value);
    a.add_atomic(r1, field, r2);
}

void send(Assembler& a, int ring, Notice notice)
{
    a.store(BPF_DW, r10, -8, static_cast<int32_t>(notice));
    a.map(r1, ring);
    a.move(r2, r10);
    a.add(r2, -8);
    a.move(r3, 8);
    a.move(r4, 0);
    a.call(BPF_FUNC_ringbuf_output);
}

Descriptor checked(int fd, const char* what)
{
    if (fd < 0)
        throw Unusable(Error::of_system(-fd, what));
    return Descriptor(fd);
}

Descriptor checked(Descriptor fd, const char* what)
{
    if (!fd)
        throw Unusable(Error::of_system(errno, what));
    return fd;
}

Descriptor create_map(bpf_map_type type, const char* name, size_t key, size_t value, size_t entries, uint32_t flags = 0)
{
    auto options = sized<bpf_map_create_opts>();
    options.map_flags = flags;
    return checked(bpf_map_create(type, name, static_cast<uint32_t>(key), static_cast<uint32_t>(value),
                                  static_cast<uint32_t>(entries), &options),
                   "BPF map");
}

/// The maps, by their descriptors; -1: there is none.
struct Maps {
    int config, counts, seen, tasks, ring;
};

// Counts a hit, and now and then keeps the bytes and registers there.
Descriptor load_count(const Maps& maps, Members members, bool multi, bool on_return)
{
    Assembler a;
    a.move(r6, r1);
    a.map_value(r1, maps.config);
    a.load(BPF_W, r2, r1, offsetof(CounterState, running));
    a.jump_if(BPF_JEQ, r2, 0, "out");
    test_member(a, members, maps.config, maps.tasks, "out");
    a.move(r1, r6);
    a.call(BPF_FUNC_get_attach_cookie);
    a.store(BPF_W, r10, -8, r0);
    a.map(r1, maps.counts);
    a.move(r2, r10);
    a.add(r2, -8);
    a.call(BPF_FUNC_map_lookup_elem);
    a.jump_if(BPF_JEQ, r0, 0, "out");
    a.move(r1, 1);
    a.add_atomic(r0, 0, r1);
    if (!on_return && ip_offset >= 0) {
        // The first hits of a CPU, and one of 1024 after: an optimized site looks different from its second hit on.
        a.load(BPF_DW, r1, r0, 0);
        a.bit_and(r1, 1023);
        a.jump_if(BPF_JGT, r1, 8, "out");
        a.map(r1, maps.seen);
        a.move(r2, r10);
        a.add(r2, -8);
        a.call(BPF_FUNC_map_lookup_elem);
        a.jump_if(BPF_JEQ, r0, 0, "out");
        a.move(r7, r0);
        a.move(r1, r0);
        a.move(r2, seen_size);
        a.load(BPF_DW, r3, r6, ip_offset);
        a.call(BPF_FUNC_probe_read_user);
        a.jump_if(BPF_JNE, r0, 0, "out");
        a.move(r1, r7);
        a.add(r1, offsetof(SeenBytes, registers));
        a.move(r2, sizeof(SeenBytes::registers));
        a.move(r3, r6);
        a.call(BPF_FUNC_probe_read_kernel);
        a.move(r1, 1);
        a.store(BPF_DW, r7, offsetof(SeenBytes, valid), r1);
    }
    a.label("out");
    a.leave();
    Descriptor program = a.assemble(BPF_PROG_TYPE_KPROBE, "fastsdt_count", multi ? bpf_trace_uprobe_multi : 0);
    if (const int error = errno; !program) {
        const bool old = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, nullptr) == 0;
        throw Unusable(Error::of_system(error, old ? "BPF cookies, which came with Linux 5.15" : "BPF program"));
    }
    return program;
}

Descriptor attach_to_kernel(const char* tracepoint, Assembler& a)
{
    const Descriptor program = checked(a.assemble(BPF_PROG_TYPE_RAW_TRACEPOINT, tracepoint, 0), tracepoint);
    return checked(bpf_raw_tracepoint_open(tracepoint, program.get()), tracepoint);
}

// `child`: where the tracepoint has it. `last`: no other tracepoint comes after this one.
Descriptor attach_new_task(const Maps& maps, Members members, const char* tracepoint, int16_t child, bool last)
{
    Assembler a; // the parent is the current task
    a.move(r6, r1);
    test_member(a, members, maps.config, maps.tasks, "out");
    a.load(BPF_DW, r1, r6, child);
    a.store(BPF_DW, r10, -8, r1);
    a.store(BPF_W, r10, -16, 1);
    a.map(r1, maps.tasks);
    a.move(r2, r10);
    a.add(r2, -8);
    a.move(r3, r10);
    a.add(r3, -16);
    a.move(r4, BPF_NOEXIST);
    a.call(BPF_FUNC_map_update_elem);
    a.jump_if(BPF_JEQ, r0, 0, "added");
    a.add(r0, EEXIST);
    a.shift_left(r0, 32); // before 6.4 the kernel calls a function that returns an int, and only its 32 bits are set
    a.jump_if(BPF_JEQ, r0, 0, "out");
    if (last)
        add_to_state(a, maps.config, offsetof(CounterState, lost_tasks), 1);
    a.jump("out");
    a.label("added");
    add_to_state(a, maps.config, offsetof(CounterState, live_tasks), 1);
    a.label("out");
    a.leave();
    return attach_to_kernel(tracepoint, a);
}

Descriptor attach_ended_task(const Maps& maps, const char* tracepoint)
{
    Assembler a;
    a.load(BPF_DW, r1, r1, 0);
    a.store(BPF_DW, r10, -8, r1);
    a.map(r1, maps.tasks);
    a.move(r2, r10);
    a.add(r2, -8);
    a.call(BPF_FUNC_map_delete_elem);
    a.jump_if(BPF_JNE, r0, 0, "out");
    add_to_state(a, maps.config, offsetof(CounterState, live_tasks), -1);
    a.map_value(r1, maps.config);
    a.load(BPF_DW, r2, r1, offsetof(CounterState, live_tasks));
    a.jump_if(BPF_JNE, r2, 0, "out");
    send(a, maps.ring, Notice::tree_empty);
    a.label("out");
    a.leave();
    return attach_to_kernel(tracepoint, a);
}

Descriptor attach_exec(const Maps& maps)
{
    Assembler a; // sched_process_exec(task, old pid, binary): before the new program's first instruction
    a.move(r6, r1);
    test_root(a, maps.config, "root");
    a.jump("out");
    a.label("root");
    a.map_value(r1, maps.config);
    a.load(BPF_W, r2, r1, offsetof(CounterState, starts_at_exec));
    a.jump_if(BPF_JEQ, r2, 0, "running");
    a.store(BPF_W, r1, offsetof(CounterState, running), 1);
    a.label("running");
    a.call(BPF_FUNC_get_current_pid_tgid);
    a.shift_left(r0, 32);
    a.load(BPF_DW, r1, r6, 8);
    a.shift_left(r1, 32);
    a.jump_if(BPF_JEQ, r0, r1, "out");
    send(a, maps.ring, Notice::leader_changed);
    a.label("out");
    a.leave();
    return attach_to_kernel("sched_process_exec", a);
}

} // namespace

struct BpfPrograms::Ring {
    ring_buffer* buffer = nullptr;
    std::vector<Notice> notices;
};

BpfPrograms::BpfPrograms(size_t size, Members members, bool multi)
{
    libbpf_set_print(nullptr); // errno has the error
    // Without /sys nobody says how many processors there may be. The kernel copies so many numbers and no more.
    constexpr int most_processors = 8192; // NR_CPUS at its largest, with CONFIG_MAXSMP
    const int processors = libbpf_num_possible_cpus();
    cpus_ = static_cast<size_t>(processors > 0 ? processors : most_processors);
    config_ = create_map(BPF_MAP_TYPE_ARRAY, "fastsdt_state", 4, sizeof(CounterState), 1, BPF_F_MMAPABLE);
    counts_ = create_map(BPF_MAP_TYPE_PERCPU_ARRAY, "fastsdt_counts", 4, sizeof(uint64_t), std::max<size_t>(size, 1));
    seen_ = create_map(BPF_MAP_TYPE_ARRAY, "fastsdt_seen", 4, sizeof(SeenBytes), std::max<size_t>(size, 1));
    constexpr size_t most_tasks = 1 << 20; // allocated as they come
    if (members == Members::tree)
        tasks_ = create_map(BPF_MAP_TYPE_HASH, "fastsdt_tasks", 8, 4, most_tasks, BPF_F_NO_PREALLOC);
    ring_ = create_map(BPF_MAP_TYPE_RINGBUF, "fastsdt_notices", 0, 0, 4096);

    const Maps maps{config_.get(), counts_.get(), seen_.get(), tasks_.get(), ring_.get()};
    entry_ = load_count(maps, members, multi, false);
    return_ = load_count(maps, members, multi, true);
    // The kernel skips a program that runs already on the same CPU (its counter recursion_misses), and from 7.x on a
    // program can be preempted there. A task that forks or exits in between is missed. So two programs, at tracepoints
    // of different times, report each fork, and two each exit. The first that reports counts.
    if (members == Members::tree) {
        follow_.push_back(attach_ended_task(maps, "sched_process_free")); // (task), by RCU after it was waited for
        follow_.push_back(attach_ended_task(maps, "sched_process_exit")); // (task)
        follow_.push_back(attach_new_task(maps, members, "task_newtask", 0, false));      // (child, clone flags)
        follow_.push_back(attach_new_task(maps, members, "sched_process_fork", 8, true)); // (parent, child)
    }
    on_exec_ = attach_exec(maps);
    open_queue();
}

void BpfPrograms::open_queue()
{
    queue_ = new Ring;
    queue_->buffer = ring_buffer__new(
        ring_.get(),
        [](void* context, void* data, size_t length) {
            if (length >= sizeof(Notice))
                static_cast<Ring*>(context)->notices.push_back(*static_cast<const Notice*>(data));
            return 0;
        },
        queue_, nullptr);
    void* const memory = mmap(nullptr, sizeof(CounterState), PROT_READ | PROT_WRITE, MAP_SHARED, config_.get(), 0);
    if (!queue_->buffer || memory == MAP_FAILED) {
        const int error = errno;
        ring_buffer__free(queue_->buffer);
        delete queue_;
        throw Unusable(Error::of_system(error, "BPF map"));
    }
    state_ = static_cast<CounterState*>(memory);
}

BpfPrograms::~BpfPrograms()
{
    munmap(state_, sizeof(CounterState));
    ring_buffer__free(queue_->buffer);
    delete queue_;
}

uint64_t BpfPrograms::hits(size_t target) const
{
    std::vector<uint64_t> by_cpu(cpus_);
    const auto key = static_cast<uint32_t>(target);
    if (bpf_map_lookup_elem(counts_.get(), &key, by_cpu.data()) != 0)
        return 0;
    uint64_t sum = 0;
    for (uint64_t count : by_cpu)
        sum += count;
    return sum;
}

std::optional<SeenBytes> BpfPrograms::seen(size_t target) const
{
    SeenBytes value{};
    const auto key = static_cast<uint32_t>(target);
    if (bpf_map_lookup_elem(seen_.get(), &key, &value) != 0 || !value.valid)
        return std::nullopt;
    return value;
}

int BpfPrograms::notices() const
{
    return ring_buffer__epoll_fd(queue_->buffer);
}

std::optional<Notice> BpfPrograms::next_notice()
{
    if (queue_->notices.empty())
        ring_buffer__consume(queue_->buffer);
    if (queue_->notices.empty())
        return std::nullopt;
    const Notice notice = queue_->notices.front();
    queue_->notices.erase(queue_->notices.begin());
    return notice;
}

Descriptor load_empty_uprobe_program()
{
    libbpf_set_print(nullptr);
    Assembler a;
    a.leave();
    return a.assemble(BPF_PROG_TYPE_KPROBE, "fastsdt_empty", bpf_trace_uprobe_multi);
}

Descriptor link_event(int program, int event, uint64_t cookie)
{
    auto options = sized<bpf_link_create_opts>();
    options.perf_event.bpf_cookie = cookie;
    return Descriptor(bpf_link_create(program, event, BPF_PERF_EVENT, &options));
}

} // namespace fastsdt

#else // without libbpf: nothing is available

#include <cerrno>

namespace fastsdt {

struct BpfPrograms::Ring {};
BpfPrograms::BpfPrograms(size_t, Members, bool)
{
    throw Unusable("fastsdt was built without libbpf");
}
BpfPrograms::~BpfPrograms() = default;
uint64_t BpfPrograms::hits(size_t) const
{
    return 0;
}
std::optional<SeenBytes> BpfPrograms::seen(size_t) const
{
    return std::nullopt;
}
int BpfPrograms::notices() const
{
    return -1;
}
std::optional<Notice> BpfPrograms::next_notice()
{
    return std::nullopt;
}
Descriptor load_empty_uprobe_program()
{
    return {};
}
Descriptor link_event(int, int, uint64_t)
{
    return {};
}

} // namespace fastsdt
#endif
