// SPDX-License-Identifier: BSD-2-Clause
// What the report says of the file as a whole.
#include "elf/return_probes.h"
#include "report/findings_shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace fastsdt {
namespace {

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
    for (const SiteReport& site : sites) {
        const ProbeNote& probe = *site.probe;
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
        // The correction is right if a site stands at the corrected address.
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

void Report::check_moved()
{
    const auto count = [&](const std::vector<Record>& records) {
        return size_t(std::count_if(records.begin(), records.end(), [&](const Record& r) { return moved_.stale(r); }));
    };
    const size_t stale = count(notes.sites) + count(notes.entries) + count(notes.exits);
    if (stale > 0)
        add(findings, FindingId::stale_record,
            fmt::format("{} of {} layout records name code that nothing executes any more", stale,
                        notes.sites.size() + notes.entries.size() + notes.exits.size()));
}

void Report::check_file()
{
    for (const NoteTrouble& trouble : notes.troubles)
        add(findings, finding_of(trouble.kind),
            fmt::format("{}+{:#x}: {}", trouble.section, trouble.offset, trouble.what), {},
            trouble.kind == NoteTrouble::Kind::foreign && trouble.section == FASTSDT_NOTE_SECTION
                ? std::optional(Severity::warning)
                : std::nullopt);
    // A provider with both kinds of sites wants our header, but the search path of some file has another one first.
    // Other providers may well use systemtap's header: a static libstdc++ has some.
    size_t without = 0;
    std::map<std::string_view, std::array<size_t, 2>> providers;
    for (const SiteReport& site : sites) {
        without += !site.record;
        ++providers[site.probe->provider][site.record != nullptr];
    }
    if (without > 0)
        add(findings, FindingId::no_layout_note,
            without == sites.size() ? std::string("no probe has a layout note")
                                    : fmt::format("{} of {} probes have no layout note", without, sites.size()));
    const bool rewritten = image.section(".note.bolt_info"); // BOLT keeps stapsdt notes only
    for (const auto& [provider, count] : providers)
        if (count[0] > 0 && count[1] > 0 && !rewritten)
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
        std::any_of(entries.begin(), entries.end(), [](const FunctionReport& e) { return e.record != nullptr; });
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
    if (texts_.exceeded())
        add(findings, FindingId::names_left_out, "the names come to more than twice the file's size");
    if (lines_.left_out())
        add(findings, FindingId::lines_left_out, "compressed or overlapping debug information of unusual size");
    if (image.separate_debug() && !sites.empty())
        add(findings, FindingId::no_text, "the code is not in this file");
    if (image.arch() == Arch::unknown && !sites.empty())
        add(findings, FindingId::unknown_machine, fmt::format("e_machine {}", image.machine()));
}

} // namespace fastsdt
