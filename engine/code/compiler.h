// SPDX-License-Identifier: BSD-2-Clause
// The stub compiler, inside: the part that all architectures share. It says in which order a stub does things:
// compiler.cpp has the stub and its clauses, routines.cpp what finds and makes entries of tables, expressions.cpp values,
// statements.cpp updates of maps. The virtual functions emit the instructions; code/x86/compiler.h and code/arm64/compiler.h declare the classes that implement them.
//
// Frame, from the stack pointer up:
//     keys | a string to be assigned, or the Hit for a function | spilled values | what the architecture saves of the program
#pragma once
#include "arch/args.h"
#include "code/emitter.h"
#include "code/machine.h"
#include "code/site_state.h"
#include "code/stubs.h"

#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

namespace fastsdt::engine {

/// What registers are for in a stub, once the program's values are saved.
enum class Role : uint8_t {
    result,   ///< the value of an expression, and a key
    second,   ///< the right operand of an operation
    recorded, ///< the value that a statement records
    block,    ///< runtime address of the thread's block
    table,    ///< runtime address of a chunk's first entry, while a routine looks something up in it
    entry,    ///< runtime address of the entry that was found
    kept,     ///< of another entry, in assign_text()
};

/// Eight bytes in memory: at an offset from the address in a register.
struct Word {
    Role base = Role::block;
    size_t offset = 0;
};
/// A word of a chunk's header, `below` its first entry.
inline Word of_chunk(Role chunk, size_t below)
{
    return {chunk, 0 - below};
}

class Compiler {
public:
    Compiler(const Machine& machine, const Script& script, const Tables& tables, const Arena& arena,
             const Environment& environment, Emitter& code);
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;
    virtual ~Compiler() = default;
    Code compile(std::span<const Site> sites);

protected:
    using Label = Emitter::Label;

    // ---- What all stubs of an arena call: code/*/routines.cpp.
    struct MapRoutines {
        Label update, assign, add, remove, load, direct;
    };
    struct Routines {
        Label acquire, claim, text, word, tid, comm, ring, stack, unwound_stack, unwind, uid, gid;
        std::vector<MapRoutines> maps;
    };
    virtual void acquire_routine() = 0;
    virtual void claim_routine() = 0;
    virtual void text_routine() = 0;
    virtual void word_routine() = 0;
    /// One that asks the kernel for a number: to Role::result; to Role::second: 1, or 0 if it may not be asked.
    enum class Asked { tid, uid, gid };
    virtual void number_routine(Label routine, Asked what) = 0;
    virtual void comm_routine() = 0;
    virtual void stack_routine(bool unwinds) = 0;
    virtual void unwind_routine() = 0;
    // What routines.cpp is made of. None changes Role::block or Role::recorded. Keys are in the caller's frame from its
    // start, the chunk is Role::table, and the tag that an entry with these keys has stays where find_entry() leaves it.
    virtual void begin_routine(Label routine) = 0;
    virtual void return_from_routine() = 0;
    virtual void begin_assigning() = 0; ///< behind begin_routine(): Role::kept is the routine's until end_assigning()
    virtual void end_assigning() = 0;
    virtual void
    begin_direct() = 0; ///< behind begin_routine(), the key is Role::result; keeps what a stub does not save for it
    virtual void end_direct() = 0;
    /// To Role::entry. Looks at no more entries than the chunk's header says. `deleted`: also one whose key was deleted, so that
    /// exchange_value() brings it back.
    virtual void find_entry(const Table& table, Label found, Label absent, bool deleted) = 0;
    enum class Fill { zeros, number, text }; ///< number: Role::recorded; text: the frame's
    virtual void make_entry(const Table& table, Fill fill, Label done, Label full) = 0; ///< to Role::entry
    virtual void claim_direct(const Table& table, Label done,
                              Label full) = 0; ///< to Role::entry: the key's, made if need be
    /// Of Role::entry: becomes Role::recorded. `again`: it is not the key's. `adds`: if the key is there, its value and
    /// Role::recorded.
    virtual void exchange_value(const Table& table, bool adds, Label done, Label again) = 0;
    virtual void load_value(const Table& table, Label absent) = 0; ///< of Role::entry, to Role::result
    /// Of Role::entry, to the frame's place of texts. Later loads are done after it. May change Role::result.
    virtual void load_text(const Table& table) = 0;
    virtual void erase_entry(const Table& table, Role entry) = 0; ///< does nothing where it is not the key's any more
    virtual void jump_unless_there(Role entry, Label to) = 0;     ///< the entry is not the key's any more
    /// Role::result bytes to Role::entry: their address. They are zeros. May change Role::second.
    virtual void allocate(Label none) = 0;
    virtual void load_chunk(Role to, Word of) = 0; ///< of a table's word: the address in it
    /// A table's word leads to the chunk Role::entry if it led to the chunk Role::table. Leaves those two.
    virtual void exchange_chunk(const Table& table) = 0;
    /// A word of the block is Role::entry if it was 0.
    virtual void claim_word(size_t offset) = 0;
    virtual void data_address(Role to, size_t offset) = 0; ///< of the data; as long for every address

