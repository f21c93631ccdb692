// SPDX-License-Identifier: BSD-2-Clause
// A site's program as it grows, operation by operation: program.cpp has frame and order, values.cpp numbers, slots and memory, updates.cpp maps
// and events.
#pragma once
#include "bpf/frame.h"
#include "bpf/program.h"

#include <optional>
#include <string>
#include <vector>

namespace fastsdt::engine::bpf {

using A = BpfAssembler;

inline constexpr int boot_clock = 125, copy_from_user = 148; // BPF_FUNC_ktime_get_boot_ns, BPF_FUNC_copy_from_user

/// Whether an instruction can have it.
constexpr bool fits(int64_t number)
{
    return number == int32_t(number);
}

class Maker {
public:
    Maker(const Context& context, const Site& site, std::optional<uint64_t> offset, bool sleepable)
        : context_(context), site_(site), offset_(offset), sleepable_(sleepable)
    {}

    A& make();

private:
    // ---- Frame and values
    void clause(const ir::Program& program, const Frame& frame);

    struct Where {
        A::Register base;
        int offset;
    };
    Where where(const ir::Place& place) const;
    bool is_number(const ir::Place& place) const { return program_->slots[place.slot].is_literal; }
    void number(A::Register to, int64_t value);
    std::optional<int64_t> constant_of(ir::ValueId value) const;
    void fetch(A::Register to, ir::ValueId value);
    void keep(ir::ValueId value, A::Register from) { a_.store(BPF_DW, A::r10, frame_->values[value], from); }
    void load_word(A::Register to, const ir::Place& place, size_t at = 0);
    void store_word(const ir::Place& place, A::Register from, size_t at = 0);
    void store_number(const ir::Place& place, int64_t value, size_t at = 0);
    void address(A::Register to, const ir::Place& place);
    void own_address(A::Register to, int at);
    A::Label at_label(ir::LabelId label) const { return labels_[label]; }

    // ---- Counters, and the ways out
    void count(size_t field);
    void drop(A::Label next);
    void unread();

    // ---- Scratch memory: pieces of {taken, which one, bytes}.
    static constexpr int scratch_header = 16;
    void take_scratch(A::Label none);
    void give_scratch() { a_.store(BPF_DW, A::r9, -scratch_header, 0); }

    // ---- Numbers
    void extend(A::Register of, int bytes, bool is_signed);

    void perform(const ir::Constant&) {}
    void perform(const ir::Argument& op);
    void perform(const ir::Ask& op);

    // To r0: process in the upper half, thread in the lower one, in the namespace that the script's numbers are of.
    void thread_and_process();

    void ask(Value what);

    void site_address();
    void perform(const ir::Register& op);
    void perform(const ir::Symbol& op);
    void perform(const ir::Stack& op);

    // ---- ustack(dwarf), unwind.cpp
    static int size_of_walk();
    void unwind(const ir::Stack& op);
    void begin_walk(A::Label cannot);
    void add_frame();
    void to_caller(A::Label outermost, A::Label unknown);
    void choose(A::Register to, size_t other, int offset, uint8_t bit);
    void load_kind(A::Register to, uint8_t bit);
    void find_module(A::Label unknown);
    void find_row(A::Label unknown);
    void read_stack(size_t to, A::Label cannot);
    void intern(A::Label dropped);
    void load_walk(A::Register to, size_t field);
    void store_walk(size_t field, A::Register from);
    void walk_address(A::Register to, size_t field);

    void perform(const ir::Unary& op);
    void perform(const ir::Swap& op);

    static int alu_of(Operator op);
    // x / 0 is 0, and x % 0 is x, as the kernel has it; shifts count modulo 64.
    void perform(const ir::Binary& op);

    static int jump_of(Operator op, bool is_signed);
    // `emit` jumps to the label if it is true, and falls through if it is not.
    template <class Emit> void truth(ir::ValueId to, const Emit& emit)
    {
        const auto yes = a_.label(), done = a_.label();
        emit(yes);
        a_.store(BPF_DW, A::r10, frame_->values[to], 0);
        a_.jump(done);
        a_.bind(yes);
        a_.store(BPF_DW, A::r10, frame_->values[to], 1);
        a_.bind(done);
    }
    void perform(const ir::Compare& op);

    // ---- Slots
    void perform(const ir::Load& op);
    void perform(const ir::Store& op);
    // Word `at` of a place that need not begin at a word, and of which `size` bytes count: to r0.
    void unaligned_word(const ir::Place& from, size_t at, bool is_signed = false);
    void perform(const ir::Copy& op);
    void zero(const ir::Place& place, size_t from = 0);
    void perform(const ir::Zero& op) { zero(op.at); }
    void perform(const ir::Cut& op);
    void perform(const ir::Name& op);
    void perform(const ir::Equal& op);
    void perform(const ir::Contains&) { throw std::logic_error("of the tool"); }

