// SPDX-License-Identifier: BSD-2-Clause
//
// Places are tried from the note's pc on: the layout's first byte, then its patchable instruction. Entries: the
// function's first byte, then what is behind the landing pad. The best verdict wins and the earlier place among equals;
// optimize-unsafe comes after single-stepping.
#include "plan.h"
#include "commands.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
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

template <typename... Args> void remark(AttachPoint& point, fmt::format_string<Args...> text, Args&&... args)
{
    point.remarks.push_back(fmt::format(text, std::forward<Args>(args)...));
}

class Planner {
public:
    Planner(const Image& image, const Notes& notes, const Kernel& kernel)
        : image_(image), notes_(notes), kernel_(kernel), commands_(image)
    {}

    void run(const std::function<void(const AttachPoint&)>& visit)
    {
        for (const Probe& probe : notes_.probes) {
            AttachPoint point;
            point.provider = probe.provider;
            point.name = probe.name;
            point.note_address = probe.address;
            if (probe.semaphore)
                point.semaphore_offset = image_.file_offset(probe.semaphore).value_or(0);
            const Record* record = notes_.site_at(probe.note_address);
            settle(point, record ? record->layout : FASTSDT_LAYOUT_OTHER, 0);
            visit(point);
        }
        if (notes_.entries.empty())
            return;
        std::map<uint64_t, std::string_view> names;
        for (const Function& function : image_.functions())
            names.emplace(function.address, function.name);
        for (const Record& record : notes_.entries) {
            AttachPoint point;
            point.entry = true;
            point.note_address = record.address;
            const auto named = names.find(record.address);
            symbol_ = named == names.end() ? std::string_view() : named->second;
            point.name = symbol_.empty() ? fmt::format("0x{:x}", record.address) : std::string(symbol_);
            settle(point, record.layout, record.lead);
            visit(point);
        }
    }

private:
    void settle(AttachPoint& point, int layout, uint64_t lead)
    {
        const auto bytes = image_.bytes_at(point.note_address);
        if (bytes.empty() || !image_.executable_at(point.note_address)) {
            point.at_note = point.judgement = {Verdict::unknown, "the file has no code at this address"};
            remark(point, "The file has no code at this address: a dangling note, or a separate debug file.");
            return;
        }
        fastsdt_recognized seen;
        fastsdt_recognize(&seen, image_.machine(), layout, reinterpret_cast<const unsigned char*>(bytes.data()),
                          bytes.size());
        if (seen.length)
            lead = seen.lead;

        consider(point, bytes, 0, point.entry ? "function" : "probe");
        point.at_note = point.judgement;
        if (lead)
            consider(point, bytes, lead, "behind the landing pad");
        // Only where it is one: nobody can attach inside an instruction.
        if (seen.length && seen.patch_offset)
            consider(point, bytes, lead + seen.patch_offset, "patchable nop");

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
        commands_.write(point, symbol_);
    }

    void consider(AttachPoint& point, std::span<const std::byte> bytes, uint64_t offset, std::string_view place)
    {
        if (offset >= bytes.size())
            return;
        Judgement judgement = judge(kernel_, image_.arch(), bytes.subspan(offset), point.note_address + offset);
        if (point.offset && rank(judgement.verdict) <= rank(point.judgement.verdict))
            return;
        point.offset = offset;
        point.place = place;
        point.judgement = std::move(judgement);
    }

    const Image& image_;
    const Notes& notes_;
    const Kernel& kernel_;
    Commands commands_;
    std::string_view symbol_; // of the entry at hand
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
