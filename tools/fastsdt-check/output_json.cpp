// SPDX-License-Identifier: BSD-2-Clause
// docs/json.md describes what is written here; keep them together.
#include "json.h"
#include "output.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

using namespace fastsdt;

namespace {

Json kernels_json(const Report& report, const Evaluation& judged)
{
    Json json = Json::object();
    for (size_t i = 0; i < judged.behaviours.size(); ++i) {
        const Behaviour& b = judged.behaviours[i];
        Json one = {{"verdict", name(b.at_note.verdict)}, {"why", b.at_note.why}};
        if (judged.patch_offset != 0)
            one["at_patch"] = {{"offset", judged.patch_offset},
                               {"verdict", name(b.at_patch.verdict)},
                               {"why", b.at_patch.why},
                               {"libbpf_moves", b.attaches_at_patch}};
        json[report.options.kernels[i].name()] = std::move(one);
    }
    return json;
}

Json place_json(const Image& image, uint64_t address)
{
    Json json = {{"address", address}};
    if (image.relocatable()) {
        const Section* section = image.section_at(address);
        json["address"] = section ? address - section->address : address;
        json["section"] = section ? Json(section->name) : Json();
    }
    if (const auto offset = image.file_offset(Vaddr(address)))
        json["file_offset"] = *offset;
    return json;
}

// A finding about a place says it as places do, but for the offset in the file.
Json findings_json(const Image& image, const std::vector<Finding>& findings)
{
    Json json = Json::array();
    for (const Finding& finding : findings) {
        Json one = {{"id", name(finding.id)}, {"severity", name(finding.severity)}, {"message", finding.message}};
        if (finding.address) {
            one.update(place_json(image, *finding.address));
            one.erase("file_offset");
        }
        json.push_back(std::move(one));
    }
    return json;
}

Json record_json(const Record& record, Arch arch)
{
    Json json = {{"layout", layout_name(record.layout, arch)},
                 {"patch_offset", record.patch_offset},
                 {"patch_length", record.patch_length},
                 {"bound", record.bound ? Json(record.bound < 64 ? uint64_t(1) << record.bound : 0) : Json()}};
    if (record.type == FASTSDT_NOTE_SITE) {
        json["flags_dead"] = bool(record.flags & FASTSDT_SITE_FLAGS_DEAD);
        json["no_redzone"] = bool(record.flags & FASTSDT_SITE_NO_REDZONE);
        json["ungrouped"] = bool(record.flags & FASTSDT_SITE_UNGROUPED);
    } else if (record.type == FASTSDT_NOTE_EXIT) {
        const unsigned size = record.flags >> FASTSDT_EXIT_SIZE_SHIFT;
        const bool sign = record.flags & FASTSDT_EXIT_SIGNED, no_sign = record.flags & FASTSDT_EXIT_UNSIGNED;
        json["tail_call"] = record.tail_call();
        json["result"] = {{"where", result_name(record.result)},
                          {"size", size ? Json(size) : Json()},
                          {"signed", sign != no_sign ? Json(sign) : Json()}};
    } else {
        json["lead"] = record.lead;
        json["stack_arguments"] = record.operand == unknown_bytes ? Json() : Json(record.operand);
        json["returns_twice"] = bool(record.flags & FASTSDT_ENTRY_RETURNS_TWICE);
        json["added"] = bool(record.flags & FASTSDT_ENTRY_ADDED);
        json["missed"] = bool(record.flags & FASTSDT_ENTRY_MISSED);
        json["exits"] = bool(record.flags & FASTSDT_ENTRY_EXITS);
    }
    return json;
}

Json argument_json(const Argument& argument)
{
    Json tracers_json = Json::object();
    for (Tracer tracer : tracers) {
        const Reading& reading = argument.reading(tracer);
        Json one = {{"verdict", name(reading.verdict)}};
        if (!reading.why.empty())
            one["why"] = reading.why;
        tracers_json[std::string(name(tracer))] = std::move(one);
    }
    return {{"text", argument.text},        {"size", argument.size ? Json(argument.size) : Json()},
            {"signed", argument.is_signed}, {"float", argument.is_float},
            {"operand", argument.operand},  {"tracers", std::move(tracers_json)}};
}

Json probe_json(const Report& report, const SiteReport& site)
{
    const Image& image = report.image;
    const ProbeNote& probe = *site.probe;
    Json json = {{"provider", probe.provider}, {"name", probe.name}};
    json["file"] = site.line ? Json(site.line->file) : Json();
    json["line"] = site.line ? Json(site.line->line) : Json();
    json.update(place_json(image, probe.address));
    json["layout"] = layout_name(site.layout(), image.arch());
    json["layout_note"] = site.record ? record_json(*site.record, image.arch()) : Json();
    json["bytes"] = site.judged ? Json(hex(site.bytes)) : Json();
    json["state"] = site.judged ? Json(state_name(site.judged->state)) : Json();
    if (probe.semaphore == 0)
        json["semaphore"] = nullptr;
    else if (probe.semaphore == image.undefined())
        json["semaphore"] = {{"address", nullptr}};
    else
        json["semaphore"] = place_json(image, probe.semaphore);
    json["argument_string"] = probe.arguments;
    json["arguments"] = Json::array();
    const ArgumentNames* const names = site.names;
    for (size_t i = 0; i < site.arguments->size(); ++i) {
        Json argument = argument_json((*site.arguments)[i]);
        argument["name"] = names && !names->arguments[i].name.empty() ? Json(names->arguments[i].name) : Json();
        argument["type"] = names ? Json(names->arguments[i].type) : Json();
        json["arguments"].push_back(std::move(argument));
    }
    json["kernels"] = site.judged ? kernels_json(report, *site.judged) : Json();
    json["findings"] = findings_json(image, site.findings);
    return json;
}

Json exit_json(const Report& report, const ExitReport& exit)
{
    Json json = place_json(report.image, exit.record->address);
    json.update(record_json(*exit.record, report.image.arch()));
    json["kernels"] = exit.judged ? kernels_json(report, *exit.judged) : Json();
    json["findings"] = findings_json(report.image, exit.findings);
    return json;
}

Json function_json(const Report& report, const FunctionReport& entry)
{
    Json json = {{"name", entry.function.name.empty() ? Json() : Json(entry.function.name)}};
    json["aliases"] = entry.function.aliases;
    json.update(place_json(report.image, entry.function.address));
    json["size"] = entry.function.size;
    json["ifunc"] = entry.function.indirect;
    json["selected"] = entry.record != nullptr;
    json["record"] = entry.record ? record_json(*entry.record, report.image.arch()) : Json();
    json["probe_offset"] = entry.lead;
    json["layout"] = entry.judged ? Json(layout_name(entry.judged->layout, report.image.arch())) : Json();
    json["landing_pad"] = entry.judged ? Json(entry.judged->lead) : Json();
    json["kernels"] = entry.judged ? kernels_json(report, *entry.judged) : Json();
    json["exits"] = Json::array();
    for (const ExitReport& exit : entry.exits)
        json["exits"].push_back(exit_json(report, exit));
    json["findings"] = findings_json(report.image, entry.findings);
    return json;
}

class JsonOutput : public Output {
public:
    JsonOutput(const std::vector<Kernel>& kernels, std::optional<Severity> only) : only_(only)
    {
        Json names = Json::array();
        for (const Kernel& kernel : kernels)
            names.push_back(kernel.name());
        put(fmt::format("{{\n\"schema\": {},\n\"tool\": \"fastsdt-check {}\",\n\"kernels\": {},\n\"files\": [",
                        json_schema, FASTSDT_VERSION_STRING, names.dump()));
    }

