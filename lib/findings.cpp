// SPDX-License-Identifier: BSD-2-Clause
#include "findings.h"
#include "integers.h"
#include "tracers.h"

#include <fastsdt/note.h>
#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace fastsdt {
namespace {

constexpr char nop10_crosses[] = "the nop10 crosses a page: every kernel rejects a probe on it";
constexpr size_t most_of_a_kind = 10000; // kept in full; all are counted

struct Shape {
    uint8_t layout, patch_offset, patch_length;
};
constexpr Shape shapes[] = {
#define FASTSDT_X(name) {FASTSDT_SHAPE_##name},
    FASTSDT_LAYOUTS(FASTSDT_X)
#undef FASTSDT_X
};

const Shape* shape_of(uint8_t layout)
{
    const auto found =
        std::find_if(std::begin(shapes), std::end(shapes), [&](const Shape& s) { return s.layout == layout; });
    return found == std::end(shapes) ? nullptr : found;
}

/// The linker found GNU_PROPERTY_X86_FEATURE_1_SHSTK in all objects of the file.
bool marked_for_shadow_stack(const Image& image)
{
    // x86-64 psABI, "Program property": NT_GNU_PROPERTY_TYPE_0, GNU_PROPERTY_X86_FEATURE_1_AND and its bit. Not every <elf.h> has them.
    constexpr uint32_t properties = 5, feature_1_and = 0xc0000002, shstk = 1u << 1;
    const Section* section = image.section(".note.gnu.property");
    if (!section || image.arch() != Arch::x86_64)
        return false;
    bool marked = false;
    each_note(image.contents(*section), image.encoding(), [&](const RawNote& note) {
        if (note.owner != "GNU" || note.type != properties)
            return;
        // Type and size of four bytes each, then so many bytes, padded to eight.
        for (size_t at = 0; at + 8 <= note.descriptor.size();) {
            const uint64_t type = load(&note.descriptor[at], 4, false), size = load(&note.descriptor[at + 4], 4, false);
            if (type == feature_1_and && size == 4 && at + 12 <= note.descriptor.size())
                marked |= (load(&note.descriptor[at + 8], 4, false) & shstk) != 0;
            at += 8 + (size + 7) / 8 * 8;
        }
    });
    return marked;
}

bool x86(Arch arch)
{
    return arch == Arch::x86_64 || arch == Arch::i386;
}

// The layouts whose patchable bytes a kernel writes a call over.
bool nop10_kind(uint8_t layout)
{
    return layout == FASTSDT_LAYOUT_NOP10 || layout == FASTSDT_LAYOUT_NOP1_NOP10;
}
bool nop5_kind(uint8_t layout)
{
    return layout == FASTSDT_LAYOUT_NOP5 || layout == FASTSDT_LAYOUT_NOP1_NOP5;
}

bool crosses(uint64_t address, uint64_t length, uint64_t boundary)
{
    return length > 0 && address % boundary + length > boundary;
}

// Whether the bytes that a kernel would write over lie in two pages; in an object nobody knows. `address`: of the layout.
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

FindingId finding_of(NoteTrouble::Kind kind)
{
    switch (kind) {
    case NoteTrouble::Kind::malformed:
    case NoteTrouble::Kind::too_many: return FindingId::malformed_note;
    case NoteTrouble::Kind::foreign: return FindingId::foreign_note;
    case NoteTrouble::Kind::version: return FindingId::unknown_record;
    case NoteTrouble::Kind::not_a_note: return FindingId::note_section_type;
    case NoteTrouble::Kind::split: return FindingId::split_notes;
    case NoteTrouble::Kind::index: return FindingId::index_damaged;
    }
    return FindingId::malformed_note;
}

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
    case Change::damaged: return Severity::error; // whoever executes it loses the stack
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

std::string_view layout_name(uint8_t layout, Arch arch)
{
    switch (layout) {
    case FASTSDT_LAYOUT_NOP: return x86(arch) ? "nop1" : "nop";
    case FASTSDT_LAYOUT_NOP1_NOP4: return "nop1+nop4";
    case FASTSDT_LAYOUT_NOP5: return "nop5";
    case FASTSDT_LAYOUT_NOP1_NOP5: return "nop1+nop5";
    case FASTSDT_LAYOUT_NOP10: return "nop10";
    case FASTSDT_LAYOUT_NOP1_NOP10: return "nop1+nop10";
    case FASTSDT_LAYOUT_PUSH: return "push";
    case FASTSDT_LAYOUT_STP: return "stp";
    default: return "other";
    }
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

// ---- The report -----------------------------------------------------------------------------------------------------

Report::Report(const Image& image_, const Notes& notes_, Options options_)
    : image(image_), notes(notes_), options(std::move(options_)), evaluator_(image_, options.kernels), lines_(image_)
{
    read_sites();
    if (options.functions)
        read_entries();
    check_file();
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

void Report::read_sites()
{
    sites.reserve(notes.probes.size());
    for (const Probe& probe : notes.probes) {
        if (options.select && !options.select(probe))
            continue;
        Site site;
        site.probe = &probe;
        site.record = notes.site_at(probe.note_address);
        sites.push_back(std::move(site));
    }
    std::stable_sort(sites.begin(), sites.end(),
                     [](const Site& a, const Site& b) { return a.probe->address < b.probe->address; });
    for (Site& site : sites)
        check_site(site);
    // A record at the address of a note, or several of them, is accounted for.
    size_t at = 0;
    std::vector<uint64_t> addresses;
    addresses.reserve(notes.probes.size());
    for (const Probe& probe : notes.probes)
        addresses.push_back(probe.note_address);
    std::sort(addresses.begin(), addresses.end());
    for (const Record& record : notes.sites) {
        while (at < addresses.size() && addresses[at] < record.address)
            ++at;
        if (at == addresses.size() || addresses[at] != record.address)
            add(findings, FindingId::layout_without_probe,
                fmt::format("a {} record at {} has no probe", layout_name(record.layout, image.arch()),
                            image.place(record.address)),
                record.address);
    }
}

void Report::check_record(const Record& record, uint64_t address, const Evaluation* judged, std::vector<Finding>& to)
{
    const std::string_view layout = layout_name(record.layout, image.arch());
    const bool known = layout != "other" || record.layout == FASTSDT_LAYOUT_OTHER;
    if (!known)
        add(to, FindingId::unknown_record, fmt::format("layout {} is not known", record.layout), address);

    const Shape* shape = shape_of(record.layout);
    if (x86(image.arch()) && shape
        && (record.patch_offset != shape->patch_offset || record.patch_length != shape->patch_length))
        add(to, FindingId::record_mismatch,
            fmt::format("the record says {} bytes may be patched from offset {}, but {} has {} at {}",
                        record.patch_length, record.patch_offset, layout, shape->patch_length, shape->patch_offset),
            address);

    if (judged && image.arch() != Arch::unknown && record.layout != FASTSDT_LAYOUT_OTHER && known
        && (judged->layout != record.layout || judged->state != FASTSDT_STATE_PRISTINE)) {
        const auto bytes = image.bytes_at(address);
        const size_t shown = std::min<size_t>(bytes.size(), shape ? shape->patch_offset + shape->patch_length : 4);
        add(to, FindingId::bytes_mismatch,
            judged->layout == record.layout
                ? fmt::format("the note says {} and it is in the state \"{}\": {}", layout, state_name(judged->state),
                              hex(bytes.first(shown)))
                : fmt::format("the note says {}, the bytes are {}", layout, hex(bytes.first(shown))),
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

void Report::check_site(Site& site)
{
    const Probe& probe = *site.probe;
    const auto add_here = [&](FindingId id, std::string message, std::optional<Severity> severity = {}) {
        add(site.findings, id, std::move(message), probe.address, severity);
    };

    const auto bytes = image.bytes_at(probe.address);
    const bool live = probe.address != image.undefined() && image.executable_at(probe.address);
    if (!live)
        add_here(FindingId::dangling_note, fmt::format("{} is not executable memory", image.place(probe.address)));
    else
        site.judged = evaluator_.at({probe.address, site.record});
    if (site.judged)
        site.bytes = bytes.first(std::min<size_t>(bytes.size(), site.judged->length ? site.judged->length : 8));

    if (site.record) {
        const Record& record = *site.record;
        if (record.lead != 0)
            add_here(FindingId::record_mismatch, fmt::format("the record of a site has lead {}", record.lead));
        if (live)
            check_record(record, probe.address, site.judged, site.findings);
        const uint64_t moved = probe.address - probe.note_address;
        if (record.operand != 0 && probe.semaphore != 0 && record.operand + moved != probe.semaphore
            && !image.relocatable())
            add_here(FindingId::record_mismatch,
                     fmt::format("semaphore {:#x} in the layout record, {:#x} in the stapsdt note",
                                 record.operand + moved, probe.semaphore));
        else if ((record.operand == 0) != (probe.semaphore == 0))
            add_here(FindingId::record_mismatch,
                     "the layout record and the stapsdt note disagree on having a semaphore");
        if (record.flags & FASTSDT_SITE_UNGROUPED)
            add_here(FindingId::ungrouped_note, "made by an assembler without link-order sections");
    }
    if (probe.trailing != 0)
        add_here(FindingId::trailing_bytes, fmt::format("{} bytes follow the argument string", probe.trailing));

    if (const Evaluation* judged = site.judged) {
        if (judged->length == 0 && (x86(image.arch()) || image.arch() == Arch::arm64))
            add_here(
                FindingId::unknown_layout,
                fmt::format("{} is not a known site", hex(site.bytes.first(std::min<size_t>(site.bytes.size(), 5)))));
        const bool crossing = patch_crosses_page(image, probe.address, *judged);
        if (crossing && nop10_kind(judged->layout))
            add_here(FindingId::page_crossing,
                     judged->layout == FASTSDT_LAYOUT_NOP10
                         ? std::string(nop10_crosses)
                         : fmt::format("{}, and {} attaches there", nop10_crosses, libbpf_that_moves(judged->layout)));
        else if (crossing && nop5_kind(judged->layout))
            add_here(FindingId::page_crossing,
                     fmt::format("the nop5 crosses a page: Linux {} to {} do not optimize it", name(nop5_first),
                                 name(nop5_last)),
                     Severity::info);

        const auto kernels_where = [&](auto predicate) {
            std::vector<Kernel> hit;
            for (size_t i = 0; i < options.kernels.size(); ++i)
                if (predicate(judged->behaviours[i]))
                    hit.push_back(options.kernels[i]);
            return list_kernels(hit);
        };
        const auto is = [&](Verdict verdict) {
            return kernels_where([&](const Behaviour& b) { return b.at_note.verdict == verdict; });
        };
        if (const auto where = kernels_where([](const Behaviour& b) {
                return b.at_note.verdict == Verdict::optimize_unsafe
                    || (b.libbpf_moves && b.at_patch.verdict == Verdict::optimize_unsafe);
            });
            !where.empty()) {
            const bool safe_stack = site.record && site.record->flags & FASTSDT_SITE_NO_REDZONE;
            const bool moved = judged->patch_offset != 0;
            add_here(FindingId::unsafe_optimization,
                     fmt::format("on {} {}; {} a child after fork() dies at the site", where,
                                 moved ? libbpf_that_moves(judged->layout)
                                         + " moves its probe to the nop5 and the kernel makes it a call"
                                       : "the kernel makes the nop5 a call",
                                 safe_stack ? "the red zone is not used, but" : "the red zone may be overwritten and"));
        }
        if (const auto where = kernels_where([](const Behaviour& b) { return breaks_program(b.at_note.verdict); });
            !where.empty())
            add_here(FindingId::breaks_program, fmt::format("a probe breaks the program on {}", where));
        if (const auto where = is(Verdict::reject); !where.empty())
            add_here(FindingId::kernel_rejects, fmt::format("rejected on {}", where));
        if (const auto where = is(Verdict::xol); !where.empty())
            add_here(FindingId::single_stepped, fmt::format("single-stepped on {}", where));
    }
    check_semaphore(site);
    check_arguments(site);
    if (options.lines && live)
        site.line = lines_.at(probe.address);
}

// Another segment that the kernel may take the semaphore to be in: find_ref_ctr_vma() and delayed_ref_ctr_inc() of
// kernel/events/uprobes.c use the first private writable mapping that covers its file offset, and mappings cover whole
// pages. RELRO counts, since it is mapped writable. nullptr: none.
const Segment* Report::writable_alias(uint64_t semaphore)
{
    const auto& segments = image.segments();
    const Segment* const own = image.segment_at(semaphore);
    const auto offset = image.file_offset(semaphore);
    if (image.relocatable() || !own || !offset)
        return nullptr;
    if (!writable_) {
        std::vector<Cover::Range> ranges;
        for (const Segment& s : segments)
            ranges.push_back(s.writable && s.file_size
                                 ? Cover::Range{s.offset / uprobe_page * uprobe_page,
                                                (s.offset + s.file_size + uprobe_page - 1) / uprobe_page * uprobe_page}
                                 : Cover::Range{});
        writable_.emplace(ranges);
    }
    const auto other = writable_->other_than(size_t(own - segments.data()), *offset);
    return other ? &segments[*other] : nullptr;
}

void Report::check_semaphore(Site& site)
{
    const uint64_t semaphore = site.probe->semaphore;
    if (semaphore == 0 || semaphore == image.undefined())
        return;
    const auto add_here = [&](FindingId id, std::string_view what) {
        add(site.findings, id, fmt::format("semaphore at {} {}", image.place(semaphore), what), site.probe->address);
    };
    if (!image.mapped_at(semaphore))
        add_here(FindingId::semaphore_outside, "is in no segment");
    else if (image.executable_at(semaphore))
        add_here(FindingId::semaphore_executable, "is in an executable segment");
    else if (!image.writable_at(semaphore))
        add_here(FindingId::semaphore_not_writable, "is in read-only memory");
    else if (const Segment* other = writable_alias(semaphore))
        add_here(
            FindingId::semaphore_shared_page,
            fmt::format("shares its page of the file with the writable segment at {}", image.place(other->address)));
}

void Report::check_arguments(Site& site)
{
    const std::string_view text = site.probe->arguments;
    auto known = arguments_.find(text);
    if (known == arguments_.end())
        known = arguments_.emplace(text, parse_arguments(text, image.arch())).first;
    site.arguments = &known->second;
    const auto& arguments = known->second;
    if (arguments.size() > most_arguments)
        add(site.findings, FindingId::too_many_arguments,
            fmt::format("more than {} arguments: libbpf refuses the probe", most_arguments), site.probe->address);
    // One finding per argument and kind, however many tracers it concerns.
    static constexpr std::pair<ReadingVerdict, FindingId> kinds[] = {
        {ReadingVerdict::rejects, FindingId::argument_unreadable},
        {ReadingVerdict::misreads, FindingId::argument_misread},
        {ReadingVerdict::conditional, FindingId::argument_conditional}};
    for (size_t i = 0; i < arguments.size(); ++i) {
        const Argument& argument = arguments[i];
        if (std::all_of(argument.readings.begin(), argument.readings.end(),
                        [](const Reading& r) { return r.verdict == ReadingVerdict::reads; }))
            continue;
        for (const auto& [verdict, id] : kinds) {
            std::string message;
            for (Tracer tracer : tracers) {
                const Reading& reading = argument.reading(tracer);
                if (reading.verdict != verdict)
                    continue;
                message += fmt::format("{}{} {}", message.empty() ? "" : "; ", name(tracer),
                                       verdict == ReadingVerdict::rejects
                                           ? fmt::format("{} ({})", consequence(tracer), reading.why)
                                           : fmt::format("({})", reading.why));
            }
            if (!message.empty())
                add(site.findings, id, fmt::format("argument {} {}: {}", i + 1, argument.text.substr(0, 80), message),
                    site.probe->address);
        }
    }
}

void Report::read_entries()
{
    auto functions = image.functions();
    entries.reserve(functions.size());
    const Record* records = notes.entries.data();
    const Record* const records_end = records + notes.entries.size();
    for (const Function& function : functions) {
        // Records of functions without a symbol (stripped ones) come in between.
        for (; records != records_end && records->address < function.address; ++records)
            entries.push_back({{.address = records->address}, records, records->lead, nullptr, {}, {}});
        Entry entry;
        entry.function = function;
        if (records != records_end && records->address == function.address) {
            entry.record = records;
            entry.lead = records->lead;
            while (records != records_end && records->address == function.address)
                ++records;
        }
        entries.push_back(std::move(entry));
    }
    for (; records != records_end; ++records)
        entries.push_back({{.address = records->address}, records, records->lead, nullptr, {}, {}});

    for (Entry& entry : entries) {
        const uint64_t address = entry.function.address;
        if (!image.executable_at(address)) {
            if (entry.record)
                add(entry.findings, FindingId::dangling_note,
                    fmt::format("{} is not executable memory", image.place(address)), address);
            continue;
        }
        entry.judged = evaluator_.at({address, entry.record, true});
        if (!entry.record)
            continue;
        check_record(*entry.record, address + entry.lead, entry.judged, entry.findings);
        const bool missed = entry.record->flags & FASTSDT_ENTRY_MISSED;
        if (missed)
            add(entry.findings, FindingId::entry_missed, "the requested entry is not possible here", address);
        if (!entry.judged)
            continue;
        if (nop10_kind(entry.judged->layout) && patch_crosses_page(image, address + entry.lead, *entry.judged))
            add(entry.findings, FindingId::page_crossing, nop10_crosses, address);
        check_verdicts(*entry.judged, address, missed, entry.findings);
        check_return_probe(entry);
    }
    if (!notes.exits.empty())
        read_exits();
}

void Report::check_verdicts(const Evaluation& judged, uint64_t address, bool missed, std::vector<Finding>& to)
{
    std::vector<Kernel> slow, broken;
    for (size_t i = 0; i < options.kernels.size(); ++i) {
        const Verdict verdict = judged.behaviours[i].at_note.verdict;
        if (verdict == Verdict::xol || verdict == Verdict::reject)
            slow.push_back(options.kernels[i]);
        else if (breaks_program(verdict))
            broken.push_back(options.kernels[i]);
    }
    if (!broken.empty())
        add(to, FindingId::breaks_program, fmt::format("a probe breaks the program on {}", list_kernels(broken)),
            address);
    if (!slow.empty() && !missed)
        add(to, FindingId::entry_single_stepped, fmt::format("not cheap on {}", list_kernels(slow)), address);
}

// prepare_uretprobe() of kernel/events/uprobes.c puts the trampoline's address in the place of the return address.
void Report::check_return_probe(Entry& entry)
{
    const uint64_t address = entry.function.address;
    if (entry.record->flags & FASTSDT_ENTRY_RETURNS_TWICE)
        add(entry.findings, FindingId::return_probe_unsafe, "it returns twice: a return probe sees one of the two",
            address);
    if (image.arch() != Arch::arm64)
        return;
    constexpr uint32_t paciasp = 0xd503233f, pacibsp = 0xd503237f;
    const auto code = image.bytes_at(address);
    for (size_t at = 0; at + 4 <= std::min<size_t>(entry.lead, code.size()); at += 4) {
        const auto word = uint32_t(load(&code[at], 4, false));
        if (word == paciasp || word == pacibsp) {
            add(entry.findings, FindingId::return_probe_unsafe,
                "the record's place is behind paciasp: x30 is signed there, and a return probe puts an unsigned "
                "address into it",
                address);
            return;
        }
    }
}

void Report::read_exits()
{
    exits.reserve(notes.exits.size());
    for (const Record& record : notes.exits) {
        if (!exits.empty() && *exits.back().record == record)
            continue; // folded functions
        exits.push_back({&record, nullptr, {}});
    }
    for (Exit& exit : exits)
        check_exit(exit);

    const auto functions = image.functions(true);
    // Of no function that is listed: told with the file's findings.
    const auto orphan = [&](Exit& exit) {
        add(exit.findings, FindingId::record_mismatch, "the exit's function has no entry record", exit.record->address);
        std::move(exit.findings.begin(), exit.findings.end(), std::back_inserter(findings));
        exit.findings.clear();
    };
    size_t next = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
        Entry& entry = entries[i];
        const uint64_t address = entry.function.address;
        const bool promised = entry.record && (entry.record->flags & FASTSDT_ENTRY_EXITS);
        for (; next < exits.size() && exits[next].record->operand < address; ++next)
            orphan(exits[next]);
        const size_t first = next;
        for (; next < exits.size() && exits[next].record->operand == address; ++next)
            if (!promised)
                add(exits[next].findings, FindingId::record_mismatch, "the function's entry record knows of no exits",
                    exits[next].record->address);
        entry.exits = std::span(exits).subspan(first, next - first);
        if (!promised || !image.executable_at(address))
            continue;
        check_ways_out(entry, functions);
    }
    for (; next < exits.size(); ++next)
        orphan(exits[next]);
}

void Report::check_exit(Exit& exit)
{
    const Record& record = *exit.record;
    const uint64_t address = record.address;
    if (!image.executable_at(address)) {
        add(exit.findings, FindingId::dangling_note, fmt::format("{} is not executable memory", image.place(address)),
            address);
        return;
    }
    exit.judged = evaluator_.at({address, &record});
    check_record(record, address, exit.judged, exit.findings);
    if (!exit.judged)
        return;
    const Evaluation& judged = *exit.judged;
    if (nop10_kind(judged.layout) && patch_crosses_page(image, address, judged))
        add(exit.findings, FindingId::page_crossing, nop10_crosses, address);
    check_verdicts(judged, address, false, exit.findings);
    const auto code = image.bytes_at(address);
    if (judged.length == 0 || judged.length >= code.size())
        return;
    const auto leaving = step(image.arch(), code.subspan(judged.length), address + judged.length);
    if (leaving && leaving->flow == Flow::next)
        add(exit.findings, FindingId::record_mismatch, "what follows the exit's layout is neither a return nor a jump",
            address);
}

// Indirect jumps may stay inside the function (switch) or not (a tail call), and jumps of objects have no targets yet:
// nothing is said about those.
void Report::check_ways_out(Entry& entry, const std::vector<Function>& functions)
{
    // A function ends where the next one begins at the latest, so that all of them together are the code once.
    const auto end = [&](const Function& f) {
        const uint64_t last = std::max(f.address, f.address + f.size);
        const size_t after = size_t(&f - functions.data()) + 1;
        return after < functions.size() ? std::min(last, functions[after].address) : last;
    };
    const auto containing = [&](uint64_t address) -> const Function* {
        const auto after = std::upper_bound(functions.begin(), functions.end(), address,
                                            [](uint64_t a, const Function& f) { return a < f.address; });
        if (after == functions.begin())
            return nullptr;
        const Function& function = *std::prev(after);
        return address < end(function) ? &function : nullptr;
    };
    const Function* const whole = containing(entry.function.address);
    if (!whole || whole->address != entry.function.address)
        return;                   // stripped
    std::vector<uint64_t> behind; // the sites
    for (const Exit& exit : entry.exits)
        behind.push_back(exit.record->address + exit.record->patch_offset + exit.record->patch_length);
    std::sort(behind.begin(), behind.end());

    constexpr size_t most_parts = 4; // there is one: f.cold
    std::vector<const Function*> parts = {whole};
    const auto is_part = [&](const Function* f) {
        if (!f || std::find(parts.begin(), parts.end(), f) != parts.end())
            return f != nullptr;
        const std::string_view name = whole->name;
        if (!f->name.starts_with(name) || !f->name.substr(name.size()).starts_with(".cold")
            || parts.size() == most_parts)
            return false;
        parts.push_back(f);
        return true;
    };
    for (size_t i = 0; i < parts.size(); ++i)
        each_jump(image, parts[i]->address, end(*parts[i]), [&](uint64_t address, const Step& step) {
            if (step.flow == Flow::away && (image.relocatable() || is_part(containing(step.target))))
                return;
            if (!std::binary_search(behind.begin(), behind.end(), address))
                add(entry.findings, FindingId::exit_missing,
                    fmt::format("the way out at {} has no exit record in front of it", image.place(address)), address);
        });
}

void Report::check_bases()
{
    if (notes.probes.empty())
        return;
    if (!notes.base) {
        add(findings, FindingId::base_missing, "no section .stapsdt.base");
        return;
    }
    size_t zero = 0, different = 0, bad = 0;
    uint64_t shift = 0;
    bool uniform = true;
    for (const Site& site : sites) {
        const Probe& probe = *site.probe;
        if (probe.note_base == *notes.base)
            continue;
        if (probe.note_base == 0) {
            ++zero;
            continue;
        }
        const uint64_t by = *notes.base - probe.note_base;
        uniform &= different == 0 || by == shift;
        shift = by;
        ++different;
        // Moved rightly if a site stands at the corrected address.
        bad += !site.judged || site.judged->length == 0;
    }
    if (zero > 0)
        add(findings, FindingId::base_mismatch,
            fmt::format("{} of {} notes have base 0, .stapsdt.base is at {:#x}: tracers other than libbpf move the "
                        "probe by that much",
                        zero, sites.size(), *notes.base));
    if (different == 0)
        return;
    if (uniform && different == sites.size() && bad == 0)
        add(findings, FindingId::base_moved, fmt::format("the file was moved by {:#x} after the link", shift));
    else
        add(findings, FindingId::base_mismatch,
            fmt::format("{} of {} notes have another base than the section .stapsdt.base at {:#x}", different,
                        sites.size(), *notes.base));
}

void Report::check_duplicates()
{
    std::vector<Site*> order;
    order.reserve(sites.size());
    for (Site& site : sites)
        order.push_back(&site);
    const auto key = [](const Site* s) { return std::tie(s->probe->provider, s->probe->name, s->probe->address); };
    std::sort(order.begin(), order.end(), [&](const Site* a, const Site* b) { return key(a) < key(b); });
    for (size_t i = 1; i < order.size(); ++i) {
        const Probe& before = *order[i - 1]->probe;
        const Probe& probe = *order[i]->probe;
        if (before.name != probe.name || before.provider != probe.provider)
            continue;
        if (before.address == probe.address)
            add(order[i]->findings, FindingId::duplicate_probe,
                fmt::format("{} has two notes of this name", image.place(probe.address)), probe.address);
        if (before.semaphore != probe.semaphore)
            add(order[i]->findings, FindingId::semaphore_varies,
                fmt::format("semaphore {}, but {} for the site at {}",
                            probe.semaphore ? image.place(probe.semaphore) : "none",
                            before.semaphore ? image.place(before.semaphore) : "none", image.place(before.address)),
                probe.address);
    }
}

void Report::check_file()
{
    for (const NoteTrouble& trouble : notes.troubles)
        add(findings, finding_of(trouble.kind),
            fmt::format("{}+{:#x}: {}", trouble.section, trouble.offset, trouble.what), {},
            trouble.kind == NoteTrouble::Kind::foreign && trouble.section == FASTSDT_NOTE_SECTION
                ? std::optional(Severity::warning)
                : std::nullopt);
    // A provider with both kinds of sites asked for ours and got another header's somewhere, by the order of a search path.
    // Other providers may well be of systemtap's header: a static libstdc++ has some.
    size_t without = 0;
    std::map<std::string_view, std::array<size_t, 2>> providers;
    for (const Site& site : sites) {
        without += !site.record;
        ++providers[site.probe->provider][site.record != nullptr];
    }
    if (without > 0)
        add(findings, FindingId::no_layout_note,
            without == sites.size() ? std::string("no probe has a layout note")
                                    : fmt::format("{} of {} probes have no layout note", without, sites.size()));
    for (const auto& [provider, count] : providers)
        if (count[0] > 0 && count[1] > 0)
            add(findings, FindingId::other_header,
                fmt::format("{}: {} of {} sites are another header's: they have no layout note", provider, count[0],
                            count[0] + count[1]));
    if (image.sections().empty())
        add(findings, FindingId::no_section_headers, "no section headers");
    if (notes.probes.empty() && notes.troubles.empty())
        for (std::string_view left : {".stapsdt.base", ".probes"})
            // `dtrace -G` makes objects that define semaphores and have no probes.
            if (image.section(left) && !(image.relocatable() && left == ".probes")) {
                add(findings, FindingId::notes_stripped,
                    fmt::format("there is a section {} and no stapsdt note", left));
                break;
            }
    if (const Section* comment = image.section(".comment")) {
        const auto text = image.contents(*comment);
        if (std::string_view(reinterpret_cast<const char*>(text.data()), text.size()).find(FASTSDT_NO_PASS)
            != std::string_view::npos)
            add(findings, FindingId::lto_without_pass,
                "the link needs -Wl,-mllvm,-load=.../fastprobe-pass.so too (lld; others -Wl,-plugin,...)");
    }
    // A process gets a shadow stack only if all of its files are marked, the processor knows it and glibc is told to use it: one finding for
    // the file, on kernels that were asked for by name.
    const bool selected =
        std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return e.record != nullptr; });
    if (selected && marked_for_shadow_stack(image)) {
        std::vector<Kernel> broken;
        std::copy_if(options.kernels.begin(), options.kernels.end(), std::back_inserter(broken),
                     [](const Kernel& kernel) {
                         return kernel.features.surely(Feature::shadow_stack)
                             && !kernel.features.surely(Feature::shadow_stack_return_probe);
                     });
        if (!broken.empty())
            add(findings, FindingId::return_probe_unsafe,
                fmt::format("marked for shadow stacks (SHSTK): a process that has one dies of a return probe on {}",
                            list_kernels(broken)));
    }
    if (image.slim_lto())
        add(findings, FindingId::slim_lto_object, "a slim LTO object, without machine code");
    if (lines_.left_out())
        add(findings, FindingId::lines_left_out, "compressed or overlapping debug information of unusual size");
    if (image.separate_debug() && !sites.empty())
        add(findings, FindingId::no_text, "the code is not in this file");
    if (image.arch() == Arch::unknown && !sites.empty())
        add(findings, FindingId::unknown_machine, fmt::format("e_machine {}", image.machine()));
}

} // namespace fastsdt
