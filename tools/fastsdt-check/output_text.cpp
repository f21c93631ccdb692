// SPDX-License-Identifier: BSD-2-Clause
#include "output.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace fastsdt;

namespace {

constexpr std::string_view reset = "\033[0m", bold = "\033[1m", dim = "\033[2m", red = "\033[31m", yellow = "\033[33m",
                           green = "\033[32m";

/// "result: register, 4 bytes, signed"
std::string result_text(const Record& record)
{
    if (record.result == FASTSDT_RESULT_NONE)
        return "no result";
    std::string text = fmt::format("result: {}", result_name(record.result));
    if (const unsigned size = record.flags >> FASTSDT_EXIT_SIZE_SHIFT)
        text += fmt::format(", {} bytes", size);
    if (record.flags & FASTSDT_EXIT_SIGNED)
        text += ", signed";
    return text;
}

class Text : public Output {
public:
    explicit Text(Style style) : style_(style) {}

    void report(const Report& report) override
    {
        behaviours_.clear();
        ++files_;
        sites_ += report.sites.size();
        for (size_t i = 0; i < report.severities.size(); ++i)
            severities_[i] += report.severities[i];

        const Image& image = report.image;
        if (style_.tree)
            count_traps(report);
        std::string& out = out_;
        fmt::format_to(std::back_inserter(out), "{}{}{}: {} {}, ", on(bold), printable(image.name()), off(),
                       name(image.arch()), name(image.kind()));
        const size_t all = report.notes.probes.size();
        if (all == 0)
            out += "no USDT probes\n";
        else if (report.sites.size() != all)
            fmt::format_to(std::back_inserter(out), "{} of {}\n", report.sites.size(), plural(all, "site"));
        else
            out += plural(report.sites.size(), "site") + "\n";
        if (style_.summary)
            summary(report);
        else
            for (const Site& site : report.sites)
                this->site(report, site);
        if (report.options.functions)
            functions(report);
        if (style_.summary)
            finding_counts(report);
        else
            for (const Finding& finding : report.findings)
                this->finding(finding, "  ");
        flush(true);
    }

    void unusable(const std::string&, const std::string&) override {}

    void finish() override
    {
        if (style_.tree)
            print_traps();
        if (files_ > 1)
            fmt::format_to(std::back_inserter(out_), "{}, {}: {}, {}\n", plural(files_, "file"), plural(sites_, "site"),
                           plural(severities_[size_t(Severity::error)], "error"),
                           plural(severities_[size_t(Severity::warning)], "warning"));
        flush(true);
    }

private:
    std::string_view on(std::string_view colour) const { return style_.colour ? colour : ""; }
    std::string_view off() const { return style_.colour ? reset : ""; }
    std::string_view colour_of(Verdict verdict) const
    {
        switch (verdict) {
        case Verdict::reject:
        case Verdict::xol_unsafe:
        case Verdict::emulate_unsafe:
        case Verdict::optimize_unsafe: return on(red);
        case Verdict::xol: return on(yellow);
        case Verdict::optimize: return on(green);
        default: return "";
        }
    }
    std::string verdict(Verdict v) const
    {
        const auto colour = colour_of(v);
        return fmt::format("{}{}{}", colour, name(v), colour.empty() ? "" : off());
    }

