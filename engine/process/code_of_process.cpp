// SPDX-License-Identifier: BSD-2-Clause
#include "process/code_of_process.h"

#include "base/integers.h"
#include "elf/frames.h"
#include "elf/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <elf.h>
#include <mutex>
#include <sys/stat.h>
#include <tuple>

namespace fastsdt::engine {
namespace {

constexpr int64_t word = 8;

UnwindRow row_of(const Frame& frame, const Row& row, uint64_t start)
{
    UnwindRow made{.start = uint32_t(start)};
    if (frame.signal) {
        made.rule = UnwindRow::signal;
        return made;
    }
    if (row.outermost) {
        made.rule = UnwindRow::outermost;
        return made;
    }
    const int64_t words = row.cfa.offset / word, below = -row.offset / word;
    const auto fits = [](int64_t number) { return number % word == 0; };
    if (!row.usual_return || !fits(row.cfa.offset) || words != int16_t(words))
        return made;
    switch (row.frame_pointer) {
    case Row::unchanged: break;
    case Row::at_cfa:
        if (!fits(row.offset) || below <= 0 || below >= UnwindRow::at_own)
            return made;
        made.saved = uint8_t(below);
        break;
    case Row::at_frame_pointer:
        if (row.offset != 0)
            return made;
        made.saved = UnwindRow::at_own;
        break;
    case Row::lost: return made;
    }
    switch (row.cfa.base) {
    case Cfa::stack_pointer: made.rule = UnwindRow::stack_pointer; break;
    case Cfa::frame_pointer: made.rule = UnwindRow::frame_pointer; break;
    case Cfa::at_frame_pointer: made.rule = UnwindRow::at_frame_pointer; break;
    case Cfa::unknown:
    case Cfa::other: return made;
    }
    made.offset = int16_t(words);
    return made;
}

// @param entry  where the file begins to run: that has no caller, and in the dynamic linker and with musl no frame either
std::vector<UnwindRow> rows_of(const Frames& frames, const Segment& segment, uint64_t entry)
{
    const uint64_t start = segment.address.value;
    std::vector<UnwindRow> rows;
    const auto without_frame = [&](uint64_t from, uint64_t to) {
        return UnwindRow{.start = uint32_t(from - start),
                         .rule = entry >= from && entry < to ? UnwindRow::outermost : UnwindRow::unknown};
    };
    const auto add = [&](const UnwindRow& row) {
        // One that says what the row before says would be no news.
        UnwindRow same = row;
        if (!rows.empty())
            same.start = rows.back().start;
        if (rows.empty() || !(rows.back() == same))
            rows.push_back(row);
    };
    constexpr uint64_t most = UINT32_MAX;
    uint64_t reached = start;
    for (const Frame& frame : frames.all()) {
        if (frame.begin < start || frame.end - start > std::min(segment.size, most))
            continue;
        if (frame.begin != reached)
            add(without_frame(reached, frame.begin));
        Rows program(frames.cies()[frame.cie], frame);
        for (uint64_t at = frame.begin; at < frame.end; at = program.end())
            add(row_of(frame, program.at(at), at - start));
        reached = frame.end;
    }
    if (!rows.empty())
        add(without_frame(reached, start + segment.size));
    return rows;
}

CodeOfProcess::Mark mark_of(const Image& image)
{
    constexpr size_t page = 4096;
    constexpr unsigned char note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0}; // NT_GNU_BUILD_ID, SHA-1
    const auto bytes = image.file().first(std::min(image.file().size(), page));
    const auto found = std::search(bytes.begin(), bytes.end(), std::begin(note), std::end(note),
                                   [](std::byte a, unsigned char b) { return a == std::byte(b); });
    const size_t at =
        found != bytes.end() ? size_t(found - bytes.begin()) + sizeof note : offsetof(Elf64_Ehdr, e_shoff);
    if (at + word > bytes.size())
        return {};
    return {at, load(&bytes[at], word, false)};
}

} // namespace

size_t CodeOfProcess::rows() const
{
    size_t rows = 0;
    for (const auto& [number, file] : files_)
        for (const FileCode& code : *file)
            rows += code.rows.size();
    return rows;
}

CodeOfProcess::CodeOfFile CodeOfProcess::read(const Descriptor& file)
{
    // A file that is written anew has another time or another number.
    using Key = std::tuple<dev_t, ino_t, off_t, time_t, long>;
    static std::mutex mutex;
    static auto& all =
        *new std::map<Key,
                      std::weak_ptr<const std::vector<FileCode>>>; // never freed: a thread may look until the very end
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0)
        return std::make_shared<const std::vector<FileCode>>();
    const std::lock_guard lock(mutex);
    auto& known = all[{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec}];
    if (CodeOfFile still = known.lock())
        return still;
    const auto pieces = std::make_shared<std::vector<FileCode>>();
    each_image(path_of(file), [&](const Image& image) {
        if (image.relocatable() || image.arch() != own_arch)
            return;
        const Frames frames(image);
        const uint64_t entry = load(&image.file()[offsetof(Elf64_Ehdr, e_entry)], 8, false);
        for (const Segment& segment : image.segments())
            if (segment.executable)
                pieces->push_back(
                    {segment.offset.value, segment.file_size, rows_of(frames, segment, entry), mark_of(image)});
    });
    known = pieces;
    return pieces;
}

CodeOfProcess::Piece CodeOfProcess::code_of(const Mapping& mapping)
{
    const auto [found, fresh] = files_.try_emplace(fmt::format("{} {}", mapping.device, mapping.inode));
    if (fresh)
        found->second = read(view_.file(mapping));
    // A mapping begins at a page, and a segment perhaps behind that.
    const uint64_t end = mapping.offset + (mapping.end - mapping.start);
    for (const FileCode& code : *found->second)
        if (code.offset < end && mapping.offset < code.offset + code.size)
            return {found->second, &code};
    return {};
}

std::vector<CodeOfProcess::Module> CodeOfProcess::modules()
{
    std::vector<Module> modules;
    for (const Mapping& mapping : view_.mappings()) {
        if (!mapping.executable || !mapping.inode)
            continue;
        const Piece code = code_of(mapping);
        if (!code || code->rows.empty())
            continue;
        const Module module{mapping.start, mapping.end, mapping.start - mapping.offset + code->offset, code};
        // Where text was changed, the kernel has several mappings for it.
        if (!modules.empty() && modules.back().end == module.start && modules.back().base == module.base
            && modules.back().code == code)
            modules.back().end = module.end;
        else
            modules.push_back(module);
    }
    return modules;
}

} // namespace fastsdt::engine
