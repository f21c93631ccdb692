// SPDX-License-Identifier: BSD-2-Clause
// A report, which refers into the file, to the structures of fastsdt/reader.h, which do not. Nothing is decided here: what is copied is
// what fastsdt-check prints as JSON (tools/fastsdt-check/output_json.cpp), and tests/reader compares both.
#include "base/layouts.h"
#include "handles.h"

#include <map>
#include <tuple>

namespace fastsdt::reader {
namespace {

// The numbers of the header are those of lib's enumerators.
static_assert(FASTSDT_READER_OPTIMIZE == int(Verdict::optimize) && FASTSDT_READER_REJECT == int(Verdict::reject)
              && FASTSDT_READER_XOL_UNSAFE == int(Verdict::xol_unsafe)
              && FASTSDT_READER_EMULATE_UNSAFE == int(Verdict::emulate_unsafe)
              && FASTSDT_READER_XOL == int(Verdict::xol) && FASTSDT_READER_EMULATE == int(Verdict::emulate)
              && FASTSDT_READER_OPTIMIZE_UNSAFE == int(Verdict::optimize_unsafe)
              && FASTSDT_READER_UNKNOWN == int(Verdict::unknown));
static_assert(FASTSDT_READER_UNTOUCHED == int(Change::untouched) && FASTSDT_READER_BREAKPOINT == int(Change::breakpoint)
              && FASTSDT_READER_STALE_CALL == int(Change::stale_call)
              && FASTSDT_READER_OPTIMIZED == int(Change::optimized) && FASTSDT_READER_UPDATING == int(Change::updating)
              && FASTSDT_READER_JUMP == int(Change::jump) && FASTSDT_READER_FOREIGN_CALL == int(Change::foreign_call)
              && FASTSDT_READER_DAMAGED == int(Change::damaged) && FASTSDT_READER_CHANGED == int(Change::changed)
              && FASTSDT_READER_REMAPPED == int(Change::remapped)
              && FASTSDT_READER_UNREADABLE == int(Change::unreadable));
static_assert(FASTSDT_READER_READS == int(ReadingVerdict::reads)
              && FASTSDT_READER_CONDITIONAL == int(ReadingVerdict::conditional)
              && FASTSDT_READER_UNSUPPORTED == int(ReadingVerdict::unsupported)
              && FASTSDT_READER_MISREADS == int(ReadingVerdict::misreads)
              && FASTSDT_READER_REJECTS == int(ReadingVerdict::rejects));
static_assert(FASTSDT_READER_INFO == int(Severity::info) && FASTSDT_READER_WARNING == int(Severity::warning)
              && FASTSDT_READER_ERROR == int(Severity::error));
static_assert(FASTSDT_READER_EXECUTABLE == int(fastsdt::Image::Kind::executable)
              && FASTSDT_READER_PIE == int(fastsdt::Image::Kind::pie)
              && FASTSDT_READER_SHARED == int(fastsdt::Image::Kind::shared)
              && FASTSDT_READER_RELOCATABLE == int(fastsdt::Image::Kind::relocatable));

// What a process has at a place.
using LiveKey =
    std::tuple<uint64_t, int, std::string_view, std::string_view>; // address, kind, provider and name of a probe
enum { probe_site, entry_site, exit_site };

class Copier {
public:
    Copier(fastsdt_reader& reader, const Report& report, const LiveFile* live)
        : texts_(reader.texts), kernels_(reader.kernels), report_(report), file_(report.image),
          image_(reader.images.emplace_back())
    {
        if (!live)
            return;
        for (const LiveSite& site : live->sites)
            if (site.entry || site.exit)
                live_.emplace(LiveKey(site.address.value, site.entry ? entry_site : exit_site, {}, {}), &site);
            else
                live_.emplace(LiveKey(site.address.value, probe_site, site.provider, site.name), &site);
    }

    void run(const LiveFile* live)
    {
        image_.path = texts_(live ? live->path : file_.path());
        image_.member = texts_.or_null(file_.member());
        image_.build_id = texts_.or_null(file_.build_id());
        image_.arch = texts_(name(file_.arch()));
        image_.machine = file_.machine();
        image_.bits = file_.encoding().elf64 ? 64 : 32;
        image_.big_endian = file_.encoding().big_endian;
        image_.kind = int(file_.kind());
        image_.separate_debug = file_.separate_debug();
        image_.indexed = report_.notes.indexed;
        image_.start = live ? live->start.value : FASTSDT_READER_NONE;
        image_.deleted = live && live->deleted;
        image_.all_findings = findings(report_.findings);
        for (const SiteReport& site : report_.sites)
            add(site);
        for (const FunctionReport& entry : report_.entries)
            add(entry);
        image_.probes = image_.all_probes.size();
        image_.functions = image_.all_functions.size();
        image_.findings = image_.all_findings.size();
    }

private:
    // Addresses as fastsdt-check's JSON has them: in an object from the start of the section.
    uint64_t shown(uint64_t address) const
    {
        const Section* const section = file_.relocatable() ? file_.section_at(address) : nullptr;
        return section ? address - section->address : address;
    }
    const char* section(uint64_t address)
    {
        const Section* const section = file_.relocatable() ? file_.section_at(address) : nullptr;
        return section ? texts_(section->name) : nullptr;
    }