    // "6.1, 6.12, 6.18: emulate | 7.2: emulate, with libbpf optimize at +1"
    const std::string& behaviour(const Report& report, const Evaluation& judged)
    {
        std::string& text = behaviours_[&judged];
        if (!text.empty())
            return text;
        std::vector<std::pair<std::string, std::vector<Kernel>>> groups;
        for (size_t i = 0; i < judged.behaviours.size(); ++i) {
            const Behaviour& b = judged.behaviours[i];
            std::string what = verdict(b.at_note.verdict);
            if (b.libbpf_moves)
                what += fmt::format(", with libbpf {} at +{}", verdict(b.at_patch.verdict), judged.patch_offset);
            const auto same =
                std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == what; });
            if (same == groups.end())
                groups.push_back({what, {report.options.kernels[i]}});
            else
                same->second.push_back(report.options.kernels[i]);
        }
        for (const auto& [what, kernels] : groups)
            fmt::format_to(std::back_inserter(text), "{}{}: {}", text.empty() ? "" : " | ", list_kernels(kernels),
                           what);
        return text;
    }

    // Whose probes are single-stepped: two traps for each hit.
    void count_traps(const Report& report)
    {
        kernels_ = report.options.kernels;
        two_traps_.resize(kernels_.size());
        for (size_t i = 0; i < kernels_.size(); ++i) {
            size_t count = 0;
            for (const Site& site : report.sites)
                if (site.judged) {
                    const Verdict verdict = site.judged->behaviours[i].at_note.verdict;
                    count += verdict == Verdict::xol || verdict == Verdict::xol_unsafe;
                }
            if (count > 0)
                two_traps_[i].push_back({count, report.image.name()});
        }
    }

    void print_traps()
    {
        constexpr size_t most = 10;
        auto to = std::back_inserter(out_);
        for (size_t i = 0; i < two_traps_.size(); ++i) {
            auto& files = two_traps_[i];
            size_t count = 0;
            for (const auto& file : files)
                count += file.first;
            fmt::format_to(to, "two traps on Linux {}: {} of {}", kernels_[i].name(), count, plural(sites_, "site"));
            std::stable_sort(files.begin(), files.end(),
                             [](const auto& a, const auto& b) { return a.first > b.first; });
            for (size_t k = 0; k < files.size() && (k < most || style_.verbose); ++k)
                fmt::format_to(to, "\n  {:>6}  {}", files[k].first, printable(files[k].second));
            if (files.size() > most && !style_.verbose)
                fmt::format_to(to, "\n  and in {} more; --verbose names them", plural(files.size() - most, "file"));
            out_ += '\n';
        }
    }

    bool shown(const Finding& finding) const { return style_.verbose || finding.severity != Severity::info; }

    void finding(const Finding& finding, std::string_view indent)
    {
        if (!shown(finding))
            return;
        const auto colour = finding.severity == Severity::error ? on(red)
            : finding.severity == Severity::warning             ? on(yellow)
                                                                : on(dim);
        fmt::format_to(std::back_inserter(out_), "{}{}{:<11}{}{} {}[{}]{}\n", indent, colour, name(finding.severity),
                       colour.empty() ? "" : off(), printable(finding.message), on(dim), name(finding.id), off());
    }

    void site(const Report& report, const Site& site)
    {
        if (!::shown(site, style_.only))
            return;
        const Probe& probe = *site.probe;
        auto to = std::back_inserter(out_);
        out_ += "  ";
        out_ += on(bold);
        print(probe.provider);
        out_ += ':';
        print(probe.name);
        out_ += off();
        if (const auto* names = report.notes.names_of(probe, site.arguments->size()))
            print(names->signature());
        out_ += "  ";
        if (site.line) {
            print(site.line->file);
            fmt::format_to(to, ":{}  ", site.line->line);
        }
        out_ += report.image.relocatable() ? printable(report.image.place(probe.address))
                                           : fmt::format("{:#x}", probe.address);
        out_ += "  ";
        out_ += layout_name(site.layout(), report.image.arch());
        if (probe.semaphore == report.image.undefined())
            out_ += "  semaphore elsewhere";
        else if (probe.semaphore != 0)
            fmt::format_to(to, "  semaphore {}", printable(report.image.place(probe.semaphore)));
        out_ += '\n';
        if (site.judged && report.image.arch() != Arch::unknown) {
            out_ += "    kernels    ";
            out_ += behaviour(report, *site.judged);
            out_ += '\n';
        }
        if (!site.arguments->empty()) {
            out_ += "    arguments ";
            std::array<bool, tracers.size()> reads;
            reads.fill(true);
            for (const Argument& argument : *site.arguments) {
                out_ += ' ';
                print(argument.text);
                for (Tracer tracer : tracers)
                    reads[size_t(tracer)] &= argument.reading(tracer).verdict == ReadingVerdict::reads;
            }
            std::string some;
            for (Tracer tracer : tracers)
                if (reads[size_t(tracer)])
                    fmt::format_to(std::back_inserter(some), "{}{}", some.empty() ? "" : ", ", name(tracer));
            const bool all = reads == std::array<bool, tracers.size()>{true, true, true, true};
            fmt::format_to(to, "  {}({}){}\n", on(dim),
                           all                ? "all tracers"
                               : some.empty() ? "no tracer reads them all"
                                              : some + " only",
                           off());
        }
        for (const Finding& finding : site.findings)
            this->finding(finding, "    ");
        flush(false);
    }

    void summary(const Report& report)
    {
        // Per provider, then what kernels do, then layouts.
        std::map<std::string_view, size_t> providers, layouts;
        std::map<std::string, size_t> behaviours;
        for (const Site& site : report.sites) {
            ++providers[site.probe->provider];
            ++layouts[layout_name(site.layout(), report.image.arch())];
            if (site.judged && report.image.arch() != Arch::unknown)
                ++behaviours[behaviour(report, *site.judged)];
        }
        const auto list = [&](std::string_view title, const auto& map) {
            for (const auto& [what, count] : map) {
                fmt::format_to(std::back_inserter(out_), "  {:<11}{:>7}  {}\n", title, count,
                               style_.colour ? std::string(what) : printable(what));
                title = "";
            }
        };
        std::map<std::string, size_t> clean;
        for (const auto& [what, count] : providers)
            clean[printable(what)] += count;
        list("providers", clean);
        list("layouts", layouts);
        list("kernels", behaviours);
    }

    void finding_counts(const Report& report)
    {
        std::string_view title = "findings";
        for (size_t i = 0; i < report.counts.size(); ++i) {
            if (report.counts[i] == 0 || (!style_.verbose && usual_severity(FindingId(i)) == Severity::info))
                continue;
            fmt::format_to(std::back_inserter(out_), "  {:<11}{:>7}  {} {}\n", title, report.counts[i],
                           name(usual_severity(FindingId(i))), name(FindingId(i)));
            title = "";
        }
    }

    void functions(const Report& report)
    {
        if (report.entries.empty()) {
            out_ += "  no functions in a symbol table, and no entry records\n";
            return;
        }
        const auto& kernels = report.options.kernels;
        using Counts = std::map<Verdict, std::vector<size_t>>;
        Counts all, selected, patch, exits, exits_patch;
        size_t all_count = 0, selected_count = 0, patch_count = 0;
        size_t exit_count = 0, exit_patch_count = 0, tail_calls = 0, functions_with_exits = 0;
        for (const Entry& entry : report.entries) {
            const auto count_of = [&](const Evaluation& judged, Counts& counts, bool at_patch) {
                for (size_t i = 0; i < kernels.size(); ++i) {
                    const Behaviour& b = judged.behaviours[i];
                    auto& row = counts[(at_patch ? b.at_patch : b.at_note).verdict];
                    row.resize(kernels.size());
                    ++row[i];
                }
            };
            functions_with_exits += !entry.exits.empty();
            for (const Exit& exit : entry.exits) {
                tail_calls += exit.record->tail_call();
                ++exit_count;
                if (!exit.judged)
                    continue;
                count_of(*exit.judged, exits, false);
                if (exit.judged->patch_offset != 0) {
                    ++exit_patch_count;
                    count_of(*exit.judged, exits_patch, true);
                }
            }
            if (!entry.judged)
                continue;
            const auto count = [&](Counts& counts, bool at_patch) { count_of(*entry.judged, counts, at_patch); };
            if (entry.record) {
                ++selected_count;
                count(selected, false);
                if (entry.judged->patch_offset != 0) {
                    ++patch_count;
                    count(patch, true);
                }
            } else {
                ++all_count;
                count(all, false);
            }
        }
        fmt::format_to(std::back_inserter(out_), "  {}, {} selected by fastprobe\n",
                       plural(all_count + selected_count, "function"), selected_count);
        if (exit_count)
            fmt::format_to(std::back_inserter(out_), "  {} of {}: {}, {}\n", plural(exit_count, "exit"),
                           plural(functions_with_exits, "function"), plural(exit_count - tail_calls, "return"),
                           plural(tail_calls, "tail call"));
        const auto table = [&](std::string_view title, const Counts& counts, size_t total) {
            if (total == 0)
                return;
            // Neighbours with equal columns share one.
            std::vector<std::pair<size_t, size_t>> columns;
            for (size_t i = 0; i < kernels.size(); ++i) {
                bool same = i > 0;
                for (const auto& [verdict, row] : counts)
                    same = same && row[i] == row[i - 1];
                if (same)
                    columns.back().second = i;
                else
                    columns.emplace_back(i, i);
            }
            fmt::format_to(std::back_inserter(out_), "    {:<42}", fmt::format("{} ({})", title, total));
            size_t width = 13;
            std::vector<std::string> heads;
            for (const auto& [first, last] : columns) {
                heads.push_back(first == last ? kernels[first].name()
                                              : fmt::format("{}-{}", kernels[first].name(), kernels[last].name()));
                width = std::max(width, heads.back().size() + 2);
            }
            for (const std::string& head : heads)
                fmt::format_to(std::back_inserter(out_), "{:>{}}", head, width);
            out_ += '\n';
            for (auto row = counts.rbegin(); row != counts.rend(); ++row) {
                const auto colour = colour_of(row->first);
                fmt::format_to(std::back_inserter(out_), "      {}{:<40}{}", colour, name(row->first),
                               colour.empty() ? "" : off());
                for (const auto& [first, last] : columns)
                    fmt::format_to(std::back_inserter(out_), "{:>{}.1f} %",
                                   100.0 * double(row->second[first]) / double(total), width - 2);
                out_ += '\n';
            }
        };
        table("selected, probed where the record says", selected, selected_count);
        table("the same, at the patchable instruction", patch, patch_count);
        table("exits, probed where the record says", exits, exit_count);
        table("the same, at the patchable instruction", exits_patch, exit_patch_count);
        table(selected_count ? "others, probed at their symbol" : "probed at their symbol", all, all_count);
        if (style_.summary)
            return;
        for (const Entry& entry : report.entries) {
            bool any = style_.verbose;
            for (const Finding& finding : entry.findings)
                any |= shown(finding);
            for (const Exit& exit : entry.exits)
                for (const Finding& finding : exit.findings)
                    any |= shown(finding);
            if (!any)
                continue;
            fmt::format_to(std::back_inserter(out_), "  {}{}{}  ", on(bold),
                           entry.function.name.empty() ? "(no symbol)" : printable(entry.function.name), off());
            std::string_view before = "(also ";
            for (std::string_view alias : entry.function.aliases) {
                fmt::format_to(std::back_inserter(out_), "{}{}", before, printable(alias));
                before = ", ";
            }
            if (!entry.function.aliases.empty())
                out_ += ")  ";
            if (entry.function.indirect)
                out_ += "ifunc resolver  ";
            out_ += printable(report.image.place(entry.function.address));
            if (entry.lead)
                fmt::format_to(std::back_inserter(out_), "+{}", entry.lead);
            if (entry.judged)
                fmt::format_to(std::back_inserter(out_), "  {}\n    kernels    {}\n",
                               layout_name(entry.judged->layout, report.image.arch()),
                               behaviour(report, *entry.judged));
            else
                out_ += '\n';
            for (const Exit& exit : entry.exits) {
                if (style_.verbose)
                    fmt::format_to(std::back_inserter(out_), "    {:<10} {}  {}{}\n",
                                   exit.record->tail_call() ? "tail call" : "return",
                                   printable(report.image.place(exit.record->address)),
                                   layout_name(exit.record->layout, report.image.arch()),
                                   exit.record->tail_call() ? "" : "  " + result_text(*exit.record));
                for (const Finding& finding : exit.findings)
                    this->finding(finding, "    ");
            }
            for (const Finding& finding : entry.findings)
                this->finding(finding, "    ");
            flush(false);
        }
    }

    void print(std::string_view text)
    {
        for (char c : text)
            if (c < 0x20 || c >= 0x7f) {
                out_ += printable(text);
                return;
            }
        out_ += text;
    }

    void flush(bool all)
    {
        if (all || out_.size() > 1 << 16) {
            put(out_);
            out_.clear();
        }
    }

    const Style style_;
    std::vector<Kernel> kernels_;                                        // of the last report
    std::vector<std::vector<std::pair<size_t, std::string>>> two_traps_; // by kernel: probes, file
    std::string out_;
    std::map<const Evaluation*, std::string> behaviours_;
    size_t files_ = 0, sites_ = 0;
    std::array<size_t, 3> severities_{};
};

} // namespace

bool shown(const Site& site, std::optional<Severity> only)
{
    return !only || std::any_of(site.findings.begin(), site.findings.end(), [&](const Finding& finding) {
        return finding.severity >= *only;
    });
}

std::unique_ptr<Output> text_output(Style style)
{
    return std::make_unique<Text>(style);
}
