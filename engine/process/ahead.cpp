// SPDX-License-Identifier: BSD-2-Clause
#include "process/ahead.h"

#include "base/descriptor.h"
#include "base/unusable.h"
#include "elf/elf_file.h"
#include "elf/image.h"
#include "process/filters.h"
#include "process/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::engine {

struct Holder::Part {
    uint64_t address = 0, offset = 0, size = 0; // whole pages
    int rights = 0;
};

// Throws Unusable.
std::vector<Holder::Part> Holder::parts_of(const std::string& path)
{
    std::vector<Part> parts;
    Image::each(
        path,
        [&](const Image& image) {
            for (const Segment& segment : image.segments()) {
                if (segment.file_size == 0)
                    continue;
                const uint64_t page = page_size(), before = segment.address.value % page;
                parts.push_back(
                    {segment.address.value - before, segment.offset.value - before,
                     (before + segment.file_size + page - 1) / page * page,
                     PROT_READ | (segment.executable ? PROT_EXEC : 0) | (segment.writable ? PROT_WRITE : 0)});
            }
        },
        [](const Error& error) { throw Unusable(error.text()); });
    return parts;
}

Holder::Holder(const std::string& path)
{
    const std::vector<Part> parts = parts_of(path);
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    int ends[2];
    if (parts.empty() || !file || pipe2(ends, O_CLOEXEC) < 0)
        throw Unusable(fmt::format("{} cannot be mapped", path));
    const Descriptor read_end(ends[0]);
    Descriptor write_end(ends[1]);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (const Room room = hold(parts, file.get()); getppid() == parent && room.size != 0)
            (void)!write(write_end.get(), &room, sizeof room);
        for (;;)
            pause();
    }
    write_end.reset();
    Room room;
    if (pid_ > 0 && read(read_end.get(), &room, sizeof room) == ssize_t(sizeof room)) {
        room_ = room;
        return;
    }
    end();
    throw Unusable(fmt::format("{} cannot be mapped", path));
}

void Holder::end() const
{
    if (pid_ <= 0)
        return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
}

// In the child. @return  empty: it cannot be
Holder::Room Holder::hold(const std::vector<Part>& parts, int file)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (const Part& part : parts) {
        begin = std::min(begin, part.address);
        end = std::max(end, part.address + part.size);
    }
    char* const room = static_cast<char*>(mmap(nullptr, end - begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (room == MAP_FAILED)
        return {};
    const bool holds = std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
        return mmap(room + (part.address - begin), part.size, part.rights, MAP_PRIVATE | MAP_FIXED, file,
                    off_t(part.offset))
            != MAP_FAILED;
    });
    return holds ? Room{uint64_t(room), end - begin} : Room{};
}

// Where the dynamic linker looks without being told. Links lead to one file.
std::set<std::string> libraries_named(const std::string& name)
{
    std::set<std::string> found;
    const std::string triplet = own_arch == Arch::arm64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
    for (const std::string& folder : {"/lib/" + triplet, "/usr/lib/" + triplet, std::string("/lib64"),
                                      std::string("/usr/lib64"), std::string("/lib"), std::string("/usr/lib")}) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(folder, error))
            if (is_library(name, entry.path().filename()) && std::filesystem::is_regular_file(entry.path(), error))
                if (const auto file = std::filesystem::canonical(entry.path(), error); !error)
                    found.insert(file);
    }
    return found;
}

std::string absence(const Script& script, const Probe& probe)
{
    if (is_pattern(probe.file) || only_a_name(probe.file))
        return {};
    const std::string path = resolve(probe.file);
    ProbeNames names;
    if (access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        ProcessView view(getpid());
        return Matcher(script, view, names, true).instead(probe);
    }
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error) || access(path.c_str(), R_OK) != 0)
        return {};
    if (!is_elf_file(path))
        return fmt::format("{} is no ELF file", probe.file);
    try {
        const Holder holder(path);
        ProcessView view(holder.pid());
        Matcher matcher(script, view, names, true);
        matcher.find_new();
        return matcher.matched().contains(&probe) ? "" : matcher.instead(probe);
    } catch (const Unusable&) {
        return {}; // whoever maps it finds out
    }
}

void read_ahead(const Script& script)
{
    constexpr uintmax_t large = uintmax_t{16} << 20; // some 20 ms for each MB
    std::set<std::string> files;
    for (const Probe* const probe : probes_with_sites(script)) {
        if (probe->kind == Probe::Kind::usdt || is_pattern(probe->file))
            continue;
        const auto found = only_a_name(probe->file) ? libraries_named(probe->file) : std::set{resolve(probe->file)};
        std::error_code error;
        std::copy_if(found.begin(), found.end(), std::inserter(files, files.end()), [&](const std::string& path) {
            return std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) >= large
                && !error;
        });
    }
    for (const std::string& file : files)
        try {
            const Holder holder(file);
            ProcessView view(holder.pid());
            ProbeNames names;
            Matcher(script, view, names, true).find_new();
            std::vector<Mapping> mapped = view.look();
            std::erase_if(mapped, [&](const Mapping& m) { return !holder.has(m.start); });
            Filters(view).setter(mapped);
        } catch (const Unusable&) {
            // Whoever maps it finds out.
        }
}

} // namespace fastsdt::engine
