// SPDX-License-Identifier: BSD-2-Clause
// Values. Arithmetic is bpftrace's (script.h): unsigned division, x / 0 is 0, x % 0 is x.
#include "compiler_x86.h"

#include <fastsdt/note.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace fastsdt::engine::x86 {
namespace {

/// The System V ABI's registers for integer arguments.
constexpr Reg parameters[register_arguments] = {rdi, rsi, rdx, rcx, r8, r9};

bool fits32(int64_t value)
{
    return value == int32_t(value);
}

/// Taken if the comparison holds; with `when` false if it does not.
ZydisMnemonic jump_for(Operator op, bool is_signed, bool when)
{
    switch (op) {
    case Operator::equal: return when ? ZYDIS_MNEMONIC_JZ : ZYDIS_MNEMONIC_JNZ;
    case Operator::not_equal: return when ? ZYDIS_MNEMONIC_JNZ : ZYDIS_MNEMONIC_JZ;
    case Operator::less:
        return is_signed ? (when ? ZYDIS_MNEMONIC_JL : ZYDIS_MNEMONIC_JNL)
                         : (when ? ZYDIS_MNEMONIC_JB : ZYDIS_MNEMONIC_JNB);
    case Operator::less_equal:
        return is_signed ? (when ? ZYDIS_MNEMONIC_JLE : ZYDIS_MNEMONIC_JNLE)
                         : (when ? ZYDIS_MNEMONIC_JBE : ZYDIS_MNEMONIC_JNBE);
    case Operator::greater: return jump_for(Operator::less_equal, is_signed, !when);
    case Operator::greater_equal: return jump_for(Operator::less, is_signed, !when);
    default: return ZYDIS_MNEMONIC_INVALID;
    }
}

} // namespace

bool Compiler::uses(const Expression& e, bool (*what)(const Expression&)) const
{
    return what(e)
        || std::any_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return uses(o, what); });
}

Source Compiler::argument_source(const Expression& e) const
{
    const unsigned index = e.argument;
    if (site_->kind == Probe::Kind::usdt)
        return find_argument(arguments_, index);
    if (site_->kind != Probe::Kind::entry)
        throw Refusal("has no arguments, being an exit");
    Source source;
    if (e.on_stack) {
        constexpr unsigned word = 8; // the return address, and each argument
        if (site_->stack_bytes == unknown_bytes)
            throw Refusal("has no record of its arguments on the stack");
        if (site_->stack_bytes / word <= index)
            throw Refusal("has no sarg" + std::to_string(index));
        source.kind = Source::Kind::memory;
        source.memory = {.base = rsp, .displacement = int64_t{word} * (1 + index)};
        return source;
    }
    if (index >= register_arguments)
        throw std::logic_error("not an argument in a register");
    source.kind = Source::Kind::reg;
    source.reg = parameters[index];
    return source;
}

// Leaves change no register but the one they go to.
bool Compiler::is_leaf(const Expression& e) const
{
    if (e.kind == Expression::Kind::number)
        return true;
    if (e.kind != Expression::Kind::value)
        return false;
    switch (e.value) {
    case Value::arg: return argument_source(e).kind != Source::Kind::memory;
    case Value::tid: return environment_.tid_offset.has_value();
    case Value::pid:
    case Value::probe:
    case Value::retval: return true;
    case Value::nsecs: return time_.has_value();
    case Value::str_arg: return false;
    }
    return false;
}

void Compiler::value(const Expression& e, Reg to)
{
    if (is_leaf(e)) {
        leaf(e, to);
        return;
    }
    evaluate(e);
    if (to != rax)
        as_.move(to, rax);
}

void Compiler::leaf(const Expression& e, Reg to)
{
    if (e.kind == Expression::Kind::number) {
        as_.constant(to, e.number);
        return;
    }
    switch (e.value) {
    case Value::arg: argument(e, to); return;
    case Value::tid: thread_id(to); return;
    case Value::pid: as_.constant(to, environment_.pid); return;
    case Value::probe: as_.constant(to, int64_t(site_->probe)); return;
    case Value::retval:
        if (site_->kind == Probe::Kind::exit && site_->result < 0)
            throw Refusal("has no result yet, being a tail call");
        if (site_->kind != Probe::Kind::exit
            || (site_->result != FASTSDT_RESULT_REGISTER && site_->result != FASTSDT_RESULT_PAIR))
            throw Refusal("has no result in an integer register");
        program_register(rax, to);
        return;
    case Value::nsecs: as_.load(to, frame(spill_offset(*time_))); return;
    case Value::str_arg: break;
    }
    throw std::logic_error("not a leaf");
}

