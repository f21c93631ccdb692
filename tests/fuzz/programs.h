// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include "mutate.h"

#include <optional>
#include <string>

/// Runs fastsdt-check and fastsdt-index of `folder` on a file with these bytes, in limited memory and time, in the current
/// directory, beside a copy of `object`, which a thin archive can name. Returns what was wrong: the command, and what is expected of it.
std::optional<std::string> run_programs(const std::string& folder, const std::string& object, const Bytes& bytes);
