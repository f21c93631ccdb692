// SPDX-License-Identifier: BSD-2-Clause
// What a provider file says: providers, their probes, the probes' arguments. The parser makes it, the writers read it.
#pragma once
#include "base/unusable.h"

#include <string>
#include <string_view>
#include <vector>

namespace dtrace {

using fastsdt::Unusable;

// Thrown: what is wrong in the provider file. what() begins as a compiler's message does, and shows the line.
struct Misread : Unusable {
    using Unusable::Unusable;
};

struct Argument {
    std::string type; // as written, words and signs apart by one blank: "const char *", "struct Tcl_Obj * *"
    std::string name; // empty: unnamed
};

struct Probe {
    std::string name; // as written: query__start
    std::vector<Argument> arguments;
    std::string_view file; // where its name stands. Points into the source text or the file name given to parse()
    unsigned line = 0;
};

struct Provider {
    std::string name;
    std::vector<Probe> probes;
};

using Model = std::vector<Provider>;

// PROVIDER_NAME: capitals, and one _ for each __ of the probe's name.
std::string macro_name(std::string_view provider, std::string_view probe);

} // namespace dtrace