    // ---- The stub around the clauses: stubs_*.cpp.
    virtual Patch patch(const Site& site, uint64_t stub) const = 0;
    virtual void align_stub(const Site& site) = 0;
    virtual Registers all_registers() const = 0; ///< that a stub may have to save
    /// The registers that a stub has to save if it writes these.
    virtual Registers saved_registers(Registers written) const = 0;
    /// Instructions that stood at a runtime address, so that they do the same here.
    virtual void move_code(uint64_t /*from*/, std::span<const std::byte> /*code*/)
    {
        throw Refusal({State::other_architecture});
    }
    virtual void save() = 0;    ///< makes the frame, and keeps in it the registers that saved_ names
    virtual void restore() = 0; ///< the opposite
    virtual void leave() = 0;   ///< to what the program executes behind the probe
    /// Loads the address of the thread's block into Role::block. Jumps to out_ if there is no slot or no memory for another
    /// thread, or in a forked child that is not followed.
    virtual void block() = 0;

    // ---- Values: expressions_*.cpp.
    /// The argument is in memory: fetching it changes more than the register that it goes to.
    virtual bool in_memory(const Expression& argument) const = 0;
    virtual void argument(const Expression& e, Role to) = 0; ///< one that is not in memory
    virtual void memory_argument(const Expression& e) = 0;   ///< to Role::result, or jumps to unread_
    virtual void returned(Role to) = 0;                      ///< what the function returns
    virtual void thread_id(Role to) = 0; ///< if that takes a system call: to Role::result, or jumps to unread_
    virtual void process_id() = 0;       ///< to Role::result; 0: not known
    /// What is at the address Role::result, up to 8 bytes: to Role::result, or jumps to unread_. Nothing there is 0.
    virtual void read_memory(size_t bytes, bool is_signed) = 0;
    virtual void register_value(unsigned number, Role to) = 0; ///< at the site: Value::reg
    virtual void processor(bool node) = 0; ///< its number, or its node's: to Role::result; throws Refusal
    virtual void nanoseconds() = 0;        ///< to Role::result
    virtual void constant(Role to, int64_t value) = 0;
    virtual void move(Role to, Role from) = 0;
    virtual void load(Role to, Word from) = 0;
    virtual void store(Word to, Role from) = 0;
    /// Stores the number. A thread that sees it also sees all that was stored before it.
    virtual void publish(Word to, int32_t number) = 0;
    virtual void address(Role to, Word of) = 0;
    virtual void load_frame(Role to, size_t offset) = 0;
    virtual void store_frame(size_t offset, Role from) = 0;
    virtual void store_frame_number(size_t offset, int64_t number) = 0; ///< may change Role::result
    /// string_size bytes at the address Role::result, into the frame. Jumps to unread_ if they cannot be read.
    virtual void copy_text(size_t offset) = 0;
    virtual void copy_comm(size_t offset) = 0; ///< the same of the thread's name
    /// To Role::result: an interned stack of so many frames at most; 0: no room, which is counted.
    /// @param unwinds  by Tables::rows, and not by frame pointers
    virtual void stack(unsigned most, bool unwinds) = 0;
    virtual void unary(Operator op) = 0;          ///< of Role::result: negate, bit_not
    virtual void binary(Operator op) = 0;         ///< result = result op second; no comparison, && or ||
    virtual void divide_by(uint64_t divisor) = 0; ///< Role::result, unsigned
    virtual void jump(Label to) = 0;
    virtual void jump_if_zero(Role role, Label to, bool zero = true) = 0; ///< `zero` false: if not zero
    virtual void jump_if_unlike(Role a, Role b, Label to) = 0;            ///< may change `a`
    virtual void jump_if_empty(Word word, Label to) = 0; ///< jumps on 0; later loads are done after this one
    virtual bool compares_with(int64_t number) const = 0;
    /// Compares Role::result with the number, or else with Role::second. Jumps if the comparison's result is `when`.
    virtual void jump_if(Operator comparison, std::optional<int64_t> number, bool is_signed, bool when, Label to) = 0;
    virtual void call_routine(Label routine) = 0;
    virtual void jump_if_refused(Label to) = 0; ///< a routine returned 0 and not 1 in Role::result

