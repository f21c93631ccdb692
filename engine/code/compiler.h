// SPDX-License-Identifier: BSD-2-Clause
// The stub compiler, inside: the part that all architectures share. It says in which order a stub does things:
// compiler.cpp has the stub and its clauses, bodies.cpp those that many sites share; slots.cpp, entries.cpp, routines.cpp, reads.cpp and
// stacks.cpp what stubs call; operations.cpp and updates.cpp a program's operations (ir/ir.h) by its plan. The virtual functions emit the
// instructions; code/x86/compiler.h and code/arm64/compiler.h declare the classes that implement them.
//
// Frame, from the stack pointer up:
//     keys | a string to be assigned, or the Hit for a function | words of the plan | what the architecture saves of the program
// and above it, in a body that many stubs call, two words (call_body()).
#pragma once
#include "arch/args.h"
#include "code/emitter.h"
#include "code/instructions.h"
#include "code/machine.h"
#include "code/plan.h"
#include "code/site_state.h"
#include "code/stubs.h"
#include "ir/ir.h"

#include <functional>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <variant>
#include <vector>

namespace fastsdt::engine {

class Compiler : protected Instructions {
public:
    Compiler(const Machine& machine, const Script& script, const Tables& tables, const Arena& arena,
             const Environment& environment, Emitter& code);
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;
    Code compile(std::span<const Site> sites);

protected:
    // ---- What all stubs of an arena call.
    struct MapRoutines {
        Label update, assign, add, remove, load, direct, has;
    };
    struct Routines {
        Label acquire, claim, text, word, tid, comm, ring, stack, unwound_stack, unwind, uid, gid, processor, node;
        std::vector<MapRoutines> maps;
    };
    using Visit = std::function<void()>;
    /// Where a walk begins: the program's stack pointer, frame pointer, and so on, as stack_routine() has them.
    virtual void begin_stack(bool by_rows) = 0;
    /// The address that is the thread pointer, of memory that is there
    virtual void control_block(Role to, Label none) = 0;
    virtual size_t return_address() const = 0;                   ///< bytes of the stack that a call of a routine takes
    bool pushes_return() const { return return_address() != 0; } ///< a call does, of the program too
    /// The thread's number is not where routines take it from: to Role::second and Role::block as acquire_routine() has them.
    virtual void ask_for_thread() {}
    /// Behind begin(), the key is Role::result. To Role::kept: the key. Keeps what a stub does not save for it.
    virtual void begin_direct() = 0;
    virtual void end_direct() = 0;
    virtual void begin_assigning() = 0; ///< behind begin(): Role::kept is the routine's until end_assigning()
    virtual void end_assigning() = 0;
    /// Of Role::entry, whose tag is Role::result: becomes Role::recorded. `again`: it is not the key's. `adds`: if the key is there, its
    /// value and Role::recorded.
    virtual void exchange_value(const Table& table, bool adds, Label done, Label again) = 0;

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
    /// A stub that calls a body, with this in Role::result. It keeps two words of the stack, and the red zone above them.
    virtual void call_body(Label body, int64_t number) = 0;
    virtual void
    leave_body() = 0; ///< restore() has been done: back to the stub, with Role::result as the program had it
    /// Loads the address of the thread's block into Role::block. Jumps to out_ if there is no slot or no memory for another
    /// thread, or in a forked child that is not followed.
    virtual void block() = 0;

