// SPDX-License-Identifier: BSD-2-Clause
// Text of /proc, taken apart.
#pragma once
#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace fastsdt {

/// A file of /proc, by as few calls as it takes.
Result<std::string> try_read_text(const std::string& path);
/// The same; empty: it cannot be read, or no more: what it tells of has ended.
std::string read_text(const std::string& path);

/// Takes a number from the text, with the blanks in front of it. 0: there is none.
uint64_t take_number(std::string_view& text, int base = 10);
/// Takes what stands before the next such character, and that.
std::string_view take_until(std::string_view& text, char end);

/// "process 4711": where an error is.
std::string process_name(pid_t pid);
/// Why what /proc has of the process cannot be read. @param code  errno
Error unreadable(pid_t pid, int code);

} // namespace fastsdt
