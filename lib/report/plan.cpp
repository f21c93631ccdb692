// SPDX-License-Identifier: BSD-2-Clause
//
// Places are tried in order: the note's pc or the function's first byte, what follows a landing pad, the patchable
// instruction. The best verdict wins, and the earlier place among equals; optimize-unsafe comes after single-stepping.
#include "arch/args.h"
#include "elf/moved.h"
#include "judge/evaluate.h"
#include "report/commands.h"
#include "report/plan.h"

#include <fmt/format.h>

#include <map>

namespace fastsdt {
namespace {

int rank(Verdict verdict)
{
    switch (verdict) {
    case Verdict::reject: return 0;
    case Verdict::xol_unsafe:
    case Verdict::emulate_unsafe: return 1;
    case Verdict::unknown: return 2;
    case Verdict::optimize_unsafe: return 3;
    case Verdict::xol: return 4;
    case Verdict::emulate: return 5;
    case Verdict::optimize: return 6;
    }
    return 0;
}

class Planner {
public:
    Planner(const Image& image, const Notes& notes, const Kernel& kernel)
        : image_(image), notes_(notes), kernel_(kernel), evaluator_(image, {kernel}), commands_(image), moved_(image),
          texts_(image.file())
    {}

    void run(const std::function<void(const AttachPoint&)>& visit)
    {
        for (const ProbeNote& probe : notes_.probes) {
            AttachPoint point;
            point.provider = probe.provider;
            point.name = probe.name;
            point.note_address = Vaddr(probe.address);
            if (probe.semaphore)
                point.semaphore_offset = image_.file_offset(Vaddr(probe.semaphore)).value_or(FileOffset());
            names_ = notes_.names.empty()
                ? nullptr
                : notes_.names_of(probe, parse_arguments(probe.arguments, image_.arch()).size());
            if (names_ && !texts_.afford(names_->size()))
                names_ = nullptr;
            settle(point, {probe.address, notes_.site_at(probe.note_address)});
            visit(point);
        }
        names_ = nullptr;
        if (notes_.entries.empty())
            return;
        image_.find_names();
        for (const Image* more : image_.files_with_symbols())
            texts_.add(more->file());
        std::map<uint64_t, std::string_view> names;
        for (const Function& function : image_.functions())
            names.emplace(function.address, function.name);
        auto exit = notes_.exits.begin(); // by function, as entries are
        for (const Record& record : notes_.entries) {
            AttachPoint point;
            point.entry = true;
            point.note_address = Vaddr(record.address);
            const auto named = names.find(record.address);
            symbol_ = named == names.end() ? std::string_view() : named->second;
            if (!texts_.afford(symbol_.size()))
                symbol_ = {};
            point.name = symbol_.empty() ? fmt::format("0x{:x}", record.address) : std::string(symbol_);
            if (moved_.stale(record)) {
                point.at_note = point.judgement = {Verdict::unknown, "nothing executes what stands there"};
                remark(point, "The function was moved after the link, by BOLT: a probe here would never be hit.");
                visit(point);
                continue;
            }
            settle(point, {record.address, &record, true});
            while (exit != notes_.exits.end() && exit->operand < record.address)
                ++exit;
            for (; exit != notes_.exits.end() && exit->operand == record.address; ++exit)
                if (point.exits.empty() || point.exits.back().note_address.value != exit->address)
                    point.exits.push_back(exit_point(*exit, point.name));
            if (point.offset && !point.exits.empty())
                commands_.write_exits(point, symbol_);
            visit(point);
        }
    }

private:
    AttachPoint exit_point(const Record& record, const std::string& function)
    {
        AttachPoint point;
        point.exit = &record;
        if (texts_.afford(function.size()))
            point.name = function;
        point.note_address = Vaddr(record.address);
        settle(point, {record.address, &record});
        return point;
    }

    void settle(AttachPoint& point, const ProbePoint& place)
    {
        const Evaluation* const found = evaluator_.at(place);
        if (!found) {
            point.at_note = point.judgement = {Verdict::unknown, "the file has no code at this address"};
            remark(point, "The file has no code at this address: a dangling note, or a separate debug file.");
            return;
        }
        const Behaviour& behaviour = found->behaviours.front();
        point.at_note = behaviour.at_start;
        consider(point, behaviour.at_start, 0, point.entry ? "function" : point.exit ? "exit" : "probe");
        if (place.lead())
            consider(point, behaviour.at_note, place.lead(), "behind the landing pad");
        if (found->patch_offset)
            consider(point, behaviour.at_patch, place.lead() + found->patch_offset, "patchable nop");

        switch (point.judgement.verdict) {
        case Verdict::reject:
            point.offset.reset();
            remark(point, "Linux {} refuses a probe here: {}.", kernel_.name(), point.judgement.why);
            return;
        case Verdict::xol_unsafe:
        case Verdict::emulate_unsafe:
        case Verdict::optimize_unsafe:
            remark(point, "UNSAFE on Linux {}, and there is no other place: {}.", kernel_.name(), point.judgement.why);
            break;
        case Verdict::unknown:
            remark(point, "What Linux {} does here is not known: {}.", kernel_.name(), point.judgement.why);
            break;
        case Verdict::xol: remark(point, "Single-stepped: two traps per hit."); break;
        default: break;
        }
        point.address = point.note_address + *point.offset;
        const auto file_offset = image_.file_offset(point.address);
        if (!file_offset) {
            point.offset.reset();
            remark(point, "The address is in no segment of the file.");
            return;
        }
        point.file_offset = *file_offset;
        if (!point.exit)
            commands_.write(point, symbol_, names_);
    }

    static void consider(AttachPoint& point, const Judgement& judgement, uint64_t offset, std::string_view place)
    {
        if (point.offset && rank(judgement.verdict) <= rank(point.judgement.verdict))
            return;
        point.offset = offset;
        point.place = place;
        point.judgement = judgement;
    }

    const Image& image_;
    const Notes& notes_;
    const Kernel& kernel_;
    Evaluator evaluator_;
    Commands commands_;
    const Moved moved_;
    TextBudget texts_;
    std::string_view symbol_;              // of the entry at hand
    const ArgumentNames* names_ = nullptr; // of the probe at hand
};

} // namespace

void plan(const Image& image, const Notes& notes, const Kernel& kernel,
          const std::function<void(const AttachPoint&)>& visit)
{
    if (!image.relocatable())
        Planner(image, notes, kernel).run(visit);
}

std::vector<AttachPoint> plan(const Image& image, const Notes& notes, const Kernel& kernel)
{
    std::vector<AttachPoint> points;
    plan(image, notes, kernel, [&](const AttachPoint& point) { points.push_back(point); });
    return points;
}

} // namespace fastsdt
