// SPDX-License-Identifier: BSD-2-Clause
// Text of /proc, taken apart.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace fastsdt {

/// A file of /proc, by as few calls as it takes. Empty: it cannot be read, or no more: what it tells of has ended. @param error  errno
std::string read_text(const std::string& path, int& error);
std::string read_text(const std::string& path);

/// Takes a number from the text, with the blanks in front of it. 0: there is none.
uint64_t take_number(std::string_view& text, int base = 10);
/// Takes what stands before the next such character, and that.
std::string_view take_until(std::string_view& text, char end);

/// "process 4711": where an error is.
std::string process_name(pid_t pid);
/// Throws Unusable: why what /proc has of the process cannot be read. @param error  errno
[[noreturn]] void cannot_read(pid_t pid, int error);

} // namespace fastsdt
