// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/program.h"

#include "bpf/arguments.h"

#include <fastsdt/note.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace fastsdt::engine::bpf {
namespace {

using A = BpfAssembler;

constexpr int frame_size = 512; // MAX_BPF_STACK
constexpr int own_words = 32;   // of operations, at the frame's end: key, value, and what BpfMembers::test() uses
constexpr int key_at = -8, value_at = -16, third_at = -24;
constexpr unsigned pieces = 4;                        // of scratch memory, of a processor
constexpr int most_tries = 8;                         // for an extreme that others change meanwhile
constexpr size_t most_instructions = 30000;           // a jump spans 32,767
constexpr int user_stack = 256;                       // BPF_F_USER_STACK
constexpr int boot_clock = 125, copy_from_user = 148; // BPF_FUNC_ktime_get_boot_ns, BPF_FUNC_copy_from_user

bool fits(int64_t number)
{
    return number == int32_t(number);
}

/// A frame of one clause.
struct Frame {
    std::vector<int> values;    // by value: offset from r10; 0: a constant, or nobody uses it
    std::vector<int> constants; // by value: index of its operation; -1: it is none
    struct Slot {
        bool in_scratch = false;
        int at = 0; // from r10, or in the piece of scratch memory
        bool has_memory = false;
    };
    std::vector<Slot> slots;
    int size = 0;         // of the stack
    int scratch_size = 0; // of a piece
};

// Literals are numbers in the program, but where a helper wants their address.
std::vector<bool> literals_in_memory(const ir::Program& program)
{
    std::vector<bool> wanted(program.slots.size());
    for (const ir::Operation& operation : program.operations)
        if (const auto* const op = std::get_if<ir::Assign>(&operation); op && !op->value.place.is_none())
            wanted[op->value.place.slot] = true;
    return wanted;
}

Frame lay_out_frame(const ir::Program& program)
{
    Frame frame;
    frame.values.resize(program.values);
    frame.constants.assign(program.values, -1);
    std::vector<size_t> last(program.values);
    for (size_t i = 0; i < program.operations.size(); ++i)
        ir::each_used(program.operations[i], [&](ir::ValueId value) { last[value] = i; });
    std::vector<int> free;
    int words = 0;
    std::vector<std::vector<int>> ends(program.operations.size() + 1);
    for (size_t i = 0; i < program.operations.size(); ++i) {
        const ir::ValueId to = ir::defined(program.operations[i]);
        if (to != ir::no_value) {
            if (std::holds_alternative<ir::Constant>(program.operations[i])) {
                frame.constants[to] = int(i);
            } else {
                if (free.empty())
                    free.push_back(++words);
                const int word = free.back();
                free.pop_back();
                frame.values[to] = -own_words - 8 * word;
                ends[std::max(last[to], i)].push_back(word);
            }
        }
        for (const int word : ends[i])
            free.push_back(word);
    }
    frame.size = own_words + 8 * words;
    const std::vector<bool> in_memory = literals_in_memory(program);
    std::vector<size_t> order;
    for (size_t i = 0; i < program.slots.size(); ++i)
        if (!program.slots[i].is_literal || in_memory[i])
            order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return program.slots[a].size < program.slots[b].size; });
    frame.slots.resize(program.slots.size());
    for (const size_t i : order) {
        const int size = int(program.slots[i].size);
        if (frame.size + size <= frame_size) {
            frame.size += size;
            frame.slots[i] = {false, -frame.size, true};
        } else {
            frame.slots[i] = {true, frame.scratch_size, true};
            frame.scratch_size += size;
        }
    }
    return frame;
}

bool reads_memory(const ir::Program& program, const Site& site)
{
    return std::any_of(program.operations.begin(), program.operations.end(), [&](const ir::Operation& op) {
        if (const auto* const argument = std::get_if<ir::Argument>(&op))
            return argument_source(site, *argument).kind == Source::Kind::memory;
        return std::holds_alternative<ir::ReadWord>(op) || std::holds_alternative<ir::ReadText>(op)
            || std::holds_alternative<ir::ReadBytes>(op);
    });
}

class Maker {
public:
    Maker(const Context& context, const Site& site, uint64_t offset, bool sleepable)
        : context_(context), site_(site), offset_(offset), sleepable_(sleepable)
    {}

    A& make()
    {
        for (const size_t clause : site_.clauses) {
            frames_.push_back(lay_out_frame(context_.programs[clause]));
            if (frames_.back().size > frame_size)
                throw Refusal({State::too_much_stack, frame_size});
            scratch_size_ = std::max(scratch_size_, frames_.back().scratch_size);
        }
        out_ = a_.label();
        a_.move(A::r6, A::r1);
        context_.members.test(a_, out_);
        if (scratch_size_)
            take_scratch(out_);
        for (size_t i = 0; i < site_.clauses.size(); ++i)
            clause(context_.programs[site_.clauses[i]], frames_[i]);
        if (scratch_size_)
            give_scratch();
        a_.bind(out_);
        a_.leave();
        if (a_.size() > most_instructions)
            throw Refusal({State::too_long});
        return a_;
    }

private:
    // ---- Frame and values
    void clause(const ir::Program& program, const Frame& frame)
    {
        program_ = &program;
        frame_ = &frame;
        labels_.clear();
        for (ir::LabelId i = 0; i < program.labels; ++i)
            labels_.push_back(a_.label());
        for (size_t i = 0; i < program.slots.size(); ++i)
            if (program.slots[i].is_literal && frame.slots[i].has_memory)
                for (size_t at = 0; at < program.slots[i].size; at += 8)
                    store_number({uint32_t(i), at, 8}, word_of(program.slots[i].text, at));
        for (const ir::Operation& operation : program.operations)
            std::visit([this](const auto& op) { perform(op); }, operation);
        // The operation behind which the hit leaves is the last one, so this falls through.
    }

