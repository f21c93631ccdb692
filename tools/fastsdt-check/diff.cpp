// SPDX-License-Identifier: BSD-2-Clause
#include "diff.h"

#include "json.h"

#include <fastsdt/note.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

using namespace fastsdt;

namespace {

// What a note says of arguments apart from where they are, which differs between any two builds. One header marks
// floats and another does not (8f, 8): no script sees that.
std::string form(const fastsdt_reader_probe* probe)
{
    std::string text;
    for (size_t i = 0; const fastsdt_reader_argument* argument = fastsdt_reader_argument_at(probe, i); ++i)
        text += fmt::format("{}{}{}", text.empty() ? "" : " ", argument->is_signed && !argument->is_float ? "-" : "",
                            argument->size ? std::to_string(argument->size) : "?");
    return text;
}

std::string shown(const std::set<std::string>& forms)
{
    std::vector<std::string> each;
    for (const std::string& one : forms)
        each.push_back(one.empty() ? "no arguments" : one);
    return fmt::format("{}", fmt::join(each, ", or "));
}

// The last line.
std::string sum(size_t gone, size_t changed, size_t came, size_t same)
{
    if (gone + changed + came == 0)
        return same == 0 ? "no probes in either file\n" : plural(same, "probe") + ", nothing has changed\n";
    std::vector<std::string> parts;
    for (const auto& [count, what] : {std::pair(gone, "gone"), {changed, "changed"}, {came, "new"}, {same, "the same"}})
        if (count != 0)
            parts.push_back(fmt::format("{} {}", count, what));
    return fmt::format("{}\n", fmt::join(parts, ", "));
}

} // namespace

void Diff::add(Side side, const fastsdt_reader* file, const Select& select)
{
    for (size_t i = 0; const fastsdt_reader_image* image = fastsdt_reader_image_at(file, i); ++i)
        for (size_t j = 0; const fastsdt_reader_probe* probe = fastsdt_reader_probe_at(image, j); ++j) {
            if (!select(probe->provider, probe->name))
                continue;
            Known& known = probes_[side][fmt::format("{}:{}", probe->provider, probe->name)];
            known.arguments.insert(form(probe));
            ++known.sites;
            known.semaphores += probe->semaphore != 0;
        }
}

bool Diff::print(const std::string& old_path, const std::string& new_path, bool json, const Style& style) const
{
    auto list = Json::array();
    std::string text;
    size_t gone = 0, changed = 0, came = 0, same = 0;
    const auto line = [&](std::string_view colour, char sign, const std::string& name, const std::string& what) {
        text += fmt::format("{}{} {}  {}{}\n", style.colour ? colour : "", sign, printable(name), what,
                            style.colour ? ansi::reset : "");
    };
    const auto entry = [&](const char* change, const std::string& name, const Known* o, const Known* n) {
        Json item = {{"change", change}, {"probe", printable(name)}};
        for (auto [key, known] : {std::pair("old", o), std::pair("new", n)})
            item[key] = known
                ? Json{{"arguments", known->arguments}, {"sites", known->sites}, {"semaphore", known->semaphores != 0}}
                : Json(nullptr);
        list.push_back(std::move(item));
    };
    for (const auto& [name, known] : probes_[before]) {
        const auto found = probes_[after].find(name);
        if (found == probes_[after].end()) {
            ++gone;
            line(ansi::red, '-', name, shown(known.arguments));
            entry("gone", name, &known, nullptr);
        } else if (found->second.arguments != known.arguments) {
            ++changed;
            line(ansi::yellow, '!', name, shown(known.arguments) + "  ->  " + shown(found->second.arguments));
            entry("changed", name, &known, &found->second);
        } else
            ++same;
    }
    for (const auto& [name, known] : probes_[after])
        if (!probes_[before].contains(name)) {
            ++came;
            line(ansi::green, '+', name, shown(known.arguments));
            entry("came", name, nullptr, &known);
        }
    if (json) {
        const Json document = {{"schema", json_schema},
                               {"tool", "fastsdt-check " FASTSDT_VERSION_STRING},
                               {"old", printable(old_path)},
                               {"new", printable(new_path)},
                               {"changes", list},
                               {"summary", {{"gone", gone}, {"changed", changed}, {"came", came}, {"same", same}}}};
        put(document.dump(2) + "\n");
    } else {
        if (!style.summary)
            put(text);
        put(sum(gone, changed, came, same));
    }
    return gone != 0 || changed != 0;
}
