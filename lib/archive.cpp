// SPDX-License-Identifier: BSD-2-Clause
// libelf walks ordinary archives and knows nothing of thin ones, whose format differs in one point: no contents
// follow a member's header. So both are walked here. Format: ar(5); bfd/archive.c for the thin kind.
#include "archive.h"
#include "image.h"

#include <ar.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

namespace fastsdt {
namespace {

constexpr std::string_view ordinary_magic = ARMAG;
constexpr std::string_view thin_magic = "!<thin>\n";

std::string_view text(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

} // namespace

MappedFile::MappedFile(const std::string& path)
{
    // A FIFO without a writer would keep open() waiting.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0)
        throw Unusable(fmt::format("{}: {}", path, std::strerror(errno)));
    struct stat status;
    std::string why;
    if (::fstat(descriptor_, &status) != 0)
        why = std::strerror(errno);
    else if (S_ISDIR(status.st_mode))
        why = "is a directory; name the files in it";
    else if (!S_ISREG(status.st_mode))
        why = "not a regular file";
    else if (status.st_size == 0)
        why = "empty file";
    else {
        const auto size = size_t(status.st_size);
        // Writable and private because libelf asks for memory it could write to.
        void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor_, 0);
        if (at == MAP_FAILED)
            why = std::strerror(errno);
        else
            bytes_ = {static_cast<const std::byte*>(at), size};
    }
    if (!why.empty()) {
        ::close(descriptor_);
        throw Unusable(fmt::format("{}: {}", path, why));
    }
}

MappedFile::~MappedFile()
{
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    ::close(descriptor_);
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

bool is_archive(std::span<const std::byte> file)
{
    const auto head = text(file).substr(0, SARMAG);
    return head == ordinary_magic || head == thin_magic;
}

void each_member(const std::string& path, std::span<const std::byte> file,
                 const std::function<void(const std::string&, std::span<const std::byte>)>& visit,
                 const std::function<void(const std::string&)>& trouble)
{
    const bool thin = text(file).starts_with(thin_magic);
    std::string_view long_names;
    size_t at = SARMAG;
    while (at < file.size()) {
        if (file.size() - at < sizeof(ar_hdr)) {
            // One byte of padding may follow the last member.
            if (file.size() - at > 1)
                trouble(fmt::format("{}: truncated: the archive ends inside a member's header", path));
            return;
        }
        const std::string_view header = text(file.subspan(at, sizeof(ar_hdr)));
        const std::string_view field = trimmed(header.substr(offsetof(ar_hdr, ar_name), sizeof(ar_hdr::ar_name)));
        const auto size = decimal(trimmed(header.substr(offsetof(ar_hdr, ar_size), sizeof(ar_hdr::ar_size))));
        if (header.substr(offsetof(ar_hdr, ar_fmag)) != ARFMAG || !size) {
            trouble(fmt::format("{}: damaged: no member header at offset {}", path, at));
            return;
        }
        at += sizeof(ar_hdr);

        const bool table = field == "/" || field == "//" || field == "/SYM64/" || field.starts_with("__.SYMDEF");
        const bool inside = table || !thin;
        if (inside && *size > file.size() - at) {
            trouble(fmt::format("{}: truncated: member {} ends past the end of the archive", path, field));
            return;
        }
        std::span<const std::byte> contents = inside ? file.subspan(at, *size) : std::span<const std::byte>();
        if (inside)
            at += *size + (*size & 1);

        if (table) {
            if (field == "//")
                long_names = text(contents);
            continue;
        }
        std::string name(field);
        if (field.starts_with("#1/")) { // BSD: the name stands before the contents
            const auto length = decimal(field.substr(3));
            if (!length || *length > contents.size()) {
                trouble(fmt::format("{}: damaged: member name {}", path, field));
                continue;
            }
            name = std::string(text(contents.first(*length)).data(), strnlen(text(contents).data(), *length));
            contents = contents.subspan(*length);
        } else if (field.starts_with("/")) { // GNU: offset into the table of long names
            const auto colon = field.find(':');
            const auto offset = decimal(field.substr(1, colon == field.npos ? field.npos : colon - 1));
            if (!offset || *offset >= long_names.size()) {
                trouble(fmt::format("{}: damaged: member name {}", path, field));
                continue;
            }
            // No longer than a path can be: a table without line ends would be read anew for each member.
            const auto rest = long_names.substr(*offset, PATH_MAX);
            const auto end = rest.find('\n');
            if (end == rest.npos && rest.size() == PATH_MAX) {
                trouble(fmt::format("{}: damaged: member name {} has no end", path, field));
                continue;
            }
            name = rest.substr(0, end);
            if (name.ends_with('/'))
                name.pop_back();
            if (colon != field.npos) {
                // Member of an archive inside this thin archive; that archive can be named itself.
                trouble(fmt::format("{}: {} is an archive in a thin archive: check it by itself", path, name));
                continue;
            }
        } else if (name.ends_with('/')) {
            name.pop_back();
        }
        if (!thin) {
            visit(name, contents);
            continue;
        }
        try {
            const MappedFile member((std::filesystem::path(path).parent_path() / name).string());
            visit(name, member.bytes());
        } catch (const Unusable& error) {
            trouble(fmt::format("{}: {}", path, error.what()));
        }
    }
}

} // namespace fastsdt