    // ---- Values: code/*/operations.cpp.
    /// The argument is in memory: fetching it changes more than the register that it goes to.
    virtual bool in_memory(const ir::Argument& argument) const = 0;
    virtual void argument(const ir::Argument& argument, Role to) = 0; ///< one that is not in memory
    virtual void memory_argument(const ir::Argument& argument) = 0;   ///< to Role::result, or jumps to unread_
    virtual void returned(Role to) = 0;                               ///< what the function returns
    virtual void thread_id(Role to) = 0; ///< if that takes a system call: to Role::result, or jumps to unread_
    virtual void register_value(unsigned number, Role to) = 0; ///< at the site: Value::reg
    virtual void load_from_g(uint32_t offset, Role to) = 0;    ///< the word so far into Go's g
    virtual void program_stack(Role to) = 0;                   ///< at the site
    /// Its number, or its node's: to Role::result. False: no instruction tells, and the kernel has to.
    virtual bool processor(bool node) = 0;
    virtual void nanoseconds() = 0; ///< to Role::result
    /// Stores the number. A thread that sees it also sees all that was stored before it.
    virtual void publish(Word to, int32_t number) = 0;
    virtual void load_frame(Role to, size_t offset) = 0;
    virtual void store_frame(size_t offset, Role from) = 0;
    virtual void store_frame_number(size_t offset, int64_t number) = 0; ///< may change Role::result
    virtual void frame_address(Role to, size_t offset) = 0;
    virtual void swap_bytes(size_t bytes) = 0; ///< the lowest ones of Role::result, the other way round
    /// Role::result = Role::result / Role::second, or the remainder, without signs. x / 0 is 0, and so x % 0 is x.
    virtual void divide(bool modulo) = 0;
    virtual void divide_by(uint64_t divisor) = 0; ///< Role::result, unsigned
    virtual bool compares_with(int64_t number) const = 0;
    /// Compares Role::result with the number, or else with Role::second. Jumps if the comparison's result is `when`.
    virtual void jump_if(Operator comparison, std::optional<int64_t> number, bool is_signed, bool when, Label to) = 0;
    virtual void call_routine(Label routine) = 0;

    // ---- Updates: code/*/updates.cpp. They may change Role::result and Role::second.
    virtual void count_at(size_t offset) = 0; ///< one more in a word of the data: Tables::dropped and its like
    /// To Role::entry: the key's entry in a direct table. Jumps to dropped(next) if there is no room.
    virtual void find_direct(size_t map, Label next) = 0;
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
    /// Role::stack is as in all of the stub, and the frame has the Hit. May change what a compiled function may.
    virtual void call_compiled(const Statement& statement) = 0;

    // ---- bodies.cpp
    /// What a clause asks of the site that it runs at.
    struct OfSite {
        bool shared = true; ///< nothing but what the site's kin has too
        bool probe = false, function = false, argument = false;
    };
    static OfSite of_site(const ir::Program& program);
    struct Kinship; ///< sites that are alike in it have the same clauses in the same bytes, but for a number
    using Body = std::variant<Label, SiteState>; ///< or why there is none
    std::optional<Kinship> kinship(const Site& site) const;
    void make_bodies(std::span<const Site> sites, Code& code);
    Body make_body(const Site& site, Code& code);
    // Of the site that is at work:
    bool number_is_of_function() const; ///< else it is the probe's
    int64_t site_number() const;        ///< that number
    bool call_shared();                 ///< false: the site has a copy of its own

    // ---- compiler.cpp
    void stub(std::span<const Site* const> sites, size_t& number);
    void begin_site(const Site& site);
    void whole_body(const Site& site);
    void body(const Site& site);
    void make_plans();
    bool wants_block(const ir::Operation& operation) const;
    bool filter_wants_block(const ir::Program& program) const;
    static bool actions_want_block(const ir::Program& program);
    // A cold path is emitted behind the stub's hot path.
    struct Cold {
        Label from;
        std::function<void()> emit;
        Label unread;
    };
    Label cold(std::function<void()> emit);
    Label label() { return code_.label(); }
    void bind(Label label) { code_.bind(label); }

    // ---- slots.cpp
    void acquire_routine();
    void claim_routine();
    void allocate(Label none);

    // ---- reads.cpp
    void prepare_read();
    void find_lasting(Label none);
    void ask_for_calls(Label forbidden);
    void heed_filter(Label nothing, Label forbidden);
    void end_unread(Label unread, Role answer);
    void text_routine();
    void end_text(Label read);
    void word_routine();
    void number_routine(Label routine, SystemCall what);
    void processor_routine(Label routine, bool node);
    void comm_routine();

    // ---- stacks.cpp
    /// To Role::result: an interned stack of so many frames at most; 0: no room, which is counted.
    /// @param by_rows  by Tables::rows, and not by frame pointers
    void stack(unsigned frames, bool by_rows);
    void stack_routine(bool by_rows);
    void find_bounds();
    void unless_readable(Role address, Label outside);
    void walk_frames(const Visit& visit);
    void count_cut(bool by_rows);
    void push_innermost();
    void pop_innermost();

