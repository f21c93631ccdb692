// SPDX-License-Identifier: BSD-2-Clause
// A script, parsed and checked. It knows nothing of any process. The parser makes it; the stub compiler, the reader of
// the tables and the printer of maps read it.
//
// The language is a subset of bpftrace's, and a script means what bpftrace 0.17 makes of it:
// - Integers have 64 bits. ValueType::is_signed is the signedness that bpftrace infers: argN, tid, pid, nsecs and retval
//   are unsigned (an argument of fewer bytes is extended as its own sign says), numbers are signed, an operation is signed
//   if both operands are, a shift if the left one is.
// - <, <=, >, >= compare as signed numbers only if both operands are signed. All else is arithmetic modulo 2^64:
//   division and modulo are unsigned, >> shifts in zeros. As in BPF, x / 0 is 0 and x % 0 is x.
// - && and || evaluate their right operand only if needed. Truth is 1 or 0; !x is 1 for 0.
// - hist(): bucket 0 is for negative values (bit 63 set), 1 for 0, 2 + n for 2^n to 2^(n+1) - 1. All 64 bits count, as in
//   later versions (0.17 puts values of 2^32 and more into the bucket of 2^31).
// - lhist(v, low, high, step): bucket 0 is for v < low, 1 + n for low + n * step and up, the last for v >= high; signed.
// - Reading a map's key that is not there gives 0 and makes no key.
// Not bpftrace's are arg10 and arg11, since its arguments end at arg9, those of a probe at 12; and args.NAME of a usdt probe.
#pragma once

#include "script/stack_form.h"
#include "script/shape.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastsdt::engine {

/// A place in the text, for errors: bytes from its start.
struct Span {
    size_t start = 0, length = 0;
};

/// probe: the name of the probe that was hit. In tables it is Site::probe, an integer of 8 bytes. stack: of calls. In tables it is the
/// address of an InternedStack (maps/tables.h), or 0: none. bytes: an array, a structure, a tuple or a buffer, as its shape says.
/// shown: an integer of 8 bytes of which the tool makes a text, as its shape says.
enum class ValueKind { integer, string, probe, stack, bytes, shown };

/// What a value is: of an expression, a variable, a map and each of its keys.
struct ValueType {
    ValueKind kind = ValueKind::integer;
    ShapePtr shape = {};    ///< of bytes, what is shown, pointers and integers of known size; else none
    bool is_signed = false; ///< of integers: how they compare and print, as above

    /// Bytes in tables, in a frame and in an event: a multiple of 8.
    size_t size() const
    {
        return kind == ValueKind::string ? string_size : kind == ValueKind::bytes ? (shape->size + 7) / 8 * 8 : 8;
    }
    /// It takes several words: it is copied, and not in a register.
    bool is_wide() const { return kind == ValueKind::string || kind == ValueKind::bytes; }
    bool is(Shape::Kind of) const { return shape && shape->kind == of; }
    /// An integer of fewer bytes than a word.
    bool is_sized() const { return kind == ValueKind::integer && is(Shape::Kind::integer) && shape->size < 8; }
    bool is_address() const { return kind == ValueKind::shown && is(Shape::Kind::symbol); }
    /// A floating-point number, as its bits.
    bool is_real() const { return kind == ValueKind::shown && is(Shape::Kind::real); }
    /// The tool makes a text of it for which it has to know the process.
    bool has_name() const { return kind == ValueKind::stack || is_address(); }
};

/// Bytes that one statement of a site records at most of strings, structures and arrays, for the same reason.
inline constexpr size_t most_event_bytes = 4 * string_size;

/// Bytes of a map's keys, and of a structure, an array, a tuple or a buffer that is kept or printed as a whole: they are on the stack while
/// a hit is recorded. A string takes string_size, a number 8.
inline constexpr size_t most_key_bytes = 256;

/// Strings that join() prints: bpftrace's join_argnum.
inline constexpr unsigned most_joined = 16;

/// Frames of a stack: bpftrace's kernel.perf_event_max_stack.
inline constexpr unsigned most_stack_frames = 127;

