// SPDX-License-Identifier: BSD-2-Clause
// Maps that have a stack for a key as a profile of pprof's format, which `go tool pprof`, Pyroscope, Grafana and speedscope read.
#pragma once
#include "maps/maps.h"
#include "script/script.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fastsdt::engine {

/// Numbers by one stack, and by other keys, which become labels.
bool is_profile(const Map& map);

struct ProfileTimes {
    int64_t begin = 0, duration = 0; ///< ns, since 1970
};
/// How a key that is no stack and no plain integer is written.
using KeyText = std::function<std::string(const ValueType& type, const Datum& datum)>;
/// The file's contents: all maps that is_profile(), a type of sample each. Their stacks have StackForm::perf.
/// @param comment  what made them
std::string profile_of(const Script& script, const Maps& maps, const KeyText& key_text, const std::string& comment,
                       const ProfileTimes& times);

} // namespace fastsdt::engine