    void report(const Report& report) override
    {
        const Image& image = report.image;
        budget_.begin(image, report.options.kernels.size());
        probes_ += report.sites.size();
        for (size_t i = 0; i < severities_.size(); ++i)
            severities_[i] += report.severities[i];
        Json head = {{"path", image.path()},
                     {"member", image.member().empty() ? Json() : Json(image.member())},
                     {"arch", name(image.arch())},
                     {"machine", image.machine()},
                     {"class", image.encoding().elf64 ? 64 : 32},
                     {"byte_order", image.encoding().big_endian ? "big" : "little"},
                     {"kind", name(image.kind())},
                     {"separate_debug", image.separate_debug()},
                     {"build_id", image.build_id().empty() ? Json() : Json(image.build_id())},
                     {"indexed", report.notes.indexed},
                     {"findings", findings_json(image, report.findings)}};
        std::string text = dump(head);
        text.resize(text.size() - 2); // without the closing brace: the long lists follow
        begin_file();
        put(text);
        list("probes", report.sites, [&](const SiteReport& site) { return probe_json(report, site); });
        if (report.options.functions)
            list("functions", report.entries,
                 [&](const FunctionReport& entry) { return function_json(report, entry); });
        put("\n}");
    }

    void unusable(const std::string& path, const std::string& message) override
    {
        ++unusable_;
        begin_file();
        put(dump({{"path", path}, {"error", message}}));
    }

    void finish() override
    {
        const Json summary = {{"files", files_ - unusable_},
                              {"unusable", unusable_},
                              {"probes", probes_},
                              {"errors", severities_[size_t(Severity::error)]},
                              {"warnings", severities_[size_t(Severity::warning)]},
                              {"infos", severities_[size_t(Severity::info)]}};
        put(fmt::format("{}],\n\"summary\": {}\n}}\n", files_ ? "\n" : "", summary.dump()));
    }

private:
    template <class Items, class ToJson> void list(std::string_view title, const Items& items, ToJson to_json)
    {
        std::string text = fmt::format(",\n \"{}\": [", title);
        bool first = true;
        for (const auto& item : items) {
            if constexpr (std::is_same_v<std::decay_t<decltype(item)>, SiteReport>)
                if (!shown(item, only_))
                    continue;
            const std::string one = dump(to_json(item));
            if (!budget_.spend(one.size()))
                break;
            text += first ? "\n" : ",\n";
            text += one;
            first = false;
            if (text.size() > 1 << 16) {
                put(text);
                text.clear();
            }
        }
        put(text + "]");
    }

    void begin_file() { put(files_++ ? ",\n" : "\n"); }

    const std::optional<Severity> only_;
    size_t files_ = 0, unusable_ = 0, probes_ = 0;
    std::array<size_t, 3> severities_{};
};

} // namespace

std::unique_ptr<Output> json_output(const std::vector<Kernel>& kernels, std::optional<Severity> only)
{
    return std::make_unique<JsonOutput>(kernels, only);
}
