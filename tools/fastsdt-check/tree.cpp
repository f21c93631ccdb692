// SPDX-License-Identifier: BSD-2-Clause
#include "tree.h"

#include "elf/archive.h"
#include "elf/image.h"
#include "files.h"

#include <fastsdt/note.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <thread>

using namespace fastsdt;
namespace fs = std::filesystem;

namespace {

struct Found {
    std::string path;
    std::pair<dev_t, ino_t> file{};
    bool looked_at = false, has_notes = false;
    std::optional<Error> trouble{};
};

// ELF or ar, by the first bytes: nothing else is opened as an image.
Result<bool> is_binary(const std::string& path)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0)
        return Error::of_system(errno, path);
    char magic[8] = {}; // as long as an archive's
    const ssize_t size = ::pread(file, magic, sizeof magic, 0);
    ::close(file);
    const std::string_view start(magic, size > 0 ? size_t(size) : 0);
    return start.starts_with(ELFMAG) || is_archive(std::as_bytes(std::span(start)));
}

void look(Found& found, Access access)
{
    const Result<bool> binary = is_binary(found.path);
    if (!binary)
        found.trouble = binary.error();
    if (!binary || !*binary)
        return;
    found.looked_at = true;
    read_images(
        found.path, access,
        [&](const Image& image) {
            for (const Section& section : image.sections())
                found.has_notes |=
                    section.size > 0 && (section.name == ".note.stapsdt" || section.name == FASTSDT_NOTE_SECTION);
        },
        [&](const Error& error) { found.trouble = error; });
}

// Regular files below the directory, by name.
std::vector<Found> list(const std::string& directory, std::vector<Error>& troubles)
{
    std::vector<Found> files;
    struct stat top, status;
    if (::stat(directory.c_str(), &top) != 0)
        return files;
    std::vector<std::string> open = {directory};
    while (!open.empty()) {
        const std::string at = std::move(open.back());
        open.pop_back();
        std::error_code error;
        fs::directory_iterator entries(at, error);
        for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
            const std::string path = entries->path();
            if (::lstat(path.c_str(), &status) != 0 || status.st_dev != top.st_dev)
                continue; // gone meanwhile, or another file system
            if (S_ISDIR(status.st_mode))
                open.push_back(path);
            else if (S_ISREG(status.st_mode) && status.st_size > 0)
                files.push_back({path, {status.st_dev, status.st_ino}});
        }
        if (error)
            troubles.push_back({error.message(), at});
    }
    std::sort(files.begin(), files.end(), [](const Found& a, const Found& b) { return a.path < b.path; });
    std::set<std::pair<dev_t, ino_t>> seen; // to keep only the first of a file's names
    std::erase_if(files, [&](const Found& found) { return !seen.insert(found.file).second; });
    return files;
}

} // namespace

Tree expand(const std::vector<std::string>& paths, unsigned jobs, Access access)
{
    Tree tree;
    Progress progress;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::is_directory(path, error)) {
            tree.files.push_back(path);
            continue;
        }
        ++tree.directories;
        std::vector<Found> files = list(path, tree.troubles);
        std::atomic<size_t> next = 0;
        const auto work = [&](bool shows) {
            for (size_t i; (i = next++) < files.size();) {
                if (shows)
                    progress.at(files[i].path);
                look(files[i], access);
            }
        };
        {
            std::vector<std::jthread> others;
            for (size_t i = 1; i < std::min<size_t>(jobs, files.size()); ++i)
                others.emplace_back(work, false);
            work(true);
        }
        for (Found& file : files) {
            tree.looked_at += file.looked_at;
            if (file.trouble)
                tree.troubles.push_back(std::move(*file.trouble));
            else if (file.has_notes)
                tree.files.push_back(std::move(file.path));
        }
    }
    return tree;
}
