// SPDX-License-Identifier: BSD-2-Clause
// "did you mean" for the options of a tool.
#pragma once
#include "base/nearest.h"

#include <string>
#include <string_view>

namespace fastsdt {

/// CLI11's "--engine: foo not in {auto,user}" in words; other messages as they are.
inline std::string in_words(const std::string& message)
{
    constexpr std::string_view between = " not in {";
    const size_t at = message.find(between), start = message.find(": ");
    if (at == message.npos || start >= at || !message.ends_with('}'))
        return message;
    std::string text =
        message.substr(0, start + 2) + '"' + message.substr(start + 2, at - start - 2) + "\" is none of ";
    for (size_t i = at + between.size(); i + 1 < message.size(); ++i)
        text += message[i] == ',' ? std::string(", ") : std::string(1, message[i]);
    return text;
}

/// What follows a message on the command line: "did you mean ...?" of the first "--option" that neither the tool nor its subcommand has, whose
/// it is if another subcommand has it, else "see TOOL --help".
/// @tparam App  CLI::App, which not every tool here includes
template <class App> std::string help_for(const App& app, int argc, char** argv)
{
    const auto names = [](const App& at, const auto& visit) {
        for (const auto* option : at.get_options())
            for (const std::string& name : option->get_lnames())
                visit(name);
    };
    const auto all = app.get_subcommands([](const App*) { return true; });
    // "record, top": the subcommands that have it
    const auto owners = [&](const std::string& wanted) {
        std::string text;
        for (const App* sub : all)
            names(*sub, [&](const std::string& name) {
                if (name == wanted)
                    text += (text.empty() ? "" : ", ") + sub->get_name();
            });
        return text;
    };
    for (int i = 1; i < argc; ++i) {
        std::string_view word = argv[i];
        word = word.substr(0, word.find('='));
        if (word == "--")
            break;
        if (!word.starts_with("--"))
            continue;
        word.remove_prefix(2);
        Nearest nearest(word), elsewhere(word);
        bool known = false;
        const auto look = [&](const std::string& name) {
            known = known || name == word;
            nearest.look(name);
        };
        names(app, look);
        for (const App* sub : app.get_subcommands())
            names(*sub, look);
        if (known)
            continue;
        if (const std::string its = owners(std::string(word)); !its.empty())
            return "--" + std::string(word) + " is an option of " + its;
        if (!nearest.word().empty())
            return "did you mean \"--" + nearest.word() + "\"?";
        for (const App* sub : all)
            names(*sub, [&](const std::string& name) { elsewhere.look(name); });
        if (!elsewhere.word().empty())
            return "did you mean \"--" + elsewhere.word() + "\", an option of " + owners(elsewhere.word()) + "?";
    }
    return "see " + app.get_name() + " --help";
}

} // namespace fastsdt