enum class Value {
    arg,
    str_arg,
    tid,
    pid,
    nsecs,
    elapsed,
    comm,
    probe,
    function,
    retval,
    stack,
    reg,    ///< of the processor, at the site: `text` names it
    symbol, ///< address of `text`, a variable or a function of the site's file
    cpu,
    node, ///< of memory, that the processor belongs to
    uid,
    gid,
    child,     ///< the number of a COMMAND
    random,    ///< 32 bits
    cgroup,    ///< the number of the process's control group
    goroutine, ///< the number of a Go program's
    executor, ///< the same; where a thread of Go's executes for no goroutine go_stack_bit and on which stack. 0: it is no function of Go
    depth, ///< how far below the top of its stack a function of Go was called, wherever that stack is meanwhile. 0: it is none
    start ///< when the script began: what `elapsed` counts from. No script can say these last three
};

/// Value::executor that is no goroutine's number: the address of the stack's top, with this bit.
inline constexpr uint64_t go_stack_bit = uint64_t{1} << 63;

/// Expression::argument of Value::reg: the site's address.
inline constexpr unsigned at_site = 255;

enum class Operator {
    logical_or,
    logical_and,
    bit_or,
    bit_xor,
    bit_and,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    shift_left,
    shift_right,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    negate,
    logical_not,
    bit_not,
    select,   ///< a ? b : c
    contains, ///< a string another; Expression::number 1: where, or -1
    swap,     ///< the bytes of a number, the other way round: the lowest Expression::number of them
    length,   ///< of a string, in bytes
    truncate, ///< a floating-point number of Expression::number bytes, towards zero
};

/// ==, !=, <, <=, > and >=.
constexpr bool compares(Operator op)
{
    return op == Operator::equal || op == Operator::not_equal || op == Operator::less || op == Operator::less_equal
        || op == Operator::greater || op == Operator::greater_equal;
}

/// Only integers are operands of operations. Strings, bytes, probes and stacks stand alone: as a key, as the value that is assigned to a
/// map or a variable of that type, or as what is printed; strings and bytes are compared by == and !=. A choice (?:) may be between two
/// strings.
struct Expression {
    enum class Kind {
        number,
        text,
        value,
        map,
        variable,
        operation,
        memory, ///< what is at an address, the operand: an integer, a string or bytes of this shape
        part,   ///< of bytes, the operand: an integer, a string or bytes of this shape, `number` bytes from their start
        tuple,  ///< bytes, of operands
        buffer, ///< buf(address or bytes, length): bytes. A literal's address is the literal
        shown,  ///< an integer, the operand, that is printed as its shape says
        has,    ///< whether a map has the key: `map`, `operands`; `number` 1: has_key() asks
        entries, ///< how many a map has
        frames,  ///< of a stack, the operand: how many it has
        address, ///< of a variable, the operand: where it is while the clause runs
        indexed, ///< an element of a variable, of `number`, at an index that the hit tells: the operands; beyond them 0
        step,    ///< ++ or -- of a map or a variable, the operand, by `number`; the value before it if `is_before`
        // Only until check():
        member,  ///< a.b, a->b: `text`; `number` 1: ->
        element, ///< a[b]
        at,      ///< *a
        cast,    ///< to a pointer: the shape; to an array's or a structure's bytes
        size,    ///< sizeof(a), sizeof(type)
    } kind = Kind::number;
    ValueType type;
    bool is_before = false;   ///< step
    int64_t number = 0;       ///< number. == and != of strings: only so many bytes are compared; 0: all
    std::string text;         ///< text: a string literal, escapes resolved, shorter than string_size. Value::arg and
                              ///< str_arg: the argument's name, instead of its index
    Value value = Value::arg; ///< value
    unsigned argument = 0;    ///< Value::arg and str_arg: its index. Value::stack: frames at most
    bool on_stack = false;    ///< Value::arg and str_arg: sargN, the index counts those on the stack
    bool is_declared = false; ///< Value::arg: debug information says that it is there. Tuple: it is what registers have
    unsigned real = 0;        ///< Value::arg, retval: bytes of a floating-point number, see ir::Argument
    bool unwinds = false;     ///< Value::stack: by .eh_frame, and not by frame pointers
    size_t map = 0;           ///< map: index in Script::maps, of kind integer; its keys are `operands`
    size_t variable = 0;      ///< variable: index in Clause::variables
    std::optional<bool> sign; ///< operation: whether it is signed, whatever its operands are
    Operator op = Operator::add; ///< operation; its operands, one to three, are `operands`
    std::vector<Expression> operands;
    Span where;
};