    // ---- unwinding.cpp
    void walk_rows(const Visit& visit);
    void unwind_routine();
    void find_row(Label unknown);
    void find_cfa(Label signal, Label outermost, Label unknown);
    void pushed_return(Label unknown);
    void linked_return(Label unknown);
    void interrupted(Label unknown);
    void unless_on_stack(Role address, Label outside);

    // ---- entries.cpp
    Word key_word(size_t index) const { return {Role::stack, keys_ + 8 * index}; }
    void first_entry(const Table& table, Label loop);
    void next_entry(Label loop);
    void leave_nothing(Label full);
    void find_entry(const Table& table, Label found, Label absent, bool deleted);
    enum class Fill { zeros, number, text }; ///< number: Role::recorded; text: the frame's
    void make_entry(const Table& table, Fill fill, Label done, Label full);
    void claim_direct(const Table& table, Label done, Label full);
    void load_value(const Table& table, Label absent);
    void load_text(const Table& table);
    void erase_entry(const Table& table, Role entry);
    void jump_unless_there(Role entry, Label to);
    void load_chunk(Role to, Word of);
    void exchange_chunk(const Table& table);

    // ---- routines.cpp
    void begin(Label routine);
    void routines();
    void map_routines(size_t map);
    void load_routine(const Table& table, MapKind kind, Label routine);
    void direct_routine(const Table& table);
    void ring_routine();
    void assign_number(const Table& table, bool adds);
    void assign_text(const Table& table);
    void answer(Label yes, Label no); ///< Role::result is 1 after a jump to `yes`, and 0 after one to `no`
    void newest_chunk(const Table& table);
    void older_chunk(Label none);
    void search(const Table& table, Label found, Label absent, bool deleted = false);
    void grow(const Table& table, Label grown, Label refused);

    // ---- operations.cpp
    void process_id(); ///< to Role::result; 0: not known
    void ask_for_number(std::string_view name, Label routine);
    /// What is at the address Role::result, up to 8 bytes: to Role::result, or jumps to unread_. Nothing there is 0.
    void read_memory(size_t bytes, bool is_signed);
    void unary(Operator op);                             ///< of Role::result: negate, bit_not
    void binary(Operator op);                            ///< result = result op second; no comparison, && or ||
    void want_system_calls(std::string_view what) const; ///< throws Refusal
    /// Memory of the site's module that stubs read directly; empty where all stubs do.
    Lasting lasting_of_site() const;
    bool is_leaf(const ir::Operation& operation) const;
    void leaf(const ir::Operation& operation, Role to);
    void leaf(Value what, Role to);
    void fetch(ir::ValueId value, Role to);
    void keep(ir::ValueId value);
    std::optional<int64_t> constant_of(ir::ValueId value) const;
    bool fetch_both(ir::ValueId a, ir::ValueId b, bool either);
    void compute(Operator op, int64_t number); ///< on Role::result
    using Instructions::jump_if;
    void jump_if(const ir::Compare& op, bool when, Label to);
    void jump_if(const ir::Equal& op, bool when, Label to);
    template <class Op> void truth(const Op& op);
    void or_zero(Label none, Label done);
    size_t next_branch() const;
    void read_clock(); ///< to Role::result
    void go_thread_id();
    void go_executor();
    void go_depth();
    void random_number();
    size_t offset_of(const ir::Place& place) const; ///< in the frame
    size_t scratch() const;                         ///< the same, of the operation's own word
    void load_part(size_t offset, size_t bytes, bool is_signed);
    void copy(size_t to, size_t size, const ir::Place& from);
    void zero(size_t from, size_t to);
    void cut(size_t start, size_t size, size_t length);
    static bool can_be_unread(const ir::Operation& operation);
    void perform(const ir::Operation& operation);
    void perform(const ir::Constant&) {}
    void perform(const ir::Argument& op);
    void perform(const ir::Ask& op);
    void perform(const ir::Register&) {}
    void perform(const ir::Symbol&) {}
    void perform(const ir::Stack& op);
    void perform(const ir::Unary& op);
    void perform(const ir::Swap& op);
    void perform(const ir::Binary& op);
    void perform(const ir::Compare& op);
    void perform(const ir::Load& op);
    void perform(const ir::Store& op);
    void perform(const ir::Copy& op);
    void perform(const ir::Zero& op);
    void perform(const ir::Cut& op);
    void perform(const ir::Name& op);
    void perform(const ir::Equal& op);
    void perform(const ir::Contains&) { throw std::logic_error("of the tool"); }
    void perform(const ir::Length& op);
    void perform(const ir::Address& op);
    void perform(const ir::Frames& op);
    void perform(const ir::ReadWord& op);
    void perform(const ir::ReadText& op);
    void perform(const ir::ReadBytes& op);
    void perform(const ir::Label& op);
    void perform(const ir::Jump& op);
    void perform(const ir::Branch& op);
    void perform(const ir::Turn& op);

