// SPDX-License-Identifier: BSD-2-Clause
// Text to script: lexer, grammar, and the checks of types and places.
#pragma once
#include "script/script.h"

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::engine {

/// What is wrong with a text, and where. what() is one sentence without the text.
class ScriptError : public std::runtime_error {
public:
    ScriptError(Span where, const std::string& what, bool kernel_can = false, unsigned since = 0)
        : std::runtime_error(what), where(where), kernel_can(kernel_can), since(since)
    {}
    Span where;
    bool kernel_can;  ///< bpftrace's language has it, this subset has not
    unsigned since;   ///< and only since 0.N, by bpftrace's CHANGELOG.md; 0: since 0.17 or before
    std::string hint; ///< lines that help; empty: none
};

/// ScriptError::where of what is wrong with the command line.
inline constexpr Span nowhere{SIZE_MAX, 0};

[[noreturn]] inline void fail(Span where, const std::string& what)
{
    throw ScriptError(where, what);
}
/// bpftrace can. @param since  ScriptError::since
[[noreturn]] inline void kernel_only(Span where, const std::string& what, unsigned since = 0)
{
    throw ScriptError(where, what, true, since);
}

/// What the debug information of programs says.
class DebugTypes {
public:
    virtual ~DebugTypes() = default;
    struct Value {
        ShapePtr shape = {};       ///< none: a type that is not known here
        bool is_float = false;     ///< it takes no register of integers
        bool by_reference = false; ///< its address is passed instead: C++ says so of what has a copy constructor
        bool is_void = false;      ///< of a result: there is none
        bool of_go = false;        ///< which passes it otherwise than C
        std::string type = {};     ///< "struct order*", as bpftrace -lv writes it
    };
    struct Parameter : Value {
        std::string name = {};
    };
    struct Signature {
        std::vector<Parameter> parameters;
        Value result; ///< of several, as Go has them: a structure of all
        /// Go: the first argument is one that nobody has written, the types of a generic function. Empty: where it is among them is not known.
        std::optional<bool> has_dictionary = false;
    };
    /// By "struct x", or by a typedef's name. None: not known
    virtual ShapePtr record(const Probe& probe, const std::string& name) = 0;
    /// Of the function that a probe of an entry or of an exit names. Empty: not known
    virtual std::optional<Signature> signature(const Probe& probe) = 0;
    /// Why signature() has none, in a sentence. Empty: it is no function of Go, and bpftrace may know it.
    virtual std::string why_undeclared(const Probe& /*probe*/) { return {}; }
    /// Of a variable.
    virtual ShapePtr variable(const Probe& probe, const std::string& name) = 0;
};

/// A parameter that is for getopt(), and neither $1 nor $2.
inline bool is_option(std::string_view parameter)
{
    return parameter.starts_with("--");
}

/// Types and constants of C's headers.
struct Declared {
    std::map<std::string, ShapePtr> records; ///< by "struct x", or by a typedef's name
    std::map<std::string, std::pair<int64_t, ShapePtr>> constants;
};
class Headers {
public:
    virtual ~Headers() = default;
    /// @param includes  "<errno.h>" or "\"own.h\""  @param words  of the script: macros of other names are not wanted. Throws Unusable.
    virtual Declared read(const std::vector<std::string>& includes, const std::set<std::string>& words) = 0;
};

/// What is beside a script, and says something of it.
struct Surroundings {
    std::vector<std::string> includes = {}; ///< before those that it has itself
    Headers* headers = nullptr;             ///< nullptr: it may have none
    /// As its `config` has them, "stack_mode" and "raw". They count more than those.
    std::vector<std::pair<std::string, std::string>> settings = {};
    bool is_newer = false; ///< what is compared is true or false, as in bpftrace since 0.24, and not 1 or 0
};

/// @param parameters  what $1, $2 and so on stand for. Throws ScriptError.
/// @param debug  nullptr: nothing is known but what the script declares
Script parse(std::string_view text, const std::vector<std::string>& parameters = {}, DebugTypes* debug = nullptr,
             const Surroundings& around = {});

/// What was written, without any meaning: a line for each node, of its parts behind it. Throws ScriptError.
std::string syntax_tree(std::string_view text, const std::vector<std::string>& parameters = {});

/// Where in the text something is: both from 1, columns in bytes.
struct Position {
    size_t line = 1, column = 1;
};
Position position(std::string_view text, Span where);

/// The error as a reader of the text wants it: "name:line:column: error: what", the line, a caret under the word.
/// @param name  of the text: a file's, or "-e"
std::string explain(const ScriptError& error, std::string_view text, std::string_view name);

} // namespace fastsdt::engine