void Compiler::evaluate(const Expression& e)
{
    if (is_leaf(e)) {
        leaf(e, rax);
        return;
    }
    switch (e.kind) {
    case Expression::Kind::value:
        if (e.value == Value::nsecs)
            nanoseconds();
        else if (e.value == Value::tid)
            thread_id(rax);
        else if (e.value == Value::arg)
            memory_argument(argument_source(e));
        else
            throw std::logic_error("a string is no integer");
        return;
    case Expression::Kind::map: map_value(e); return;
    case Expression::Kind::operation: operation(e); return;
    case Expression::Kind::number:
    case Expression::Kind::text: break;
    }
    throw std::logic_error("a string is no integer");
}

void Compiler::program_register(Reg from, Reg to)
{
    if (from == rsp)
        as_.lea(to, {.base = rsp, .displacement = int64_t(frame_size() + 128)});
    else if (saved_ & bit(from))
        as_.load(to, frame(saved_offset(from)));
    else if (to != from)
        as_.move(to, from);
}

void Compiler::argument(const Expression& e, Reg to)
{
    const Source source = argument_source(e);
    if (source.kind == Source::Kind::constant) {
        as_.constant(to, source.constant);
        return;
    }
    if (source.reg == rsp) {
        program_register(rsp, to);
        if (source.size == 8)
            return;
    }
    Operand from = Part{source.reg == rsp ? to : source.reg, source.size};
    if (source.kind == Source::Kind::high_byte && !(saved_ & bit(source.reg))) {
        as_.move(to, source.reg);
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{to}, int64_t(8)});
        from = Part{to, 1};
    } else if (source.reg != rsp && (saved_ & bit(source.reg))) {
        from = frame(saved_offset(source.reg) + (source.kind == Source::Kind::high_byte ? 1 : 0), source.size);
    }
    if (source.size == 8)
        as_.emit(ZYDIS_MNEMONIC_MOV, {Part{to}, from});
    else if (source.size == 4 && !source.is_signed)
        as_.emit(ZYDIS_MNEMONIC_MOV, {Part{to, 4}, from});
    else if (source.size == 4)
        as_.emit(ZYDIS_MNEMONIC_MOVSXD, {Part{to}, from});
    else if (source.is_signed)
        as_.emit(ZYDIS_MNEMONIC_MOVSX, {Part{to}, from});
    else
        as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{to, 4}, from});
}

// An operand in memory is read here only if all its bytes are on the page that the stack pointer is on, which is there.
// The kernel copies others. So no note, however wrong, makes a stub touch memory that is not there.
void Compiler::memory_argument(const Source& source)
{
    if (!environment_.system_calls)
        throw Refusal("has an argument in memory, which takes system calls, and a seccomp filter");
    const auto done = as_.label();
    as_.constant(rax, source.memory.displacement);
    if (source.memory.base != no_register) {
        program_register(source.memory.base, rcx);
        as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, Part{rcx}});
    }
    if (source.memory.index != no_register) {
        program_register(source.memory.index, rcx);
        as_.lea(rax, {.base = rax, .index = rcx, .scale = source.memory.scale});
    }
    const auto extend = [this, source](const Operand& from) {
        if (source.size == 8)
            as_.emit(ZYDIS_MNEMONIC_MOV, {Part{rax}, from});
        else if (source.size == 4 && source.is_signed)
            as_.emit(ZYDIS_MNEMONIC_MOVSXD, {Part{rax}, from});
        else if (source.size == 4)
            as_.emit(ZYDIS_MNEMONIC_MOV, {Part{rax, 4}, from});
        else if (source.is_signed)
            as_.emit(ZYDIS_MNEMONIC_MOVSX, {Part{rax}, from});
        else
            as_.emit(ZYDIS_MNEMONIC_MOVZX, {Part{rax, 4}, from});
    };
    program_register(rsp, rcx);
    as_.lea(rdx, {.base = rax, .displacement = source.size - 1});
    as_.emit(ZYDIS_MNEMONIC_XOR, {Part{rdx}, Part{rcx}});
    as_.emit(ZYDIS_MNEMONIC_XOR, {Part{rcx}, Part{rax}});
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{rcx}, Part{rdx}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(12)});
    as_.jump(ZYDIS_MNEMONIC_JNZ, cold([this, source, extend, done] {
                 as_.constant(rcx, source.size);
                 call(routines_.word, routine_changes);
                 extend(Part{rax, source.size});
                 as_.jump(ZYDIS_MNEMONIC_JMP, done);
             }));
    extend(Memory{.base = rax, .size = source.size});
    as_.bind(done);
}

