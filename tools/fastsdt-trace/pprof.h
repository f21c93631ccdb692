// SPDX-License-Identifier: BSD-2-Clause
// Maps that have a stack for a key as a profile of pprof's format, which `go tool pprof`, Pyroscope, Grafana and speedscope read.
#pragma once
#include "maps/maps.h"
#include "script/script.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

/// Numbers by one stack, and by other keys, which become labels.
bool is_profile(const engine::Map& map);

struct ProfileTimes {
    int64_t begin = 0, duration = 0; ///< ns, since 1970
};
/// The file's contents: all maps that is_profile(), a type of sample each. Their stacks have StackForm::perf.
/// @param names  of probes, as text_of() has it
std::string profile_of(const engine::Script& script, const engine::Maps& maps, const std::vector<std::string>& names,
                       const ProfileTimes& times);

} // namespace fastsdt::trace_tool
