// SPDX-License-Identifier: BSD-2-Clause
#include "uprobe.h"

#include "bpf_program.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fastsdt {
namespace {

constexpr int enotsupp = 524; // ENOTSUPP, include/linux/errno.h of the kernel
// kernel/events/core.c: PERF_PROBE_CONFIG_IS_RETPROBE, PERF_UPROBE_REF_CTR_OFFSET_SHIFT
constexpr uint64_t config_is_retprobe = 1;
constexpr unsigned config_semaphore_shift = 32;

// The number of the `uprobe` event source, or -1.
int uprobe_type()
{
    static const int type = [] {
        std::ifstream in("/sys/bus/event_source/devices/uprobe/type");
        int number = -1;
        return in >> number ? number : -1;
    }();
    return type;
}

// include/uapi/linux/bpf.h of Linux 6.6, which Debian 12's headers (6.1) are older than.
constexpr int bpf_link_create_command = 28; // BPF_LINK_CREATE
constexpr uint32_t uprobe_multi_return = 1; // BPF_F_UPROBE_MULTI_RETURN

// union bpf_attr, struct link_create with its member uprobe_multi.
struct LinkCreateAttr {
    uint32_t program = 0, target = 0, attach_type = bpf_trace_uprobe_multi, flags = 0;
    uint64_t path = 0, offsets = 0, semaphore_offsets = 0, cookies = 0;
    uint32_t count = 0, multi_flags = 0, pid = 0, pad = 0;
};

Descriptor link_create(LinkCreateAttr& attr)
{
    return Descriptor(static_cast<int>(syscall(SYS_bpf, bpf_link_create_command, &attr, sizeof attr)));
}

} // namespace

std::string errno_name(int error)
{
    if (error == enotsupp)
        return "ENOTSUPP";
    if (error == 0)
        return "0";
    const char* name = strerrorname_np(error);
    return name ? name : std::to_string(error);
}

std::string cannot_attach()
{
    if (multi_support() == MultiSupport::full)
        return {};
    if (uprobe_type() < 0)
        return "this kernel has no uprobes (there is no /sys/bus/event_source/devices/uprobe/type: "
               "CONFIG_UPROBE_EVENTS is off, or /sys is not mounted)";
    // A probe on a file that does not exist: permission is checked first.
    const Descriptor event = open_uprobe_event({"/proc/self/fastsdt", 0, 0, false}, 0, -1, true);
    const int error = errno;
    if (event)
        return {};
    if (error == EACCES || error == EPERM)
        return fmt::format("not allowed to attach uprobes ({}): run as root, or give the program CAP_BPF and "
                           "CAP_PERFMON (Linux 6.10 and later) or CAP_SYS_ADMIN; CAP_PERFMON alone does not suffice",
                           std::strerror(error));
    if (error == ENOSYS)
        return "this kernel, or a seccomp filter around this process, has no perf_event_open";
    return {};
}

void allow_many_descriptors()
{
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

Descriptor open_uprobe_event(const Target& target, pid_t pid, int cpu, bool disabled)
{
    if (target.semaphore_offset >> (64 - config_semaphore_shift)) {
        errno = EOVERFLOW;
        return {};
    }
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = static_cast<uint32_t>(uprobe_type());
    attr.config = (target.on_return ? config_is_retprobe : 0) | target.semaphore_offset << config_semaphore_shift;
    attr.config1 = reinterpret_cast<uintptr_t>(target.path.c_str());
    attr.config2 = target.file_offset;
    attr.disabled = disabled;
    return Descriptor(static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

Descriptor link_uprobes(int program, std::span<const Target> targets, pid_t pid, std::span<const uint64_t> cookies)
{
    std::vector<uint64_t> offsets, semaphores;
    bool any_semaphore = false;
    for (const Target& target : targets) {
        offsets.push_back(target.file_offset);
        semaphores.push_back(target.semaphore_offset);
        any_semaphore |= target.semaphore_offset != 0;
    }
    LinkCreateAttr attr;
    attr.program = static_cast<uint32_t>(program);
    attr.path = reinterpret_cast<uintptr_t>(targets.front().path.c_str());
    attr.offsets = reinterpret_cast<uintptr_t>(offsets.data());
    attr.semaphore_offsets = any_semaphore ? reinterpret_cast<uintptr_t>(semaphores.data()) : 0;
    attr.cookies = reinterpret_cast<uintptr_t>(cookies.data());
    attr.count = static_cast<uint32_t>(targets.size());
    attr.multi_flags = targets.front().on_return ? uprobe_multi_return : 0;
    attr.pid = static_cast<uint32_t>(pid);
    return link_create(attr);
}

bool concerns_all(int error)
{
    return error == EPERM || error == EACCES || error == ESRCH || error == ENOMEM || error == EMFILE || error == ENFILE;
}

std::vector<int> link_each_uprobe(int program, std::span<const Target> targets, pid_t pid,
                                  std::span<const uint64_t> cookies, std::vector<Descriptor>& links)
{
    if (Descriptor link = link_uprobes(program, targets, pid, cookies)) {
        links.push_back(std::move(link));
        return std::vector<int>(targets.size());
    }
    const int error = errno;
    if (targets.size() == 1 || concerns_all(error))
        return std::vector<int>(targets.size(), error);
    const size_t middle = targets.size() / 2;
    std::vector<int> errors = link_each_uprobe(program, targets.first(middle), pid, cookies.first(middle), links);
    const std::vector<int> others =
        link_each_uprobe(program, targets.subspan(middle), pid, cookies.subspan(middle), links);
    errors.insert(errors.end(), others.begin(), others.end());
    return errors;
}

std::vector<int> link_each_event(int program, std::span<const Target> targets, pid_t pid,
                                 std::span<const uint64_t> cookies, std::vector<Descriptor>& events,
                                 std::vector<Descriptor>& links)
{
    allow_many_descriptors();
    std::vector<int> errors;
    while (errors.size() < targets.size()) {
        const Target& target = targets[errors.size()];
        Descriptor event = pid ? open_uprobe_event(target, pid, -1, false) : open_uprobe_event(target, -1, 0, false);
        Descriptor link = event ? link_event(program, event.get(), cookies[errors.size()]) : Descriptor();
        errors.push_back(link ? 0 : errno);
        if (concerns_all(errors.back())) {
            errors.resize(targets.size(), errors.back());
            break;
        }
        if (!link)
            continue;
        events.push_back(std::move(event));
        links.push_back(std::move(link));
    }
    return errors;
}

MultiSupport multi_support()
{
    static const MultiSupport support = [] {
        const Descriptor program = load_empty_uprobe_program();
        if (!program)
            return MultiSupport::none;
        // The root directory is no regular file: EBADF. A pid of -1 is refused before that (EINVAL) by the kernels
        // that filter by process, as libbpf 1.5 finds out too (probe_uprobe_multi_link()).
        const char* const path = "/";
        const uint64_t offset = 0;
        LinkCreateAttr attr;
        attr.program = static_cast<uint32_t>(program.get());
        attr.path = reinterpret_cast<uintptr_t>(path);
        attr.offsets = reinterpret_cast<uintptr_t>(&offset);
        attr.count = 1;
        if (link_create(attr) || errno != EBADF)
            return MultiSupport::none;
        attr.pid = ~0u;
        return !link_create(attr) && errno == EINVAL ? MultiSupport::full : MultiSupport::everyone_only;
    }();
    return support;
}

} // namespace fastsdt
