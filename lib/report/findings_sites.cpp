// SPDX-License-Identifier: BSD-2-Clause
// The report's sites, each by itself and with those of the same name.
#include "kernel/tracers.h"
#include "report/findings_shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace fastsdt {
namespace {

// Whether bpftrace's lexer takes it in a probe's name, as what it is and not as a pattern (0.17 and 0.23, src/lexer.l).
bool addressable(std::string_view name)
{
    return std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'
            || c == '-';
    });
}

} // namespace

void Report::read_sites()
{
    sites.reserve(notes.probes.size());
    for (const ProbeNote& probe : notes.probes) {
        if (options.select && !options.select(probe))
            continue;
        SiteReport site;
        site.probe = &probe;
        site.record = notes.site_at(probe.note_address);
        sites.push_back(std::move(site));
    }
    std::stable_sort(sites.begin(), sites.end(),
                     [](const SiteReport& a, const SiteReport& b) { return a.probe->address < b.probe->address; });
    for (SiteReport& site : sites)
        check_site(site);
    // A record needs a note at its address; one note may have several records, and one record several notes.
    size_t at = 0;
    std::vector<uint64_t> addresses;
    addresses.reserve(notes.probes.size());
    for (const ProbeNote& probe : notes.probes)
        addresses.push_back(probe.note_address);
    std::sort(addresses.begin(), addresses.end());
    for (const Record& record : notes.sites) {
        while (at < addresses.size() && addresses[at] < record.address)
            ++at;
        if ((at == addresses.size() || addresses[at] != record.address) && !moved_.stale(record))
            add(findings, FindingId::layout_without_probe,
                fmt::format("a {} record at {} has no probe", layout_name(record.layout, image.arch()),
                            image.place(record.address)),
                record.address);
    }
}

void Report::check_site(SiteReport& site)
{
    const ProbeNote& probe = *site.probe;
    const auto bytes = image.bytes_at(probe.address);
    const bool live = probe.address != image.undefined() && image.executable_at(probe.address);
    if (!live)
        add(site.findings, FindingId::dangling_note,
            fmt::format("{} is not executable memory", image.place(probe.address)), probe.address);
    else
        site.judged = evaluator_.at({probe.address, site.record});
    if (site.judged)
        site.bytes = bytes.first(std::min<size_t>(bytes.size(), site.judged->length ? site.judged->length : 8));
    if (site.record)
        check_site_record(site, live);
    if (probe.trailing != 0)
        add(site.findings, FindingId::trailing_bytes,
            fmt::format("{} bytes follow the argument string", probe.trailing), probe.address);
    for (const auto& [what, name] : {std::pair("provider", probe.provider), std::pair("name", probe.name)})
        if (!addressable(name))
            add(site.findings, FindingId::unaddressable_name, fmt::format("the {} is no word of bpftrace", what),
                probe.address);
    if (site.judged)
        check_site_verdicts(site);
    check_semaphore(site);
    check_arguments(site);
    if (options.lines && live)
        site.line = lines_.at(probe.address);
}

void Report::check_site_record(SiteReport& site, bool live)
{
    const ProbeNote& probe = *site.probe;
    const auto add_here = [&](FindingId id, std::string message) {
        add(site.findings, id, std::move(message), probe.address);
    };
    const Record& record = *site.record;
    if (record.lead != 0)
        add_here(FindingId::record_mismatch, fmt::format("the record of a site has lead {}", record.lead));
    if (live)
        check_record(record, probe.address, site.judged, site.findings);
    const uint64_t moved = probe.address - probe.note_address;
    if (record.operand != 0 && probe.semaphore != 0 && record.operand + moved != probe.semaphore
        && !image.relocatable())
        add_here(FindingId::record_mismatch,
                 fmt::format("semaphore {:#x} in the layout record, {:#x} in the stapsdt note", record.operand + moved,
                             probe.semaphore));
    else if ((record.operand == 0) != (probe.semaphore == 0))
        add_here(FindingId::record_mismatch, "the layout record and the stapsdt note disagree on having a semaphore");
    if (record.flags & FASTSDT_SITE_UNGROUPED)
        add_here(FindingId::ungrouped_note, "made by an assembler without link-order sections");
}