    static int64_t word_of(const std::string& text, size_t at)
    {
        int64_t word = 0;
        if (at < text.size())
            std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
        return word;
    }

    struct Where {
        A::Register base;
        int offset;
    };
    Where where(const ir::Place& place) const
    {
        const Frame::Slot& slot = frame_->slots[place.slot];
        return {slot.in_scratch ? A::r9 : A::r10, slot.at + int(place.offset)};
    }
    bool is_number(const ir::Place& place) const { return program_->slots[place.slot].is_literal; }
    void number(A::Register to, int64_t value)
    {
        if (fits(value))
            a_.move(to, int32_t(value));
        else
            a_.wide(to, uint64_t(value));
    }
    std::optional<int64_t> constant_of(ir::ValueId value) const
    {
        const int at = frame_->constants[value];
        if (at < 0)
            return std::nullopt;
        return std::get<ir::Constant>(program_->operations[size_t(at)]).number;
    }
    void fetch(A::Register to, ir::ValueId value)
    {
        if (const auto known = constant_of(value))
            return number(to, *known);
        a_.load(BPF_DW, to, A::r10, frame_->values[value]);
    }
    void keep(ir::ValueId value, A::Register from) { a_.store(BPF_DW, A::r10, frame_->values[value], from); }
    void load_word(A::Register to, const ir::Place& place, size_t at = 0)
    {
        if (is_number(place))
            return number(to, word_of(program_->slots[place.slot].text, place.offset + at));
        const Where from = where(place);
        a_.load(BPF_DW, to, from.base, from.offset + int(at));
    }
    void store_word(const ir::Place& place, A::Register from, size_t at = 0)
    {
        const Where to = where(place);
        a_.store(BPF_DW, to.base, to.offset + int(at), from);
    }
    void store_number(const ir::Place& place, int64_t value, size_t at = 0)
    {
        const Where to = where(place);
        if (fits(value)) {
            a_.store(BPF_DW, to.base, to.offset + int(at), int32_t(value));
        } else {
            a_.wide(A::r0, uint64_t(value));
            a_.store(BPF_DW, to.base, to.offset + int(at), A::r0);
        }
    }
    void address(A::Register to, const ir::Place& place)
    {
        const Where of = where(place);
        a_.move(to, of.base);
        a_.add(to, of.offset);
    }
    void own_address(A::Register to, int at)
    {
        a_.move(to, A::r10);
        a_.add(to, at);
    }
    A::Label at_label(ir::LabelId label) const { return labels_[label]; }

    // ---- Counters, and the ways out
    void count(size_t field)
    {
        a_.map_value(A::r1, context_.maps.counters().fd());
        a_.move(A::r2, 1);
        a_.add_atomic(A::r1, int(field), A::r2);
    }
    void drop(A::Label next)
    {
        count(offsetof(Counters, dropped));
        a_.jump(next);
    }
    void unread()
    {
        count(offsetof(Counters, unread));
        a_.jump(at_label(program_->end));
    }

    // ---- Scratch memory: pieces of {taken, bytes}.
    void take_scratch(A::Label none)
    {
        const int piece = 8 + scratch_size_;
        if (size_t(piece) * pieces > 32768)
            throw Refusal({State::too_much_stack, frame_size});
        scratch_ = BpfMap(BPF_MAP_TYPE_PERCPU_ARRAY, "fastsdt_scratch", 4, size_t(piece) * pieces, 1);
        a_.store(BPF_W, A::r10, key_at, 0);
        a_.map(A::r1, scratch_.fd());
        own_address(A::r2, key_at);
        a_.call(BPF_FUNC_map_lookup_elem);
        a_.jump_if(BPF_JEQ, A::r0, 0, none);
        a_.move(A::r9, A::r0);
        const auto got = a_.label();
        for (unsigned i = 0; i < pieces; ++i) {
            if (i)
                a_.add(A::r9, piece);
            a_.move(A::r0, 0);
            a_.move(A::r1, 1);
            a_.atomic(A::compare_exchange_op, A::r9, 0, A::r1);
            a_.jump_if(BPF_JEQ, A::r0, 0, got);
        }
        count(offsetof(Counters, dropped));
        a_.jump(none);
        a_.bind(got);
        a_.add(A::r9, 8);
    }
    void give_scratch() { a_.store(BPF_DW, A::r9, -8, 0); }

    // ---- Numbers
    void extend(A::Register of, int bytes, bool is_signed)
    {
        if (bytes >= 8)
            return;
        a_.shift_left(of, 64 - 8 * bytes);
        a_.alu(is_signed ? BPF_ARSH : BPF_RSH, of, 64 - 8 * bytes);
    }