/// integer, string and probe hold what was assigned last: an integer; what takes several words; a word that is no integer.
enum class MapKind { count, sum, min, max, avg, stats, hist, lhist, integer, string, probe };

/// Whether maps of this kind hold the last assigned value, and no aggregation.
constexpr bool is_assigned(MapKind kind)
{
    return kind == MapKind::integer || kind == MapKind::string || kind == MapKind::probe;
}

/// Whether an aggregation is one number for those who read it: clauses of the tool, tseries(), profiles.
constexpr bool is_one_number(MapKind kind)
{
    switch (kind) {
    case MapKind::count:
    case MapKind::sum:
    case MapKind::min:
    case MapKind::max:
    case MapKind::avg: return true;
    case MapKind::stats:
    case MapKind::hist:
    case MapKind::lhist:
    case MapKind::integer:
    case MapKind::string:
    case MapKind::probe: break;
    }
    return false;
}

struct Map {
    std::string name; ///< with its "@"
    MapKind kind = MapKind::count;
    std::vector<ValueType> keys; ///< none: one value
    /// Of what was assigned or counted. sum, integer: signed as the first value in the text. min, max, avg, stats: always signed, as in
    /// bpftrace.
    ValueType type;
    bool of_tool = true;    ///< no clause with sites mentions it: it is nowhere but in the tool
    bool given = false;     ///< BEGIN, END or interval assigns it, or counts in it
    uint64_t most_keys = 0; ///< let @name = hash(N); 0: as many as there is room for
    bool is_lru = false;    ///< another key goes when it is full
    /// Index of a key that is `tid` wherever the map is mentioned: then no thread sees another thread's values.
    std::optional<size_t> tid_key;
    bool read = false;                   ///< some expression of a clause with sites reads it
    bool asked = false;                  ///< some clause with sites has has_key() of it
    bool adds = false;                   ///< integer: += or its like changes it
    bool only_adds = false;              ///< and nothing else does: what threads and processes have are added up
    int64_t low = 0, high = 0, step = 0; ///< lhist; (high - low) / step <= 1000, and step > 0
    /// hist(VALUE, BITS): an lhist of numbers of buckets, of which each power of two has 2^BITS. 0: none
    unsigned fine_bits = 0;
    /// tseries(): the last key is the number of an interval, since 1970 or by what `clock_map` holds.
    struct Series {
        int64_t interval = 0; ///< nanoseconds
        int64_t count = 0;    ///< of intervals that are printed, the last ones
        bool operator==(const Series&) const = default;
    };
    std::optional<Series> series;
    /// Buckets of hist and lhist.
    size_t buckets() const
    {
        return kind == MapKind::hist ? 65 : kind == MapKind::lhist ? size_t((high - low) / step) + 2 : 0;
    }
    /// The smallest and the largest value that a bucket counts; none: there is no such bound.
    std::pair<std::optional<int64_t>, std::optional<int64_t>> bounds(size_t bucket) const;
    Span where; ///< its first mention

    /// hist(), with finer buckets too.
    bool is_power() const { return kind == MapKind::hist || fine_bits != 0; }
    bool has_stack_key() const
    {
        return std::any_of(keys.begin(), keys.end(), [](const ValueType& key) { return key.kind == ValueKind::stack; });
    }
};

/// A piece of what printf() prints.
struct Format {
    std::string text; ///< before the value
    /// How the value is printed: flags, width and precision as in C, "-5" or "010"; a letter.
    std::string how;
    char conversion = 0; ///< one of "duxXpcsr"; 0: the last piece, which has no value
    char bytes = 0;      ///< of %r: 'x' and 'h' print all in hexadecimal
    unsigned size =
        4; ///< of an integer: so many of its lowest bytes, 1, 2, 4 or 8, as its length says (hh, h, none, l)
};

