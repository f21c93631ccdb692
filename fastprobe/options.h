// SPDX-License-Identifier: BSD-2-Clause
// The arguments of the plugin, the same for every compiler, and what is decided from them.
#pragma once
#include "base/result.h"
#include "kernels.h"
#include "selection.h"

#include <optional>
#include <string>
#include <string_view>

namespace fastprobe {

/// How a function shall begin, behind its landing pad.
enum class Entry { automatic, auto_frame, frame, nop, nop10, none };
std::string_view name(Entry entry);                      ///< as in entry=
std::optional<Entry> parse_entry(std::string_view text); ///< also the argument of the attribute fastprobe("...")
extern const char entry_choices[];                       ///< "auto, auto-frame, ...", for messages

/// What shall stand in front of every way out of a function.
enum class Exit { none, nop, nop10 };
std::string_view name(Exit exit);                      ///< as in exit=
std::optional<Exit> parse_exit(std::string_view text); ///< also the argument of the attribute fastprobe_exit("...")
extern const char exit_choices[];

/// What a selected function shall get.
struct Request {
    Entry entry = Entry::automatic;
    Exit exit = Exit::none;
    Kernels kernels;
    unsigned min_insns = 0; ///< of a function with fewer instructions, nothing
};

/// The arguments: the request of every function that does not ask for something else in the source.
struct Options : Request {
    Selection selection;
    std::vector<std::string> lists; ///< paths of the files that `selection` was read from
    std::string report;             ///< path; empty: no report
    bool verbose = false;
    bool disable = false;

    /// One argument KEY or KEY=VALUE. @param value  null when there was no '='.
    /// The error names the argument.
    fastsdt::Result<void> set(std::string_view key, const char* value);
};

/// For --help texts: one line per argument.
extern const char options_help[];

/// What to do with one function.
struct Decision {
    enum class Add { nothing, nop, nop1_nop10 } add = Add::nothing;
    bool missed = false; ///< the form asked for was not possible
    std::string reason;  ///< why it is missed, or worth a remark; else empty
};

/// The remark where nop10 was asked for and there is none.
inline constexpr char no_nop10[] = "no nop10 on arm64: nop instead";

/// @param found          what the function begins with behind its landing pad, once the compiler is done
/// @param branch_target  the function jumps back to its first instruction: a probe there would fire once a round
Decision decide(Entry entry, Arch arch, const Kernels& kernels, First found, bool branch_target);

/// The plugin asks the compiler for a frame before it knows the final code: this says for which functions.
bool wants_frame(Entry entry, Arch arch, const Kernels& kernels, bool leaf);

} // namespace fastprobe
