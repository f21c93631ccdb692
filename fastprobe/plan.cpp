// SPDX-License-Identifier: BSD-2-Clause
#include "plan.h"

namespace fastprobe {
namespace {

/// nop1+nop10 so many bytes behind an aligned address: the log2 of the smallest alignment that keeps the ten in one block.
unsigned bound_of_nop10(unsigned offset)
{
    unsigned bound = 4;
    while ((offset + 1) >> bound != (offset + 10) >> bound)
        bound++;
    return bound;
}

const char* words(Decision::Add add)
{
    return add == Decision::Add::nop ? "nop" : "nop1+nop10";
}

/// The words about the exits; they follow the sentence about the entry.
std::string exit_words(const Exits& exits)
{
    if (exits.asked == Exit::none)
        return "";
    std::string text = "; no exits";
    if (exits.count > 0)
        text = "; " + std::to_string(exits.count) + (exits.count == 1 ? " exit: " : " exits: ") + words(exits.add);
    return text + (exits.reason.empty() ? "" : ": " + exits.reason);
}

Exits plan_exits(Arch arch, const Request& request, const EntryFacts& front)
{
    Exits exits;
    exits.asked = request.exit;
    if (exits.asked == Exit::none)
        return exits;
    if (front.returns_twice)
        exits.reason = "returns twice: there would be more exits than entries";
    else if (front.ways.obstacle)
        exits.reason = front.ways.obstacle;
    else if (front.ways.count == 0)
        exits.reason = "never returns";
    else if (front.ways.at_entry && request.entry == Entry::none)
        exits.reason = "the function begins with an exit, and entry=none leaves no place for two probes";
    else
        exits.count = front.ways.count;
    if (exits.count == 0)
        return exits;
    exits.add = Decision::Add::nop;
    if (exits.asked == Exit::nop10 && arch == Arch::x86_64)
        exits.add = Decision::Add::nop1_nop10;
    else if (exits.asked == Exit::nop10)
        exits.reason = no_nop10;
    // A cache line, so that few sites need padding; but a section has the alignment of what is in it, and one for each function
    // would be padded to 64 bytes.
    if (exits.add == Decision::Add::nop1_nop10)
        exits.bound = front.own_section ? 4 : 6;
    exits.bytes_added = exits.count * layout_size(arch, exits.add);
    return exits;
}

/// Makes the assembler take the next instruction as it is. With -mbranches-within-32B-boundaries gas keeps branches off
/// boundaries by prefixes on the instructions before them, a recorded push too, and by nops before the branch itself, which
/// would part a site from its jump. Behind data, if only an empty string, it does neither.
std::string as_compiled(Arch arch)
{
    return arch == Arch::x86_64 ? ".ascii \"\"\n\t" : "";
}

} // namespace

Plan skip(const Request& request, const char* why)
{
    Plan plan;
    plan.exits.asked = request.exit;
    if (request.exit != Exit::none)
        plan.exits.reason = why;
    plan.entry = request.entry;
    plan.skip = why;
    plan.reason = why;
    return plan;
}

Plan plan(Arch arch, const Request& request, const EntryFacts& front)
{
    using Add = Decision::Add;
    Decision decision = decide(request.entry, arch, request.kernels, front.first, front.branch_target);
    if (front.nop_reserved && decision.add == Add::nothing)
        decision.add = Add::nop;

    Plan plan;
    plan.exits = plan_exits(arch, request, front);
    if (plan.exits.count > 0 && front.ways.at_entry && decision.add == Add::nothing)
        decision = {Add::nop, false, "the function begins with an exit: a probe there is no entry"};
    plan.entry = request.entry;
    plan.reason = decision.reason;
    if (front.no_frame && (decision.missed || decision.reason.empty()))
        plan.reason = front.no_frame;
    EntryRecord& record = plan.record;
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
        return skip(request, "more than 255 bytes before the entry");
    if (decision.add == Add::nop1_nop10) {
        record.bound = bound_of_nop10(front.prefix + record.lead);
        plan.alignment = 1u << record.bound;
    }
    return plan;
}

std::string entry_text(Arch arch, const Plan& plan, const std::string& label, const std::string& section)
{
    std::string text = label + ":\n\t";
    if (plan.record.added != Decision::Add::nothing)
        text += layout_text(plan.record.added) + "\n\t";
    else
        text += as_compiled(arch);
    return text + record_text(record_fields(arch, plan.record), label, function_expression(plan, label), section);
}

std::string exit_text(Arch arch, const ExitRecord& record, const std::string& label, const std::string& function,
                      const std::string& section)
{
    std::string text;
    if (unsigned most = exit_padding(arch, record.added))
        text = ".p2align " + std::to_string(record.bound) + ",," + std::to_string(most) + "\n\t";
    return text + label + ":\n\t" + layout_text(record.added) + "\n\t" + as_compiled(arch)
        + record_text(record_fields(arch, record), label, function, section);
}

std::string function_expression(const Plan& plan, const std::string& label)
{
    return label + (plan.record.lead ? "-" + std::to_string(plan.record.lead) : "");
}

std::string Log::tell(Arch arch, const Plan& plan, const std::string& symbol, const std::string& unit,
                      const std::string& before)
{
    ReportLine line;
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