void Compiler::thread_id(Reg to)
{
    if (environment_.tid_offset) {
        as_.emit(ZYDIS_MNEMONIC_MOV,
                 {Part{to, 4}, Memory{.displacement = *environment_.tid_offset, .size = 4, .fs = true}});
        return;
    }
    if (!environment_.system_calls)
        throw Refusal("wants tid, which takes a system call, and a seccomp filter");
    system_call(186); // gettid, <asm/unistd_64.h>
}

void Compiler::nanoseconds()
{
    if (!environment_.clock)
        throw Refusal("wants nsecs, and the processor's counter is no clock");
    const Clock& clock = *environment_.clock;
    as_.emit(ZYDIS_MNEMONIC_RDTSC, {});
    as_.clobber(bit(rax) | bit(rdx));
    as_.emit(ZYDIS_MNEMONIC_SHL, {Part{rdx}, int64_t(32)});
    as_.emit(ZYDIS_MNEMONIC_OR, {Part{rax}, Part{rdx}});
    as_.constant(rcx, int64_t(clock.base_counter));
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax}, Part{rcx}});
    as_.constant(rcx, int64_t(clock.multiplier));
    as_.emit(ZYDIS_MNEMONIC_MUL, {Part{rcx}});
    as_.emit(ZYDIS_MNEMONIC_SHRD, {Part{rax}, Part{rdx}, int64_t(32)});
    as_.constant(rcx, int64_t(clock.base_ns));
    as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, Part{rcx}});
}

void Compiler::operands(const Expression& e)
{
    const Expression &left = e.operands[0], &right = e.operands[1];
    if (is_leaf(right)) {
        evaluate(left);
        leaf(right, rcx);
        return;
    }
    evaluate(right);
    const size_t spill = spills_++;
    most_spills_ = std::max(most_spills_, spills_);
    as_.store(frame(spill_offset(spill)), rax);
    evaluate(left);
    as_.load(rcx, frame(spill_offset(spill)));
    --spills_;
}

void Compiler::operation(const Expression& e)
{
    switch (e.op) {
    case Operator::logical_or:
    case Operator::logical_and:
    case Operator::logical_not:
    case Operator::equal:
    case Operator::not_equal:
    case Operator::less:
    case Operator::less_equal:
    case Operator::greater:
    case Operator::greater_equal: {
        const auto no = as_.label(), done = as_.label();
        branch(e, no, false);
        as_.constant(rax, 1);
        as_.jump(ZYDIS_MNEMONIC_JMP, done);
        as_.bind(no);
        as_.constant(rax, 0);
        as_.bind(done);
        return;
    }
    case Operator::negate:
    case Operator::bit_not:
        evaluate(e.operands[0]);
        as_.emit(e.op == Operator::negate ? ZYDIS_MNEMONIC_NEG : ZYDIS_MNEMONIC_NOT, {Part{rax}});
        return;
    case Operator::divide:
        if (e.operands[1].kind == Expression::Kind::number) {
            evaluate(e.operands[0]);
            divide_by(uint64_t(e.operands[1].number));
            return;
        }
        [[fallthrough]];
    case Operator::modulo: {
        const auto zero = as_.label(), done = as_.label();
        operands(e);
        as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rcx}, Part{rcx}});
        as_.jump(ZYDIS_MNEMONIC_JZ, zero);
        as_.constant(rdx, 0);
        as_.emit(ZYDIS_MNEMONIC_DIV, {Part{rcx}});
        as_.clobber(bit(rax) | bit(rdx));
        if (e.op == Operator::modulo) {
            as_.move(rax, rdx);
            as_.bind(zero);
        } else {
            as_.jump(ZYDIS_MNEMONIC_JMP, done);
            as_.bind(zero);
            as_.constant(rax, 0);
        }
        as_.bind(done);
        return;
    }
    default: break;
    }
    operands(e);
    switch (e.op) {
    case Operator::bit_or: as_.emit(ZYDIS_MNEMONIC_OR, {Part{rax}, Part{rcx}}); return;
    case Operator::bit_xor: as_.emit(ZYDIS_MNEMONIC_XOR, {Part{rax}, Part{rcx}}); return;
    case Operator::bit_and: as_.emit(ZYDIS_MNEMONIC_AND, {Part{rax}, Part{rcx}}); return;
    // The processor takes the count modulo 64, as BPF does.
    case Operator::shift_left: as_.emit(ZYDIS_MNEMONIC_SHL, {Part{rax}, Part{rcx, 1}}); return;
    case Operator::shift_right: as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, Part{rcx, 1}}); return;
    case Operator::add: as_.emit(ZYDIS_MNEMONIC_ADD, {Part{rax}, Part{rcx}}); return;
    case Operator::subtract: as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rax}, Part{rcx}}); return;
    case Operator::multiply: as_.emit(ZYDIS_MNEMONIC_IMUL, {Part{rax}, Part{rcx}}); return;
    default: throw std::logic_error("no such operation");
    }
}

