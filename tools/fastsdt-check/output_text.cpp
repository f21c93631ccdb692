// SPDX-License-Identifier: BSD-2-Clause
#include "output.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace fastsdt;

namespace {

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
        budget_.begin(report.image, report.options.kernels.size());
        ++files_;
        sites_ += report.sites.size();
        for (size_t i = 0; i < report.severities.size(); ++i)
            severities_[i] += report.severities[i];

        const Image& image = report.image;
        if (style_.tree)
            count_traps(report);
        std::string& out = out_;
        fmt::format_to(std::back_inserter(out), "{}{}{}: {} {}, ", on(ansi::bold), printable(image.name()), off(),
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
            for (const SiteReport& site : report.sites) {
                const size_t before = out_.size();
                this->site(report, site);
                if (!budget_.spend(out_.size() - before))
                    break;
                flush(false);
            }
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
    std::string_view off() const { return style_.colour ? ansi::reset : ""; }
    std::string_view colour_of(Verdict verdict) const
    {
        switch (verdict) {
        case Verdict::reject:
        case Verdict::xol_unsafe:
        case Verdict::emulate_unsafe:
        case Verdict::optimize_unsafe: return on(ansi::red);
        case Verdict::xol: return on(ansi::yellow);
        case Verdict::optimize: return on(ansi::green);
        default: return "";
        }
    }
    std::string verdict(Verdict v) const
    {
        const auto colour = colour_of(v);
        return fmt::format("{}{}{}", colour, name(v), colour.empty() ? "" : off());
    }

    // "6.1, 6.12, 6.18: emulate | 7.2: emulate; tracers that use libbpf attach at +1: optimize"
    const std::string& behaviour(const Report& report, const Evaluation& judged)
    {
        std::string& text = behaviours_[&judged];
        if (!text.empty())
            return text;
        std::vector<std::pair<std::string, std::vector<Kernel>>> groups;
        for (size_t i = 0; i < judged.behaviours.size(); ++i) {
            const Behaviour& b = judged.behaviours[i];
            std::string what = verdict(b.at_note.verdict);
            if (b.attaches_at_patch)
                what += fmt::format("; tracers that use libbpf attach at +{}: {}", judged.patch_offset,
                                    verdict(b.at_patch.verdict));
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

    // Counts each file's probes that are single-stepped: two traps for each hit.
    void count_traps(const Report& report)
    {
        kernels_ = report.options.kernels;
        two_traps_.resize(kernels_.size());
        for (size_t i = 0; i < kernels_.size(); ++i) {
            size_t count = 0;
            for (const SiteReport& site : report.sites)
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
        const auto colour = finding.severity == Severity::error ? on(ansi::red)
            : finding.severity == Severity::warning             ? on(ansi::yellow)
                                                                : on(ansi::dim);
        fmt::format_to(std::back_inserter(out_), "{}{}{:<11}{}{} {}[{}]{}\n", indent, colour, name(finding.severity),
                       colour.empty() ? "" : off(), printable(finding.message), on(ansi::dim), name(finding.id), off());
    }

    void site(const Report& report, const SiteReport& site)
    {
        if (!::shown(site, style_.only))
            return;
        const ProbeNote& probe = *site.probe;
        auto to = std::back_inserter(out_);
        out_ += "  ";
        out_ += on(ansi::bold);
        print(probe.provider);
        out_ += ':';
        print(probe.name);
        out_ += off();
        if (site.names)
            print(site.names->signature());
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
            fmt::format_to(to, "  {}({}){}\n", on(ansi::dim),
                           all                ? "all tracers"
                               : some.empty() ? "no tracer reads them all"
                                              : some + " only",
                           off());
        }
        for (const Finding& finding : site.findings)
            this->finding(finding, "    ");
    }

    void summary(const Report& report)
    {
        // Per provider, then what kernels do, then layouts.
        std::map<std::string_view, size_t> providers, layouts;
        std::map<std::string, size_t> behaviours;
        for (const SiteReport& site : report.sites) {
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

    // How many of a kind of places have which verdict, by kernel.
    struct Tally {
        size_t total = 0;
        std::map<Verdict, std::vector<size_t>> rows;

        void add(const Evaluation& judged, Judgement Behaviour::* where)
        {
            ++total;
            for (size_t i = 0; i < judged.behaviours.size(); ++i) {
                auto& row = rows[(judged.behaviours[i].*where).verdict];
                row.resize(judged.behaviours.size());
                ++row[i];
            }
        }
    };
    struct Functions {
        Tally selected, selected_patch, exits, exits_patch, others;
        size_t all_exits = 0, tail_calls = 0, with_exits = 0;
    };

    static Functions count(const Report& report)
    {
        Functions counts;
        for (const FunctionReport& entry : report.entries) {
            counts.with_exits += !entry.exits.empty();
            for (const ExitReport& exit : entry.exits) {
                counts.tail_calls += exit.record->tail_call();
                ++counts.all_exits;
                if (!exit.judged)
                    continue;
                counts.exits.add(*exit.judged, &Behaviour::at_note);
                if (exit.judged->patch_offset != 0)
                    counts.exits_patch.add(*exit.judged, &Behaviour::at_patch);
            }
            if (!entry.judged)
                continue;
            (entry.record ? counts.selected : counts.others).add(*entry.judged, &Behaviour::at_note);
            if (entry.record && entry.judged->patch_offset != 0)
                counts.selected_patch.add(*entry.judged, &Behaviour::at_patch);
        }
        return counts;
    }

    void functions(const Report& report)
    {
        if (report.entries.empty()) {
            out_ += "  no functions in a symbol table, and no entry records\n";
            return;
        }
        const Functions counts = count(report);
        fmt::format_to(std::back_inserter(out_), "  {}, {} selected by fastprobe\n",
                       plural(counts.others.total + counts.selected.total, "function"), counts.selected.total);
        if (counts.all_exits)
            fmt::format_to(std::back_inserter(out_), "  {} of {}: {}, {}\n", plural(counts.all_exits, "exit"),
                           plural(counts.with_exits, "function"),
                           plural(counts.all_exits - counts.tail_calls, "return"),
                           plural(counts.tail_calls, "tail call"));
        const auto& kernels = report.options.kernels;
        table("selected, probed where the record says", counts.selected, kernels);
        table("the same, at the patchable instruction", counts.selected_patch, kernels);
        table("exits, probed where the record says", counts.exits, kernels);
        table("the same, at the patchable instruction", counts.exits_patch, kernels);
        table(counts.selected.total ? "others, probed at their symbol" : "probed at their symbol", counts.others,
              kernels);
        if (style_.summary)
            return;
        for (const FunctionReport& entry : report.entries) {
            const size_t before = out_.size();
            function(report, entry);
            if (!budget_.spend(out_.size() - before))
                break;
            flush(false);
        }
    }

    void table(std::string_view title, const Tally& tally, const std::vector<Kernel>& kernels)
    {
        if (tally.total == 0)
            return;
        // Neighbours with equal columns share one.
        std::vector<std::pair<size_t, size_t>> columns;
        for (size_t i = 0; i < kernels.size(); ++i) {
            bool same = i > 0;
            for (const auto& [verdict, row] : tally.rows)
                same = same && row[i] == row[i - 1];
            if (same)
                columns.back().second = i;
            else
                columns.emplace_back(i, i);
        }
        fmt::format_to(std::back_inserter(out_), "    {:<42}", fmt::format("{} ({})", title, tally.total));
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
        for (auto row = tally.rows.rbegin(); row != tally.rows.rend(); ++row) {
            const auto colour = colour_of(row->first);
            fmt::format_to(std::back_inserter(out_), "      {}{:<40}{}", colour, name(row->first),
                           colour.empty() ? "" : off());
            for (const auto& [first, last] : columns)
                fmt::format_to(std::back_inserter(out_), "{:>{}.1f} %",
                               100.0 * double(row->second[first]) / double(tally.total), width - 2);
            out_ += '\n';
        }
    }

    bool shown(const FunctionReport& entry) const
    {
        const auto any = [&](const std::vector<Finding>& findings) {
            return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return shown(f); });
        };
        return style_.verbose || any(entry.findings)
            || std::any_of(entry.exits.begin(), entry.exits.end(),
                           [&](const ExitReport& exit) { return any(exit.findings); });
    }

    void function(const Report& report, const FunctionReport& entry)
    {
        if (!shown(entry))
            return;
        fmt::format_to(std::back_inserter(out_), "  {}{}{}  ", on(ansi::bold),
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
                           layout_name(entry.judged->layout, report.image.arch()), behaviour(report, *entry.judged));
        else
            out_ += '\n';
        for (const ExitReport& exit : entry.exits) {
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

bool shown(const SiteReport& site, std::optional<Severity> only)
{
    return !only || std::any_of(site.findings.begin(), site.findings.end(), [&](const Finding& finding) {
        return finding.severity >= *only;
    });
}

std::unique_ptr<Output> text_output(Style style)
{
    return std::make_unique<Text>(style);
}