    const LiveSite* live(const LiveKey& key) const
    {
        const auto found = live_.find(key);
        return found == live_.end() ? nullptr : found->second;
    }

    void place(Place& to, uint64_t address, const Record* record, const Evaluation* judged, unsigned lead,
               std::span<const std::byte> bytes, const LiveSite* live)
    {
        to.address = shown(address);
        to.file_offset = file_.file_offset(Vaddr(address)).value_or(FileOffset(FASTSDT_READER_NONE)).value;
        to.section = section(address);
        to.layout = record ? record->layout : judged ? judged->layout : FASTSDT_LAYOUT_OTHER;
        to.layout_name = texts_(layout_name(uint8_t(to.layout), file_.arch()));
        to.state = judged ? judged->state : FASTSDT_STATE_UNKNOWN;
        to.state_name = judged ? texts_(state_name(judged->state)) : nullptr;
        to.recorded = record != nullptr;
        to.lead = lead;
        if (judged) {
            to.patch_offset = judged->lead + judged->patch_offset;
            to.patch_length = judged->patch_length;
        } else if (record) {
            to.patch_offset = record->lead + record->patch_offset;
            to.patch_length = record->patch_length;
        }
        to.flags = record ? record->flags : 0;
        to.bound = record && record->bound != 0 && record->bound < 64 ? uint64_t(1) << record->bound : 0;
        to.bytes = texts_(bytes);
        to.byte_count = bytes.size();
        to.verdicts = judged ? verdicts(*judged) : nullptr;
        to.runtime = to.target = FASTSDT_READER_NONE;
        to.change = FASTSDT_READER_NOT_LOOKED_AT;
        to.live_bytes = texts_(std::span<const std::byte>());
        if (!live)
            return;
        to.runtime = live->runtime.value;
        to.change = int(live->change);
        to.change_name = texts_(name(live->change));
        to.live_bytes = texts_(live->live_bytes);
        to.live_byte_count = live->live_bytes.size();
        to.target = live->target ? live->target->value : FASTSDT_READER_NONE;
    }

    const Verdicts* verdicts(const Evaluation& judged)
    {
        const auto [found, fresh] = verdicts_.emplace(&judged, nullptr);
        if (!fresh)
            return found->second;
        Verdicts& all = image_.verdicts.emplace_back();
        for (size_t i = 0; i < judged.behaviours.size(); ++i) {
            const Behaviour& b = judged.behaviours[i];
            fastsdt_reader_verdict one{};
            one.kernel = kernels_[i];
            one.verdict = int(b.at_note.verdict);
            one.name = texts_(name(b.at_note.verdict));
            one.why = texts_(b.at_note.why);
            one.patch_verdict = -1;
            if (judged.patch_offset != 0) {
                one.patch_verdict = int(b.at_patch.verdict);
                one.patch_name = texts_(name(b.at_patch.verdict));
                one.patch_why = texts_(b.at_patch.why);
                one.attaches_at_patch = b.attaches_at_patch;
            }
            all.push_back(one);
        }
        return found->second = &all;
    }

    Findings findings(const std::vector<Finding>& from)
    {
        Findings all;
        for (const Finding& finding : from)
            all.push_back({texts_(name(finding.id)), int(finding.severity), texts_(finding.message),
                           finding.address ? shown(*finding.address) : FASTSDT_READER_NONE,
                           finding.address ? section(*finding.address) : nullptr});
        return all;
    }

