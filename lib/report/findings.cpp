// SPDX-License-Identifier: BSD-2-Clause
// The report on one image: Report's constructor does all of it, in this order.
//
//     read_sites()     each stapsdt note: its code, its record, kernels' verdicts, semaphore, arguments   findings_sites.cpp
//     read_entries()   with --functions: each function, recorded or not, and the exits that it promises   findings_functions.cpp
//     check_file()     what is true of the file as a whole; records that are stale, bases                 findings_file.cpp
//
// A finding belongs to the site, the function or the exit that it is about, else to the file. Each is counted when it is made, and
// only the first 10,000 of a kind are kept: a hostile file has as many as it has notes. What a kernel does at a place is not judged here:
// the Evaluator is asked, once for all places that look the same.
//
// Here is what the three parts share: names and levels (X-macro in findings.h), and check_record(), which compares what a record promises
// with what stands there, for sites, entries and exits alike.
#include "report/findings_shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fastsdt {
namespace {

constexpr size_t most_of_a_kind = 10000; // kept in full; all are counted

} // namespace

std::string_view name(Severity severity)
{
    switch (severity) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
    }
    return "";
}

std::optional<Severity> parse_severity(std::string_view text)
{
    for (Severity severity : {Severity::info, Severity::warning, Severity::error})
        if (text == name(severity))
            return severity;
    return {};
}

std::optional<Severity> severity(Change change)
{
    switch (change) {
    case Change::damaged: return Severity::error; // a thread that executes it loses its stack
    case Change::foreign_call:
    case Change::remapped:
    case Change::unreadable:
    case Change::changed: return Severity::warning;
    default: return {};
    }
}

namespace {
struct FindingRow {
    std::string_view name;
    Severity severity;
    std::string_view meaning;
};
constexpr FindingRow finding_rows[] = {
#define FASTSDT_X(enumerator, text, severity, meaning) {text, Severity::severity, meaning},
    FASTSDT_FINDINGS(FASTSDT_X)
#undef FASTSDT_X
};
} // namespace

std::string_view name(FindingId id)
{
    return finding_rows[size_t(id)].name;
}
std::string meaning(FindingId id)
{
    return fmt::format(fmt::runtime(finding_rows[size_t(id)].meaning), fmt::arg("nop5_first", name(nop5_first)),
                       fmt::arg("nop5_last", name(nop5_last)), fmt::arg("most_arguments", most_arguments));
}
Severity usual_severity(FindingId id)
{
    return finding_rows[size_t(id)].severity;
}

std::string_view state_name(uint8_t state)
{
    switch (state) {
    case FASTSDT_STATE_PRISTINE: return "pristine";
    case FASTSDT_STATE_CALL: return "call";
    case FASTSDT_STATE_LEA_CALL: return "lea+call";
    case FASTSDT_STATE_STALE_CALL: return "stale-call";
    case FASTSDT_STATE_OTHER_TAIL: return "other-tail";
    case FASTSDT_STATE_JUMP: return "jump";
    case FASTSDT_STATE_DAMAGED: return "damaged";
    default: return "unknown";
    }
}

bool patch_crosses_page(const Image& image, uint64_t address, const Evaluation& judged)
{
    return image.arch() == Arch::x86_64 && !image.relocatable()
        && crosses(address + judged.patch_offset, judged.patch_length, uprobe_page);
}

std::string hex(std::span<const std::byte> bytes)
{
    std::string text;
    for (std::byte byte : bytes)
        fmt::format_to(std::back_inserter(text), "{}{:02x}", text.empty() ? "" : " ", std::to_integer<unsigned>(byte));
    return text;
}

Report::Report(const Image& image_, const Notes& notes_, ReportOptions options_)
    : image(image_), notes(notes_), options(std::move(options_)), evaluator_(image_, options.kernels), moved_(image_),
      lines_(image_), texts_(image_.file())
{
    read_sites();
    if (options.functions)
        read_entries();
    check_file();
    check_moved();
    check_bases();
    check_duplicates();
}

void Report::add(std::vector<Finding>& to, FindingId id, std::string message, std::optional<uint64_t> address,
                 std::optional<Severity> severity)
{
    const Severity at = severity.value_or(usual_severity(id));
    ++severities[size_t(at)];
    if (++counts[size_t(id)] <= most_of_a_kind)
        to.push_back({id, at, std::move(message), address});
}

// A push with segment prefixes. As the kernel's is_prefix_bad() has it, they are 26, 2e, 36 and 3e.
static bool prefixed_push(std::span<const std::byte> bytes)
{
    constexpr std::string_view segments = "\x26\x2e\x36\x3e";
    size_t at = 0;
    const auto byte = [&] { return at < bytes.size() ? std::to_integer<unsigned char>(bytes[at]) : 0; };
    while (segments.find(char(byte())) != segments.npos)
        ++at;
    const size_t prefixes = at;
    at += byte() == 0x41;
    return prefixes > 0 && byte() >= 0x50 && byte() <= 0x57;
}

static constexpr std::string_view prefixes_why = ": the assembler put prefixes on the push, as with "
                                                 "-mbranches-within-32B-boundaries; every kernel refuses a probe there";

void Report::check_record(const Record& record, uint64_t address, const Evaluation* judged, std::vector<Finding>& to)
{
    const std::string_view layout = layout_name(record.layout, image.arch());
    const bool known = known_layout(record.layout);
    if (!known)
        add(to, FindingId::unknown_record, fmt::format("layout {} is not known", record.layout), address);

    const Layout* const row = find_layout(record.layout);
    const Shape* const shape = row ? &row->shape : nullptr;
    if (is_x86(image.arch()) && shape
        && (record.patch_offset != shape->patch_offset || record.patch_length != shape->patch_length))
        add(to, FindingId::record_mismatch,
            fmt::format("the record says {} bytes may be patched from offset {}, but {} has {} at {}",
                        record.patch_length, record.patch_offset, layout, shape->patch_length, shape->patch_offset),
            address);

    if (judged && image.arch() != Arch::unknown && record.layout != FASTSDT_LAYOUT_OTHER && known
        && (judged->layout != record.layout || judged->state != FASTSDT_STATE_PRISTINE)) {
        const auto bytes = image.bytes_at(address);
        const size_t shown = std::min<size_t>(bytes.size(), shape ? shape->length() : 4);
        add(to, FindingId::bytes_mismatch,
            judged->layout == record.layout
                ? fmt::format("the note says {} and it is in the state \"{}\": {}", layout, state_name(judged->state),
                              hex(bytes.first(shown)))
                : fmt::format("the note says {}, the bytes are {}{}", layout, hex(bytes.first(shown)),
                              record.layout == FASTSDT_LAYOUT_PUSH && prefixed_push(bytes) ? prefixes_why : ""),
            address);
    }

    const uint64_t patch = address + record.patch_offset;
    if (record.bound != 0 && record.bound < 64) {
        // In an object the promise can only hold if the section's own alignment is as large.
        const uint64_t boundary = uint64_t(1) << record.bound;
        const Section* section = image.relocatable() ? image.section_at(address) : nullptr;
        if (crosses(patch, record.patch_length, boundary))
            add(to, FindingId::bound_broken,
                fmt::format("{} patchable bytes at {} cross a multiple of {}", record.patch_length, image.place(patch),
                            boundary),
                address);
        else if (section && section->align < boundary && boundary <= uprobe_page)
            add(to, FindingId::bound_broken,
                fmt::format("section {} is aligned to {}, the promise needs {}", section->name, section->align,
                            boundary),
                address);
    }
}

} // namespace fastsdt
