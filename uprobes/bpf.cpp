// SPDX-License-Identifier: BSD-2-Clause
#include "bpf.h"

#include "base/unusable.h"

#include <cerrno>

#ifdef FASTSDT_HAVE_LIBBPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

namespace fastsdt {
namespace {

/// libbpf's options, all 0 but the size that tells libbpf's version. LIBBPF_OPTS() warns with clang in C++.
template <class Options> Options sized()
{
    Options options{};
    options.sz = sizeof options;
    return options;
}

} // namespace

Descriptor BpfAssembler::load_program(Kind kind, const char* name, std::string* log)
{
    libbpf_set_print(nullptr); // errno has the error
    for (const auto& [at, label] : jumps_)
        code_[at].off = static_cast<int16_t>(labels_.at(label) - at - 1);
    auto options = sized<bpf_prog_load_opts>();
    options.expected_attach_type = static_cast<bpf_attach_type>(kind.attach_type);
    if (kind.sleepable)
        options.prog_flags = BPF_F_SLEEPABLE;
    const auto load = [&] {
        return bpf_prog_load(kind.type, name, "Dual BSD/GPL", code_.data(), code_.size(), &options);
    };
    int fd = load();
    const int error = errno;
    if (fd < 0 && log) {
        log->resize(size_t(1) << 20);
        options.log_buf = log->data();
        options.log_size = static_cast<uint32_t>(log->size());
        options.log_level = 1;
        fd = load();
        log->resize(log->find('\0') == log->npos ? log->size() : log->find('\0'));
    }
    errno = error;
    return Descriptor(fd < 0 ? -1 : fd);
}

Descriptor attach_to_tracepoint(const char* tracepoint, BpfAssembler& code)
{
    const auto checked = [&](Descriptor fd) {
        if (!fd)
            throw Unusable(Error::of_system(errno, tracepoint));
        return fd;
    };
    const Descriptor program = checked(code.load_program({.type = BPF_PROG_TYPE_RAW_TRACEPOINT}, tracepoint));
    const int fd = bpf_raw_tracepoint_open(tracepoint, program.get());
    return checked(Descriptor(fd < 0 ? -1 : fd));
}

size_t possible_processors()
{
    // Without /sys nobody says how many processors there may be. The kernel copies so many numbers and no more.
    constexpr int most_processors = 8192; // NR_CPUS at its largest, with CONFIG_MAXSMP
    const int processors = libbpf_num_possible_cpus();
    return static_cast<size_t>(processors > 0 ? processors : most_processors);
}

BpfMap::BpfMap(bpf_map_type type, const char* name, size_t key, size_t value, size_t entries, uint32_t flags,
               const BpfMap* inner)
    : key_(key), value_(value)
{
    libbpf_set_print(nullptr);
    auto options = sized<bpf_map_create_opts>();
    options.map_flags = flags;
    if (inner)
        options.inner_map_fd = static_cast<uint32_t>(inner->fd());
    const int fd = bpf_map_create(type, name, static_cast<uint32_t>(key), static_cast<uint32_t>(value),
                                  static_cast<uint32_t>(entries), &options);
    if (fd < 0)
        throw Unusable(Error::of_system(-fd, "BPF map"));
    fd_ = Descriptor(fd);
    if (type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY)
        copies_ = possible_processors();
}

bool BpfMap::lookup(const void* key, void* value) const
{
    return bpf_map_lookup_elem(fd(), key, value) == 0;
}

bool BpfMap::update(const void* key, const void* value, uint64_t flags) const
{
    return bpf_map_update_elem(fd(), key, value, flags) == 0;
}

bool BpfMap::erase(const void* key) const
{
    return bpf_map_delete_elem(fd(), key) == 0;
}

bool BpfMap::next(const void* key, void* next) const
{
    return bpf_map_get_next_key(fd(), key, next) == 0;
}

struct BpfRing::Buffer {
    ring_buffer* buffer = nullptr;
    const std::function<void(std::span<const std::byte>)>* record = nullptr;
};

BpfRing::BpfRing(const BpfMap& map) : buffer_(std::make_unique<Buffer>())
{
    buffer_->buffer = ring_buffer__new(
        map.fd(),
        [](void* context, void* data, size_t length) {
            (*static_cast<Buffer*>(context)->record)({static_cast<const std::byte*>(data), length});
            return 0;
        },
        buffer_.get(), nullptr);
    if (!buffer_->buffer)
        throw Unusable(Error::of_system(errno, "BPF map"));
}

BpfRing::~BpfRing()
{
    ring_buffer__free(buffer_->buffer);
}

int BpfRing::descriptor() const
{
    return ring_buffer__epoll_fd(buffer_->buffer);
}

void BpfRing::take(const std::function<void(std::span<const std::byte>)>& record)
{
    buffer_->record = &record;
    ring_buffer__consume(buffer_->buffer);
}

} // namespace fastsdt

#else // without libbpf: nothing is available

namespace fastsdt {

Descriptor BpfAssembler::load_program(Kind, const char*, std::string*)
{
    errno = ENOSYS;
    return {};
}
Descriptor attach_to_tracepoint(const char*, BpfAssembler&)
{
    throw Unusable("fastsdt was built without libbpf");
}
size_t possible_processors()
{
    return 1;
}
BpfMap::BpfMap(bpf_map_type, const char*, size_t, size_t, size_t, uint32_t, const BpfMap*)
{
    throw Unusable("fastsdt was built without libbpf");
}
bool BpfMap::lookup(const void*, void*) const
{
    return false;
}
bool BpfMap::update(const void*, const void*, uint64_t) const
{
    return false;
}
bool BpfMap::erase(const void*) const
{
    return false;
}
bool BpfMap::next(const void*, void*) const
{
    return false;
}

struct BpfRing::Buffer {};
BpfRing::BpfRing(const BpfMap&)
{
    throw Unusable("fastsdt was built without libbpf");
}
BpfRing::~BpfRing() = default;
int BpfRing::descriptor() const
{
    return -1;
}
void BpfRing::take(const std::function<void(std::span<const std::byte>)>&) {}

} // namespace fastsdt
#endif
