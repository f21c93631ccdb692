// SPDX-License-Identifier: BSD-2-Clause
// Only the standard library and POSIX: fastsdt-dtrace has this file and nothing else of lib.
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/output_file.h"
#include "base/unusable.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace fastsdt {
namespace {

constexpr std::string_view acl = "system.posix_acl_access";
constexpr size_t chunk = 1 << 20; // written between two looks at pending signals

// Signals that would end the program wait until the new file is in its place or removed: then no handler and no list of
// files is needed. A signal that the program itself handles or blocks is left to the program.
class DeferredSignals {
public:
    DeferredSignals()
    {
        sigset_t old;
        sigprocmask(SIG_SETMASK, nullptr, &old);
        sigemptyset(&deferred_);
        for (int signal = 1; signal <= SIGRTMAX; ++signal) {
            struct sigaction action;
            if (does_not_end(signal) || sigismember(&old, signal) || sigaction(signal, nullptr, &action) != 0)
                continue;
            if (action.sa_handler == SIG_DFL)
                sigaddset(&deferred_, signal);
        }
        sigprocmask(SIG_BLOCK, &deferred_, nullptr);
    }
    ~DeferredSignals() { sigprocmask(SIG_UNBLOCK, &deferred_, nullptr); }
    DeferredSignals(const DeferredSignals&) = delete;
    DeferredSignals& operator=(const DeferredSignals&) = delete;

    bool pending() const
    {
        sigset_t waiting;
        sigpending(&waiting);
        sigandset(&waiting, &waiting, &deferred_);
        return !sigisemptyset(&waiting);
    }

private:
    // By signal(7): these are ignored by default, stop the program, or cannot be blocked.
    static bool does_not_end(int signal)
    {
        for (int other : {SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP, SIGKILL})
            if (signal == other)
                return true;
        return false;
    }