/// One statement of an action. Clauses without sites (BEGIN, END, interval) have print, clear, printf, time, exit and branch,
/// which the tool runs. In a clause with sites these record an event (but for branch), and the tool runs them when it reads that.
struct Statement {
    enum class Kind {
        call,   ///< calls a function of the process itself; no script's text can say this
        update, ///< @m[keys] = count(), sum(value), hist(value), ...: Map::kind says which; no value for count
        assign, ///< @m[keys] = value
        add,    ///< @m[keys] += value, also ++ and --: of a map of integers, in one step
        remove, ///< delete(@m[keys]); at sites aggregations (count, sum, hist, ...) only where Map::tid_key
        set,    ///< $v = value
        branch, ///< if (value) `then` else `otherwise`
        each,   ///< for (`variable` : `map`) `then`; in the tool only
        loop,   ///< while (value) `then`, most_turns at most
        leave,  ///< break
        next,   ///< continue
        end,    ///< return: nothing of the clause comes after it
        value,  ///< value alone: for what a step in it changes
        print,  ///< print(@m), print(@m, top), print(@m, top, div)
        clear,  ///< clear(@m)
        zero,   ///< zero(@m): the keys stay
        cat,    ///< cat("file", values)
        system, ///< system("command", values)
        printf, ///< printf("text", values), print(value)
        join,   ///< of join(): one of its strings; without a value: they are complete, and `text` stands between them
        time,   ///< time(), time("%H")
        exit,   ///< exit(), exit(status): nothing of the clause comes after it
        signal, ///< signal("NAME"), signal(number): the process gets it
        dump,   ///< dump(): what was recorded so far is read, where rings are overwritten
    } kind = Kind::update;
    size_t number = 0; ///< of all statements of the script, in the order of the text: what an event says
    size_t map = 0;
    size_t variable = 0; ///< set: index in Clause::variables
    std::vector<Expression> keys;
    std::optional<Expression> value;
    std::vector<Expression> values; ///< printf
    std::vector<Format> format;     ///< printf: one piece for each value, and a last one
    bool is_value = false;          ///< printf: print(value)
    std::string
        text; ///< time: the format of strftime(3); join. printf: "WARNING" or "ERROR", not to be mixed with what is printed
    std::vector<Statement> then, otherwise; ///< branch
    uint32_t top = 0, div = 0;              ///< print; 0: not given. join: so many strings come before
    uint64_t function = 0;                  ///< call: runtime address of a CalledFunction, see maps/hit.h
    uint64_t context = 0;                   ///< call: its first argument
    Span where;

    /// At a site it records an event.
    bool is_event() const
    {
        return kind == Kind::print || kind == Kind::clear || kind == Kind::zero || kind == Kind::cat
            || kind == Kind::system || kind == Kind::printf || kind == Kind::join || kind == Kind::time
            || kind == Kind::exit;
    }
};

/// Of a loop: the clause ends after so many. At a site that counts as dropped.
inline constexpr int32_t most_turns = 65536;

/// $name: of one clause, and of one hit.
struct Variable {
    std::string name; ///< with its "$"
    ValueType type = {};
    bool is_declared = false; ///< let $x: TYPE: what it is set to is cast to that
    bool is_entry = false;    ///< of a loop over a map: a tuple of the keys, or a tuple of them, and the value
    Span where;               ///< where it is first set
};

/// Whether a FILE or a name is a glob.
inline bool is_pattern(std::string_view text)
{
    return text.find_first_of("*?[") != text.npos;
}

struct Probe {
    enum class Kind { usdt, entry, exit, begin, end, interval, profile } kind = Kind::usdt;
    std::string file;           ///< path as written, or a glob; "*": every file of the process
    std::string provider, name; ///< globs; name: of the probe or the function
    bool source_name = false;   ///< entry, exit: `name` is the one that C++ or Rust has: cpp:"ns::f"
    uint64_t offset = 0;        ///< entry: of an instruction, in bytes behind the function's first
    std::string source;         ///< entry: of a line of this source, and not of a function; `name` is "SOURCE:LINE"
    int line = 0, column = 0;   ///< column 0: any
    uint64_t interval_us = 0;   ///< interval, profile
    bool running = true, waiting = false; ///< profile: which threads have samples
    std::string text;                     ///< as written
    Span where;