    void perform(const ir::Constant&) {}
    void perform(const ir::Argument& op)
    {
        const Source source = argument_source(site_, op);
        if (source.kind == Source::Kind::constant) {
            number(A::r0, source.constant);
            return keep(op.to, A::r0);
        }
        const auto reg = [&](A::Register to, int at) { a_.load(BPF_DW, to, A::r6, at); };
        if (source.kind == Source::Kind::reg) {
            reg(A::r0, *source.base);
            if (source.from_bit)
                a_.shift_right(A::r0, int32_t(source.from_bit));
            extend(A::r0, source.size, source.is_signed);
            return keep(op.to, A::r0);
        }
        number(A::r3, source.displacement);
        if (source.base) {
            reg(A::r1, *source.base);
            a_.alu(BPF_ADD, A::r3, A::r1);
        }
        if (source.index) {
            reg(A::r1, *source.index);
            a_.shift_left(A::r1, int32_t(source.shift));
            a_.alu(BPF_ADD, A::r3, A::r1);
        }
        read_word(size_t(source.size), source.is_signed);
        keep(op.to, A::r0);
    }
    void perform(const ir::Ask& op)
    {
        ask(op.what);
        keep(op.to, A::r0);
    }

    // To r0: process in the upper half, thread in the lower one, in the namespace that the script's numbers are of.
    void thread_and_process()
    {
        if (context_.pid_inode == 0)
            return a_.call(BPF_FUNC_get_current_pid_tgid);
        a_.store(BPF_DW, A::r10, value_at, 0); // struct bpf_pidns_info { pid, tgid }
        a_.wide(A::r1, context_.pid_device);
        a_.wide(A::r2, context_.pid_inode);
        own_address(A::r3, value_at);
        a_.move(A::r4, 8);
        a_.call(BPF_FUNC_get_ns_current_pid_tgid);
        a_.load(BPF_DW, A::r0, A::r10, value_at);
    }

    void ask(Value what)
    {
        const auto low = [&] { extend(A::r0, 4, false); };
        switch (what) {
        case Value::tid: return thread_and_process(), low();
        case Value::pid: return thread_and_process(), a_.shift_right(A::r0, 32);
        case Value::child: return number(A::r0, context_.child);
        case Value::probe:
        case Value::function:
            a_.move(A::r1, A::r6);
            a_.call(BPF_FUNC_get_attach_cookie);
            return what == Value::probe ? a_.shift_right(A::r0, 32) : low();
        case Value::start: return number(A::r0, int64_t(context_.start_ns));
        case Value::nsecs: return a_.call(boot_clock);
        case Value::random: return a_.call(BPF_FUNC_get_prandom_u32), low();
        case Value::cpu: return a_.call(BPF_FUNC_get_smp_processor_id), low();
        case Value::node: return a_.call(BPF_FUNC_get_numa_node_id), low();
        case Value::uid: return a_.call(BPF_FUNC_get_current_uid_gid), low();
        case Value::gid: return a_.call(BPF_FUNC_get_current_uid_gid), a_.shift_right(A::r0, 32);
        case Value::retval:
            if (site_.kind == Probe::Kind::exit && site_.result < 0)
                throw Refusal({State::tail_call});
            if (site_.kind != Probe::Kind::exit
                || (site_.result != FASTSDT_RESULT_REGISTER && site_.result != FASTSDT_RESULT_PAIR))
                throw Refusal({State::no_result});
            return a_.load(BPF_DW, A::r0, A::r6, offset_of_result());
        case Value::arg: // and all below are no numbers that lower() asks for
        case Value::str_arg:
        case Value::elapsed:
        case Value::comm:
        case Value::stack:
        case Value::reg:
        case Value::symbol: break;
        }
        throw std::logic_error("no number that a program asks for");
    }

    void perform(const ir::Register& op)
    {
        if (op.number == at_site) {
            a_.load(BPF_DW, A::r0, A::r6, offset_of_ip());
            a_.add(A::r0, -int32_t(offset_));
        } else {
            a_.load(BPF_DW, A::r0, A::r6, offset_of_register(op.number));
        }
        keep(op.to, A::r0);
    }
    void perform(const ir::Symbol& op)
    {
        const auto address = context_.symbol ? context_.symbol(site_, op.name) : std::nullopt;
        if (!address)
            throw Refusal({State::no_symbol, 0, op.name});
        number(A::r0, int64_t(*address));
        keep(op.to, A::r0);
    }
    void perform(const ir::Stack& op)
    {
        if (op.unwinds)
            throw Refusal({State::not_in_kernel, 0, "ustack(dwarf) is engine user's"});
        const auto is_there = a_.label(), none = a_.label(), done = a_.label();
        a_.move(A::r1, A::r6);
        a_.map(A::r2, context_.maps.stacks().fd());
        a_.move(A::r3, user_stack);
        a_.call(BPF_FUNC_get_stackid);
        a_.jump_if(BPF_JSGE, A::r0, 0, is_there);
        a_.jump_if(BPF_JEQ, A::r0, -EFAULT, none); // there is no stack
        count(offsetof(Counters, dropped));        // another one has its place
        a_.jump(at_label(program_->end));
        a_.bind(none);
        a_.move(A::r0, 0);
        a_.jump(done);
        a_.bind(is_there);
        a_.add(A::r0, 1 + int32_t(std::min(op.most, most_stack_frames) << stack_id_bits));
        a_.move(A::r7, A::r0);
        a_.call(BPF_FUNC_get_current_pid_tgid);
        a_.shift_right(A::r0, 32);
        a_.shift_left(A::r0, 32);
        a_.alu(BPF_OR, A::r0, A::r7);
        a_.bind(done);
        keep(op.to, A::r0);
    }
    void perform(const ir::Unary& op)
    {
        fetch(A::r0, op.a);
        if (op.op == Operator::negate)
            a_.alu(BPF_NEG, A::r0, 0);
        else
            a_.alu(BPF_XOR, A::r0, -1);
        keep(op.to, A::r0);
    }
    void perform(const ir::Swap& op)
    {
        fetch(A::r0, op.a);
        if (op.bytes > 1)
            a_.swap_bytes(A::r0, unsigned(8 * op.bytes));
        else
            extend(A::r0, 1, false);
        keep(op.to, A::r0);
    }

