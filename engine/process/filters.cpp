// SPDX-License-Identifier: BSD-2-Clause
#include "process/filters.h"

#include "arming/arena.h"
#include "base/unusable.h"
#include "elf/call_constants.h"
#include "elf/entries.h"
#include "elf/image.h"
#include "process/allowed.h"
#include "process/ptrace.h"
#include "proc/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <linux/prctl.h> // PR_SET_SECCOMP
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fastsdt::engine {
namespace {

// Whether a dynamic symbol of one of these names is defined.
bool defines(const Image& image, std::initializer_list<std::string_view> names)
{
    for (const Section& section : image.sections()) {
        if (section.type != SHT_DYNSYM)
            continue;
        const Entries<Elf64_Sym> symbols(image, section);
        for (size_t i = 0; i < symbols.size(); ++i)
            if (const Elf64_Sym symbol = symbols[i]; symbol.st_shndx != SHN_UNDEF
                && std::find(names.begin(), names.end(), symbols.text(symbol.st_name)) != names.end())
                return true;
    }
    return false;
}

// A name of libseccomp's, or of that library: imported, or for dlopen() and dlsym().
bool names_seccomp(const Image& image)
{
    static constexpr std::string_view word = "seccomp";
    for (const Segment& segment : image.segments()) {
        const auto bytes = image.file().subspan(segment.offset.value, segment.file_size);
        if (memmem(bytes.data(), bytes.size(), word.data(), word.size()))
            return true;
    }
    return false;
}

std::string judged(const Image& image, bool program)
{
    if (program && !image.section(".interp"))
        return "is static, so that its calls cannot be told from its C library's";
    // The C library and its loader, what stands in for its functions, and our own: they do what they are called for.
    if (defines(image, {"prctl", "_r_debug", "fastsdt_trace_open"}))
        return {};
    if (names_seccomp(image))
        return "names seccomp";
    if (defines(image, {"ffi_call"}))
        return "calls whatever it is told to";
    const Calls control = calls_of(image, "prctl"), calls = calls_of(image, "syscall"), direct = system_calls_of(image);
    if (control.numbers.contains(PR_SET_SECCOMP))
        return "calls prctl(PR_SET_SECCOMP)";
    if (control.others)
        return "calls prctl() for what cannot be told";
    for (const Calls& each : {calls, direct}) {
        if (each.numbers.contains(SYS_seccomp))
            return "calls seccomp()";
        if (each.numbers.contains(SYS_prctl))
            return "calls prctl()";
        if (each.others)
            return "makes system calls by numbers that cannot be told";
    }
    return {};
}

constexpr const char* unreadable = "cannot be read";

// The same of a file, whose code is read once for all processes, as long as it is the same.
std::string judged(const std::string& path, bool program)
{
    using Key = std::array<uint64_t, 8>;
    constexpr size_t most = 10000; // files that were written to, among them
    static std::mutex mutex;
    static auto& known = *new std::map<Key, std::string>; // never freed: a thread may look until the very end
    struct stat status{};
    if (stat(path.c_str(), &status) < 0)
        return unreadable;
    const Key key = {status.st_dev,
                     status.st_ino,
                     static_cast<uint64_t>(status.st_size),
                     static_cast<uint64_t>(status.st_mtim.tv_sec),
                     static_cast<uint64_t>(status.st_mtim.tv_nsec),
                     static_cast<uint64_t>(status.st_ctim.tv_sec),
                     static_cast<uint64_t>(status.st_ctim.tv_nsec),
                     program};
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end())
        return found->second;
    std::string found = unreadable;
    try {
        Image::each(path, [&](const Image& image) { found = judged(image, program); }, [](const Error&) {});
    } catch (const Unusable&) {
        return unreadable; // at another time it may be
    }
    if (known.size() >= most)
        known.clear();
    known[key] = found;
    return found;
}

} // namespace

std::string Filters::setter(const std::vector<Mapping>& mappings)
{
    const std::string program = view_.program();
    // The process may have ended since, execute another program, or have unmapped it.
    const auto is_there = [this](const Mapping& mapping) {
        return std::ranges::any_of(mappings_of(view_.pid()), [&](const Mapping& m) {
            return m.executable && m.device == mapping.device && m.inode == mapping.inode && m.start == mapping.start
                && m.end == mapping.end;
        });
    };
    for (const Mapping& mapping : mappings) {
        if (!mapping.executable)
            continue;
        if (!mapping.inode) {
            if (mapping.name.starts_with('[') && !mapping.name.starts_with("[anon"))
                continue; // the vdso, an executable stack
            if (const auto start = view_.read(mapping.start, 8); start.size() == 8 && begins_arena(start))
                continue;
            if (is_there(mapping))
                return "it makes code while it runs";
            continue;
        }
        const auto [known, fresh] = files_.try_emplace({mapping.device, mapping.inode});
        if (fresh) {
            const Descriptor& file = view_.file(mapping);
            known->second = file ? judged(path_of(file), mapping.name == program) : unreadable;
            if (known->second == unreadable && !is_there(mapping)) {
                files_.erase(known); // when it comes again it is looked at
                continue;
            }
        }
        if (!known->second.empty())
            return fmt::format("{} {}", mapping.name, known->second);
    }
    return {};
}

bool Filters::has_others()
{
    constexpr size_t most = 64; // at a look
    const std::vector<pid_t> threads = threads_of(view_.pid());
    for (size_t i = 0; i < std::min(most, threads.size()); ++i)
        if (has_other_filters(view_.pid(), threads[next_++ % threads.size()], allowing_))
            return true;
    return false;
}

// What stubs call is allowed by each thread's filters, or no stub calls anything. Those that come later are seen by their number.
std::string Filters::obstacle(bool processor)
{
    if (!refused_.empty() || !has_others())
        return refused_;
    // <asm/unistd.h>, as engine/code has them. Where an argument is not known, any is asked for.
    std::vector<AskedCall> calls = {
        {SYS_process_vm_readv, {{std::nullopt, std::nullopt, 1, std::nullopt, std::nullopt, 0}}},
        {SYS_getpid, {}},
        {SYS_gettid, {}},
        {SYS_getuid, {}},
        {SYS_getgid, {}},
        {SYS_prctl, {{PR_GET_NAME}}},
        {SYS_futex, {}},
        {SYS_clock_gettime, {}}};
    if (processor)
        calls.push_back({SYS_getcpu, {}});
    std::set<uint64_t> numbers;
    std::string why;
    try {
        patiently([&] {
            as_tracer([&] {
                Tracees tracees(view_.pid());
                tracees.seize_all(0);
                tracees.look_at_each([&](const Tracees::Task& task) {
                    numbers.insert(number_of_filters(view_.pid(), task.number).value_or(0));
                    if (why.empty())
                        try {
                            refuse_filter(view_.pid(), task.number, calls, "to stubs");
                        } catch (const Unusable& error) {
                            why = error.what();
                        }
                });
            });
        });
    } catch (const Unusable& error) {
        why = error.what();
    }
    if (why.empty() && numbers.size() == 1 && !numbers.contains(0)) {
        allowing_ = *numbers.begin();
        return {};
    }
    allowing_ = 0;
    return refused_ = "the process has a seccomp filter";
}

} // namespace fastsdt::engine