    /// The tool has a sample of a thread for it: Value::stack and its like are of that.
    bool has_sample() const { return kind == Kind::profile; }
    static bool has_sites(Kind kind) { return kind == Kind::usdt || kind == Kind::entry || kind == Kind::exit; }
    bool has_sites() const { return has_sites(kind); }
};

/// Probes, a filter, an action: one block of the text. All its probes have sites, or none has.
struct Clause {
    std::vector<Probe> probes;
    std::optional<Expression> filter; ///< of type integer
    std::vector<Statement> actions;
    std::vector<Variable> variables;
    /// Only sites with so many arguments, or with more where it is most_arguments. No script's text can say this.
    std::optional<size_t> arguments;
    Span where;

    bool has_sites() const { return probes.empty() || probes.front().has_sites(); }
    bool has_samples() const
    {
        return !probes.empty()
            && std::all_of(probes.begin(), probes.end(), [](const Probe& p) { return p.has_sample(); });
    }
};

struct Script {
    std::string source;
    std::vector<Map> maps; ///< in the order of their first mention
    std::vector<Clause> clauses;
    size_t statements = 0;   ///< how many numbers they have
    bool prints_maps = true; ///< at the end: config's print_maps_on_exit
    enum class Missing {
        error,
        warn,
        ignore
    } missing = Missing::error;          ///< probes that match nothing: config's missing_probes
    std::optional<StackForm> stack_form; ///< of its ustack
    bool has_lines = false;              ///< frames of these have their places in the sources
    size_t cat_bytes = size_t(10) << 10; ///< that cat() prints of a file
    std::string clock_map;               ///< what tseries() takes for the time, in bpftrace's own tests; empty: nothing
    std::vector<std::string> unused;     ///< maps that it declares and does not mention
    size_t parameters = 0;               ///< of its parameters the first so many are used: $2 uses two, $# all
    StackStyle stack_style() const { return {stack_form.value_or(StackForm::bpftrace), has_lines}; }
    std::string beyond_bpftrace; ///< a word of it that bpftrace does not know: arg10, arg11, args.NAME or ustack(dwarf)
};

/// Visits the statements, those of branches behind the branch itself.
template <class Statements, class Visit> void each_statement(Statements& statements, const Visit& visit)
{
    for (auto& statement : statements) {
        visit(statement);
        each_statement(statement.then, visit);
        each_statement(statement.otherwise, visit);
    }
}
template <class Visit> void each_statement(const Script& script, const Visit& visit)
{
    for (const Clause& clause : script.clauses)
        each_statement(clause.actions, visit);
}
/// Those that a hit of a site executes.
template <class Visit> void each_site_statement(const Script& script, const Visit& visit)
{
    for (const Clause& clause : script.clauses)
        if (clause.has_sites())
            each_statement(clause.actions, visit);
}
/// Visits each expression of a statement, not those of other statements in it, and not the operands of an expression.
template <class OneStatement, class Visit> void each_expression(OneStatement& statement, const Visit& visit)
{
    for (auto& key : statement.keys)
        visit(key);
    if (statement.value)
        visit(*statement.value);
    for (auto& value : statement.values)
        visit(value);
}

/// Whether a clause with sites mentions the value.
bool uses(const Script& script, Value value);
bool calls_functions(const Script& script);
/// Whether a clause with sites reads what is at an address that it computes.
bool reads_memory(const Script& script);
/// Whether it has ustack(dwarf); of a script: a clause with sites.
bool unwinds(const Clause& clause);
bool unwinds(const Script& script);
bool walks_frames(const Script& script); ///< has stacks by frame pointers
/// Whether a clause with sites has a value that the tool names: a stack, an address.
bool shows_names(const Script& script);
/// Whether a clause with sites has statements that record events.
bool has_events(const Script& script);
bool has_dump(const Script& script);
bool has_sites(const Script& script);
bool has_samples(const Script& script);
/// The first system() or signal() of it; nullptr: there is none.
const Statement* unsafe_statement(const Script& script);
bool clears(const Script& script);
/// Whether two engines may each have some of the sites: what they record can be put together then, since nothing at a site depends on what
/// another one has left in a map.
bool adds_up(const Script& script);

/// A word for each key of a map, each once: what the script writes where it first mentions the map, or "key1".
std::vector<std::string> labels_of(const Script& script, size_t map);

} // namespace fastsdt::engine