    static int alu_of(Operator op)
    {
        switch (op) {
        case Operator::bit_or: return BPF_OR;
        case Operator::bit_xor: return BPF_XOR;
        case Operator::bit_and: return BPF_AND;
        case Operator::shift_left: return BPF_LSH;
        case Operator::shift_right: return BPF_RSH;
        case Operator::add: return BPF_ADD;
        case Operator::subtract: return BPF_SUB;
        case Operator::multiply: return BPF_MUL;
        case Operator::divide: return BPF_DIV;
        case Operator::modulo: return BPF_MOD;
        default: throw std::logic_error("no arithmetic");
        }
    }
    // x / 0 is 0, and x % 0 is x, as the kernel has it; shifts count modulo 64.
    void perform(const ir::Binary& op)
    {
        const auto right = constant_of(op.b);
        fetch(A::r0, op.a);
        const bool shifts = op.op == Operator::shift_left || op.op == Operator::shift_right;
        const bool divides = op.op == Operator::divide || op.op == Operator::modulo;
        if (right && shifts) {
            a_.alu(alu_of(op.op), A::r0, int32_t(*right & 63));
        } else if (right && fits(*right) && !(divides && *right <= 0)) { // an immediate 0 is refused
            a_.alu(alu_of(op.op), A::r0, int32_t(*right));
        } else {
            fetch(A::r1, op.b);
            if (shifts)
                a_.bit_and(A::r1, 63);
            a_.alu(alu_of(op.op), A::r0, A::r1);
        }
        keep(op.to, A::r0);
    }

    static int jump_of(Operator op, bool is_signed)
    {
        switch (op) {
        case Operator::equal: return BPF_JEQ;
        case Operator::not_equal: return BPF_JNE;
        case Operator::less: return is_signed ? BPF_JSLT : BPF_JLT;
        case Operator::less_equal: return is_signed ? BPF_JSLE : BPF_JLE;
        case Operator::greater: return is_signed ? BPF_JSGT : BPF_JGT;
        case Operator::greater_equal: return is_signed ? BPF_JSGE : BPF_JGE;
        default: throw std::logic_error("no comparison");
        }
    }
    // `emit` jumps to the label if it is true.
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
    void perform(const ir::Compare& op)
    {
        truth(op.to, [&](A::Label yes) {
            fetch(A::r0, op.a);
            if (const auto right = constant_of(op.b); right && fits(*right))
                return a_.jump_if(jump_of(op.op, op.is_signed), A::r0, int32_t(*right), yes);
            fetch(A::r1, op.b);
            a_.jump_if(jump_of(op.op, op.is_signed), A::r0, A::r1, yes);
        });
    }

