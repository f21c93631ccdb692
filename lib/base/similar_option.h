// SPDX-License-Identifier: BSD-2-Clause
// "did you mean" for the options of a tool.
#pragma once
#include "base/nearest.h"

#include <string>
#include <string_view>

namespace fastsdt {

/// What follows a message on the command line: "did you mean ...?" of the first "--option" that neither the tool nor its subcommand has, else
/// "see TOOL --help".
/// @tparam App  CLI::App, which not every tool here includes
template <class App> std::string help_for(const App& app, int argc, char** argv)
{
    for (int i = 1; i < argc; ++i) {
        std::string_view word = argv[i];
        word = word.substr(0, word.find('='));
        if (word == "--")
            break;
        if (!word.starts_with("--"))
            continue;
        word.remove_prefix(2);
        Nearest nearest(word);
        bool known = false;
        const auto look = [&](const App& at) {
            for (const auto* option : at.get_options())
                for (const std::string& name : option->get_lnames()) {
                    known = known || name == word;
                    nearest.look(name);
                }
        };
        look(app);
        for (const App* sub : app.get_subcommands())
            look(*sub);
        if (!known && !nearest.word().empty())
            return "did you mean \"--" + nearest.word() + "\"?";
    }
    return "see " + app.get_name() + " --help";
}

} // namespace fastsdt