    // ---- Updates: statements_*.cpp. They may change Role::result and Role::second.
    virtual void count_at(size_t offset) = 0; ///< one more in a word of the data: Tables::dropped and its like
    virtual void count_unread() = 0;
    /// To Role::entry: the key's entry in a direct table. Jumps to dropped(next) if there is no room.
    virtual void find_direct(const Statement& statement, Label next) = 0;
    virtual void increment(Word word) = 0;
    virtual void add_for_all(Word word) = 0; ///< Role::recorded, where all threads add
    // Events. The ring is Role::table.
    /// To Role::entry: a record of so many bytes, with the clock; to Role::recorded: its position. Changes Role::result and
    /// Role::second. Jumps to `full`.
    virtual void reserve_record(size_t bytes, Label full) = 0;
    virtual void commit_record(uint32_t statement) = 0; ///< that was reserved
    virtual void add_recorded(Word word) = 0;
    virtual void keep_extreme(const Map& map, Word word) = 0;
    virtual void count_in_histogram(Word first_bucket) = 0;
    virtual void count_in_steps(const Map& map, Word first_bucket) = 0;
    virtual void call_function(const Statement& statement) = 0;

    // ---- compiler.cpp
    void stub(std::span<const Site* const> sites, size_t& number);
    void body(const Site& site);
    void actions(const Clause& clause);
    void statements(const std::vector<Statement>& statements);
    // A cold path is emitted behind the stub's hot path.
    struct Cold {
        Label from;
        std::function<void()> emit;
        size_t spills; // of the hot path that it comes from
        std::optional<size_t> time;
        Label unread;
    };
    Label cold(std::function<void()> emit);
    Label label() { return code_.label(); }
    void bind(Label label) { code_.bind(label); }

    // ---- routines.cpp
    void routines();
    void map_routines(size_t map);
    void direct_routine(const Table& table);
    void ring_routine();
    void assign_number(const Table& table, bool adds);
    void assign_text(const Table& table);
    void answer(Label yes, Label no); ///< Role::result is 1 after a jump to `yes`, and 0 after one to `no`
    void newest_chunk(const Table& table);
    void older_chunk(Label none);
    void search(const Table& table, Label found, Label absent, bool deleted = false);
    void grow(const Table& table, Label grown, Label refused);