    // ---- Slots
    void perform(const ir::Load& op)
    {
        // The words that have it, the second one only where it reaches into that.
        const size_t first = op.from.offset / 8 * 8, bits = 8 * (op.from.offset - first),
                     size = std::min<size_t>(op.from.size, 8);
        const ir::Place word{op.from.slot, first, 8};
        load_word(A::r0, word);
        if (bits)
            a_.shift_right(A::r0, int32_t(bits));
        if (op.from.offset + size > first + 8) {
            load_word(A::r1, word, 8);
            a_.shift_left(A::r1, int32_t(64 - bits));
            a_.alu(BPF_OR, A::r0, A::r1);
        }
        extend(A::r0, int(size), op.is_signed);
        keep(op.to, A::r0);
    }
    void perform(const ir::Store& op)
    {
        if (const auto known = constant_of(op.a))
            return store_number(op.at, *known);
        fetch(A::r0, op.a);
        store_word(op.at, A::r0);
    }
    // Word `at` of a place that need not begin at a word, and of which `size` bytes count: to r0.
    void unaligned_word(const ir::Place& from, size_t at)
    {
        const size_t start = from.offset + at, first = start / 8 * 8, bits = 8 * (start - first);
        const size_t size = std::min<size_t>(8, from.size - at);
        const ir::Place word{from.slot, first, 8};
        load_word(A::r0, word);
        if (bits)
            a_.shift_right(A::r0, int32_t(bits));
        if (start + size > first + 8) {
            load_word(A::r1, word, 8);
            a_.shift_left(A::r1, int32_t(64 - bits));
            a_.alu(BPF_OR, A::r0, A::r1);
        }
        extend(A::r0, int(size), false);
    }
    void perform(const ir::Copy& op)
    {
        // To its own slot, a part moves to the front: lower words are read before they are written.
        for (size_t at = 0; at < op.at.size; at += 8) {
            if (at >= op.from.size) {
                store_number(op.at, 0, at);
                continue;
            }
            unaligned_word(op.from, at);
            if (op.at.size - at < 8)
                extend(A::r0, int(op.at.size - at), false);
            store_word(op.at, A::r0, at);
        }
    }
    void zero(const ir::Place& place, size_t from = 0)
    {
        for (size_t at = from; at < place.size; at += 8)
            store_number(place, 0, at);
    }
    void perform(const ir::Zero& op) { zero(op.at); }
    void perform(const ir::Cut& op)
    {
        for (size_t at = 0; at < op.at.size; at += 8) {
            const auto whole = a_.label(), part = a_.label();
            fetch(A::r0, op.a);
            a_.jump_if(BPF_JGE, A::r0, int32_t(at + 8), whole);
            a_.jump_if(BPF_JGT, A::r0, int32_t(at), part);
            store_number(op.at, 0, at);
            a_.jump(whole);
            a_.bind(part);
            a_.add(A::r0, -int32_t(at)); // 1 to 7 bytes stay
            a_.shift_left(A::r0, 3);
            a_.move(A::r1, 1);
            a_.alu(BPF_LSH, A::r1, A::r0);
            a_.add(A::r1, -1);
            load_word(A::r0, op.at, at);
            a_.alu(BPF_AND, A::r0, A::r1);
            store_word(op.at, A::r0, at);
            a_.bind(whole);
        }
    }
    void perform(const ir::Name& op)
    {
        if (op.what != Value::comm)
            throw std::logic_error("of the tool");
        constexpr int size = 16; // TASK_COMM_LEN
        zero(op.at);
        address(A::r1, op.at);
        a_.move(A::r2, std::min<int>(size, int(op.at.size)));
        a_.call(BPF_FUNC_get_current_comm);
        cut_behind_end(op.at); // the kernel leaves what it likes behind the name
    }
    void perform(const ir::Equal& op)
    {
        const auto no = a_.label();
        for (size_t at = 0; at < op.bytes; at += 8) {
            const size_t size = std::min<size_t>(8, op.bytes - at);
            const auto whole = [&](const ir::Place& place) { return ir::Place{place.slot, place.offset + at, size}; };
            unaligned_word(whole(op.from), 0);
            a_.move(A::r3, A::r0);
            unaligned_word(whole(op.other), 0);
            a_.jump_if(BPF_JNE, A::r0, A::r3, no);
        }
        const auto done = a_.label();
        a_.store(BPF_DW, A::r10, frame_->values[op.to], 1);
        a_.jump(done);
        a_.bind(no);
        a_.store(BPF_DW, A::r10, frame_->values[op.to], 0);
        a_.bind(done);
    }
    void perform(const ir::Contains&) { throw std::logic_error("of the tool"); }