    // To r1: the highest bit of each byte of r0 that is 0, and perhaps of bytes above the lowest such. 0: none is. Changes r2, r3.
    void find_zero_bytes();
    // r1 = the lowest of its bits, at the lowest bit of its byte. Changes r2.
    void lowest_byte();
    void perform(const ir::Length& op);
    [[noreturn]] void perform(const ir::Address&);
    [[noreturn]] void perform(const ir::Frames&);
    // Zeros behind the first zero byte.
    void cut_behind_end(const ir::Place& place);

    // ---- Memory of the program
    // From the address r3 to the memory that `to` makes an address of. What ends at a page that is not there is read up to that, with zeros
    // behind it. Changes r0 to r5; uses third_at.
    template <class To> void read_memory(size_t bytes, const To& to)
    {
        const auto done = a_.label(), cannot = a_.label();
        constexpr int page = 4096; // the smallest of any architecture
        const auto read = [&](const auto& size) {
            to(A::r1);
            size();
            a_.load(BPF_DW, A::r3, A::r10, third_at);
            if (sleepable_)
                a_.move(A::r4, 0);
            a_.call(sleepable_ ? copy_from_user : BPF_FUNC_probe_read_user);
        };
        a_.store(BPF_DW, A::r10, third_at, A::r3);
        read([&] { a_.move(A::r2, int32_t(bytes)); });
        a_.jump_if(BPF_JEQ, A::r0, 0, done);
        if (bytes > 1) {
            a_.load(BPF_DW, A::r3, A::r10, third_at);
            a_.alu(BPF_NEG, A::r3, 0);
            a_.bit_and(A::r3, page - 1); // bytes up to the page's end; 0: none of it was
            a_.jump_if(BPF_JEQ, A::r3, 0, cannot);
            a_.jump_if(BPF_JGE, A::r3, int32_t(bytes), cannot);
            a_.move(A::r7, A::r3);
            read([&] { a_.move(A::r2, A::r7); });
            a_.jump_if(BPF_JEQ, A::r0, 0, done);
        }
        a_.bind(cannot);
        if (!sleepable_) // one that waits for pages: what it cannot read is not mapped
            unread();
        a_.bind(done);
    }
    // To r0: what is at the address r3.
    void read_word(size_t bytes, bool is_signed);
    void perform(const ir::ReadWord& op);
    void perform(const ir::ReadText& op);
    void perform(const ir::ReadBytes& op);

    // ---- The way
    void perform(const ir::Label& op) { a_.bind(at_label(op.label)); }
    void perform(const ir::Jump& op) { a_.jump(at_label(op.target)); }
    void perform(const ir::Branch& op);
    void perform(const ir::Turn& op);

    // ---- Maps
    // r1 = the map, r2 = the key's address.
    void map_and_key(size_t map, const ir::Operand& key);
    void look_up(size_t map, const ir::Operand& key);
    // r3 = the value's address.
    void value_address(const ir::Operand& value);
    // To r0: the value of the key, which is made if need be.
    void place(size_t map, const ir::Operand& key, A::Label dropped);
    void perform(const ir::Update& op);
    // Of the value r0.
    void keep_extreme(const Map& map, ir::ValueId value, A::Label dropped);
    // To r2, of the value r0: 0 for negative ones, 1 for 0, 2 + n from 2^n on.
    void bucket_of_power();
    void bucket_of_step(const Map& map);
    // One more in bucket r2 of the value r3. The verifier wants to see that it is inside.
    void add_to_bucket(size_t buckets);
    void perform(const ir::Assign& op);
    void perform(const ir::Add& op);
    void perform(const ir::Remove& op);
    void perform(const ir::Get& op);
    void perform(const ir::Has& op);
    void perform(const ir::Entries&) { throw std::logic_error("of the tool"); }
    void perform(const ir::Keys&) { throw std::logic_error("of the tool"); }
    void perform(const ir::NextKey&) { throw std::logic_error("of the tool"); }
    void perform(const ir::GetWide& op);

    // ---- Events
    void perform(const ir::Record& op);
    void perform(const ir::Dump&) { throw Refusal({State::not_in_kernel, 0, "dump() is engine user's"}); }
    void perform(const ir::Signal&);
    void perform(const ir::Call&);

    const Context& context_;
    const Site& site_;
    const std::optional<uint64_t> offset_;
    const bool sleepable_;
    A a_;
    std::vector<Frame> frames_;
    int scratch_size_ = 0;
    int walk_at_ = 0; // in it
    BpfMap scratch_;
    A::Label out_ = 0;

    // Of the clause.
    const ir::Program* program_ = nullptr;
    const Frame* frame_ = nullptr;
    std::vector<A::Label> labels_;
};

} // namespace fastsdt::engine::bpf
