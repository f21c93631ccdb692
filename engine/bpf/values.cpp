// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/arguments.h"
#include "bpf/maker.h"
#include "bpf_program.h"
#include "code/operands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fastsdt::engine::bpf {
namespace {

constexpr int user_stack = 256; // BPF_F_USER_STACK

} // namespace

void Maker::extend(A::Register of, int bytes, bool is_signed)
{
    if (bytes >= 8)
        return;
    a_.shift_left(of, 64 - 8 * bytes);
    a_.alu(is_signed ? BPF_ARSH : BPF_RSH, of, 64 - 8 * bytes);
}

void Maker::perform(const ir::Argument& op)
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

void Maker::perform(const ir::Ask& op)
{
    ask(op.what);
    keep(op.to, A::r0);
}

void Maker::thread_and_process()
{
    if (!context_.numbers)
        return a_.call(BPF_FUNC_get_current_pid_tgid);
    a_.store(BPF_DW, A::r10, value_at, 0); // struct bpf_pidns_info { pid, tgid }
    a_.wide(A::r1, context_.numbers->device);
    a_.wide(A::r2, context_.numbers->inode);
    own_address(A::r3, value_at);
    a_.move(A::r4, 8);
    a_.call(BPF_FUNC_get_ns_current_pid_tgid);
    a_.load(BPF_DW, A::r0, A::r10, value_at);
}