    void add(const SiteReport& site)
    {
        const ProbeNote& note = *site.probe;
        const LiveSite* const now = live({note.address, probe_site, note.provider, note.name});
        Probe& probe = image_.all_probes.emplace_back();
        place(probe.at, note.address, site.record, site.judged, 0, site.bytes, now);
        probe.place = &probe.at;
        probe.provider = texts_(note.provider);
        probe.name = texts_(note.name);
        probe.argument_string = texts_(note.arguments);
        probe.file = site.line ? texts_(site.line->file) : nullptr;
        probe.line = site.line ? site.line->line : 0;
        if (note.semaphore == file_.undefined()) {
            probe.semaphore = FASTSDT_READER_NONE;
        } else if (note.semaphore != 0) {
            probe.semaphore = shown(note.semaphore);
            probe.semaphore_offset = file_.file_offset(Vaddr(note.semaphore)).value_or(FileOffset()).value;
        }
        probe.semaphore_value = now && now->semaphore_value ? *now->semaphore_value : -1;
        for (size_t i = 0; i < site.arguments->size(); ++i) {
            const auto& from = (*site.arguments)[i];
            Argument& to = probe.all_arguments.emplace_back();
            to.text = texts_(from.text);
            to.size = from.size;
            to.is_signed = from.is_signed;
            to.is_float = from.is_float;
            to.operand = texts_(from.operand);
            if (site.names) {
                to.name = texts_.or_null(site.names->arguments[i].name);
                to.type = texts_(site.names->arguments[i].type);
            }
            for (const Tracer tracer : tracers) {
                const Reading& reading = from.reading(tracer);
                to.readings[size_t(tracer)] = {texts_(name(tracer)), int(reading.verdict), texts_(reading.why)};
            }
        }
        probe.all_findings = findings(site.findings);
        probe.arguments = probe.all_arguments.size();
        probe.findings = probe.all_findings.size();
    }

    // Without a layout, the first bytes of an instruction.
    std::span<const std::byte> bytes_at(uint64_t address, const Evaluation* judged) const
    {
        const auto bytes = judged ? file_.bytes_at(address) : std::span<const std::byte>();
        return bytes.first(
            std::min<size_t>(bytes.size(), judged && judged->length ? judged->lead + judged->length : 8));
    }

    void add(const FunctionReport& entry)
    {
        const uint64_t address = entry.function.address;
        Function& function = image_.all_functions.emplace_back();
        place(function.at, address, entry.record, entry.judged, entry.lead, bytes_at(address, entry.judged),
              live({address, entry_site, {}, {}}));
        function.place = &function.at;
        function.name = texts_.or_null(entry.function.name);
        for (const std::string_view alias : entry.function.aliases)
            function.all_aliases.push_back(texts_(alias));
        function.size = entry.function.size;
        function.ifunc = entry.function.indirect;
        function.stack_arguments = FASTSDT_READER_NONE;
        if (const Record* const record = entry.record) {
            function.selected = true;
            function.added = (record->flags & FASTSDT_ENTRY_ADDED) != 0;
            function.missed = (record->flags & FASTSDT_ENTRY_MISSED) != 0;
            function.returns_twice = (record->flags & FASTSDT_ENTRY_RETURNS_TWICE) != 0;
            function.all_exits = (record->flags & FASTSDT_ENTRY_EXITS) != 0;
            if (record->operand != unknown_bytes)
                function.stack_arguments = record->operand;
        }
        for (const ExitReport& exit : entry.exits)
            add(function, exit);
        function.all_findings = findings(entry.findings);
        function.aliases = function.all_aliases.size();
        function.exits = function.all_exits_of_it.size();
        function.findings = function.all_findings.size();
    }

    void add(Function& function, const ExitReport& from)
    {
        const Record& record = *from.record;
        Exit& exit = function.all_exits_of_it.emplace_back();
        place(exit.at, record.address, &record, from.judged, 0, bytes_at(record.address, from.judged),
              live({record.address, exit_site, {}, {}}));
        exit.place = &exit.at;
        exit.tail_call = record.tail_call();
        exit.result = record.result;
        exit.result_name = texts_(result_name(record.result));
        exit.result_size = record.flags >> FASTSDT_EXIT_SIZE_SHIFT;
        const bool sign = record.flags & FASTSDT_EXIT_SIGNED, no_sign = record.flags & FASTSDT_EXIT_UNSIGNED;
        exit.result_signed = sign == no_sign ? -1 : sign;
        exit.all_findings = findings(from.findings);
        exit.findings = exit.all_findings.size();
    }

    Texts& texts_;
    const std::vector<const char*>& kernels_;
    const Report& report_;
    const fastsdt::Image& file_;
    Image& image_;
    std::map<LiveKey, const LiveSite*> live_;
    std::map<const Evaluation*, const Verdicts*> verdicts_;
};

} // namespace

void add(fastsdt_reader& reader, const Report& report, const LiveFile* live)
{
    Copier(reader, report, live).run(live);
}

} // namespace fastsdt::reader
