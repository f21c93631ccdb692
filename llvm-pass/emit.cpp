// SPDX-License-Identifier: BSD-2-Clause
// From the decision to the record. The records are written as XRay writes its table: through the streamer that writes the
// code, when all functions are out.
#include "codegen.h"

#include <fastsdt/note.h>

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCExpr.h>
#include <llvm/MC/MCSectionELF.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSymbolELF.h>

using namespace llvm;

namespace fastprobe {
namespace {

#if LLVM_VERSION_MAJOR >= 15
void push_section(MCStreamer& out, MCSection* section)
{
    out.pushSection();
    out.switchSection(section);
}
void pop_section(MCStreamer& out)
{
    out.popSection();
}
#else
void push_section(MCStreamer& out, MCSection* section)
{
    out.PushSection();
    out.SwitchSection(section);
}
void pop_section(MCStreamer& out)
{
    out.PopSection();
}
#endif

/// Whether the compilation has failed, if this LLVM records that.
template <class Handler>
auto failed(const Handler& diagnostics, int) -> decltype(diagnostics.HasErrors)
{
    return diagnostics.HasErrors;
}
template <class Handler>
bool failed(const Handler&, long)
{
    return false;
}

/// The note section of a text section: link-ordered to it, and in its group.
MCSection* note_section(MCContext& context, MCSection& text, MCSymbol& label)
{
    auto& elf = static_cast<MCSectionELF&>(text);
    return context.getELFSection(
        FASTSDT_NOTE_SECTION, ELF::SHT_NOTE, ELF::SHF_LINK_ORDER | (elf.getGroup() ? unsigned{ELF::SHF_GROUP} : 0u), 0,
        elf.getGroup(), elf.getGroup() && elf.isComdat(), MCSection::NonUniqueID, static_cast<MCSymbolELF*>(&label));
}

/// @param reserved  reserve() has been here
Plan plan_function(MachineFunction& mf, Arch arch, const Request& request, const EntryScan& beginning, bool reserved)
{
    if (beginning.skip)
        return skip(request, beginning.skip);
    EntryFacts front = beginning.front;
    front.no_frame = why_no_frame(mf);
    if (request.exit != Exit::none)
        front.ways = look_at_exits(mf, beginning.first, reserved);
    return plan(arch, request, front);
}

} // namespace

void reserve(MachineFunction& mf, Arch arch)
{
    std::optional<Request> request = request_of(mf.getFunction());
    if (!request || arch != Arch::arm64)
        return;
    EntryScan beginning = look_at_beginning(mf, arch);
    if (beginning.instructions < request->min_insns)
        return;
    const Plan plan = plan_function(mf, arch, *request, beginning, false);
    if (plan.skip)
        return;
    insert(mf, beginning.at, plan, nullptr);
    if (plan.exits.count > 0)
        reserve_exits(mf, arch, plan.exits);
}

void Unit::begin(Module& module)
{
    take_mark(module);
    ModuleNote note = ModuleNote::of(module).value_or(ModuleNote());
    log_.verbose = note.verbose;
    if (note.report.empty())
        return;
    if (const auto done = log_.report.open(note.report); !done)
        error(module.getContext(), done.error().text());
}

void Unit::end(Module& module)
{
    if (printer_.OutContext.hadError() || failed(*module.getContext().getDiagHandlerPtr(), 0))
        log_.report.discard();
    if (const auto done = log_.report.finish(); !done)
        error(module.getContext(), done.error().text());
}

void Unit::make_sites(MachineFunction& mf)
{
    if (!mf.getFunction().hasFnAttribute("fastprobe"))
        return;
    std::optional<Request> request = request_of(mf.getFunction());
    if (!request)
        return error(mf.getFunction().getContext(),
                     "attribute of '" + mf.getName().str() + "' is not MODE;KERNELS;MIN-INSNS;EXIT");
    EntryScan beginning = look_at_beginning(mf, arch_);
    if (beginning.instructions < request->min_insns)
        return;
    const Plan plan = plan_function(mf, arch_, *request, beginning, arch_ == Arch::arm64);
    if (!log_.idle()) {
        StringRef symbol = mf.getName();
        symbol.consume_front("\1");
        std::string sentence = log_.tell(arch_, plan, symbol.str(), mf.getFunction().getParent()->getSourceFileName(),
                                         beginning.describe(arch_));
        if (!sentence.empty())
            note(sentence);
    }
    if (plan.skip)
        return;
    if (!beginning.front.nop_reserved)
        insert(mf, beginning.at, plan, zero());
    Planned planned{plan.record, {}};
    if (plan.exits.count > 0)
        planned.exits = make_exits(mf, arch_, plan.exits, zero());
    planned_.emplace(&mf.getFunction(), std::move(planned));
}

MCSymbol* Unit::zero()
{
    if (!zero_ && arch_ == Arch::x86_64)
        zero_ = printer_.OutContext.createNamedTempSymbol("fastprobe_zero");
    return zero_;
}

void Unit::label(const MachineFunction& mf)
{
    auto planned = planned_.find(&mf.getFunction());
    if (planned == planned_.end())
        return;
    MCSymbol* label = printer_.OutContext.createNamedTempSymbol("fastprobe");
    printer_.OutStreamer->emitLabel(label);
    add(printer_.OutStreamer->getCurrentSectionOnly(), {record_fields(arch_, planned->second.record), label, label});
    printed_.emplace_back(label, std::move(planned->second));
    planned_.erase(planned);
}

void Unit::add(MCSection* section, Record record)
{
    auto [index, fresh] = section_index_.emplace(section, records_.size());
    if (fresh)
        records_.push_back({section, {}});
    records_[index->second].second.push_back(std::move(record));
}

void Unit::write()
{
    MCStreamer& out = *printer_.OutStreamer;
    MCContext& context = printer_.OutContext;
    if (zero_)
        out.emitAssignment(zero_, MCConstantExpr::create(0, context));
    // Only now is it known which section each exit is in.
    for (const auto& [function, planned] : printed_)
        for (const ExitSite& exit : planned.exits)
            add(&exit.at->getSection(), {record_fields(arch_, exit.record), function, exit.at});
    for (const auto& [section, records] : records_) {
        push_section(out, note_section(context, *section, *records.front().layout));
        for (const Record& record : records) {
#if LLVM_VERSION_MAJOR >= 16
            out.emitValueToAlignment(Align(4));
#else
            out.emitValueToAlignment(4);
#endif
            for (const Field& field : record.fields)
                switch (field.is) {
                case Field::Is::value: out.emitIntValue(field.value, field.size); break;
                case Field::Is::layout:
                    out.emitValue(MCSymbolRefExpr::create(record.layout, context), field.size);
                    break;
                case Field::Is::function:
                    out.emitValue(MCSymbolRefExpr::create(record.function, context), field.size);
                    break;
                }
        }
        pop_section(out);
    }
}

} // namespace fastprobe
