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

    const auto functions = image.functions(true);
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
        check_ways_out(entry, functions);
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

// Indirect jumps may stay inside the function (switch) or not (a tail call), with -mindirect-branch=thunk and -mretpoline by way of
// a function of the compiler's, and jumps of objects have no targets yet: nothing is said about those.
void Report::check_ways_out(FunctionReport& entry, const std::vector<Function>& functions)
{
    // A function ends at the latest where the next one begins, so that no code is walked twice.
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
    std::vector<uint64_t> behind; // where the sites end
    for (const ExitReport& exit : entry.exits)
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
    const auto jumps_on = [&](uint64_t address) { // GCC gives these symbols no size
        const auto found = std::lower_bound(functions.begin(), functions.end(), address,
                                            [](const Function& f, uint64_t a) { return f.address < a; });
        return found != functions.end() && found->address == address
            && (found->name.starts_with("__x86_indirect_thunk_") || found->name.starts_with("__llvm_retpoline_")
                || found->name.starts_with("__llvm_lvi_thunk_"));
    };
    for (size_t i = 0; i < parts.size(); ++i)
        each_jump(image, parts[i]->address, end(*parts[i]), [&](uint64_t address, const Step& step) {
            if (step.flow == Flow::away
                && (image.relocatable() || is_part(containing(step.target)) || jumps_on(step.target)))
                return;
            if (!std::binary_search(behind.begin(), behind.end(), address))
                add(entry.findings, FindingId::exit_missing,
                    fmt::format("the way out at {} has no exit record in front of it", image.place(address)), address);
        });
}

} // namespace fastsdt
