// SPDX-License-Identifier: BSD-2-Clause
// What becomes of one entry and of the exits, for every compiler: decide -> record -> label -> report. A compiler fills
// in EntryFacts, asks plan(), puts down what it says (a layout in the code, a label, the record) and hands the plan on to
// Log::tell().
//
// The halves of GCC and LLVM use the same words:
//
//   select                what decides that a function gets a Request; the source may have asked for one by attribute
//   EntryScan             what look_at_beginning() finds in the finished code: EntryFacts, `first`, the first instruction
//                         behind the landing pad, and `at`, where a layout goes
//   plan_function()       Plan of a EntryScan and of the ways out, which look_at_exits() finds; or skip_reason()
//   make_sites()          puts down the layout at the entry and, by make_exits(), the sites in front of the ways out
//   reserve               LLVM, arm64: to insert the nop before branch relaxation, which must know final sizes
//   why_no_frame()        why a function that was to get a frame has none
#pragma once
#include "report.h"

namespace fastprobe {

/// How a function can be left: returns and tail calls.
struct WaysOut {
    unsigned count = 0;
    bool at_entry = false;          ///< the first instruction, behind the landing pad, is one
    const char* obstacle = nullptr; ///< why one of them cannot have a site: then none gets one
};

/// Bytes of endbr64 and bti.
constexpr unsigned landing_pad_size = 4;

/// What a compiler found at a function's entry, its code being final.
struct EntryFacts {
    First first = First::other; ///< behind the landing pad
    bool branch_target = false; ///< the function jumps back to its first instruction
    unsigned prefix = 0;        ///< bytes between where the function is aligned and its address
    unsigned lead = 0;          ///< bytes from the function's address to where a layout goes
    unsigned pad_with_nop = 0;  ///< bytes of a landing pad that a layout brings along (counted in lead only by plan())
    bool nop_reserved = false;  ///< LLVM, arm64: a nop was put there before branches got their distances
    const char* no_frame = nullptr;      ///< why the function was not given the frame that it should have, if so
    bool own_section = false;            ///< no other function stands in its section
    bool returns_twice = false;          ///< setjmp() and the like
    std::optional<uint64_t> stack_bytes; ///< of arguments on the stack; empty: unknown
    WaysOut ways;                        ///< looked at only where exits are asked for
};

struct Plan {
    Entry entry = Entry::none;  ///< that was asked for
    EntryRecord record;         ///< record.added: the layout to put down
    unsigned alignment = 1;     ///< bytes, that the function needs at least
    unsigned bytes_added = 0;   ///< to the code, without alignment
    std::string reason;         ///< of a miss or a skip, or a remark
    const char* skip = nullptr; ///< nothing may be done to the function, and why: no layout, no record, no exits
    Exits exits;
};

/// The decision about an entry and the exits, and everything that follows from it.
Plan plan(Arch arch, const Request& request, const EntryFacts& front);
/// A function that is nobody's to change. @param why  a sentence that lives on.
Plan skip(const Request& request, const char* why);

/// The assembly text of an entry, for compilers that take text: label, layout and record.
/// @param label, section  see record_text()
std::string entry_text(Arch arch, const Plan& plan, const std::string& label, const std::string& section);
/// The same of an exit: padding, label, layout and record. @param function  see record_text()
std::string exit_text(Arch arch, const ExitRecord& record, const std::string& label, const std::string& function,
                      const std::string& section);
/// The function's address, for record_text(). @param label  as for entry_text()
std::string function_expression(const Plan& plan, const std::string& label);

/// Tells the user about each function: report= and verbose.
class Log {
public:
    Report report;
    bool verbose = false;

    /// Neither is on: names need not be found out.
    bool idle() const { return !verbose && !report.is_open(); }
    /// @param symbol  as in the symbol table   @param unit  the file that was compiled
    /// @param before  the first instruction as the compiler left it, in the compiler's words
    /// @return the sentence for the user; empty unless verbose.
    std::string tell(Arch arch, const Plan& plan, const std::string& symbol, const std::string& unit,
                     const std::string& before);
};

} // namespace fastprobe
