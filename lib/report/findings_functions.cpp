// SPDX-License-Identifier: BSD-2-Clause
// The report's functions: the entries and exits that fastprobe recorded, and what a probe on any other meets.
#include "base/integers.h"
#include "report/findings_shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fastsdt {

void Report::read_entries()
{
    image.find_names();
    for (const Image* more : image.files_with_symbols())
        texts_.add(more->file());
    auto functions = image.functions();
    entries.reserve(functions.size());
    const Record* records = notes.entries.data();
    const Record* const records_end = records + notes.entries.size();
    for (const Function& function : functions) {
        // Records of functions without a symbol (stripped ones) come in between.
        for (; records != records_end && records->address < function.address; ++records)
            entries.push_back({{.address = records->address}, records, records->lead, nullptr, {}, {}});
        FunctionReport entry;
        entry.function = function;
        std::erase_if(entry.function.aliases, [&](std::string_view alias) { return !texts_.afford(alias.size()); });
        if (!texts_.afford(function.name.size()))
            entry.function.name = {};
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

    for (FunctionReport& entry : entries) {
        const uint64_t address = entry.function.address;
        if (!image.executable_at(address)) {
            if (entry.record)
                add(entry.findings, FindingId::dangling_note,
                    fmt::format("{} is not executable memory", image.place(address)), address);
            continue;
        }
        if (entry.record && moved_.stale(*entry.record))
            continue; // told with the file's findings
        entry.judged = evaluator_.at({address, entry.record, true});
        if (!entry.record) {
            if (entry.judged) // nobody means it to be probed, yet whoever does breaks the program
                check_breaks(*entry.judged, address, Severity::warning, entry.findings);
            continue;
        }
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
    if (!notes.entries.empty() || !notes.exits.empty())
        read_exits();
}

std::vector<Kernel> Report::kernels_where(const Evaluation& judged, bool (*predicate)(Verdict)) const
{
    std::vector<Kernel> found;
    for (size_t i = 0; i < options.kernels.size(); ++i)
        if (predicate(judged.behaviours[i].at_note.verdict))
            found.push_back(options.kernels[i]);
    return found;
}

void Report::check_breaks(const Evaluation& judged, uint64_t address, Severity severity, std::vector<Finding>& to)
{
    if (const auto broken = kernels_where(judged, breaks_program); !broken.empty())
        add(to, FindingId::breaks_program, fmt::format("a probe breaks the program on {}", list_kernels(broken)),
            address, severity);
}

void Report::check_verdicts(const Evaluation& judged, uint64_t address, bool missed, std::vector<Finding>& to)
{
    check_breaks(judged, address, usual_severity(FindingId::breaks_program), to);
    const auto slow = kernels_where(judged, [](Verdict v) { return v == Verdict::xol || v == Verdict::reject; });
    if (!slow.empty() && !missed)
        add(to, FindingId::entry_single_stepped, fmt::format("not cheap on {}", list_kernels(slow)), address);
}

// prepare_uretprobe() of kernel/events/uprobes.c puts the trampoline's address in the place of the return address.
void Report::check_return_probe(FunctionReport& entry)
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
    for (ExitReport& exit : exits)
        check_exit(exit);

    FunctionCode code(image);
    // The exit's function is not listed: its finding is one of the file's.
    const auto orphan = [&](ExitReport& exit) {
        add(exit.findings, FindingId::record_mismatch, "the exit's function has no entry record", exit.record->address);
        std::move(exit.findings.begin(), exit.findings.end(), std::back_inserter(findings));
        exit.findings.clear();
    };
    size_t next = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
        FunctionReport& entry = entries[i];
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
        if (!promised || !image.executable_at(address) || moved_.stale(*entry.record))
            continue;
        check_ways_out(entry, code);
    }
    for (; next < exits.size(); ++next)
        orphan(exits[next]);
}

void Report::check_exit(ExitReport& exit)
{
    const Record& record = *exit.record;
    const uint64_t address = record.address;
    if (!image.executable_at(address)) {
        add(exit.findings, FindingId::dangling_note, fmt::format("{} is not executable memory", image.place(address)),
            address);
        return;
    }
    if (moved_.stale(record))
        return;
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

void Report::check_ways_out(FunctionReport& entry, FunctionCode& code)
{
    const auto ways = code.ways_out(entry.function.address);
    if (!ways)
        return;
    if (ways->undecoded) {
        add(entry.findings, FindingId::undecoded_code,
            fmt::format("the instruction at {} is not known here, so nothing is said about the ways out",
                        image.place(*ways->undecoded)),
            entry.function.address);
        return;
    }
    std::vector<uint64_t> behind; // where the sites end
    for (const ExitReport& exit : entry.exits)
        behind.push_back(exit.record->address + exit.record->patch_offset + exit.record->patch_length);
    std::sort(behind.begin(), behind.end());
    for (const uint64_t address : ways->addresses)
        if (!std::binary_search(behind.begin(), behind.end(), address))
            add(entry.findings, FindingId::exit_missing,
                fmt::format("the way out at {} has no exit record in front of it", image.place(address)), address);
}

} // namespace fastsdt
