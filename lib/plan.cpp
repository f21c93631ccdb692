// SPDX-License-Identifier: BSD-2-Clause
//
// Places are tried from the note's pc on: the layout's first byte, then its patchable instruction. Entries: the
// function's first byte, then what is behind the landing pad. The best verdict wins and the earlier place among equals;
// optimize-unsafe comes after single-stepping.
#include "plan.h"

#include <fastsdt/recognize.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

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

std::string shell_quoted(std::string_view text)
{
    std::string quoted = "'";
    for (char c : text)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

bool only_of(std::string_view text, std::string_view more)
{
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || more.find(c) != more.npos;
    });
}

// What tracefs takes for a group's or event's name: is_good_name() of kernel/trace/trace_probe.h.
std::string event_name(std::string_view text)
{
    constexpr size_t longest = 60; // MAX_EVENT_NAME_LEN is 64, and a number may follow
    std::string name(text.substr(0, longest));
    for (char& c : name)
        if (!only_of(std::string_view(&c, 1), "_"))
            c = '_';
    if (name.empty() || (name[0] >= '0' && name[0] <= '9'))
        name.insert(0, "_");
    return name;
}

template <typename... Args> void remark(AttachPoint& point, fmt::format_string<Args...> text, Args&&... args)
{
    point.remarks.push_back(fmt::format(text, std::forward<Args>(args)...));
}

class Planner {
public:
    Planner(const Image& image, const Notes& notes, const Kernel& kernel)
        : image_(image), notes_(notes), kernel_(kernel)
    {
        std::error_code error;
        path_ = std::filesystem::absolute(image.path(), error).lexically_normal().string();
        if (error)
            path_ = image.path();
        bpftrace_path_ = only_of(path_, "_./+-") ? path_ : '"' + path_ + '"';
    }

    std::vector<AttachPoint> run()
    {
        std::vector<AttachPoint> points;
        for (const Probe& probe : notes_.probes) {
            AttachPoint point;
            point.provider = probe.provider;
            point.name = probe.name;
            point.note_address = probe.address;
            if (probe.semaphore)
                point.semaphore_offset = image_.file_offset(probe.semaphore).value_or(0);
            const auto record = std::lower_bound(notes_.sites.begin(), notes_.sites.end(), probe.note_address,
                                                 [](const Record& r, uint64_t a) { return r.address < a; });
            const bool known = record != notes_.sites.end() && record->address == probe.note_address;
            settle(point, known ? record->layout : FASTSDT_LAYOUT_OTHER, 0);
            points.push_back(std::move(point));
        }
        if (notes_.entries.empty())
            return points;
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
            points.push_back(std::move(point));
        }
        return points;
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
        write_bpftrace(point);
        write_perf(point);
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

    void write_bpftrace(AttachPoint& point)
    {
        if (path_.find('"') != path_.npos) {
            remark(point, "bpftrace cannot name a file with a quotation mark in its path.");
            return;
        }
        const std::string usdt = fmt::format("usdt:{}:{}:{}", bpftrace_path_, point.provider, point.name);
        const Verdict at_note = point.at_note.verdict;
        const bool at_note_works = at_note != Verdict::reject && at_note != Verdict::unknown;
        std::string probe, options;
        if (!point.entry && *point.offset == 0) {
            probe = usdt;
        } else if (!point.entry && point.semaphore_offset && at_note_works) {
            probe = usdt;
            remark(point,
                   "The bpftrace command attaches at the note's pc ({}): at an address bpftrace would not raise the "
                   "semaphore, and the program may skip the probe.",
                   name(at_note));
        } else if (point.entry && *point.offset == 0 && !symbol_.empty()) {
            probe = fmt::format("uprobe:{}:{}", bpftrace_path_, symbol_);
        } else {
            probe = fmt::format("uprobe:{}:0x{:x}", bpftrace_path_, point.address);
            options = " --unsafe";
            remark(point,
                   "bpftrace attaches to an address inside a function only if it was built with support for "
                   "offsets (Debian 12's 0.17 was not), or if the file has no symbols.");
            if (!point.entry && at_note_works)
                remark(point, "At an address bpftrace decodes no probe arguments; {} does, at the note's pc ({}).",
                       usdt, name(at_note));
        }
        point.bpftrace = fmt::format("bpftrace{} -e {}", options, shell_quoted(probe + " { @[probe] = count(); }"));
    }

    // uprobe_events takes file offsets and the semaphore; `perf probe` takes neither reliably.
    void write_perf(AttachPoint& point)
    {
        if (path_.find_first_of(" \t\n") != path_.npos) {
            remark(point, "uprobe_events cannot name a file with a blank in its path.");
            return;
        }
        const std::string group = event_name(point.entry ? "fastprobe" : point.provider);
        const std::string wanted = event_name(point.name);
        std::string event = wanted;
        for (unsigned number = 1; !events_.insert(group + '/' + event).second; ++number)
            event = fmt::format("{}_{}", wanted, number);
        const std::string counter = point.semaphore_offset ? fmt::format("(0x{:x})", point.semaphore_offset) : "";
        const auto definition = fmt::format("p:{}/{} {}:0x{:x}{}", group, event, path_, point.file_offset, counter);
        point.perf = fmt::format("echo {} >>/sys/kernel/tracing/uprobe_events && perf record -a -e {}:{}",
                                 shell_quoted(definition), group, event);
    }

    const Image& image_;
    const Notes& notes_;
    const Kernel& kernel_;
    std::string path_, bpftrace_path_;
    std::string_view symbol_; // of the entry at hand
    std::set<std::string> events_;
};

} // namespace

std::vector<AttachPoint> plan(const Image& image, const Notes& notes, const Kernel& kernel)
{
    if (image.relocatable())
        return {};
    return Planner(image, notes, kernel).run();
}

} // namespace fastsdt
