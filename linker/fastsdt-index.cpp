// SPDX-License-Identifier: BSD-2-Clause
// fastsdt-index: arguments, files and messages. indexer.cpp does the work.
#include "indexer.h"

#include <CLI/CLI.hpp>
#include <fastsdt/note.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fastsdt;

namespace {

enum { done = 0, failed = 1, usage = 2 };

struct File_error : std::runtime_error {
    explicit File_error(const std::string& what) : std::runtime_error(fmt::format("{}: {}", what, strerror(errno))) {}
};

struct Descriptor {
    int number;
    ~Descriptor()
    {
        if (number >= 0)
            close(number);
    }
};

std::vector<std::byte> read_file(const std::string& path, struct stat& status)
{
    const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.number < 0 || fstat(file.number, &status) != 0)
        throw File_error("cannot open");
    if (!S_ISREG(status.st_mode))
        throw Index_error("not a regular file");
    std::vector<std::byte> bytes(status.st_size);
    for (size_t at = 0; at < bytes.size();) {
        const ssize_t got = read(file.number, bytes.data() + at, bytes.size() - at);
        if (got < 0 && errno != EINTR)
            throw File_error("cannot read");
        if (got == 0)
            bytes.resize(at);
        at += got > 0 ? got : 0;
    }
    return bytes;
}

// The file appears whole or not at all: readers see the old one until the rename.
void write_file(const std::string& path, const std::vector<std::byte>& bytes, const struct stat& like)
{
    std::string temporary = path + ".XXXXXX";
    const Descriptor file{mkstemp(temporary.data())};
    if (file.number < 0)
        throw File_error("cannot write " + temporary);
    const auto fail = [&](const char* what) {
        const File_error error(fmt::format("cannot {} {}", what, temporary));
        unlink(temporary.c_str());
        throw error;
    };
    for (size_t at = 0; at < bytes.size();) {
        const ssize_t put = write(file.number, bytes.data() + at, bytes.size() - at);
        if (put < 0 && errno != EINTR)
            fail("write");
        at += put > 0 ? put : 0;
    }
    // Ownership first: chown clears set-user-id. Who may not give files away keeps the new file, as a linker would.
    if (fchown(file.number, like.st_uid, like.st_gid) != 0 && errno != EPERM)
        fail("set the owner of");
    if (fchmod(file.number, like.st_mode & 07777) != 0)
        fail("set the mode of");
    if (rename(temporary.c_str(), path.c_str()) != 0)
        fail("rename");
}

void print_text(const std::string& path, const Index_result& result, bool verbose)
{
    std::string line = fmt::format("{}: {} sites and {} entries indexed, .note.fastsdt {} -> {} bytes", path,
                                   result.sites, result.entries, result.layout_bytes_before, result.layout_bytes_after);
    if (!result.changed)
        line = fmt::format("{}: {} sites and {} entries, nothing to do", path, result.sites, result.entries);
    if (result.joined)
        line += fmt::format(", {} .note.stapsdt sections joined", result.joined + 1);
    if (!result.removed.empty())
        line += fmt::format(", {} dangling notes removed", result.removed.size());
    if (result.rebased)
        line += fmt::format(", the base of {} probes corrected", result.rebased);
    fmt::print("{}\n", line);
    if (verbose)
        for (const Removed_note& note : result.removed)
            fmt::print("  removed: {} at {:#x}: {}\n", note.what, note.address, note.why);
}

nlohmann::json to_json(const std::string& path, const Index_result& result)
{
    nlohmann::json removed = nlohmann::json::array();
    for (const Removed_note& note : result.removed)
        removed.push_back({{"note", note.what}, {"address", note.address}, {"why", note.why}});
    return {{"file", path},
            {"changed", result.changed},
            {"sites", result.sites},
            {"entries", result.entries},
            {"probes", result.probes},
            {"rebased", result.rebased},
            {"joined", result.joined},
            {"removed", removed},
            {"layout_bytes", {{"before", result.layout_bytes_before}, {"after", result.layout_bytes_after}}},
            {"stapsdt_bytes", {{"before", result.stapsdt_bytes_before}, {"after", result.stapsdt_bytes_after}}}};
}

} // namespace

int main(int argc, char** argv)
{
    CLI::App app{"Merges the probe layout notes of executables and libraries into one sorted index, and removes notes"
                 " whose code the linker dropped."};
    std::vector<std::string> paths;
    std::string output;
    bool dry_run = false, quiet = false, verbose = false, json = false;
    app.add_option("FILE", paths, "linked ELF files; changed in place unless -o is given")->required();
    app.add_option("-o,--output", output, "write the result here (one FILE only)");
    app.add_flag("-n,--dry-run", dry_run, "say what would change and write nothing");
    app.add_flag("-q,--quiet", quiet, "print nothing but errors");
    app.add_flag("-v,--verbose", verbose, "name every removed note")->excludes("--quiet");
    app.add_flag("--json", json, "report as JSON")->excludes("--quiet");
    app.set_version_flag("--version", "fastsdt-index " FASTSDT_VERSION_STRING);
    try {
        app.parse(argc, argv);
        if (!output.empty() && paths.size() != 1)
            throw CLI::ValidationError("--output", "needs exactly one FILE");
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? done : usage;
    }

    int status = done;
    nlohmann::json report = nlohmann::json::array();
    for (const std::string& path : paths) {
        try {
            struct stat like{};
            const Index_result result = index_notes(read_file(path, like));
            if (!dry_run && (result.changed || !output.empty())) {
                std::string target = output;
                if (target.empty()) { // a symbolic link stays one
                    const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
                    if (!real)
                        throw File_error("cannot resolve");
                    target = real.get();
                }
                write_file(target, result.file, like);
            }
            if (json)
                report.push_back(to_json(path, result));
            else if (!quiet)
                print_text(path, result, verbose);
        } catch (const std::exception& error) {
            fmt::print(stderr, "fastsdt-index: {}: {}\n", path, error.what());
            status = failed;
        }
    }
    if (json)
        fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return status;
}