    // To r1: the highest bit of each byte of r0 that is 0, and perhaps of bytes above the lowest such. 0: none is. Changes r2, r3.
    void find_zero_bytes()
    {
        a_.wide(A::r2, 0x0101010101010101);
        a_.wide(A::r3, 0x8080808080808080);
        a_.move(A::r1, A::r0);
        a_.alu(BPF_SUB, A::r1, A::r2);
        a_.alu(BPF_AND, A::r1, A::r3);
        a_.move(A::r2, A::r0);
        a_.alu(BPF_XOR, A::r2, -1);
        a_.alu(BPF_AND, A::r1, A::r2);
    }
    // r1 = the lowest of its bits, at the lowest bit of its byte. Changes r2.
    void lowest_byte()
    {
        a_.move(A::r2, A::r1);
        a_.alu(BPF_NEG, A::r2, 0);
        a_.alu(BPF_AND, A::r1, A::r2);
        a_.shift_right(A::r1, 7);
    }
    void perform(const ir::Length& op)
    {
        const auto done = a_.label();
        a_.store(BPF_DW, A::r10, frame_->values[op.to], int32_t(op.from.size));
        std::vector<A::Label> found;
        for (size_t at = 0; at < op.from.size; at += 8)
            found.push_back(a_.label());
        for (size_t at = 0; at < op.from.size; at += 8) {
            unaligned_word({op.from.slot, op.from.offset + at, op.from.size - at}, 0);
            find_zero_bytes();
            a_.jump_if(BPF_JNE, A::r1, 0, found[at / 8]);
        }
        a_.jump(done);
        const auto within = a_.label();
        for (size_t at = 0; at < op.from.size; at += 8) {
            a_.bind(found[at / 8]);
            a_.move(A::r0, int32_t(at));
            a_.jump(within);
        }
        a_.bind(within);
        lowest_byte();
        for (const int bytes : {4, 2, 1}) {
            const auto below = a_.label();
            a_.wide(A::r2, uint64_t(1) << (8 * bytes));
            a_.jump_if(BPF_JLT, A::r1, A::r2, below);
            a_.shift_right(A::r1, 8 * bytes);
            a_.add(A::r0, bytes);
            a_.bind(below);
        }
        keep(op.to, A::r0);
        a_.bind(done);
    }
    // Zeros behind the first zero byte.
    void cut_behind_end(const ir::Place& place)
    {
        std::vector<A::Label> zeros;
        for (size_t at = 0; at <= place.size; at += 8)
            zeros.push_back(a_.label());
        for (size_t at = 0; at < place.size; at += 8) {
            const auto full = a_.label();
            load_word(A::r0, place, at);
            find_zero_bytes();
            a_.jump_if(BPF_JEQ, A::r1, 0, full);
            lowest_byte();
            a_.add(A::r1, -1);
            a_.alu(BPF_AND, A::r0, A::r1);
            store_word(place, A::r0, at);
            a_.jump(zeros[at / 8 + 1]);
            a_.bind(full);
        }
        a_.jump(zeros.back());
        for (size_t at = 8; at < place.size; at += 8) {
            a_.bind(zeros[at / 8]);
            store_number(place, 0, at);
        }
        a_.bind(zeros.front());
        a_.bind(zeros.back());
    }

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
        if (!context_.unread_is_known || !sleepable_)
            unread();
        a_.bind(done);
    }
    // To r0: what is at the address r3.
    void read_word(size_t bytes, bool is_signed)
    {
        a_.store(BPF_DW, A::r10, value_at, 0);
        read_memory(bytes, [&](A::Register to) { own_address(to, value_at); });
        a_.load(BPF_DW, A::r0, A::r10, value_at);
        extend(A::r0, int(bytes), is_signed);
    }
    void perform(const ir::ReadWord& op)
    {
        fetch(A::r3, op.a);
        read_word(op.bytes, op.is_signed);
        keep(op.to, A::r0);
    }
    void perform(const ir::ReadText& op)
    {
        zero(op.at);
        fetch(A::r3, op.a);
        read_memory(std::min(op.at.size, string_size) - 1, [&](A::Register to) { address(to, op.at); });
        cut_behind_end(op.at);
    }
    void perform(const ir::ReadBytes& op)
    {
        zero(op.at);
        fetch(A::r3, op.a);
        read_memory(std::min(op.bytes, op.at.size), [&](A::Register to) { address(to, op.at); });
    }

    // ---- The way
    void perform(const ir::Label& op) { a_.bind(at_label(op.label)); }
    void perform(const ir::Jump& op) { a_.jump(at_label(op.target)); }
    void perform(const ir::Branch& op)
    {
        fetch(A::r0, op.a);
        a_.jump_if(op.when ? BPF_JNE : BPF_JEQ, A::r0, 0, at_label(op.target));
    }
    void perform(const ir::Turn& op)
    {
        const auto goes_on = a_.label();
        load_word(A::r0, op.at);
        a_.add(A::r0, 1);
        store_word(op.at, A::r0);
        a_.jump_if(BPF_JLE, A::r0, most_turns, goes_on);
        drop(at_label(program_->end));
        a_.bind(goes_on);
    }

    // ---- Maps
    // r1 = the map, r2 = the key's address.
    void map_and_key(size_t map, const ir::Operand& key)
    {
        if (!key.is_none() && !key.is_value()) {
            address(A::r2, key.place);
        } else {
            if (key.is_none()) {
                a_.store(BPF_DW, A::r10, key_at, 0);
            } else {
                fetch(A::r0, key.value);
                a_.store(BPF_DW, A::r10, key_at, A::r0);
            }
            own_address(A::r2, key_at);
        }
        a_.map(A::r1, context_.maps.of(map).fd());
    }
    void look_up(size_t map, const ir::Operand& key)
    {
        map_and_key(map, key);
        a_.call(BPF_FUNC_map_lookup_elem);
    }
    // r3 = the value's address.
    void value_address(const ir::Operand& value)
    {
        if (value.is_value()) {
            fetch(A::r0, value.value);
            a_.store(BPF_DW, A::r10, value_at, A::r0);
            own_address(A::r3, value_at);
        } else {
            address(A::r3, value.place);
        }
    }
    // To r0: the value of the key, which is made if need be.
    void place(size_t map, const ir::Operand& key, A::Label dropped)
    {
        const auto found = a_.label();
        look_up(map, key);
        a_.jump_if(BPF_JNE, A::r0, 0, found);
        map_and_key(map, key);
        a_.map_value(A::r3, context_.maps.zeros().fd());
        a_.move(A::r4, BPF_NOEXIST);
        a_.call(BPF_FUNC_map_update_elem);
        look_up(map, key);
        a_.jump_if(BPF_JEQ, A::r0, 0, dropped);
        a_.bind(found);
    }
    void perform(const ir::Update& op)
    {
        const Map& map = context_.script.maps[op.map];
        const auto dropped = a_.label(), done = a_.label();
        place(op.map, op.key, dropped);
        const auto one_more = [&](A::Register at, int offset) {
            a_.move(A::r1, 1);
            a_.add_atomic(at, offset, A::r1);
        };
        switch (map.kind) {
        case MapKind::count: one_more(A::r0, 0); break;
        case MapKind::sum:
        case MapKind::avg:
        case MapKind::stats:
            fetch(A::r1, op.a);
            a_.add_atomic(A::r0, 0, A::r1);
            one_more(A::r0, 8 * count_word);
            break;
        case MapKind::min:
        case MapKind::max: keep_extreme(map, op.a, dropped); break;
        case MapKind::hist:
            a_.move(A::r3, A::r0);
            fetch(A::r0, op.a);
            bucket_of_power();
            add_to_bucket(map.buckets());
            break;
        case MapKind::lhist:
            a_.move(A::r3, A::r0);
            fetch(A::r0, op.a);
            bucket_of_step(map);
            add_to_bucket(map.buckets());
            break;
        case MapKind::integer:
        case MapKind::string:
        case MapKind::probe: throw std::logic_error("assigned");
        }
        a_.jump(done);
        a_.bind(dropped);
        drop(done);
        a_.bind(done);
    }
    // Of the value r0.
    void keep_extreme(const Map& map, ir::ValueId value, A::Label dropped)
    {
        const auto done = a_.label();
        a_.move(A::r3, A::r0);
        fetch(A::r2, value);
        a_.wide(A::r1, uint64_t(1) << 63);
        a_.alu(BPF_XOR, A::r2, A::r1);
        if (map.kind == MapKind::min)
            a_.alu(BPF_XOR, A::r2, -1);
        a_.load(BPF_DW, A::r0, A::r3, 0);
        for (int i = 0; i < most_tries; ++i) {
            a_.jump_if(BPF_JGE, A::r0, A::r2, done);
            a_.move(A::r1, A::r0);
            a_.atomic(A::compare_exchange_op, A::r3, 0, A::r2); // r0 = what was there
            a_.jump_if(BPF_JEQ, A::r0, A::r1, done);
        }
        a_.jump(dropped);
        a_.bind(done);
        a_.move(A::r1, 1);
        a_.add_atomic(A::r3, 8 * count_word, A::r1);
    }
    // To r2, of the value r0: 0 for negative ones, 1 for 0, 2 + n from 2^n on.
    void bucket_of_power()
    {
        const auto done = a_.label();
        a_.move(A::r2, 0);
        a_.jump_if(BPF_JSLT, A::r0, 0, done);
        a_.move(A::r2, 1);
        a_.jump_if(BPF_JEQ, A::r0, 0, done);
        a_.move(A::r2, 2);
        for (const int bits : {32, 16, 8, 4, 2, 1}) {
            const auto no = a_.label();
            a_.move(A::r1, A::r0);
            a_.shift_right(A::r1, bits);
            a_.jump_if(BPF_JEQ, A::r1, 0, no);
            a_.move(A::r0, A::r1);
            a_.add(A::r2, bits);
            a_.bind(no);
        }
        a_.bind(done);
    }
    void bucket_of_step(const Map& map)
    {
        const auto compare = [&](int condition, int64_t with, A::Label to) {
            number(A::r1, with);
            a_.jump_if(condition, A::r0, A::r1, to);
        };
        const auto done = a_.label(), last = a_.label();
        a_.move(A::r2, 0);
        compare(BPF_JSLT, map.low, done);
        compare(BPF_JSGE, map.high, last);
        number(A::r1, map.low);
        a_.alu(BPF_SUB, A::r0, A::r1);
        number(A::r1, map.step);
        a_.alu(BPF_DIV, A::r0, A::r1);
        a_.move(A::r2, A::r0);
        a_.add(A::r2, 1);
        a_.jump(done);
        a_.bind(last);
        a_.move(A::r2, int32_t(map.buckets()) - 1);
        a_.bind(done);
    }
    // One more in bucket r2 of the value r3. The verifier wants to see that it is inside.
    void add_to_bucket(size_t buckets)
    {
        const auto inside = a_.label();
        a_.jump_if(BPF_JLT, A::r2, int32_t(buckets), inside);
        a_.move(A::r2, int32_t(buckets) - 1);
        a_.bind(inside);
        a_.shift_left(A::r2, 3);
        a_.alu(BPF_ADD, A::r3, A::r2);
        a_.move(A::r1, 1);
        a_.add_atomic(A::r3, 0, A::r1);
    }
    void perform(const ir::Assign& op)
    {
        const auto done = a_.label();
        map_and_key(op.map, op.key);
        value_address(op.value);
        a_.move(A::r4, BPF_ANY);
        a_.call(BPF_FUNC_map_update_elem);
        a_.jump_if(BPF_JEQ, A::r0, 0, done);
        drop(done);
        a_.bind(done);
    }
    void perform(const ir::Add& op)
    {
        const auto dropped = a_.label(), done = a_.label();
        place(op.map, op.key, dropped);
        fetch(A::r1, op.a);
        a_.add_atomic(A::r0, 0, A::r1);
        a_.jump(done);
        a_.bind(dropped);
        drop(done);
        a_.bind(done);
    }
    void perform(const ir::Remove& op)
    {
        map_and_key(op.map, op.key);
        a_.call(BPF_FUNC_map_delete_elem);
    }
    void perform(const ir::Get& op)
    {
        const auto none = a_.label();
        look_up(op.map, op.key);
        a_.jump_if(BPF_JEQ, A::r0, 0, none);
        a_.load(BPF_DW, A::r0, A::r0, 0);
        a_.bind(none);
        keep(op.to, A::r0);
    }
    void perform(const ir::Has& op)
    {
        truth(op.to, [&](A::Label yes) {
            look_up(op.map, op.key);
            a_.jump_if(BPF_JNE, A::r0, 0, yes);
        });
    }
    void perform(const ir::Entries&) { throw std::logic_error("of the tool"); }
    void perform(const ir::GetWide& op)
    {
        const auto none = a_.label(), done = a_.label();
        look_up(op.map, op.key);
        a_.jump_if(BPF_JEQ, A::r0, 0, none);
        a_.move(A::r3, A::r0);
        const size_t size = std::min(op.at.size, context_.maps.of(op.map).value_size());
        for (size_t at = 0; at < size; at += 8) {
            a_.load(BPF_DW, A::r0, A::r3, int(at));
            store_word(op.at, A::r0, at);
        }
        zero(op.at, size);
        a_.jump(done);
        a_.bind(none);
        zero(op.at);
        a_.bind(done);
    }

    // ---- Events
    void perform(const ir::Record& op)
    {
        size_t size = sizeof(RecordHeader);
        for (const Expression& value : op.statement->values)
            size += size_of(value.type, value.shape);
        const auto reserved = a_.label(), done = a_.label();
        a_.map(A::r1, context_.maps.ring().fd());
        a_.move(A::r2, int32_t(size));
        a_.move(A::r3, 0);
        a_.call(BPF_FUNC_ringbuf_reserve);
        a_.jump_if(BPF_JNE, A::r0, 0, reserved);
        count(offsetof(Counters, lost));
        a_.jump(done);
        a_.bind(reserved);
        a_.move(A::r7, A::r0);
        a_.store(BPF_DW, A::r7, offsetof(RecordHeader, statement), int32_t(op.statement->number));
        a_.call(boot_clock);
        a_.store(BPF_DW, A::r7, offsetof(RecordHeader, nanoseconds), A::r0);
        a_.call(BPF_FUNC_get_current_pid_tgid);
        a_.store(BPF_DW, A::r7, offsetof(RecordHeader, thread), A::r0);
        int at = sizeof(RecordHeader);
        for (size_t i = 0; i < op.values.size(); ++i) {
            const Expression& value = op.statement->values[i];
            const auto bytes = size_of(value.type, value.shape);
            if (op.values[i].is_value()) {
                fetch(A::r0, op.values[i].value);
                a_.store(BPF_DW, A::r7, at, A::r0);
            } else {
                for (size_t word = 0; word < bytes; word += 8) {
                    if (word < op.values[i].place.size)
                        unaligned_word(op.values[i].place, word);
                    else
                        a_.move(A::r0, 0);
                    a_.store(BPF_DW, A::r7, at + int(word), A::r0);
                }
            }
            at += int(bytes);
        }
        a_.move(A::r1, A::r7);
        a_.move(A::r2, 1); // BPF_RB_NO_WAKEUP: the tool looks by itself
        a_.call(BPF_FUNC_ringbuf_submit);
        a_.bind(done);
    }
    void perform(const ir::Dump&) { throw Refusal({State::not_in_kernel, 0, "dump() is engine user's"}); }
    void perform(const ir::Call&)
    {
        throw Refusal({State::not_in_kernel, 0, "no function of the program can be called from there"});
    }

    const Context& context_;
    const Site& site_;
    const uint64_t offset_;
    const bool sleepable_;
    A a_;
    std::vector<Frame> frames_;
    int scratch_size_ = 0;
    BpfMap scratch_;
    A::Label out_ = 0;

    // Of the clause.
    const ir::Program* program_ = nullptr;
    const Frame* frame_ = nullptr;
    std::vector<A::Label> labels_;
};

} // namespace

