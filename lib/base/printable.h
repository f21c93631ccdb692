// SPDX-License-Identifier: BSD-2-Clause
// Names from files and processes, made safe to print. Whoever made the file chose them.
#pragma once
#include <string>
#include <string_view>

namespace fastsdt {

/// The text with every byte escaped (\x1b) that is not part of a visible character: control characters, bytes that are
/// not UTF-8, and characters that hide or reorder others (U+202E and the rest of Unicode's category Cf, line and
/// paragraph separators).
std::string printable(std::string_view text);

/// The text cut to `most` bytes, but no character of UTF-8 in two.
std::string cut(std::string text, size_t most);

/// "1 probe", "2 probes"; `many` where the plural is not `one` with an s.
std::string plural(size_t count, std::string_view one, std::string_view many = {});

} // namespace fastsdt
