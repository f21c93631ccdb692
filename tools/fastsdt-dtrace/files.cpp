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
{ // as a signal handler may: openat and unlinkat, and readdir at the risk of the last moment
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
    if (path == "/dev/stdout") { // opened anew, a file would be written from its begin; and it is not ours to replace
        if (!write_all(1, text))
            fail("write", path);
        return;
    }
    std::string destination = path;
    char link[4096];
    for (ssize_t n, links = 0; links < 40 && (n = readlink(destination.c_str(), link, sizeof link)) > 0; ++links) {
        const size_t slash = destination.rfind('/'); // the file, not the link to it
        destination = (*link == '/' || slash == destination.npos ? "" : destination.substr(0, slash + 1))
            + std::string(link, size_t(n));
    }
    struct stat existing;
    mode_t mode = 0;
    if (stat(path.c_str(), &existing) == 0) {
        if (!S_ISREG(existing.st_mode)) {
            const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
            if (file < 0 || !write_all(file, text) || close(file) != 0)
                fail("write", path);
            return;
        }
        mode = existing.st_mode & 07777;
    } else {
        mode = umask(0);
        umask(mode);
        mode = 0666 & ~mode;
    }
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
