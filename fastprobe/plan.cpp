// SPDX-License-Identifier: BSD-2-Clause
#include "plan.h"

namespace fastprobe {
namespace {

/// nop1+nop10 with the layout at `lead`: the smallest alignment of the function, in bytes, that keeps the ten in one block.
unsigned alignment_for_nop10(unsigned lead)
{
    unsigned alignment = 16;
    while ((lead + 1) / alignment != (lead + 10) / alignment)
        alignment *= 2;
    return alignment;
}

const char* words(Decision::Add add)
{
    return add == Decision::Add::nop ? "nop" : "nop1+nop10";
}

} // namespace

Plan skip(Entry entry, const char* why)
{
    Plan plan;
    plan.entry = entry;
    plan.skip = why;
    plan.reason = why;
    return plan;
}

Plan plan(Arch arch, Entry entry, const Kernels& kernels, const Front& front)
{
    using Add = Decision::Add;
    Decision decision = decide(entry, arch, kernels, front.first, front.branch_target);
    if (front.nop_stands && decision.add == Add::nothing)
        decision.add = Add::nop;

    Plan plan;
    plan.entry = entry;
    plan.reason = decision.reason;
    if (front.no_frame && (decision.missed || decision.reason.empty()))
        plan.reason = front.no_frame;
    Entry_record& record = plan.record;
    record.added = decision.add;
    record.found = front.first;
    record.lead = front.lead;
    record.missed = decision.missed;
    record.returns_twice = front.returns_twice;
    record.stack_bytes = front.stack_bytes;
    if (decision.add != Add::nothing) {
        plan.bytes_added = layout_size(arch, decision.add) + front.pad_with_nop;
        record.lead += front.pad_with_nop;
    }
    if (record.lead > 255)
        return skip(entry, "more than 255 bytes before the entry");
    if (decision.add == Add::nop1_nop10) {
        plan.alignment = alignment_for_nop10(record.lead);
        record.aligned16 = true;
    }
    return plan;
}

std::string entry_text(Arch arch, const Plan& plan, const std::string& label, const std::string& section)
{
    std::string text = label + ":\n\t";
    if (plan.record.added != Decision::Add::nothing)
        text += layout_text(plan.record.added) + "\n\t";
    return text + record_text(arch, plan.record, label, section);
}

std::string Log::tell(Arch arch, const Plan& plan, const std::string& symbol, const std::string& unit,
                      const std::string& before)
{
    Report_line line;
    line.symbol = symbol;
    line.unit = unit;
    line.before = line.after = before;
    line.entry = plan.entry;
    line.record = plan.record;
    line.skipped = plan.skip != nullptr;
    line.reason = plan.reason;
    line.bytes_added = plan.bytes_added;
    if (plan.record.added != Decision::Add::nothing)
        line.after = words(plan.record.added);
    if (report.is_open())
        report.add(arch, line);
    if (!verbose)
        return "";
    return symbol + ": " + action(line) + ", " + line.before + (line.after == line.before ? "" : " -> " + line.after)
        + (line.reason.empty() ? "" : ": " + line.reason);
}

} // namespace fastprobe
