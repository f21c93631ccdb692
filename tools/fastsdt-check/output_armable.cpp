// SPDX-License-Identifier: BSD-2-Clause
// --armable, as text and as JSON (docs/json.md).
#include "json.h"
#include "output.h"

#include <fastsdt/note.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

using namespace fastsdt;

namespace {

std::string in_quotes(std::string_view text)
{
    return dump(Json(text), -1);
}

std::string window_json(const Window& window)
{
    if (window.obstacle != Obstacle::none)
        return fmt::format("{{\"address\": {}, \"obstacle\": {}}}", window.address, in_quotes(text(window.obstacle)));
    return fmt::format(
        "{{\"address\": {}, \"length\": {}, \"at\": {}, \"may_fault\": {}, \"calls\": {}, \"leaves\": {}, "
        "\"tail_call\": {}, \"obstacle\": null}}",
        window.address, window.length, window.at, (window.faults & fault_memory) != 0, window.calls, window.leaves,
        window.tail_call);
}

std::string window_text(const Window& window)
{
    if (window.obstacle != Obstacle::none)
        return std::string(text(window.obstacle));
    return fmt::format("{} bytes{}", window.length, window.faults & fault_memory ? ", may fault" : "");
}

std::string share_text(const ArmableCounts::Share& share)
{
    if (share.all == 0)
        return "none";
    return fmt::format("{} of {} ({:.1f} %)", share.movable, share.all,
                       100.0 * double(share.movable) / double(share.all));
}

std::string share_json(const ArmableCounts::Share& share)
{
    return fmt::format("{{\"all\": {}, \"movable\": {}}}", share.all, share.movable);
}

} // namespace

ArmableOutput::ArmableOutput(Style style, bool json) : style_(style), json_(json)
{
    if (json_)
        put(fmt::format("{{\n\"schema\": {},\n\"tool\": \"fastsdt-check {}\",\n\"files\": [", json_schema,
                        FASTSDT_VERSION_STRING));
}

void ArmableOutput::begin_file()
{
    if (json_)
        out_ += files_++ ? ",\n" : "\n";
}

void ArmableOutput::image(const Image& image, const Notes& notes)
{
    image.find_names();
    budget_.begin(image, 0);
    begin_file();
    if (json_)
        out_ += fmt::format("{{\"path\": {}, \"member\": {},\n\"functions\": [", in_quotes(image.path()),
                            image.member().empty() ? "null" : in_quotes(image.member()));
    else
        out_ += fmt::format("{}{}{}:\n", on(ansi::bold), printable(image.name()), on(ansi::reset));
    first_ = true;
    bool functions = true;
    const auto end_functions = [&] {
        if (json_ && std::exchange(functions, false)) {
            out_ += "],\n\"sites\": [";
            first_ = true;
        }
    };
    const ArmableCounts counts = armable(
        image, notes, [&](const ArmableFunction& one) { function(one); },
        [&](const ArmableSite& one) {
            end_functions();
            site(one);
        });
    end_functions();
    summary(counts);
    put(out_);
    out_.clear();
}

// How much is written for a function depends on its exits: it goes out bit by bit.
void ArmableOutput::function(const ArmableFunction& one)
{
    if ((!json_ && style_.summary) || !spend(one.function.name.size() + 100))
        return;
    if (json_) {
        next();
        out_ += fmt::format("{{\"name\": {}, \"address\": {}, \"size\": {}, \"ifunc\": {}, \"entry\": {}, \"exits\": [",
                            in_quotes(one.function.name), one.function.address, one.function.size,
                            one.function.indirect, window_json(one.entry));
    } else {
        out_ += fmt::format("  {:#x}  {}  {}; exits {} of {}\n", one.function.address, printable(one.function.name),
                            window_text(one.entry), one.movable_exits(), one.exits.size());
    }
    bool first = true;
    for (const Window& exit : one.exits) {
        const bool same = exit.obstacle == one.entry.obstacle && exit.address == one.function.address; // of all of it
        if (!json_ && (same || (!style_.verbose && exit.obstacle == Obstacle::none)))
            continue;
        if (!spend(100))
            break;
        out_ += json_ ? fmt::format("{}{}", first ? "" : ", ", window_json(exit))
                      : fmt::format("    {:#x}  {}: {}\n", exit.address + exit.at,
                                    exit.obstacle != Obstacle::none ? "exit"
                                        : exit.tail_call            ? "tail call"
                                                                    : "return",
                                    window_text(exit));
        first = false;
    }
    if (json_)
        out_ += "]}";
}

void ArmableOutput::site(const ArmableSite& one)
{
    if ((!json_ && style_.summary) || !spend(one.probe.provider.size() + one.probe.name.size() + 100))
        return;
    if (json_) {
        next();
        out_ += fmt::format("{{\"provider\": {}, \"name\": {}, \"address\": {}, \"window\": {}}}",
                            in_quotes(one.probe.provider), in_quotes(one.probe.name), one.probe.address,
                            window_json(one.window));
    } else {
        out_ += fmt::format("  {:#x}  {}:{}  {}\n", one.probe.address, printable(one.probe.provider),
                            printable(one.probe.name), window_text(one.window));
    }
}

void ArmableOutput::summary(const ArmableCounts& counts)
{
    if (json_) {
        out_ += fmt::format("],\n\"summary\": {{\"entries\": {}, \"exits\": {}, \"sites\": {}, \"may_fault\": {}, "
                            "\"whole_functions\": {}}}}}",
                            share_json(counts.entries), share_json(counts.exits), share_json(counts.sites),
                            counts.may_fault, counts.whole);
        return;
    }
    const double movable = double(std::max<size_t>(1, counts.entries.movable));
    out_ += fmt::format("  entries {}, may fault {:.1f} %, exits {}, whole functions {}, sites {}\n",
                        share_text(counts.entries), 100.0 * double(counts.may_fault) / movable,
                        share_text(counts.exits), counts.whole, share_text(counts.sites));
    if (!style_.summary && !style_.verbose)
        return;
    std::vector<std::pair<size_t, Obstacle>> reasons;
    for (size_t i = 1; i < counts.why.size(); ++i)
        if (const auto& [entries, exits, sites] = counts.why[i]; entries + exits + sites != 0)
            reasons.emplace_back(entries + exits + sites, Obstacle(i));
    std::sort(reasons.rbegin(), reasons.rend());
    for (const auto& [count, obstacle] : reasons) {
        const auto& [entries, exits, sites] = counts.why[size_t(obstacle)];
        std::string what;
        for (const auto& [number, word] : {std::pair(entries, "entry"), {exits, "exit"}, {sites, "site"}})
            if (number != 0)
                what += (what.empty() ? "" : ", ")
                    + plural(number, word, word == std::string_view("entry") ? "entries" : "");
        out_ += fmt::format("    {}: {}\n", what, text(obstacle));
    }
}

void ArmableOutput::next()
{
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
}

bool ArmableOutput::spend(size_t bytes)
{
    if (out_.size() > 1 << 16) {
        put(out_);
        out_.clear();
    }
    return budget_.spend(bytes);
}

std::string_view ArmableOutput::on(std::string_view code) const
{
    return style_.colour ? code : "";
}

void ArmableOutput::unusable(const std::string& path, const std::string& message)
{
    if (!json_)
        return;
    begin_file();
    put(out_ + fmt::format("{{\"path\": {}, \"error\": {}}}", in_quotes(path), in_quotes(message)));
    out_.clear();
}

void ArmableOutput::finish()
{
    if (json_)
        put(files_ ? "\n]\n}\n" : "]\n}\n");
}