// A division takes up to 90 cycles on processors in use, a multiplication 4. With l = ceil(log2 d) and
// m = floor(2^64 (2^l - d) / d) + 1:  t = m n / 2^64,  n / d = (t + (n - t) / 2) / 2^(l - 1).
// Granlund and Montgomery, Division by invariant integers using multiplication, figure 4.1.
void Compiler::divide_by(uint64_t divisor)
{
    if (divisor == 0) {
        as_.constant(rax, 0);
        return;
    }
    if (std::has_single_bit(divisor)) {
        if (divisor > 1)
            as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(std::countr_zero(divisor))});
        return;
    }
    __extension__ using Wide = unsigned __int128;
    const int l = 64 - std::countl_zero(divisor - 1);
    const auto multiplier = uint64_t((Wide(l < 64 ? (uint64_t(1) << l) - divisor : 0 - divisor) << 64) / divisor + 1);
    as_.constant(rdx, int64_t(multiplier));
    as_.move(rcx, rax);
    as_.emit(ZYDIS_MNEMONIC_MUL, {Part{rdx}});
    as_.clobber(bit(rax) | bit(rdx));
    as_.emit(ZYDIS_MNEMONIC_SUB, {Part{rcx}, Part{rdx}});
    as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rcx}, int64_t(1)});
    as_.lea(rax, {.base = rdx, .index = rcx});
    if (l > 1)
        as_.emit(ZYDIS_MNEMONIC_SHR, {Part{rax}, int64_t(l - 1)});
}

void Compiler::branch(const Expression& e, Assembler::Label target, bool when)
{
    if (e.kind == Expression::Kind::operation) {
        switch (e.op) {
        case Operator::logical_not: branch(e.operands[0], target, !when); return;
        case Operator::logical_and:
        case Operator::logical_or: {
            // `and` is false, and `or` true, as soon as its left side is.
            const bool decides = e.op == Operator::logical_or;
            const auto past = as_.label();
            branch(e.operands[0], when == decides ? target : past, decides);
            branch(e.operands[1], target, when);
            as_.bind(past);
            return;
        }
        case Operator::equal:
        case Operator::not_equal:
        case Operator::less:
        case Operator::less_equal:
        case Operator::greater:
        case Operator::greater_equal: {
            const Expression &left = e.operands[0], &right = e.operands[1];
            if (right.kind == Expression::Kind::number && fits32(right.number)) {
                evaluate(left);
                as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, right.number});
            } else {
                operands(e);
                as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rax}, Part{rcx}});
            }
            as_.jump(jump_for(e.op, left.is_signed && right.is_signed, when), target);
            return;
        }
        default: break;
        }
    }
    evaluate(e);
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rax}, Part{rax}});
    as_.jump(when ? ZYDIS_MNEMONIC_JNZ : ZYDIS_MNEMONIC_JZ, target);
}

