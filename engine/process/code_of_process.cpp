// SPDX-License-Identifier: BSD-2-Clause
#include "process/code_of_process.h"

#include "base/integers.h"
#include "code/machine.h"
#include "elf/frames.h"
#include "elf/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <elf.h>
#include <mutex>
#include <optional>
#include <span>
#include <sys/stat.h>
#include <tuple>

namespace fastsdt::engine {
namespace {

UnwindRow::Rule rule_of(Cfa::Base base)
{
    switch (base) {
    case Cfa::stack_pointer: return UnwindRow::stack_pointer;
    case Cfa::frame_pointer: return UnwindRow::frame_pointer;
    case Cfa::at_frame_pointer: return UnwindRow::at_frame_pointer;
    case Cfa::unknown:
    case Cfa::other: break;
    }
    return UnwindRow::unknown;
}

/// What a row says of saved registers: UnwindRow::saved, and what is above the bits of its rule. Empty: not what a row can say.
struct Saved {
    uint8_t saved = UnwindRow::unchanged, how = 0;
};

std::optional<Saved> saved_where_calls_push(const Row& row)
{
    const int64_t below = -row.offset / stack_word;
    if (row.return_address != Row::at_cfa || row.return_offset != -stack_word)
        return {};
    switch (row.frame_pointer) {
    case Row::unchanged: return Saved{};
    case Row::at_cfa:
        if (row.offset % stack_word != 0 || below <= 0 || below >= UnwindRow::at_own)
            return {};
        return Saved{uint8_t(below)};
    case Row::at_frame_pointer: return row.offset == 0 ? std::optional(Saved{UnwindRow::at_own}) : std::nullopt;
    case Row::lost: break;
    }
    return {};
}

// gcc's frames have these two at their lower end, clang's at the upper one: so one of the numbers is small.
std::optional<Saved> saved_where_calls_link(const Row& row)
{
    if (row.return_address == Row::unchanged)
        return row.frame_pointer == Row::unchanged ? std::optional(Saved{}) : std::nullopt;
    const bool alone = row.frame_pointer == Row::unchanged;
    const int64_t at = alone ? row.return_offset : row.offset, below = -at / stack_word,
                  above = (row.cfa.offset + at) / stack_word;
    if (row.return_address != Row::at_cfa || at % stack_word != 0
        || (!alone && (row.frame_pointer != Row::at_cfa || row.return_offset != at + stack_word)))
        return {};
    const uint8_t how = alone ? UnwindRow::alone : UnwindRow::beside;
    if (below > 0 && below <= UINT8_MAX)
        return Saved{uint8_t(below), how};
    if (above >= 0 && above < UINT8_MAX && row.cfa.base != Cfa::at_frame_pointer)
        return Saved{uint8_t(above + 1), uint8_t(how | UnwindRow::counts_from_base)};
    return {};
}

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
    const int64_t words = row.cfa.offset / stack_word;
    const auto saved = own_arch == Arch::arm64 ? saved_where_calls_link(row) : saved_where_calls_push(row);
    const UnwindRow::Rule rule = rule_of(row.cfa.base);
    if (!saved || rule == UnwindRow::unknown || row.cfa.offset % stack_word != 0 || words != int16_t(words))
        return made;
    made.rule = UnwindRow::Rule(rule | saved->how << UnwindRow::bits_of_rule);
    made.saved = saved->saved;
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

// The kernel's own code, by which a handler of arm64 returns: mov x8, #139; svc #0. Its .eh_frame says nothing of it since Linux 5.8, so that
// unwinders look for these instructions. The address in the link register is the first one's, and the call's is before that.
std::vector<UnwindRow> rows_of_vdso(std::span<const std::byte> code)
{
    constexpr std::array instructions{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
    constexpr size_t instruction = 4;
    const auto found = std::search(code.begin(), code.end(), instructions.begin(), instructions.end(),
                                   [](std::byte a, int b) { return a == std::byte(b); });
    const auto at = size_t(found - code.begin());
    if (found == code.end() || at < instruction || at % instruction != 0)
        return {};
    return {UnwindRow{.start = 0, .rule = UnwindRow::unknown},
            UnwindRow{.start = uint32_t(at - instruction), .rule = UnwindRow::signal},
            UnwindRow{.start = uint32_t(at + instructions.size()), .rule = UnwindRow::unknown}};
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
    if (at + stack_word > bytes.size())
        return {};
    return {at, load(&bytes[at], stack_word, false)};
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

CodeOfProcess::Piece CodeOfProcess::code_of_vdso(const Mapping& mapping)
{
    const auto [found, fresh] = files_.try_emplace(mapping.name);
    if (fresh) {
        const uint64_t size = mapping.end - mapping.start;
        found->second = std::make_shared<const std::vector<FileCode>>(
            1, FileCode{mapping.offset, size, rows_of_vdso(view_.read(mapping.start, size)), {}});
    }
    return {found->second, &found->second->front()};
}

CodeOfProcess::Piece CodeOfProcess::code_of(const Mapping& mapping)
{
    if (mapping.name == "[vdso]" && own_arch == Arch::arm64)
        return code_of_vdso(mapping);
    if (!mapping.inode)
        return {};
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
        if (!mapping.executable)
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