void Report::check_site_verdicts(SiteReport& site)
{
    const ProbeNote& probe = *site.probe;
    const Evaluation* const judged = site.judged;
    const auto add_here = [&](FindingId id, std::string message, std::optional<Severity> severity = {}) {
        add(site.findings, id, std::move(message), probe.address, severity);
    };
    if (judged->length == 0 && (is_x86(image.arch()) || image.arch() == Arch::arm64))
        add_here(FindingId::unknown_layout,
                 fmt::format("{} is not a known site", hex(site.bytes.first(std::min<size_t>(site.bytes.size(), 5)))));
    const bool crossing = patch_crosses_page(image, probe.address, *judged);
    if (crossing && nop10_kind(judged->layout))
        add_here(FindingId::page_crossing,
                 judged->layout == FASTSDT_LAYOUT_NOP10 ? std::string(nop10_crosses)
                                                        : fmt::format("{}, and {} attaches there", nop10_crosses,
                                                                      which_attaches_at_patch(judged->layout)));
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
                || (b.attaches_at_patch && b.at_patch.verdict == Verdict::optimize_unsafe);
        });
        !where.empty()) {
        const bool safe_stack = site.record && site.record->flags & FASTSDT_SITE_NO_REDZONE;
        const bool moved = judged->patch_offset != 0;
        add_here(FindingId::unsafe_optimization,
                 fmt::format("on {} {}; {} a child after fork() dies at the site", where,
                             moved ? which_attaches_at_patch(judged->layout)
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

// Another segment that the kernel may take the semaphore to be in: find_ref_ctr_vma() and delayed_ref_ctr_inc() of
// kernel/events/uprobes.c use the first private writable mapping that covers its file offset, and mappings cover whole
// pages. RELRO counts, since it is mapped writable. nullptr: none.
const Segment* Report::writable_alias(uint64_t semaphore)
{
    const auto& segments = image.segments();
    const Segment* const own = image.segment_at(semaphore);
    const auto offset = image.file_offset(Vaddr(semaphore));
    if (image.relocatable() || !own || !offset)
        return nullptr;
    if (!writable_) {
        std::vector<Cover::Range> ranges;
        for (const Segment& s : segments)
            ranges.push_back(s.writable && s.file_size
                                 ? Cover::Range{s.offset.down_to(uprobe_page).value,
                                                (s.offset + s.file_size + uprobe_page - 1).down_to(uprobe_page).value}
                                 : Cover::Range{});
        writable_.emplace(ranges);
    }
    const auto other = writable_->other_than(size_t(own - segments.data()), offset->value);
    return other ? &segments[*other] : nullptr;
}

void Report::check_semaphore(SiteReport& site)
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
        add_here(FindingId::semaphore_shared_page,
                 fmt::format("shares its page of the file with the writable segment at {}",
                             image.place(other->address.value)));
}

void Report::check_arguments(SiteReport& site)
{
    const std::string_view text = site.probe->arguments;
    auto known = arguments_.find(text);
    if (known == arguments_.end())
        known = arguments_.emplace(text, parse_arguments(text, image.arch())).first;
    site.arguments = &known->second;
    const auto& arguments = known->second;
    site.names = notes.names_of(*site.probe, arguments.size());
    if (site.names && !texts_.afford(site.names->size()))
        site.names = nullptr;
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

void Report::check_duplicates()
{
    std::vector<SiteReport*> order;
    order.reserve(sites.size());
    for (SiteReport& site : sites)
        order.push_back(&site);
    const auto key = [](const SiteReport* s) {
        return std::tie(s->probe->provider, s->probe->name, s->probe->address);
    };
    std::sort(order.begin(), order.end(), [&](const SiteReport* a, const SiteReport* b) { return key(a) < key(b); });
    for (size_t i = 1; i < order.size(); ++i) {
        const ProbeNote& before = *order[i - 1]->probe;
        const ProbeNote& probe = *order[i]->probe;
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

} // namespace fastsdt