void Compiler::text_value(const Expression& e, size_t offset)
{
    if (e.kind == Expression::Kind::text) {
        for (size_t i = 0; i < string_size; i += 8) {
            char word[8]{};
            if (i < e.text.size())
                std::memcpy(word, e.text.data() + i, std::min<size_t>(8, std::min(e.text.size(), string_size - 1) - i));
            const int64_t number = std::bit_cast<int64_t>(word);
            if (fits32(number)) {
                as_.emit(ZYDIS_MNEMONIC_MOV, {frame(offset + i), number});
            } else {
                as_.constant(rax, number);
                as_.store(frame(offset + i), rax);
            }
        }
        return;
    }
    if (e.kind != Expression::Kind::value || e.value != Value::str_arg)
        throw std::logic_error("no string");
    if (!environment_.system_calls)
        throw Refusal("wants a string, which takes a system call, and a seccomp filter");
    Expression address = e;
    address.type = Type::integer;
    address.value = Value::arg;
    value(address, rax);
    as_.lea(rdx, frame(offset));
    call(routines_.text, routine_changes);
}

// Reading a map needs the keys' place in the frame for its own keys, so those come first and wait among the spills.
void Compiler::fill_keys(const std::vector<Expression>& keys, const Table& table)
{
    const size_t spills = spills_;
    std::vector<size_t> waiting(keys.size(), SIZE_MAX);
    for (size_t i = 0; i < keys.size(); ++i)
        if (uses(keys[i], is_map)) {
            evaluate(keys[i]);
            waiting[i] = spills_++;
            most_spills_ = std::max(most_spills_, spills_);
            as_.store(frame(spill_offset(waiting[i])), rax);
        }
    size_t offset = 0;
    for (size_t i = 0; i < keys.size(); offset += table.key_size[i++]) {
        if (keys[i].type == Type::string) {
            text_value(keys[i], offset);
        } else if (waiting[i] != SIZE_MAX) {
            as_.load(rax, frame(spill_offset(waiting[i])));
            as_.store(frame(offset), rax);
        } else {
            evaluate(keys[i]);
            as_.store(frame(offset), rax);
        }
    }
    spills_ = spills;
}

// To r8; the data's address is in the frame.
void Compiler::table_address(const Table& table)
{
    Reg base = rsi;
    if (table.shared) {
        as_.load(r8, frame(base_offset()));
        base = r8;
    }
    as_.lea(r8, {.base = base, .displacement = int64_t(table.offset)});
}

void Compiler::call_with_keys(Assembler::Label routine, const std::vector<Expression>& keys, const Table& table)
{
    fill_keys(keys, table);
    table_address(table);
    call(routine, routine_changes);
}

// Goes on where the thread's own entry is this thread's, whose id is in rax then; else to `free` or `other`.
void Compiler::if_own(const Table& table, const Expression& tid, Assembler::Label free, Assembler::Label other)
{
    evaluate(tid);
    as_.load(rcx, own(table, 0));
    as_.emit(ZYDIS_MNEMONIC_TEST, {Part{rcx}, Part{rcx}});
    as_.jump(ZYDIS_MNEMONIC_JZ, free);
    as_.emit(ZYDIS_MNEMONIC_CMP, {Part{rcx}, Part{rax}});
    as_.jump(ZYDIS_MNEMONIC_JNZ, other);
}

void Compiler::map_value(const Expression& e)
{
    const Table& table = tables_.maps[e.map];
    if (script_.maps[e.map].kind != MapKind::integer)
        throw std::logic_error("an aggregation cannot be read");
    const auto done = as_.label(), none = as_.label();
    const auto look_up = [this, &e, &table] { call_with_keys(routines_.maps[e.map].load, e.operands, table); };
    if (table.own) {
        if_own(table, e.operands[0], none, cold([this, look_up, done] {
                   look_up();
                   as_.jump(ZYDIS_MNEMONIC_JMP, done);
               }));
        as_.load(rax, own(table, 1));
        as_.jump(ZYDIS_MNEMONIC_JMP, done);
    } else if (table.entries > 1) {
        look_up();
        return;
    } else {
        table_address(table);
        as_.emit(ZYDIS_MNEMONIC_CMP, {Memory{.base = r8}, int64_t(0)});
        as_.jump(ZYDIS_MNEMONIC_JZ, none);
        as_.load(rax, {.base = r8, .displacement = int64_t(table.value)});
        as_.jump(ZYDIS_MNEMONIC_JMP, done);
    }
    as_.bind(none);
    as_.constant(rax, 0);
    as_.bind(done);
}

} // namespace fastsdt::engine::x86
