// SPDX-License-Identifier: BSD-2-Clause
// SARIF 2.1.0 (OASIS), for code hosts and editors: one run, one rule for each kind of finding.
#include "json.h"
#include "output.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

using namespace fastsdt;

namespace {

std::string_view level(Severity severity)
{
    return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

// A relative path stays relative: code hosts look for it from the root of the sources.
std::string uri(std::string_view path)
{
    std::string text = path.starts_with('/') ? "file://" : "";
    for (const char c : path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
            || std::string_view("-._~/+@").find(c) != std::string_view::npos;
        text += plain ? std::string(1, c) : fmt::format("%{:02X}", (unsigned char)c);
    }
    return text;
}

Json artifact(std::string_view path)
{
    return {{"artifactLocation", {{"uri", uri(path)}}}};
}

class SarifOutput : public Output {
public:
    explicit SarifOutput(Severity least) : least_(least) {}

    void report(const Report& report) override
    {
        budget_.begin(report.image, report.options.kernels.size());
        for (const Finding& finding : report.findings)
            add(finding, report.image, {}, {});
        for (const SiteReport& site : report.sites)
            for (const Finding& finding : site.findings)
                add(finding, report.image, fmt::format("{}:{}", site.probe->provider, site.probe->name), site.line);
        for (const FunctionReport& entry : report.entries)
            for (const Finding& finding : entry.findings)
                add(finding, report.image, std::string(entry.function.name), {});
    }

    void unusable(const std::string& path, const std::string& message) override
    {
        notifications_.push_back({{"level", "error"},
                                  {"message", {{"text", message}}},
                                  {"locations", Json::array({{{"physicalLocation", artifact(path)}}})}});
    }

    void finish() override
    {
        Json rules = Json::array();
        for (size_t i = 0; i < finding_count; ++i)
            rules.push_back({{"id", name(FindingId(i))},
                             {"shortDescription", {{"text", meaning(FindingId(i))}}},
                             {"defaultConfiguration", {{"level", level(usual_severity(FindingId(i)))}}}});
        const Json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                          {"version", "2.1.0"},
                          {"runs",
                           Json::array({{{"tool",
                                          {{"driver",
                                            {{"name", "fastsdt-check"},
                                             {"version", FASTSDT_VERSION_STRING},
                                             {"semanticVersion", FASTSDT_VERSION_STRING},
                                             {"rules", std::move(rules)}}}}},
                                         {"invocations",
                                          Json::array({{{"executionSuccessful", notifications_.empty()},
                                                        {"toolExecutionNotifications", std::move(notifications_)}}})},
                                         {"results", std::move(results_)}}})}};
        put(dump(log) + "\n");
    }

private:
    void add(const Finding& finding, const Image& image, const std::string& probe, const std::optional<Line>& line)
    {
        constexpr size_t others = 1500; // what stands in a result besides
        if (finding.severity < least_
            || !budget_.spend(others + finding.message.size() + image.name().size() + 3 * probe.size()))
            return;
        Json in_file = artifact(image.path());
        if (finding.address && !image.relocatable() && *finding.address <= INT64_MAX)
            in_file["address"] = {{"absoluteAddress", *finding.address}, {"kind", "instruction"}};
        Json location = {{"physicalLocation", in_file}};
        if (line) {
            location["physicalLocation"] = artifact(line->file);
            location["physicalLocation"]["region"] = {{"startLine", line->line}};
        }
        if (!probe.empty())
            location["logicalLocations"] = Json::array({{{"fullyQualifiedName", probe}}});
        Json result = {
            {"ruleId", name(finding.id)},
            {"ruleIndex", size_t(finding.id)},
            {"level", level(finding.severity)},
            {"message",
             {{"text", fmt::format("{}{}{}: {}", image.name(), probe.empty() ? "" : ", ", probe, finding.message)}}},
            {"locations", Json::array({std::move(location)})},
            // Only what stays the same when the program grows, so no address.
            {"partialFingerprints", {{"fastsdtFinding/v1", fmt::format("{} {}", name(finding.id), probe)}}}};
        if (line)
            result["relatedLocations"] =
                Json::array({{{"physicalLocation", std::move(in_file)}, {"message", {{"text", "the probe's site"}}}}});
        results_.push_back(std::move(result));
    }

    const Severity least_;
    Json results_ = Json::array(), notifications_ = Json::array();
};

} // namespace

std::unique_ptr<Output> sarif_output(Severity least)
{
    return std::make_unique<SarifOutput>(least);
}