void Maker::ask(Value what)
{
    const auto low = [&] { extend(A::r0, 4, false); };
    switch (what) {
    case Value::tid: return thread_and_process(), low();
    case Value::pid: return thread_and_process(), a_.shift_right(A::r0, 32);
    case Value::child: return number(A::r0, context_.child);
    case Value::probe:
    case Value::function:
        if (bpf_features().cookies) {
            a_.move(A::r1, A::r6);
            a_.call(BPF_FUNC_get_attach_cookie);
        } else {
            a_.wide(A::r0, cookie_of(site_)); // program_key() has it
        }
        return what == Value::probe ? a_.shift_right(A::r0, 32) : low();
    case Value::start: return number(A::r0, int64_t(context_.start_ns));
    case Value::nsecs: return a_.call(boot_clock);
    case Value::random: return a_.call(BPF_FUNC_get_prandom_u32), low();
    case Value::cpu: return a_.call(BPF_FUNC_get_smp_processor_id), low();
    case Value::node: return a_.call(BPF_FUNC_get_numa_node_id), low();
    case Value::uid: return a_.call(BPF_FUNC_get_current_uid_gid), low();
    case Value::gid: return a_.call(BPF_FUNC_get_current_uid_gid), a_.shift_right(A::r0, 32);
    case Value::cgroup: return a_.call(BPF_FUNC_get_current_cgroup_id);
    case Value::goroutine:
        if (!site_.goroutine)
            throw Refusal({State::no_goroutine});
        a_.load(BPF_DW, A::r3, A::r6, offset_of_goroutine());
        a_.add(A::r3, int32_t(site_.goroutine));
        return read_word(sizeof(uint64_t), false);
    case Value::executor:
    case Value::depth: break; // of what is recorded in the process
    case Value::retval: check_result(site_); return a_.load(BPF_DW, A::r0, A::r6, offset_of_result());
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

// To r0. Each process has its own.
void Maker::site_address()
{
    if (!offset_) // it was left where the probe hits
        throw Refusal({State::not_in_kernel, 0, "where a uretprobe's function is cannot be told"});
    a_.load(BPF_DW, A::r0, A::r6, ip_offset);
    if (*offset_ != 0)
        a_.add(A::r0, -int32_t(*offset_));
}

void Maker::perform(const ir::Register& op)
{
    if (op.number == at_site) {
        site_address();
    } else {
        a_.load(BPF_DW, A::r0, A::r6, offset_of_register(op.number));
    }
    keep(op.to, A::r0);
}

void Maker::perform(const ir::Symbol& op)
{
    const auto address = context_.symbol ? context_.symbol(site_, op.name) : std::nullopt;
    if (!address)
        throw Refusal({State::no_symbol, 0, op.name});
    site_address();
    number(A::r1, int64_t(*address - site_.address));
    a_.alu(BPF_ADD, A::r0, A::r1);
    keep(op.to, A::r0);
}

void Maker::perform(const ir::Stack& op)
{
    if (op.unwinds)
        return unwind(op);
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
    a_.add(A::r0, int32_t(stack_number(0, std::min(op.most, most_stack_frames))));
    a_.move(A::r7, A::r0);
    a_.call(BPF_FUNC_get_current_pid_tgid);
    a_.shift_right(A::r0, 32);
    a_.shift_left(A::r0, 32);
    a_.alu(BPF_OR, A::r0, A::r7);
    a_.bind(done);
    keep(op.to, A::r0);
}

void Maker::perform(const ir::Address&)
{
    throw Refusal({State::not_in_kernel, 0, "the address of a variable leads nowhere there"});
}

void Maker::perform(const ir::Frames&)
{
    throw Refusal({State::not_in_kernel, 0, "len() of a stack is engine user's"});
}

void Maker::perform(const ir::Signal& op)
{
    const auto sent = a_.label();
    fetch(A::r1, op.a);
    a_.call(BPF_FUNC_send_signal);
    a_.jump_if(BPF_JEQ, A::r0, 0, sent);
    count(offsetof(Counters, dropped)); // there is no such signal, or the process may not get it
    a_.bind(sent);
}

void Maker::perform(const ir::Unary& op)
{
    fetch(A::r0, op.a);
    if (op.op == Operator::negate)
        a_.alu(BPF_NEG, A::r0, 0);
    else
        a_.alu(BPF_XOR, A::r0, -1);
    keep(op.to, A::r0);
}

void Maker::perform(const ir::Swap& op)
{
    fetch(A::r0, op.a);
    if (op.bytes > 1)
        a_.swap_bytes(A::r0, unsigned(8 * op.bytes));
    else
        extend(A::r0, 1, false);
    keep(op.to, A::r0);
}

int Maker::alu_of(Operator op)
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

void Maker::perform(const ir::Binary& op)
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

int Maker::jump_of(Operator op, bool is_signed)
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

void Maker::perform(const ir::Compare& op)
{
    truth(op.to, [&](A::Label yes) {
        fetch(A::r0, op.a);
        if (const auto right = constant_of(op.b); right && fits(*right))
            return a_.jump_if(jump_of(op.op, op.is_signed), A::r0, int32_t(*right), yes);
        fetch(A::r1, op.b);
        a_.jump_if(jump_of(op.op, op.is_signed), A::r0, A::r1, yes);
    });
}

void Maker::perform(const ir::Load& op)
{
    unaligned_word(op.from, 0, op.is_signed);
    keep(op.to, A::r0);
}

void Maker::perform(const ir::Store& op)
{
    if (const auto known = constant_of(op.a))
        return store_number(op.at, *known);
    fetch(A::r0, op.a);
    store_word(op.at, A::r0);
}

void Maker::unaligned_word(const ir::Place& from, size_t at, bool is_signed)
{
    const size_t start = from.offset + at, first = start / 8 * 8, bits = 8 * (start - first);
    const size_t size = std::min<size_t>(8, from.size - at);
    const ir::Place word{from.slot, first, 8}; // and the next one, only where it reaches into that
    load_word(A::r0, word);
    if (bits)
        a_.shift_right(A::r0, int32_t(bits));
    if (start + size > first + 8) {
        load_word(A::r1, word, 8);
        a_.shift_left(A::r1, int32_t(64 - bits));
        a_.alu(BPF_OR, A::r0, A::r1);
    }
    extend(A::r0, int(size), is_signed);
}

void Maker::perform(const ir::Copy& op)
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

void Maker::zero(const ir::Place& place, size_t from)
{
    for (size_t at = from; at < place.size; at += 8)
        store_number(place, 0, at);
}

void Maker::perform(const ir::Cut& op)
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

void Maker::perform(const ir::Name& op)
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

void Maker::perform(const ir::Equal& op)
{
    truth(op.to, [&](A::Label yes) {
        const auto no = a_.label();
        for (size_t at = 0; at < op.bytes; at += 8) {
            const size_t size = std::min<size_t>(8, op.bytes - at);
            unaligned_word(op.from.part(at, size), 0);
            a_.move(A::r3, A::r0);
            unaligned_word(op.other.part(at, size), 0);
            a_.jump_if(BPF_JNE, A::r0, A::r3, no);
        }
        a_.jump(yes);
        a_.bind(no);
    });
}

void Maker::find_zero_bytes()
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

void Maker::lowest_byte()
{
    a_.move(A::r2, A::r1);
    a_.alu(BPF_NEG, A::r2, 0);
    a_.alu(BPF_AND, A::r1, A::r2);
    a_.shift_right(A::r1, 7);
}

void Maker::perform(const ir::Length& op)
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

void Maker::cut_behind_end(const ir::Place& place)
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

void Maker::read_word(size_t bytes, bool is_signed)
{
    a_.store(BPF_DW, A::r10, value_at, 0);
    read_memory(bytes, [&](A::Register to) { own_address(to, value_at); });
    a_.load(BPF_DW, A::r0, A::r10, value_at);
    extend(A::r0, int(bytes), is_signed);
}

void Maker::perform(const ir::ReadWord& op)
{
    fetch(A::r3, op.a);
    read_word(op.bytes, op.is_signed);
    keep(op.to, A::r0);
}

void Maker::perform(const ir::ReadText& op)
{
    zero(op.at);
    fetch(A::r3, op.a);
    read_memory(std::min(op.at.size, string_size) - 1, [&](A::Register to) { address(to, op.at); });
    cut_behind_end(op.at);
}

void Maker::perform(const ir::ReadBytes& op)
{
    zero(op.at);
    fetch(A::r3, op.a);
    read_memory(std::min(op.bytes, op.at.size), [&](A::Register to) { address(to, op.at); });
}

void Maker::perform(const ir::Branch& op)
{
    fetch(A::r0, op.a);
    a_.jump_if(op.when ? BPF_JNE : BPF_JEQ, A::r0, 0, at_label(op.target));
}

void Maker::perform(const ir::Turn& op)
{
    const auto goes_on = a_.label();
    load_word(A::r0, op.at);
    a_.add(A::r0, 1);
    store_word(op.at, A::r0);
    a_.jump_if(BPF_JLE, A::r0, most_turns, goes_on);
    drop(at_label(program_->end));
    a_.bind(goes_on);
}

} // namespace fastsdt::engine::bpf
