// SPDX-License-Identifier: BSD-2-Clause
//
//   at a probe   if (state.running && member()) { ++counts[cookie]; now and then: seen[cookie] = bytes at ip; }
//
// Counts are per CPU and atomic: a program can be preempted by another task's on the same CPU.
#include "bpf_program.h"

#include "base/unusable.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <vector>

#ifdef FASTSDT_HAVE_LIBBPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#endif

namespace fastsdt {
namespace {

using A = BpfAssembler;

// Whether the kernel takes a program of these instructions. What it does not know is EINVAL to it; for all else nobody can tell.
bool takes(const std::function<void(A&)>& instructions)
{
    A a;
    instructions(a);
    a.leave();
    if (a.load_program({}, "fastsdt_ask"))
        return true;
    if (errno != EINVAL)
        throw Unusable(Error::of_system(errno, "BPF program"));
    return false;
}

bool has_rings()
{
    try {
        const BpfMap ring(BPF_MAP_TYPE_RINGBUF, "fastsdt_ask", 0, 0,
                          size_t(1) << 16); // a multiple of every page's size
        return true;
    } catch (const Unusable&) {
        if (errno != EINVAL)
            throw;
        return false;
    }
}

} // namespace

const BpfFeatures& bpf_features()
{
    static const BpfFeatures features{
        .rings = has_rings(),
        .cookies = takes([](A& a) { a.call(BPF_FUNC_get_attach_cookie); }),
        .exchanges = takes([](A& a) {
            a.store(BPF_DW, A::r10, -8, 0);
            a.move(A::r0, 0);
            a.move(A::r1, 0);
            a.atomic(A::compare_exchange_op, A::r10, -8, A::r1);
        }),
    };
    return features;
}

// Counts a hit, and now and then keeps the bytes and registers there.
Descriptor BpfPrograms::load_count(bool multi, bool on_return) const
{
    A a;
    const auto out = a.label();
    a.move(A::r6, A::r1);
    test(a, out);
    a.move(A::r1, A::r6);
    a.call(BPF_FUNC_get_attach_cookie);
    a.store(BPF_W, A::r10, -8, A::r0);
    const auto look_up = [&](const BpfMap& map) {
        a.map(A::r1, map.fd());
        a.move(A::r2, A::r10);
        a.add(A::r2, -8);
        a.call(BPF_FUNC_map_lookup_elem);
        a.jump_if(BPF_JEQ, A::r0, 0, out);
    };
    look_up(counts_);
    a.move(A::r1, 1);
    a.add_atomic(A::r0, 0, A::r1);
    if (!on_return && ip_offset >= 0) {
        // The first hits of a CPU, and one of 1024 after: an optimized site looks different from its second hit on.
        a.load(BPF_DW, A::r1, A::r0, 0);
        a.bit_and(A::r1, 1023);
        a.jump_if(BPF_JGT, A::r1, 8, out);
        look_up(seen_);
        a.move(A::r7, A::r0);
        a.move(A::r1, A::r0);
        a.move(A::r2, seen_size);
        a.load(BPF_DW, A::r3, A::r6, ip_offset);
        a.call(BPF_FUNC_probe_read_user);
        a.jump_if(BPF_JNE, A::r0, 0, out);
        a.move(A::r1, A::r7);
        a.add(A::r1, offsetof(SeenBytes, registers));
        a.move(A::r2, sizeof(SeenBytes::registers));
        a.move(A::r3, A::r6);
        a.call(BPF_FUNC_probe_read_kernel);
        a.move(A::r1, 1);
        a.store(BPF_DW, A::r7, offsetof(SeenBytes, valid), A::r1);
    }
    a.bind(out);
    a.leave();
    Descriptor program = a.load_program({.attach_type = multi ? bpf_trace_uprobe_multi : 0}, "fastsdt_count");
    if (const int error = errno; !program)
        throw Unusable(Error::of_system(
            error, bpf_features().cookies ? "BPF program" : "BPF cookies, which came with Linux 5.15"));
    return program;
}

BpfPrograms::BpfPrograms(size_t size, Members members, bool multi)
    : BpfMembers(members),
      counts_(BPF_MAP_TYPE_PERCPU_ARRAY, "fastsdt_counts", 4, sizeof(uint64_t), std::max<size_t>(size, 1)),
      seen_(BPF_MAP_TYPE_ARRAY, "fastsdt_seen", 4, sizeof(SeenBytes), std::max<size_t>(size, 1)),
      entry_(load_count(multi, false)), return_(load_count(multi, true))
{}

uint64_t BpfPrograms::hits(size_t target) const
{
    std::vector<uint64_t> by_cpu(counts_.copies());
    const auto key = static_cast<uint32_t>(target);
    if (!counts_.lookup(&key, by_cpu.data()))
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
    if (!seen_.lookup(&key, &value) || !value.valid)
        return std::nullopt;
    return value;
}

Descriptor load_empty_uprobe_program()
{
    A a;
    a.leave();
    return a.load_program({.attach_type = bpf_trace_uprobe_multi}, "fastsdt_empty");
}

#ifdef FASTSDT_HAVE_LIBBPF
Descriptor link_event(int program, int event, uint64_t cookie)
{
    if (!bpf_features().cookies) // the event has the program then, until it is closed
        return ioctl(event, PERF_EVENT_IOC_SET_BPF, program) < 0 ? Descriptor()
                                                                 : Descriptor(fcntl(event, F_DUPFD_CLOEXEC, 0));
    bpf_link_create_opts options{};
    options.sz = sizeof options;
    options.perf_event.bpf_cookie = cookie;
    const int fd = bpf_link_create(program, event, BPF_PERF_EVENT, &options);
    return Descriptor(fd < 0 ? -1 : fd);
}
#else
Descriptor link_event(int, int, uint64_t)
{
    errno = ENOSYS;
    return {};
}
#endif

} // namespace fastsdt
