// SPDX-License-Identifier: BSD-2-Clause
// libelf walks ordinary archives and knows nothing of thin ones, whose format differs in one point: no contents
// follow a member's header. So both are walked here. Format: ar(5); bfd/archive.c for the thin kind.
#include "base/bytes.h"
#include "base/descriptor.h"
#include "elf/archive.h"
#include "elf/image.h"

#include <ar.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

namespace fastsdt {
namespace {

constexpr std::string_view ordinary_magic = ARMAG;
constexpr std::string_view thin_magic = "!<thin>\n";

std::string_view trimmed(std::string_view field)
{
    const auto end = field.find_last_not_of(' ');
    return field.substr(0, end + 1);
}

std::optional<uint64_t> decimal(std::string_view field)
{
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size())
        return {};
    return value;
}

// Asks what it is before opening it to read: a tape rewinds, a watchdog starts, a FIFO waits.
Descriptor open_regular(const std::string& path, struct stat& status)
{
    const Descriptor there(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!there || ::fstat(there.get(), &status) != 0)
        throw Unusable(Error::of_system(errno, path));
    if (S_ISDIR(status.st_mode))
        throw Unusable({"is a directory", path, "name the files in it"});
    if (!S_ISREG(status.st_mode))
        throw Unusable({"not a regular file", path});
    // The file that was asked about; without /proc the one that has the name now.
    Descriptor file(::open(fmt::format("/proc/self/fd/{}", there.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT)
        file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        throw Unusable(Error::of_system(errno, path));
    return file;
}

// Holes stay holes: a file of a terabyte may be a few kilobytes. What is gone since reads as zeros.
Result<void> copy_contents(int file, char* to, size_t size, const std::string& path)
{
    const auto end = static_cast<off_t>(size);
    for (off_t at = 0; at < end;) {
        const off_t data = ::lseek(file, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return {};
        at = std::max(at, data); // -1: it cannot tell
        const off_t hole = data < 0 ? -1 : ::lseek(file, at, SEEK_HOLE);
        for (const off_t stop = std::min(end, hole < 0 ? end : hole); at < stop;) {
            const ssize_t got = ::pread(file, to + at, static_cast<size_t>(stop - at), at);
            if (got == 0)
                return {};
            if (got < 0 && errno != EINTR)
                return Error::of_system(errno, path);
            at += std::max<ssize_t>(got, 0);
        }
    }
    return {};
}

bool is_outside(const std::filesystem::path& name)
{
    return name.is_absolute() || std::find(name.begin(), name.end(), "..") != name.end();
}

// A member's name by its header's field. A name that stands before the contents is taken off them.
Result<std::string> name_of(std::string_view field, std::string_view long_names, std::span<const std::byte>& contents)
{
    const auto damaged = [&](std::string_view how) {
        return Error{fmt::format("damaged: member name {}{}", field, how)};
    };
    if (field.starts_with("#1/")) { // BSD
        const auto length = decimal(field.substr(3));
        if (!length || *length > contents.size())
            return damaged("");
        std::string name(text_of(contents.first(*length)).data(), strnlen(text_of(contents).data(), *length));
        contents = contents.subspan(*length);
        return name;
    }
    if (!field.starts_with("/"))
        return std::string(field.substr(0, field.size() - field.ends_with('/')));
    // GNU: offset into the table of long names
    const auto colon = field.find(':');
    const auto offset = decimal(field.substr(1, colon == field.npos ? field.npos : colon - 1));
    if (!offset || *offset >= long_names.size())
        return damaged("");
    // At most a path's length: a table without line ends would otherwise be read whole for each member.
    const auto rest = long_names.substr(*offset, PATH_MAX);
    const auto end = rest.find('\n');
    if (end == rest.npos && rest.size() == PATH_MAX)
        return damaged(" has no end");
    std::string name(rest.substr(0, end));
    if (name.ends_with('/'))
        name.pop_back();
    if (colon != field.npos) // member of an archive inside this thin archive; that archive can be named itself
        return Error{fmt::format("{} is an archive in a thin archive", name), "", "check it by itself"};
    return name;
}

} // namespace

MappedFile::MappedFile(const std::string& path, bool copy)
{
    struct stat status;
    descriptor_ = open_regular(path, status);
    if (status.st_size == 0)
        throw Unusable({"empty file", path});
    const auto size = size_t(status.st_size);
    // Writable and private because libelf wants writable memory.
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | (copy ? MAP_ANONYMOUS : 0),
                      copy ? -1 : descriptor_.get(), 0);
    if (at == MAP_FAILED)
        throw Unusable(Error::of_system(errno, path));
    bytes_ = {static_cast<const std::byte*>(at), size};
    if (!copy)
        return;
    if (const auto done = copy_contents(descriptor_.get(), static_cast<char*>(at), size, path); !done) {
        ::munmap(at, size);
        throw Unusable(done.error());
    }
}

MappedFile::~MappedFile()
{
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

static const char* shortened_message;
static int shortened_status;

void MappedFile::exit_when_shortened(const char* message, int status)
{
    shortened_message = message;
    shortened_status = status;
    std::signal(SIGBUS, [](int) {
        [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, shortened_message, strlen(shortened_message));
        ::_exit(shortened_status);
    });
}

static volatile std::sig_atomic_t shortened;

void MappedFile::survive_shortening()
{
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
        const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
        void* const at = reinterpret_cast<void*>(uintptr_t(info->si_addr) / page * page);
        shortened = 1;
        if (info->si_code != BUS_ADRERR
            || ::mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            std::signal(SIGBUS, SIG_DFL); // it was something else: it comes again
    };
    ::sigaction(SIGBUS, &action, nullptr);
}

bool MappedFile::was_shortened()
{
    return shortened != 0;
}

bool is_archive(std::span<const std::byte> file)
{
    const auto head = text_of(file).substr(0, SARMAG);
    return head == ordinary_magic || head == thin_magic;
}

void each_member(const std::string& path, std::span<const std::byte> file, Access access,
                 const std::function<void(const std::string&, std::span<const std::byte>)>& visit,
                 const std::function<void(const Error&)>& trouble)
{
    const bool thin = text_of(file).starts_with(thin_magic);
    std::string_view long_names;
    std::set<std::pair<dev_t, ino_t>> read; // members of a thin archive
    size_t again = 0, left_out = 0;
    std::string first_left_out;
    const auto finish = [&] {
        if (left_out > 0)
            trouble({fmt::format("{} {} {} left out ({}{})",
                                 left_out == 1 ? "1 member" : fmt::format("{} members", left_out),
                                 access.outside == Access::alone ? "in other files" : "outside the archive's directory",
                                 left_out == 1 ? "is" : "are", first_left_out, left_out == 1 ? "" : ", ..."),
                     path, access.outside == Access::alone ? "" : access.cure});
        if (again > 0)
            trouble({fmt::format("files that it names more than once are read once ({} names)", again), path});
    };
    size_t at = SARMAG;
    while (at < file.size()) {
        if (file.size() - at < sizeof(ar_hdr)) {
            // One byte of padding may follow the last member.
            if (file.size() - at > 1)
                trouble({"truncated: the archive ends inside a member's header", path});
            return finish();
        }
        const std::string_view header = text_of(file.subspan(at, sizeof(ar_hdr)));
        const std::string_view field = trimmed(header.substr(offsetof(ar_hdr, ar_name), sizeof(ar_hdr::ar_name)));
        const auto size = decimal(trimmed(header.substr(offsetof(ar_hdr, ar_size), sizeof(ar_hdr::ar_size))));
        if (header.substr(offsetof(ar_hdr, ar_fmag)) != ARFMAG || !size) {
            trouble({fmt::format("damaged: no member header at offset {}", at), path});
            return finish();
        }
        at += sizeof(ar_hdr);

        const bool table = field == "/" || field == "//" || field == "/SYM64/" || field.starts_with("__.SYMDEF");
        const bool inside = table || !thin;
        if (inside && *size > file.size() - at) {
            trouble({fmt::format("truncated: member {} ends past the end of the archive", field), path});
            return finish();
        }
        std::span<const std::byte> contents = inside ? file.subspan(at, *size) : std::span<const std::byte>();
        if (inside)
            at += *size + (*size & 1);

        if (table) {
            if (field == "//")
                long_names = text_of(contents);
            continue;
        }
        const auto name = name_of(field, long_names, contents);
        if (!name) {
            trouble(name.error().at(path));
            continue;
        }
        if (!thin) {
            visit(*name, contents);
            continue;
        }
        if (access.outside == Access::alone || (access.outside == Access::refuse && is_outside(*name))) {
            if (left_out++ == 0)
                first_left_out = *name;
            continue;
        }
        try {
            const MappedFile member((std::filesystem::path(path).parent_path() / *name).string(), access.copy);
            struct stat status;
            if (::fstat(member.descriptor(), &status) == 0 && !read.emplace(status.st_dev, status.st_ino).second)
                ++again;
            else
                visit(*name, member.bytes());
        } catch (const Unusable& error) {
            trouble(error.error().at(path));
        }
    }
    finish();
}

} // namespace fastsdt