    // ---- call.cpp
    void call_function(const Statement& statement);
    void fill_hit(size_t count);
    bool fill_argument(size_t index);

    // ---- updates.cpp
    void perform(const ir::Update& op);
    void perform(const ir::Assign& op);
    void perform(const ir::Add& op);
    void perform(const ir::Remove& op);
    void perform(const ir::Get& op);
    void perform(const ir::Has& op);
    void perform(const ir::Entries&) { throw std::logic_error("of the tool"); }
    void perform(const ir::Keys&) { throw std::logic_error("of the tool"); }
    void perform(const ir::NextKey&) { throw std::logic_error("of the tool"); }
    void perform(const ir::GetWide& op);
    void perform(const ir::Record& op);
    void perform(const ir::Dump& op);
    [[noreturn]] void perform(const ir::Signal& op);
    void perform(const ir::Call& op);
    void put_key(const ir::Operand& key);
    void if_own(const Table& table, const ir::Operand& tid, Label free, Label other);
    Label by_table(Label routine, bool may_be_refused, Label done);
    void shared_value(const Table& table);
    Word locate(size_t map, const ir::Operand& key, ir::ValueId value, Label next);
    void record(const Map& map, Word cell);
    void dump();
    Label dropped(Label next);
    static Word own(const Table& table, size_t word) { return {Role::block, *table.own + 8 * word}; }

    const Machine& machine_;
    const Script& script_;
    const Tables& tables_;
    const Arena& arena_;
    const Environment& environment_;
    Routines routines_;

    std::vector<ir::Program> programs_;     // by Script::clauses; empty: a clause without sites
    size_t key_bytes_ = 0, text_bytes_ = 0; // of each stub's frame

    size_t keys_ = 0; // of the caller's frame, in a routine: how far above the stack pointer

    // Of the stub that is being made.
    const Site* site_ = nullptr;
    std::vector<Argument> arguments_;
    std::vector<Plan> plans_; // by Site::clauses
    Registers saved_ = 0;     // which registers of the program are in the frame
    bool keep_flags_ = true;
    bool another_follows_ = false;                 // another site's clauses, in the same stub
    bool in_body_ = false;                         // what is made is called by many stubs
    std::unordered_map<const Site*, Body> bodies_; // of those that share one
    std::vector<OfSite> of_site_;                  // by Script::clauses
    bool calls_functions() const { return calls_; }
    bool calls_ = false;
    size_t plan_words_ = 0; // of the frame
    uint64_t stub_start_ = 0;
    Label out_ = 0;
    std::vector<Cold> cold_;

    // Of the clause.
    const ir::Program* program_ = nullptr;
    const Plan* plan_ = nullptr;
    size_t at_ = 0;             // index of the operation
    std::vector<Label> labels_; // by the program's
    Label at_label(ir::LabelId label) const { return labels_[label]; }
    Label unread_ = 0; // behind the clause: where a hit goes of which a value cannot be read

    size_t spill_offset(size_t word) const { return key_bytes_ + text_bytes_ + 8 * word; }
    size_t saved_start() const { return spill_offset(plan_words_); }
    size_t saved_offset(unsigned reg) const;
    /// Of the number that a stub hands to its body: where Role::result is saved, the register with the lowest number.
    size_t number_offset() const { return saved_start(); }

private:
    Emitter& code_;
};

/// Bytes of the stack that a hit takes at most, from the program's stack pointer down: its red zone is among them.
inline constexpr size_t most_stack = 640;

} // namespace fastsdt::engine