    sigset_t deferred_;
};

/// A file under a name that nobody can guess, removed unless it is renamed.
class NewFile {
public:
    explicit NewFile(const std::string& beside) : name_(beside + ".XXXXXX")
    {
        // The name must not be too long because of the six letters.
        const size_t slash = beside.rfind('/') + 1;
        if (beside.size() - slash > NAME_MAX - 7)
            name_ = beside.substr(0, slash) + ".fastsdt.XXXXXX";
        fd_ = mkostemp(name_.data(), O_CLOEXEC);
        if (fd_ < 0)
            name_.clear();
    }
    ~NewFile()
    {
        const int error = errno;
        if (!name_.empty())
            unlink(name_.c_str());
        if (fd_ >= 0)
            close(fd_);
        errno = error;
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    int fd() const { return fd_; }
    bool rename_to(const std::string& path)
    {
        if (rename(name_.c_str(), path.c_str()) != 0)
            return false;
        name_.clear();
        return true;
    }

private:
    std::string name_;
    int fd_ = -1;
};

bool same_file(const struct stat& a, const struct stat& b)
{
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool unchanged(const struct stat& a, const struct stat& b)
{
    const auto same = [](const timespec& x, const timespec& y) {
        return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
    };
    return same_file(a, b) && a.st_size == b.st_size && same(a.st_mtim, b.st_mtim);
}

std::optional<std::vector<char>> attribute(int file, const char* name)
{
    for (;;) {
        const ssize_t size = fgetxattr(file, name, nullptr, 0);
        if (size < 0)
            return {};
        std::vector<char> value(size_t(size) + 1);
        const ssize_t got = fgetxattr(file, name, value.data(), value.size());
        if (got < 0 && errno == ERANGE)
            continue; // it grew meanwhile
        if (got < 0)
            return {};
        value.resize(size_t(got));
        return value;
    }
}

std::vector<std::string> attributes(int file)
{
    std::vector<char> names(1 << 16); // XATTR_LIST_MAX
    const ssize_t size = flistxattr(file, names.data(), names.size());
    std::vector<std::string> list;
    for (ssize_t at = 0; at < size; at += ssize_t(list.back().size()) + 1)
        list.emplace_back(names.data() + at);
    return list;
}

/// Gives `to` the owner, mode and attributes of `from`. Returns what could not be kept, errno tells why.
std::string take_over(int from, const struct stat& status, int to)
{
    // Ownership first: chown clears set-user-id and file capabilities.
    // EINVAL: this user namespace has no such user.
    if (fchown(to, status.st_uid, status.st_gid) != 0 && fchown(to, uid_t(-1), status.st_gid) != 0 && errno != EPERM
        && errno != EINVAL)
        return "owner and group";
    struct stat now;
    if (fstat(to, &now) != 0)
        return "owner and group";
    mode_t mode = status.st_mode & 07777;
    if (now.st_uid != status.st_uid || now.st_gid != status.st_gid)
        mode &= ~mode_t(06000);

    // A default ACL of the directory would otherwise let in users that the old file kept out.
    if (fremovexattr(to, acl.data()) != 0 && errno != ENODATA && errno != ENOTSUP)
        return std::string(acl);
    for (const std::string& name : attributes(from)) {
        const auto value = attribute(from, name.c_str());
        if (!value) {
            if (errno == ENODATA)
                continue;
            return name;
        }
        if (name == "security.ima" || name == "security.evm") { // signatures of the old contents
            errno = EKEYREJECTED;
            return name;
        }
        if (attribute(to, name.c_str()) != value && fsetxattr(to, name.c_str(), value->data(), value->size(), 0) != 0)
            return name;
    }
    // Last: an ACL has changed the mode, and the mode's group bits are the mask of the ACL.
    return fchmod(to, mode) == 0 ? "" : "mode";
}

[[noreturn]] void fail(const std::string& path, const std::string& what)
{
    throw Unusable({what + ": " + std::strerror(errno), path, {}, errno});
}

} // namespace

OutputFile::OutputFile(const std::string& path, bool try_now) : asked_(path), path_(path)
{
    // The kernel follows the link, so that it can refuse to: fs.protected_symlinks forbids those of other users in sticky
    // directories, and reading links by hand would go around it.
    const Descriptor there(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status;
    if (there) {
        if (fstat(there.get(), &status) != 0)
            fail(path, "cannot write");
        if (S_ISDIR(status.st_mode))
            throw Unusable({"is a directory", path});
        if (!S_ISREG(status.st_mode))
            throw Unusable({"not a regular file, and only those are written", path});
        const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
        struct stat resolved;
        if (!real || lstat(real.get(), &resolved) != 0)
            fail(path, "cannot write");
        if (!same_file(status, resolved))
            throw Unusable({"it was replaced meanwhile, nothing was written", path, "run again"});
        path_ = real.get();
        before_ = status;
    } else if (errno != ENOENT) {
        fail(path, "cannot write");
    } else if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
        errno = ENOENT;
        fail(path, "a symbolic link that leads nowhere");
    }
    if (!try_now)
        return;
    const DeferredSignals deferred;
    if (NewFile(path_).fd() < 0)
        fail(path, "cannot make a file beside it");
}

void OutputFile::write(std::string_view contents)
{
    write([&](const Append& append) { append(contents); }, nullptr, false);
}

void OutputFile::write(const std::function<void(const Append&)>& fill)
{
    write(fill, nullptr, false);
}

void OutputFile::write(std::span<const std::byte> contents, int like)
{
    write([&](const Append& append) { append(text_of(contents)); }, &like, false);
}

void OutputFile::change(std::span<const std::byte> contents, int source)
{
    write([&](const Append& append) { append(text_of(contents)); }, &source, true);
}

void OutputFile::write(const std::function<void(const Append&)>& fill, const int* like, bool in_place)
{
    const DeferredSignals deferred;
    const auto stop = [&] {
        if (deferred.pending())
            throw Unusable({"interrupted, nothing was written", asked_});
    };
    NewFile file(path_);
    if (file.fd() < 0)
        fail(asked_, "cannot make a file beside it");
    fill([&](std::string_view contents) {
        stop();
        for (size_t at = 0; at < contents.size();) {
            const ssize_t put = ::write(file.fd(), contents.data() + at, std::min(chunk, contents.size() - at));
            if (put < 0 && errno != EINTR)
                fail(asked_, "cannot write");
            at += put > 0 ? size_t(put) : 0;
            stop();
        }
    });

    struct stat source{};
    if (like) {
        if (fstat(*like, &source) != 0)
            fail(asked_, "cannot read the attributes");
        if (const std::string lost = take_over(*like, source, file.fd()); !lost.empty())
            fail(asked_, "cannot keep " + lost);
    } else {
        const mode_t mask = umask(0);
        umask(mask);
        if (fchmod(file.fd(), before_ ? before_->st_mode & 0777 : 0666 & ~mask) != 0)
            fail(asked_, "cannot set the mode");
    }
    if (fsync(file.fd()) != 0)
        fail(asked_, "cannot write");
    stop();
    struct stat now;
    const bool there = lstat(path_.c_str(), &now) == 0;
    if (there && !S_ISREG(now.st_mode))
        throw Unusable({"something that is not a regular file has taken its place", asked_});
    if (like && before_ && same_file(source, *before_))
        in_place = true;
    if (in_place && (!before_ || !there || !unchanged(now, *before_) || !unchanged(source, now)))
        throw Unusable({"it was changed or replaced meanwhile, nothing was written", asked_, "run again"});
    if (!file.rename_to(path_))
        fail(asked_, "cannot replace");
    // Best effort: the file is whole with or without it, and some file systems cannot sync a directory.
    const int directory =
        open(path_.substr(0, path_.rfind('/') + 1).append(".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
        fsync(directory);
        close(directory);
    }
}

} // namespace fastsdt
