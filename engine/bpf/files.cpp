// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/files.h"

#include "base/descriptor.h"
#include "base/unusable.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastsdt::engine::bpf {
namespace {

struct Part {
    uint64_t address = 0, offset = 0, size = 0; // whole pages
    int rights = 0;
};

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
        [](const Error&) {});
    return parts;
}

/// A child that has a file mapped as a process would have it, and does nothing else.
class Holder {
public:
    explicit Holder(const std::string& path)
    {
        const std::vector<Part> parts = parts_of(path);
        const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        int ends[2];
        if (parts.empty() || !file || pipe2(ends, O_CLOEXEC) < 0)
            return;
        const Descriptor read_end(ends[0]);
        Descriptor write_end(ends[1]);
        const pid_t parent = getpid();
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == parent && hold(parts, file.get()))
                (void)!write(write_end.get(), "", 1);
            for (;;)
                pause();
        }
        write_end.reset();
        char byte = 0;
        holds_ = pid_ > 0 && read(read_end.get(), &byte, 1) == 1;
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder()
    {
        if (pid_ <= 0)
            return;
        kill(pid_, SIGKILL);
        while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    }
    pid_t pid() const { return holds_ ? pid_ : 0; }

private:
    // In the child of a program without other threads.
    static bool hold(const std::vector<Part>& parts, int file)
    {
        uint64_t begin = UINT64_MAX, end = 0;
        for (const Part& part : parts) {
            begin = std::min(begin, part.address);
            end = std::max(end, part.address + part.size);
        }
        char* const room =
            static_cast<char*>(mmap(nullptr, end - begin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (room == MAP_FAILED)
            return false;
        return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
            return mmap(room + (part.address - begin), part.size, part.rights, MAP_PRIVATE | MAP_FIXED, file,
                        off_t(part.offset))
                != MAP_FAILED;
        });
    }

    pid_t pid_ = -1;
    bool holds_ = false;
};

} // namespace

bool attach_to_files(Kernel& kernel, const Script& script, ProbeNames& names)
{
    const std::vector<const Probe*> probes = probes_with_sites(script);
    if (uses(script, Value::symbol)) // an address of each process
        return false;
    std::set<std::string> files;
    bool all = true;
    for (const Probe* const probe : probes) {
        std::error_code error;
        const std::string path = resolve(probe->file);
        if (probe->file.find_first_of("*?[") == std::string::npos && std::filesystem::is_regular_file(path, error))
            files.insert(std::filesystem::canonical(path, error));
        else
            all = false;
    }
    std::set<const Probe*> matched;
    for (const std::string& file : files)
        try {
            const Holder holder(file);
            if (holder.pid() == 0) {
                all = false;
                continue;
            }
            ProcessView view(holder.pid());
            Matcher matcher(script, view, names, true);
            std::vector<Site> sites = matcher.find_new();
            // The child has this program's own files too.
            std::error_code error;
            std::erase_if(sites,
                          [&](const Site& site) { return !std::filesystem::equivalent(site.file, file, error); });
            for (const SiteState& state : kernel.attach(holder.pid(), sites, view.mappings()))
                all = all && state.state == State::by_kernel;
            matched.insert(matcher.matched().begin(), matcher.matched().end());
        } catch (const Unusable&) {
            all = false; // whoever has it mapped says what is wrong with it
        }
    return all && std::all_of(probes.begin(), probes.end(), [&](const Probe* p) { return matched.contains(p); });
}

} // namespace fastsdt::engine::bpf