    // ---- expressions.cpp
    static bool uses(const Expression& e, const std::function<bool(const Expression&)>& what);
    void check_stack_argument(unsigned index, unsigned word) const; ///< throws Refusal
    void want_system_calls(std::string_view what) const;            ///< throws Refusal
    unsigned index_of(const Expression& argument) const;            ///< of a usdt probe's; throws Refusal
    /// Memory of the site's module that stubs read directly; empty where all stubs do.
    Lasting lasting_of_site() const;
    bool is_leaf(const Expression& e) const;
    void value(const Expression& e, Role to); ///< a leaf goes to `to` directly, all else by Role::result
    void leaf(const Expression& e, Role to);
    void evaluate(const Expression& e); ///< to Role::result
    void read_clock();                  ///< to Role::result
    void operation(const Expression& e);
    void operands(const Expression& e); ///< to Role::result and Role::second
    void branch(const Expression& e, Label target, bool when);
    /// One of the two, by the condition.
    void choose(const Expression& condition, const std::function<void()>& yes, const std::function<void()>& no);
    void fill_keys(const std::vector<Expression>& keys, const Table& table);
    /// A place in the frame for one value: `size` bytes, a multiple of 8. Whatever is written to the frame names its slot, and no store leaves
    /// it: behind it are other values, and the program's registers.
    struct Slot {
        size_t offset = 0, size = 0;
        size_t word(size_t at) const { return part(at, 8).offset; } ///< throws logic_error
        Slot part(size_t at, size_t bytes) const                    ///< throws logic_error
        {
            if (at > size || bytes > size - at)
                throw std::logic_error("a value does not fit in its place in the frame");
            return {offset + at, bytes};
        }
    };
    void store_slot(const Slot& slot, size_t at, Role from);
    void store_slot_number(const Slot& slot, size_t at, int64_t number); ///< may change Role::result
    void zero(const Slot& slot, size_t from);
    void copy(const Slot& to, const Slot& from);
    Slot take_slot(Type type, const ShapePtr& shape); ///< of spills, the caller's to give back
    Slot variable_slot(size_t variable) const;
    Slot place_of_text(const Map& map) const { return {key_bytes_, size_of(map.type, map.shape)}; }
    void any_value(const Expression& e, const Slot& to);
    /// A string or bytes: what does not fit is cut off, and zeros are behind what is shorter.
    void wide_value(const Expression& e, const Slot& to);
    void whole_value(const Expression& e, const Slot& to); ///< size_of() it, which is the slot's size
    void text_in_memory(const Expression& e, const Slot& to);
    void bytes_in_memory(const Expression& address, size_t bytes, const Slot& to);
    void buffer(const Expression& e, const Slot& to);
    void map_text(const Expression& e, const Slot& to);
    void part_text(const Expression& e, const Slot& to);
    size_t frame_place(const Expression& wide); ///< of a variable, or of spills that it is copied to
    void load_part(size_t frame_offset, size_t bytes, bool is_signed); ///< to Role::result
    void cut(const Slot& slot, size_t at);                             ///< zeros from there on
    void cut_at(const Slot& slot, size_t length); ///< the same; the frame has the length, at this offset
    void part(const Expression& e);
    void step(const Expression& e);
    void swap_bytes(const Expression& e);
    void random_number();
    void compute(Operator op, int64_t number); ///< on Role::result
    void branch_on_texts(const Expression& e, Label target, bool when);
    void map_value(const Expression& e);
    void if_own(const Table& table, const Expression& tid, Label free, Label other);
    void shared_value(const Table& table);
    void call_with_keys(Label routine, const std::vector<Expression>& keys, const Table& table);
    static Word own(const Table& table, size_t word) { return {Role::block, *table.own + 8 * word}; }

    // ---- statements.cpp
    void statement(const Statement& statement);
    void update(const Statement& statement);
    void change_by_key(Label routine, const Statement& statement);
    void set(const Statement& statement);
    void loop(const Statement& statement);
    void branch(const Statement& statement);
    void event(const Statement& statement);
    void dump();
    void record(const Map& map, Word cell);
    Label dropped(Label next);
    Word locate(const Statement& statement, Label next);

    const Machine& machine_;
    const Script& script_;
    const Tables& tables_;
    const Arena& arena_;
    const Environment& environment_;
    Routines routines_;

    size_t key_bytes_ = 0, text_bytes_ = 0; // of each stub's frame

    // Of the stub that is being made.
    const Site* site_ = nullptr;
    std::vector<Argument> arguments_;
    Registers saved_ = 0; // which registers of the program are in the frame
    bool keep_flags_ = true;
    bool another_follows_ = false; // another site's clauses, in the same stub
    size_t spills_ = 0, most_spills_ = 0;
    bool calls_functions() const { return calls_; }
    bool calls_ = false;
    std::optional<size_t> time_;    // the spill with nsecs, in a clause that reads it more than once
    std::vector<size_t> variables_; // of the clause: the spill of each, a string's first
    const std::vector<Variable>* variables_of_ = nullptr;
    Label clause_end_ = 0;
    Label loop_next_ = 0, loop_end_ = 0; // of the loop around a statement
    size_t frame_spills_ = 0;
    uint64_t stub_start_ = 0;
    Label out_ = 0;
    Label unread_ = 0; // behind the clause: where a hit goes of which a value cannot be read
    std::vector<Cold> cold_;

    size_t spill_offset(size_t index) const { return key_bytes_ + text_bytes_ + 8 * index; }
    size_t saved_start() const { return spill_offset(frame_spills_); }
    size_t saved_offset(unsigned reg) const;
    size_t spill(Role role); // keeps the value in the frame until spills_ is less again
    size_t take_spills(size_t count);

private:
    Emitter& code_;
};

inline bool is_tid(const Expression& e)
{
    return e.kind == Expression::Kind::value && e.value == Value::tid;
}
inline bool is_map(const Expression& e)
{
    return e.kind == Expression::Kind::map;
}

/// Bytes of the stack, below the red zone, that a hit takes at most.
inline constexpr size_t most_stack = 512;

} // namespace fastsdt::engine
