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

/// What to say of the exits behind the sentence about the entry.
std::string exit_words(const Exits& exits)
{
    if (exits.asked == Exit::none)
        return "";
    std::string text = "; no exits";
    if (exits.count > 0)
        text = "; " + std::to_string(exits.count) + (exits.count == 1 ? " exit: " : " exits: ") + words(exits.add);
    return text + (exits.reason.empty() ? "" : ": " + exits.reason);
}

Exits plan_exits(Arch arch, Exit asked, Entry entry, const Front& front)
{
    Exits exits;
    exits.asked = asked;
    if (asked == Exit::none)
        return exits;
    if (front.returns_twice)
        exits.reason = "returns twice: there would be more exits than entries";
    else if (front.ways.obstacle)
        exits.reason = front.ways.obstacle;
    else if (front.ways.count == 0)
        exits.reason = "never returns";
    else if (front.ways.at_entry && entry == Entry::none)
        exits.reason = "the function begins with an exit, and entry=none leaves no place for two probes";
    else
        exits.count = front.ways.count;
    if (exits.count == 0)
        return exits;
    exits.add = Decision::Add::nop;
    if (asked == Exit::nop10 && arch == Arch::x86_64)
        exits.add = Decision::Add::nop1_nop10;
    else if (asked == Exit::nop10)
        exits.reason = no_nop10;
    exits.bytes_added = exits.count * layout_size(arch, exits.add);
    return exits;
}

} // namespace

Plan skip(Entry entry, const char* why, Exit exit)
{
    Plan plan;
    plan.exits.asked = exit;
    if (exit != Exit::none)
        plan.exits.reason = why;
    plan.entry = entry;
    plan.skip = why;
    plan.reason = why;
    return plan;
}

Plan plan(Arch arch, Entry entry, const Kernels& kernels, const Front& front, Exit exit)
{
    using Add = Decision::Add;
    Decision decision = decide(entry, arch, kernels, front.first, front.branch_target);
    if (front.nop_stands && decision.add == Add::nothing)
        decision.add = Add::nop;

    Plan plan;
    plan.exits = plan_exits(arch, exit, entry, front);
    if (plan.exits.count > 0 && front.ways.at_entry && decision.add == Add::nothing)
        decision = {Add::nop, false, "the function begins with an exit: a probe there is no entry"};
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
    record.exits = plan.exits.count > 0;
    if (decision.add != Add::nothing) {
        plan.bytes_added = layout_size(arch, decision.add) + front.pad_with_nop;
        record.lead += front.pad_with_nop;
    }
    if (record.lead > 255)
        return skip(entry, "more than 255 bytes before the entry", exit);
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
    return text + record_text(record_fields(arch, plan.record), label, function_expression(plan, label), section);
}

std::string exit_text(Arch arch, const Exit_record& record, const std::string& label, const std::string& function,
                      const std::string& section)
{
    std::string text;
    if (unsigned most = exit_padding(arch, record.added))
        text = ".p2align " + std::to_string(exit_bound) + ",," + std::to_string(most) + "\n\t";
    return text + label + ":\n\t" + layout_text(record.added) + "\n\t"
        + record_text(record_fields(arch, record), label, function, section);
}

std::string function_expression(const Plan& plan, const std::string& label)
{
    return label + (plan.record.lead ? "-" + std::to_string(plan.record.lead) : "");
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
    line.exits = plan.exits;
    if (report.is_open())
        report.add(arch, line);
    if (!verbose)
        return "";
    return symbol + ": " + action(line) + ", " + line.before + (line.after == line.before ? "" : " -> " + line.after)
        + (line.reason.empty() ? "" : ": " + line.reason) + exit_words(plan.exits);
}

} // namespace fastprobe
