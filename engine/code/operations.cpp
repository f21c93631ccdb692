// SPDX-License-Identifier: BSD-2-Clause
// Instructions for a program's operations, by its plan (code/plan.h). Arithmetic is bpftrace's (script.h): unsigned division, x / 0 is 0,
// x % 0 is x.
#include "code/compiler.h"
#include "code/operands.h"
#include "movable/go_runtime.h"

#include <algorithm>
#include <cstring>

namespace fastsdt::engine {

using Where = Plan::Where;

Lasting Compiler::lasting_of_site() const
{
    const auto found = std::find_if(environment_.modules.begin(), environment_.modules.end(),
                                    [this](const LastingModule& module) { return module.has(site_->patch); });
    return found != environment_.modules.end() ? found->memory : Lasting{};
}

void Compiler::want_system_calls(std::string_view what) const
{
    if (!environment_.system_calls)
        throw Refusal({State::needs_system_call, 0,
                       std::string(what)
                           + (environment_.no_system_calls.empty() ? "" : ", but " + environment_.no_system_calls)});
}

// ---- Leaves: they change no register but the one they go to.

bool Compiler::is_leaf(const ir::Operation& operation) const
{
    if (const auto* const argument = std::get_if<ir::Argument>(&operation))
        return !in_memory(*argument);
    const auto* const ask = std::get_if<ir::Ask>(&operation);
    if (!ask)
        return true;
    switch (ask->what) {
    case Value::tid: return environment_.tid_offset.has_value();
    case Value::pid: return !environment_.follow;
    case Value::probe: // and all below: the stub knows it, and it is the same in forked children
    case Value::function:
    case Value::retval:
    case Value::child:
    case Value::goroutine:
    case Value::cgroup:
    case Value::start: return true;
    case Value::executor:
    case Value::depth: return !site_->goroutine;
    case Value::nsecs:
    case Value::random:
    case Value::cpu:
    case Value::node:
    case Value::uid:
    case Value::gid: return false;
    case Value::arg: // and all below are no numbers that lower() asks for
    case Value::str_arg:
    case Value::elapsed:
    case Value::comm:
    case Value::stack:
    case Value::reg:
    case Value::symbol: break;
    }
    throw std::logic_error("no number that a stub asks for");
}

void Compiler::leaf(const ir::Operation& operation, Role to)
{
    std::visit(ir::Overloaded{
                   [&](const ir::Constant& op) { constant(to, op.number); },
                   [&](const ir::Argument& op) { argument(op, to); },
                   [&](const ir::Ask& op) { leaf(op.what, to); },
                   [&](const ir::Symbol& op) {
                       const auto address = environment_.symbol ? environment_.symbol(*site_, op.name) : std::nullopt;
                       if (!address)
                           throw Refusal({State::no_symbol, 0, op.name});
                       constant(to, int64_t(*address));
                   },
                   [&](const ir::Register& op) {
                       if (op.number == at_site)
                           constant(to, int64_t(site_->address));
                       else
                           register_value(op.number, to);
                   },
                   [&](const ir::Load& op) {
                       const ir::Slot& slot = program_->slots[op.from.slot];
                       if (slot.is_literal)
                           constant(to, slot.word(op.from.offset));
                       else
                           load_frame(to, offset_of(op.from));
                   },
                   [](const auto&) { throw std::logic_error("not a leaf"); },
               },
               operation);
}

void Compiler::leaf(Value what, Role to)
{
    switch (what) {
    case Value::tid: return thread_id(to);
    case Value::pid:
    case Value::child: return constant(to, environment_.pid);
    case Value::probe:
    case Value::function:
        if (in_body_ && (what == Value::function) == number_is_of_function())
            return load_frame(to, number_offset());
        return constant(to, int64_t(what == Value::function ? site_->function : site_->probe));
    case Value::start: return constant(to, int64_t(environment_.start_ns));
    case Value::retval: check_result(*site_); return returned(to);
    case Value::goroutine:
        if (!site_->goroutine)
            throw Refusal({State::no_goroutine});
        return load_from_g(site_->goroutine, to);
    case Value::cgroup: throw Refusal({State::only_in_kernel, 0, "cgroup"});
    case Value::executor:
    case Value::depth: return constant(to, 0);
    case Value::arg:
    case Value::str_arg:
    case Value::nsecs:
    case Value::elapsed:
    case Value::comm:
    case Value::stack:
    case Value::reg:
    case Value::symbol:
    case Value::cpu:
    case Value::node:
    case Value::uid:
    case Value::gid:
    case Value::random: break;
    }
    throw std::logic_error("not a leaf");
}

// ---- Values

void Compiler::fetch(ir::ValueId value, Role to)
{
    const Plan::OfValue& of = plan_->values[value];
    switch (of.where) {
    case Where::folded: return leaf(program_->operations[of.at], to);
    case Where::frame: return load_frame(to, spill_offset(of.word));
    case Where::result:
    case Where::recorded: {
        const Role from = of.where == Where::result ? Role::result : Role::recorded;
        if (from != to)
            move(to, from);
        return;
    }
    case Where::nowhere: break;
    }
    throw std::logic_error("a value that is nowhere");
}

// What is in Role::result is the value.
void Compiler::keep(ir::ValueId value)
{
    const Plan::OfValue& of = plan_->values[value];
    if (of.where == Where::recorded)
        move(Role::recorded, Role::result);
    else if (of.where == Where::frame)
        store_frame(spill_offset(of.word), Role::result);
}

std::optional<int64_t> Compiler::constant_of(ir::ValueId value) const
{
    const auto* const op = std::get_if<ir::Constant>(&program_->operations[plan_->values[value].at]);
    return op ? std::optional(op->number) : std::nullopt;
}

// To Role::result and Role::second. @return  whether they are the other way round, which `either` allows
bool Compiler::fetch_both(ir::ValueId a, ir::ValueId b, bool either)
{
    if (plan_->values[b].where != Where::result) {
        fetch(a, Role::result);
        fetch(b, Role::second);
        return false;
    }
    if (either) {
        fetch(a, Role::second);
        return true;
    }
    move(Role::second, Role::result);
    fetch(a, Role::result);
    return false;
}

void Compiler::compute(Operator op, int64_t number)
{
    constant(Role::second, number);
    binary(op);
}

namespace {

Operator mirrored(Operator op)
{
    switch (op) {
    case Operator::less: return Operator::greater;
    case Operator::less_equal: return Operator::greater_equal;
    case Operator::greater: return Operator::less;
    case Operator::greater_equal: return Operator::less_equal;
    default: return op;
    }
}

int64_t mask_of(size_t bytes)
{
    return bytes < 8 ? (int64_t(1) << 8 * bytes) - 1 : -1;
}

} // namespace

// Jumps if the comparison is `when`.
void Compiler::jump_if(const ir::Compare& op, bool when, Label to)
{
    const auto left = constant_of(op.a), right = constant_of(op.b);
    if (right && compares_with(*right)) {
        fetch(op.a, Role::result);
        jump_if(op.op, right, op.is_signed, when, to);
    } else if (left && !right && compares_with(*left)) {
        fetch(op.b, Role::result);
        jump_if(mirrored(op.op), left, op.is_signed, when, to);
    } else {
        const bool other_way = fetch_both(op.a, op.b, true);
        jump_if(other_way ? mirrored(op.op) : op.op, {}, op.is_signed, when, to);
    }
}

// The same of texts and bytes. Behind a text's end are zeros.
void Compiler::jump_if(const ir::Equal& op, bool when, Label to)
{
    const auto fetch_word = [this](const ir::Place& place, size_t at, Role role) {
        const ir::Slot& slot = program_->slots[place.slot];
        if (slot.is_literal)
            constant(role, slot.word(place.offset + at));
        else
            load_frame(role, offset_of(place) + at);
    };
    const auto unlike = when ? label() : to;
    for (size_t i = 0; i < op.bytes; i += 8) {
        fetch_word(op.from, i, Role::result);
        fetch_word(op.other, i, Role::second);
        if (op.bytes - i >= 8) {
            jump_if_unlike(Role::result, Role::second, unlike);
            continue;
        }
        binary(Operator::bit_xor);
        compute(Operator::bit_and, mask_of(op.bytes - i));
        jump_if_zero(Role::result, unlike, false);
    }
    if (when) {
        jump(to);
        bind(unlike);
    }
}

// The next jump, if the operation is one that is made with it.
template <class Op> void Compiler::truth(const Op& op)
{
    if (plan_->values[op.to].is_fused) {
        const size_t use = next_branch();
        const auto& branch = std::get<ir::Branch>(program_->operations[use]);
        return jump_if(op, branch.when, at_label(branch.target));
    }
    const auto no = label(), done = label();
    jump_if(op, false, no);
    constant(Role::result, 1);
    or_zero(no, done);
    keep(op.to);
}

// Behind what leads to a result: at `none` it is 0, and both ways go on.
void Compiler::or_zero(Label none, Label done)
{
    jump(done);
    bind(none);
    constant(Role::result, 0);
    bind(done);
}

size_t Compiler::next_branch() const
{
    size_t i = at_;
    while (!std::holds_alternative<ir::Branch>(program_->operations[i]))
        ++i;
    return i;
}

// ---- Operations

void Compiler::perform(const ir::Operation& operation)
{
    const ir::ValueId to = ir::defined(operation);
    if (to != ir::no_value
        && (plan_->values[to].where == Where::folded
            || (plan_->values[to].where == Where::nowhere && !can_be_unread(operation))))
        return;
    std::visit([this](const auto& op) { perform(op); }, operation);
}

// Then it is done also where nobody uses the value.
bool Compiler::can_be_unread(const ir::Operation& operation)
{
    return std::holds_alternative<ir::Argument>(operation) || std::holds_alternative<ir::Ask>(operation)
        || std::holds_alternative<ir::ReadWord>(operation) || std::holds_alternative<ir::Stack>(operation)
        || std::holds_alternative<ir::Get>(operation);
}

void Compiler::perform(const ir::Argument& op)
{
    if (in_memory(op))
        memory_argument(op);
    else
        argument(op, Role::result);
    keep(op.to);
}

void Compiler::perform(const ir::Ask& op)
{
    switch (op.what) {
    case Value::nsecs: read_clock(); break;
    case Value::random: random_number(); break;
    case Value::cpu:
    case Value::node:
        if (const bool node = op.what == Value::node; !processor(node))
            ask_for_number(node ? "numaid" : "cpu", node ? routines_.node : routines_.processor);
        break;
    case Value::tid:
        if (!environment_.tid_offset && site_->go_thread) {
            go_thread_id();
            break;
        }
        if (!environment_.tid_offset)
            want_system_calls("tid, which takes a system call");
        thread_id(Role::result);
        break;
    case Value::pid:
        if (!environment_.follow) {
            leaf(op.what, Role::result);
            break;
        }
        process_id();
        jump_if_zero(Role::result, cold([this, unread = unread_] {
                         count_at(Tables::unread);
                         jump(unread);
                     }));
        break;
    case Value::uid:
    case Value::gid:
        if (op.what == Value::uid)
            ask_for_number("uid", routines_.uid);
        else
            ask_for_number("gid", routines_.gid);
        break;
    case Value::probe:
    case Value::function:
    case Value::retval:
    case Value::child:
    case Value::goroutine:
    case Value::cgroup:
    case Value::start: leaf(op.what, Role::result); break;
    case Value::executor:
    case Value::depth:
        if (!site_->goroutine)
            leaf(op.what, Role::result);
        else if (op.what == Value::executor)
            go_executor();
        else
            go_depth();
        break;
    case Value::arg:
    case Value::str_arg:
    case Value::elapsed:
    case Value::comm:
    case Value::stack:
    case Value::reg:
    case Value::symbol: throw std::logic_error("no number that a stub asks for");
    }
    keep(op.to);
}

// The kernel's answer to one of number_routine() and its like: to Role::result.
void Compiler::ask_for_number(std::string_view name, Label routine)
{
    want_system_calls(std::string(name) + ", which takes a system call");
    call_routine(routine);
    jump_if_zero(Role::second, unread_);
}

// A static Go program has no C library that keeps it. Only its first thread may have none yet: its id is the process's.
void Compiler::go_thread_id()
{
    const auto unknown = label(), done = label();
    load_from_g(go_m, Role::result);
    jump_if_zero(Role::result, unknown);
    load(Role::result, {Role::result, site_->go_thread});
    jump_if_zero(Role::result, unknown);
    jump(done);
    bind(unknown);
    constant(Role::result, environment_.pid);
    bind(done);
}

// Threads do the runtime's own work on stacks that are no goroutine's: one for the scheduler, one for signals.
void Compiler::go_executor()
{
    const auto done = label();
    load_from_g(site_->goroutine, Role::result);
    jump_if_zero(Role::result, done, false);
    load_from_g(go_stack_top, Role::result);
    compute(Operator::bit_or, int64_t(go_stack_bit));
    bind(done);
}

// A stack that grows is copied, and all distances from its top stay.
void Compiler::go_depth()
{
    load_from_g(go_stack_top, Role::result);
    program_stack(Role::second);
    binary(Operator::subtract);
}

void Compiler::read_clock()
{
    if (!environment_.clock)
        throw Refusal({State::no_clock});
    nanoseconds();
}

// The clock, each of its bits spread over all: MurmurHash3's finalizer.
void Compiler::random_number()
{
    constexpr int64_t half = 33;
    constexpr uint64_t factors[] = {0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53};
    read_clock();
    for (const uint64_t factor : factors) {
        store_frame(scratch(), Role::result);
        compute(Operator::shift_right, half);
        load_frame(Role::second, scratch());
        binary(Operator::bit_xor);
        compute(Operator::multiply, int64_t(factor));
    }
    compute(Operator::shift_right, 32);
}

void Compiler::perform(const ir::Stack& op)
{
    stack(op.most, op.unwinds);
    jump_if_zero(Role::result, unread_);
    keep(op.to);
}

void Compiler::perform(const ir::Unary& op)
{
    fetch(op.a, Role::result);
    unary(op.op);
    keep(op.to);
}

void Compiler::perform(const ir::Swap& op)
{
    fetch(op.a, Role::result);
    swap_bytes(op.bytes);
    keep(op.to);
}

void Compiler::perform(const ir::Binary& op)
{
    const auto right = constant_of(op.b);
    if (op.op == Operator::divide && right) {
        fetch(op.a, Role::result);
        divide_by(uint64_t(*right));
        return keep(op.to);
    }
    const bool either = op.op == Operator::add || op.op == Operator::multiply || op.op == Operator::bit_and
        || op.op == Operator::bit_or || op.op == Operator::bit_xor;
    fetch_both(op.a, op.b, either);
    binary(op.op);
    keep(op.to);
}

void Compiler::perform(const ir::Compare& op)
{
    truth(op);
}

void Compiler::perform(const ir::Equal& op)
{
    truth(op);
}

// ---- Slots. No store leaves its slot: verify() has looked, and so do the places that are computed here.

size_t Compiler::offset_of(const ir::Place& place) const
{
    const ir::Slot& slot = program_->slots[place.slot];
    if (place.offset > slot.size || place.size > slot.size - place.offset)
        throw std::logic_error("a value does not fit in its place in the frame");
    const Plan::OfSlot& of = plan_->slots[place.slot];
    switch (of.where) {
    case Plan::OfSlot::Where::words: return spill_offset(of.word) + place.offset;
    case Plan::OfSlot::Where::keys:
        if (slot.size > key_bytes_)
            throw std::logic_error("keys do not fit in the frame");
        return place.offset;
    case Plan::OfSlot::Where::text:
        if (slot.size > text_bytes_)
            throw std::logic_error("a text does not fit in the frame");
        return key_bytes_ + place.offset;
    case Plan::OfSlot::Where::literal: break;
    }
    throw std::logic_error("a literal is not in the frame");
}

size_t Compiler::scratch() const
{
    const size_t word = plan_->scratch[at_];
    if (word >= plan_->words)
        throw std::logic_error("an operation without a word of the frame");
    return spill_offset(word);
}

void Compiler::perform(const ir::Load& op)
{
    const ir::Slot& slot = program_->slots[op.from.slot];
    if (slot.is_literal)
        throw std::logic_error("a part of a literal");
    load_part(offset_of({op.from.slot, 0, slot.size}) + op.from.offset, op.from.size, op.is_signed);
    keep(op.to);
}

// To Role::result: bytes of the frame that may begin anywhere.
void Compiler::load_part(size_t offset, size_t bytes, bool is_signed)
{
    const size_t inside = offset % 8, word = offset - inside;
    load_frame(Role::result, word);
    if (inside != 0)
        compute(Operator::shift_right, int64_t(8 * inside));
    if (inside + bytes > 8) {
        store_frame(scratch(), Role::result);
        load_frame(Role::result, word + 8);
        compute(Operator::shift_left, int64_t(8 * (8 - inside)));
        load_frame(Role::second, scratch());
        binary(Operator::bit_or);
    }
    if (bytes == 8)
        return;
    compute(Operator::bit_and, mask_of(bytes));
    if (is_signed) {
        const int64_t sign = int64_t(1) << (8 * bytes - 1);
        compute(Operator::bit_xor, sign);
        compute(Operator::subtract, sign);
    }
}

void Compiler::perform(const ir::Store& op)
{
    const size_t to = offset_of(op.at);
    if (const auto number = constant_of(op.a))
        return store_frame_number(to, *number);
    fetch(op.a, Role::result);
    store_frame(to, Role::result);
}

void Compiler::perform(const ir::Copy& op)
{
    copy(offset_of(op.at), op.at.size, op.from);
}

// As much as fits, and zeros behind it.
void Compiler::copy(size_t to, size_t size, const ir::Place& from)
{
    const ir::Slot& slot = program_->slots[from.slot];
    if (slot.is_literal) {
        for (size_t i = 0; i < size; i += 8)
            store_frame_number(to + i, i < from.size ? slot.word(from.offset + i) : 0);
        return;
    }
    const size_t start = offset_of({from.slot, 0, slot.size}) + from.offset, bytes = std::min(size, from.size);
    for (size_t i = 0; i < bytes; i += 8) {
        load_part(start + i, std::min<size_t>(8, bytes - i), false);
        store_frame(to + i, Role::result);
    }
    zero(to + (bytes + 7) / 8 * 8, to + size);
}

void Compiler::zero(size_t from, size_t to)
{
    for (size_t i = from; i < to; i += 8)
        store_frame_number(i, 0);
}

void Compiler::perform(const ir::Zero& op)
{
    const size_t start = offset_of(op.at);
    zero(start, start + op.at.size);
}

void Compiler::perform(const ir::Cut& op)
{
    const size_t start = offset_of(op.at);
    const auto length = constant_of(op.a);
    if (!length) {
        const Plan::OfValue& of = plan_->values[op.a];
        const auto* const load = std::get_if<ir::Load>(&program_->operations[of.at]);
        return cut(start, op.at.size, of.where == Where::folded ? offset_of(load->from) : spill_offset(of.word));
    }
    const auto at = size_t(*length);
    const size_t word = at / 8 * 8;
    if (at >= op.at.size)
        return;
    if (at != word) {
        load_frame(Role::result, start + word);
        compute(Operator::bit_and, mask_of(at - word));
        store_frame(start + word, Role::result);
    }
    zero(start + (at == word ? word : word + 8), start + op.at.size);
}

// The frame has the length, at this offset.
void Compiler::cut(size_t start, size_t size, size_t length)
{
    for (size_t i = 0; i < size; i += 8) {
        const auto none = label(), next = label();
        load_frame(Role::result, length);
        jump_if(Operator::greater_equal, int64_t(i + 8), false, true, next);
        jump_if(Operator::less_equal, int64_t(i), false, true, none);
        compute(Operator::subtract, int64_t(i));
        compute(Operator::multiply, 8);
        move(Role::second, Role::result);
        constant(Role::result, -1);
        binary(Operator::shift_left);
        unary(Operator::bit_not);
        load_frame(Role::second, start + i);
        binary(Operator::bit_and);
        store_frame(start + i, Role::result);
        jump(next);
        bind(none);
        store_frame_number(start + i, 0);
        bind(next);
    }
}

void Compiler::perform(const ir::Name& op)
{
    if (op.what != Value::comm)
        throw std::logic_error("no name that a stub knows");
    want_system_calls("comm, which takes a system call");
    frame_address(Role::entry, offset_of(op.at.part(0, string_size)));
    call_routine(routines_.comm);
    jump_if_zero(Role::result, unread_);
}

// Word by word, up to the one that has a NUL: the lowest 0x80 of (x - 0x01...) & ~x & 0x80... is at the first.
void Compiler::perform(const ir::Length& op)
{
    const ir::Slot& slot = program_->slots[op.from.slot];
    const auto done = label();
    for (size_t i = 0; i < op.from.size; i += 8) {
        const auto next = label();
        if (slot.is_literal)
            constant(Role::result, slot.word(op.from.offset + i));
        else
            load_frame(Role::result, offset_of(op.from) + i);
        store_frame(scratch(), Role::result);
        compute(Operator::subtract, 0x0101010101010101);
        move(Role::second, Role::result);
        load_frame(Role::result, scratch());
        unary(Operator::bit_not);
        binary(Operator::bit_and);
        compute(Operator::bit_and, int64_t(0x8080808080808080));
        jump_if_zero(Role::result, next);
        find_lowest_bit(Role::result, Role::result);
        compute(Operator::shift_right, 3);
        if (i != 0)
            compute(Operator::add, int64_t(i));
        jump(done);
        bind(next);
    }
    constant(Role::result, int64_t(op.from.size));
    bind(done);
    keep(op.to);
}

void Compiler::perform(const ir::Address& op)
{
    frame_address(Role::result, offset_of(op.from));
    keep(op.to);
}

void Compiler::perform(const ir::Frames& op)
{
    const auto none = label();
    fetch(op.a, Role::result);
    jump_if_zero(Role::result, none);
    load(Role::result, {Role::result, InternedStack::count});
    bind(none);
    keep(op.to);
}

// ---- Memory of the program

void Compiler::process_id()
{
    long_constant(Role::result, arena_.first_mark);
    load(Role::result, {Role::result, offsetof(Mark, pid)});
}

void Compiler::read_memory(size_t bytes, bool is_signed)
{
    constant(Role::entry, int64_t(bytes));
    prepare_read();
    call_routine(routines_.word);
    jump_if_zero(Role::second, unread_);
    if (is_signed && bytes < 8)
        extend(Role::result, bytes, true);
}

void Compiler::unary(Operator op)
{
    op == Operator::negate ? negate(Role::result) : invert(Role::result);
}

void Compiler::binary(Operator op)
{
    if (op == Operator::divide || op == Operator::modulo)
        divide(op == Operator::modulo);
    else
        apply(op, Role::result, Role::second);
}

void Compiler::perform(const ir::ReadWord& op)
{
    fetch(op.a, Role::result);
    read_memory(op.bytes, op.is_signed);
    keep(op.to);
}

void Compiler::perform(const ir::ReadText& op)
{
    fetch(op.a, Role::result);
    frame_address(Role::entry, offset_of(op.at.part(0, string_size)));
    prepare_read();
    call_routine(routines_.text);
    jump_if_zero(Role::result, unread_);
}

void Compiler::perform(const ir::ReadBytes& op)
{
    const size_t to = offset_of(op.at);
    fetch(op.a, Role::result);
    store_frame(scratch(), Role::result);
    for (size_t i = 0; i < op.bytes; i += 8) {
        if (i != 0) {
            load_frame(Role::result, scratch());
            compute(Operator::add, int64_t(i));
        }
        read_memory(std::min<size_t>(8, op.bytes - i), false);
        store_frame(to + i, Role::result);
    }
    zero(to + (op.bytes + 7) / 8 * 8, to + op.at.size);
}

// ---- The way

void Compiler::perform(const ir::Label& op)
{
    bind(at_label(op.label));
}

void Compiler::perform(const ir::Jump& op)
{
    jump(at_label(op.target));
}

void Compiler::perform(const ir::Branch& op)
{
    if (const auto number = constant_of(op.a)) {
        if ((*number != 0) == op.when)
            jump(at_label(op.target));
        return;
    }
    const Plan::OfValue& of = plan_->values[op.a];
    if (of.is_fused) // the comparison has made the jump
        return;
    fetch(op.a, Role::result);
    jump_if_zero(Role::result, at_label(op.target), !op.when);
}

void Compiler::perform(const ir::Turn& op)
{
    load_frame(Role::result, offset_of(op.at));
    compute(Operator::add, 1);
    store_frame(offset_of(op.at), Role::result);
    constant(Role::second, most_turns);
    jump_if(Operator::greater, {}, false, true, dropped(at_label(program_->end)));
}

} // namespace fastsdt::engine
