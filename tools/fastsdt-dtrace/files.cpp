// SPDX-License-Identifier: BSD-2-Clause
#include "files.h"

#include "base/output_file.h"
#include "base/unusable.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtrace {
namespace {

// What a signal has to remove. Plain memory: the handler may run at any time.
char temporary_directory[4096];
constexpr int ending[] = {SIGINT, SIGTERM, SIGHUP};

void remove_directory(const char* path)
{ // a signal handler calls this: openat and unlinkat are safe there; readdir is not, but we are ending anyway
    if (DIR* directory = opendir(path)) {
        while (dirent* entry = readdir(directory))
            unlinkat(dirfd(directory), entry->d_name, 0);
        closedir(directory);
    }
    rmdir(path);
}

void on_signal(int signal)
{
    remove_directory(temporary_directory);
    raise(signal); // SA_RESETHAND: ends us
}

// Signals with the disposition `from` get `to`; those that are ignored stay so.
void handle(void (*from)(int), void (*to)(int))
{
    struct sigaction action = {}, old;
    action.sa_handler = to;
    action.sa_flags = int(SA_RESETHAND) | SA_NODEFER;
    for (const int signal : ending)
        if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler == from)
            sigaction(signal, &action, nullptr);
}

[[noreturn]] void fail(const std::string& path)
{
    throw Unusable(fastsdt::Error::of_system(errno, path));
}

bool write_all(int file, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t n = write(file, text.data(), text.size());
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            text.remove_prefix(size_t(n));
    }
    return true;
}

} // namespace

std::string read_file(const std::string& path)
{
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        fail(path);
    std::string text;
    char buffer[65536];
    for (;;) {
        const ssize_t n = read(file, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            const int error = errno;
            close(file);
            errno = error;
            fail(path);
        }
        if (n == 0)
            break;
        text.append(buffer, size_t(n));
    }
    close(file);
    return text;
}

void write_file(const std::string& path, std::string_view text)
{
    if (path == "/dev/stdout") { // opened again, a file would be written from its start; and it is not ours to replace
        if (!write_all(1, text))
            fail(path);
        return;
    }
    // Pipes and devices; and where a link leads to no file yet, none is replaced.
    struct stat existing;
    if (stat(path.c_str(), &existing) == 0 ? !S_ISREG(existing.st_mode) : lstat(path.c_str(), &existing) == 0) {
        const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0) // as where no link leads to it: OutputFile
            throw Unusable(fastsdt::Error{std::string("cannot write: ") + std::strerror(errno), path, {}, errno});
        if (!write_all(file, text) || close(file) != 0)
            fail(path);
        return;
    }
    fastsdt::OutputFile(path, false).write(text);
}

TemporaryDirectory::TemporaryDirectory(bool keep) : keep_(keep)
{
    const char* parent = std::getenv("TMPDIR");
    path_ = std::string(parent && *parent ? parent : "/tmp") + "/dtrace-XXXXXX";
    if (!mkdtemp(path_.data()))
        fail(path_);
    if (keep_)
        return;
    if (path_.size() >= sizeof temporary_directory) {
        rmdir(path_.c_str());
        throw Unusable(fastsdt::Error::of_system(ENAMETOOLONG, path_));
    }
    std::memcpy(temporary_directory, path_.c_str(), path_.size() + 1);
    handle(SIG_DFL, on_signal);
}

TemporaryDirectory::~TemporaryDirectory()
{
    if (keep_)
        return;
    remove_directory(path_.c_str());
    handle(on_signal, SIG_DFL);
}

} // namespace dtrace
