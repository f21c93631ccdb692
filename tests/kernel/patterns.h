// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <string>

/// All patterns as text, see patterns.cpp. `entries_directory` holds entries-ARCH.txt. Throws std::runtime_error.
std::string patterns(const std::string& entries_directory);
