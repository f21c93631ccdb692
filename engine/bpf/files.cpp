// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/files.h"

#include "base/descriptor.h"
#include "base/unusable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <set>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::engine::bpf {
namespace {

struct Part {
    uint64_t address = 0, offset = 0, size = 0; // whole pages
    int rights = 0;
};

// Throws Unusable.
std::vector<Part> parts_of(const std::string& path)
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

/// A child that has a file mapped as a process would have it, and does nothing else.
class Holder {
public:
    /// Throws Unusable.
    explicit Holder(const std::string& path)
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
        if (pid_ > 0 && read(read_end.get(), &room_, sizeof room_) == ssize_t(sizeof room_))
            return;
        end();
        throw Unusable(fmt::format("{} cannot be mapped", path));
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() { end(); }
    pid_t pid() const { return pid_; }
    /// Whether it is in the mapped file. The child has this program's own files too.
    bool has(uint64_t address) const { return address - room_.begin < room_.size; }

private:
    struct Room {
        uint64_t begin = 0, size = 0;
    };

    void end() const
    {
        if (pid_ <= 0)
            return;
        kill(pid_, SIGKILL);
        while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    }
    // In the child of a program without other threads. @return  empty: it cannot be
    static Room hold(const std::vector<Part>& parts, int file)
    {
        uint64_t begin = UINT64_MAX, end = 0;
        for (const Part& part : parts) {
            begin = std::min(begin, part.address);
            end = std::max(end, part.address + part.size);
        }
        char* const room =
            static_cast<char*>(mmap(nullptr, end - begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (room == MAP_FAILED)
            return {};
        const bool holds = std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
            return mmap(room + (part.address - begin), part.size, part.rights, MAP_PRIVATE | MAP_FIXED, file,
                        off_t(part.offset))
                != MAP_FAILED;
        });
        return holds ? Room{uint64_t(room), end - begin} : Room{};
    }

    pid_t pid_ = -1;
    Room room_;
};

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

} // namespace

bool FilesAttached::all() const
{
    return unmatched.empty() && !may_be_others
        && std::all_of(states.begin(), states.end(), [](const SiteState& s) { return s.state == State::by_kernel; });
}

FilesAttached attach_to_files(Kernel& kernel, const Script& script, ProbeNames& names)
{
    FilesAttached attached;
    struct File {
        std::string path; // not resolved: /proc/PID/root/... leads to another process's files
        std::vector<const Probe*> probes;
    };
    std::map<std::pair<dev_t, ino_t>, File> files;
    const auto want = [&](const std::string& path, const Probe* probe) {
        struct stat status{};
        if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
            attached.unmatched[probe] = fmt::format("there is no file {}", path);
            return;
        }
        File& file = files[{status.st_dev, status.st_ino}];
        file.path = path;
        file.probes.push_back(probe);
    };
    for (const Probe* const probe : probes_with_sites(script)) {
        attached.may_be_others = attached.may_be_others || is_pattern(probe->file) || only_a_name(probe->file);
        if (is_pattern(probe->file))
            attached.unmatched[probe] = fmt::format("{} is a pattern, and no file", probe->file);
        else if (uses(script, Value::symbol))
            attached.unmatched[probe] = "uaddr() is an address of each process";
        else if (only_a_name(probe->file)) {
            const std::set<std::string> found = libraries_named(probe->file);
            if (found.empty())
                attached.unmatched[probe] =
                    fmt::format("there is no program and no library {} where the system has them", probe->file);
            for (const std::string& library : found)
                want(library, probe);
        } else {
            want(resolve(probe->file), probe);
        }
    }
    for (const auto& [inode, file] : files)
        try {
            const Holder holder(file.path);
            ProcessView view(holder.pid());
            Matcher matcher(script, view, names, true);
            std::vector<Site> sites = matcher.find_new();
            std::erase_if(sites, [&](const Site& site) { return !holder.has(site.address); });
            const std::vector<SiteState> states = kernel.attach(holder.pid(), sites, view.mappings());
            std::move(sites.begin(), sites.end(), std::back_inserter(attached.sites));
            std::copy(states.begin(), states.end(), std::back_inserter(attached.states));
            attached.matched.insert(matcher.matched().begin(), matcher.matched().end());
            for (const Probe* const probe : file.probes)
                if (!matcher.matched().contains(probe))
                    attached.unmatched[probe] = matcher.instead(*probe);
        } catch (const Unusable& error) {
            for (const Probe* const probe : file.probes)
                attached.unmatched[probe] = error.what();
        }
    for (const Probe* const probe : attached.matched) // another library of that name may not have it
        attached.unmatched.erase(probe);
    return attached;
}

} // namespace fastsdt::engine::bpf
