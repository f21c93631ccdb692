// SPDX-License-Identifier: BSD-2-Clause
#include "files.h"

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
char unfinished_file[4096], temporary_directory[4096];

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
    if (*unfinished_file)
        unlink(unfinished_file);
    if (*temporary_directory)
        remove_directory(temporary_directory);
    raise(signal); // SA_RESETHAND: ends us
}

void remember(char (&where)[4096], const std::string& path)
{
    if (path.size() >= sizeof where)
        throw Error("dtrace: " + path + ": " + std::strerror(ENAMETOOLONG));
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = int(SA_RESETHAND) | SA_NODEFER;
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction old;
        if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signal, &action, nullptr);
    }
    std::memcpy(where, path.c_str(), path.size() + 1);
}

[[noreturn]] void fail(const char* what, const std::string& path)
{
    throw Error(std::string("dtrace: cannot ") + what + " " + path + ": " + std::strerror(errno));
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

// The name of the file that the links lead to. The kernel follows them, so that it can refuse to: fs.protected_symlinks
// forbids those of other users in sticky directories, and reading them by hand would go around it.
std::string behind_links(const std::string& path, bool there)
{
    struct stat link, followed, resolved;
    if (lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) // rename() follows none
        return path;
    // Where they lead to no file yet, one is there for a moment, because only a file has a name without links.
    const int file = open(path.c_str(), there ? O_PATH | O_CLOEXEC : O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char* const real = file < 0 ? nullptr : realpath(path.c_str(), nullptr);
    if (!real || fstat(file, &followed) != 0 || lstat(real, &resolved) != 0)
        fail("write", path);
    const std::string name = real;
    free(real);
    close(file);
    if (followed.st_dev != resolved.st_dev || followed.st_ino != resolved.st_ino)
        throw Error("dtrace: cannot write " + path + ": it was replaced meanwhile");
    if (!there && resolved.st_size == 0)
        unlink(name.c_str());
    return name;
}

} // namespace

std::string read_file(const std::string& path)
{
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        fail("read", path);
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
            fail("read", path);
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
            fail("write", path);
        return;
    }
    struct stat existing;
    mode_t mode = 0;
    const bool there = stat(path.c_str(), &existing) == 0;
    if (there && !S_ISREG(existing.st_mode)) {
        const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (file < 0 || !write_all(file, text) || close(file) != 0)
            fail("write", path);
        return;
    }
    if (there) {
        mode = existing.st_mode & 07777;
    } else {
        mode = umask(0);
        umask(mode);
        mode = 0666 & ~mode;
    }
    const std::string destination = behind_links(path, there);
    const size_t slash = destination.rfind('/');
    std::string temporary = destination.substr(0, slash == destination.npos ? 0 : slash + 1) + ".dtrace-XXXXXX";
    const int file = mkostemp(temporary.data(), O_CLOEXEC);
    if (file < 0)
        fail("write", path);
    remember(unfinished_file, temporary);
    const bool written = write_all(file, text) && fchmod(file, mode) == 0;
    int error = errno;
    if ((close(file) != 0 || !written || rename(temporary.c_str(), destination.c_str()) != 0)) {
        error = written ? errno : error;
        unlink(temporary.c_str());
        *unfinished_file = 0;
        errno = error;
        fail("write", path);
    }
    *unfinished_file = 0;
}

TemporaryDirectory::TemporaryDirectory(bool keep) : keep_(keep)
{
    const char* parent = std::getenv("TMPDIR");
    path_ = std::string(parent && *parent ? parent : "/tmp") + "/dtrace-XXXXXX";
    if (!mkdtemp(path_.data()))
        fail("make", path_);
    if (!keep_)
        remember(temporary_directory, path_);
}

TemporaryDirectory::~TemporaryDirectory()
{
    if (keep_)
        return;
    remove_directory(path_.c_str());
    *temporary_directory = 0;
}

} // namespace dtrace