std::string program_key(const Context& context, const Site& site, uint64_t offset)
{
    std::string key = fmt::format("{}|{}|{}|{}|{}|{}|", int(site.kind), site.arguments, site.stack_bytes, site.result,
                                  offset, fmt::join(site.clauses, ","));
    for (const std::string& name : site.argument_names)
        key += name + ",";
    if (site.go)
        key += fmt::format("go {}", int(*site.go));
    for (const size_t clause : site.clauses)
        for (const ir::Operation& operation : context.programs[clause].operations)
            if (const auto* const op = std::get_if<ir::Symbol>(&operation); op && context.symbol)
                key += fmt::format("|{:x}", context.symbol(site, op->name).value_or(0));
    return key;
}

Program make_program(const Context& context, const Site& site, uint64_t offset, bool multi, bool sleepable)
{
    bool reads = false, stacks = false;
    for (const size_t clause : site.clauses) {
        reads = reads || reads_memory(context.programs[clause], site);
        for (const ir::Operation& operation : context.programs[clause].operations)
            stacks = stacks || std::holds_alternative<ir::Stack>(operation);
    }
    Program made;
    made.sleepable = sleepable && reads && !stacks; // a program that may wait may use no stacks' map
    Maker maker(context, site, offset, made.sleepable);
    std::string log;
    made.fd = maker.make().load_program(
        {.attach_type = multi ? bpf_trace_uprobe_multi : 0, .sleepable = made.sleepable}, "fastsdt", &log);
    if (made.fd)
        return made;
    const int error = errno;
    if (made.sleepable && error == EINVAL && log.empty()) // Linux 6.0
        return make_program(context, site, offset, multi, false);
    while (log.ends_with('\n'))
        log.pop_back();
    // The last lines are counts; what was refused is in front of them.
    const size_t end = log.find("\nprocessed ");
    log = log.substr(0, end);
    const size_t start = log.rfind('\n');
    throw Refusal({State::not_in_kernel, 0,
                   fmt::format("the BPF program is refused ({}{}{})", std::strerror(error), log.empty() ? "" : ": ",
                               start == log.npos ? log : log.substr(start + 1))});
}

} // namespace fastsdt::engine::bpf
