// SPDX-License-Identifier: BSD-2-Clause
// Values. Arithmetic is bpftrace's (script.h): unsigned division, x / 0 is 0, x % 0 is x.
#include "code/compiler.h"

#include <fastsdt/note.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace fastsdt::engine {

bool Compiler::uses(const Expression& e, const std::function<bool(const Expression&)>& what)
{
    return what(e)
        || std::any_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return uses(o, what); });
}

// Refuses an entry's argument that the stack does not have. `word`: bytes of each.
void Compiler::check_stack_argument(unsigned index, unsigned word) const
{
    if (site_->stack_bytes == unknown_bytes)
        throw Refusal({State::no_stack_record});
    if (site_->stack_bytes / word <= index)
        throw Refusal({State::no_stack_argument, index});
}

unsigned Compiler::index_of(const Expression& argument) const
{
    if (argument.text.empty())
        return argument.argument;
    const auto& names = site_->argument_names;
    const auto found = std::find(names.begin(), names.end(), argument.text);
    if (found == names.end())
        throw Refusal({State::no_named_argument, 0, argument.text});
    return unsigned(found - names.begin());
}

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

// Leaves change no register but the one they go to.
bool Compiler::is_leaf(const Expression& e) const
{
    if (e.kind == Expression::Kind::number || e.kind == Expression::Kind::variable)
        return true;
    if (e.kind != Expression::Kind::value)
        return false;
    switch (e.value) {
    case Value::arg:
        if (site_->kind == Probe::Kind::exit)
            throw Refusal({State::exit_arguments});
        return !in_memory(e);
    case Value::tid: return environment_.tid_offset.has_value();
    case Value::pid: return !environment_.follow;
    case Value::probe:
    case Value::function:
    case Value::retval: return true;
    case Value::nsecs: return time_.has_value();
    case Value::child:
    case Value::symbol:
    case Value::reg: return true;
    case Value::elapsed:
    case Value::comm:
    case Value::stack:
    case Value::cpu:
    case Value::node:
    case Value::uid:
    case Value::gid:
    case Value::random:
    case Value::str_arg: return false;
    }
    return false;
}

void Compiler::value(const Expression& e, Role to)
{
    if (is_leaf(e)) {
        leaf(e, to);
        return;
    }
    evaluate(e);
    if (to != Role::result)
        move(to, Role::result);
}

void Compiler::leaf(const Expression& e, Role to)
{
    if (e.kind == Expression::Kind::number) {
        constant(to, e.number);
        return;
    }
    if (e.kind == Expression::Kind::variable) {
        load_frame(to, variable_slot(e.variable).offset);
        return;
    }
    switch (e.value) {
    case Value::arg: argument(e, to); return;
    case Value::tid: thread_id(to); return;
    case Value::pid: constant(to, environment_.pid); return;
    case Value::probe: constant(to, int64_t(site_->probe)); return;
    case Value::function: constant(to, int64_t(site_->function)); return;
    case Value::retval:
        if (site_->kind == Probe::Kind::exit && site_->result < 0)
            throw Refusal({State::tail_call});
        if (site_->kind != Probe::Kind::exit
            || (site_->result != FASTSDT_RESULT_REGISTER && site_->result != FASTSDT_RESULT_PAIR))
            throw Refusal({State::no_result});
        returned(to);
        return;
    case Value::nsecs: load_frame(to, spill_offset(*time_)); return;
    case Value::child: constant(to, environment_.pid); return;
    case Value::symbol: {
        const auto address = environment_.symbol ? environment_.symbol(*site_, e.text) : std::nullopt;
        if (!address)
            throw Refusal({State::no_symbol, 0, e.text});
        constant(to, int64_t(*address));
        return;
    }
    case Value::reg:
        if (e.argument == at_site)
            constant(to, int64_t(site_->address));
        else
            register_value(e.argument, to);
        return;
    default: break;
    }
    throw std::logic_error("not a leaf");
}

void Compiler::evaluate(const Expression& e)
{
    if (is_leaf(e)) {
        leaf(e, Role::result);
        return;
    }
    switch (e.kind) {
    case Expression::Kind::value:
        if (e.value == Value::nsecs) {
            read_clock();
        } else if (e.value == Value::elapsed) {
            if (time_)
                load_frame(Role::result, spill_offset(*time_));
            else
                read_clock();
            constant(Role::second, int64_t(environment_.start_ns));
            binary(Operator::subtract);
        } else if (e.value == Value::tid) {
            want_system_calls("tid, which takes a system call");
            thread_id(Role::result);
        } else if (e.value == Value::pid) {
            process_id();
            jump_if_zero(Role::result, cold([this, unread = unread_] {
                             count_unread();
                             jump(unread);
                         }));
        } else if (e.value == Value::arg) {
            memory_argument(e);
        } else if (e.value == Value::stack) {
            stack(e.argument, e.unwinds);
            jump_if_zero(Role::result, unread_);
        } else if (e.value == Value::cpu || e.value == Value::node) {
            processor(e.value == Value::node);
        } else if (e.value == Value::uid || e.value == Value::gid) {
            want_system_calls(e.value == Value::uid ? "uid, which takes a system call"
                                                    : "gid, which takes a system call");
            call_routine(e.value == Value::uid ? routines_.uid : routines_.gid);
            jump_if_zero(Role::second, unread_);
        } else if (e.value == Value::random) {
            random_number();
        } else {
            throw std::logic_error("a string is no integer");
        }
        return;
    case Expression::Kind::map: map_value(e); return;
    case Expression::Kind::operation: operation(e); return;
    case Expression::Kind::memory:
        evaluate(e.operands[0]);
        read_memory(e.shape->size, e.shape->is_signed);
        return;
    case Expression::Kind::part: part(e); return;
    case Expression::Kind::step: step(e); return;
    case Expression::Kind::shown: evaluate(e.operands[0]); return;
    default: break;
    }
    throw std::logic_error("a string is no integer");
}

void Compiler::read_clock()
{
    if (!environment_.clock)
        throw Refusal({State::no_clock});
    nanoseconds();
}

void Compiler::operands(const Expression& e)
{
    const Expression &left = e.operands[0], &right = e.operands[1];
    if (is_leaf(right)) {
        evaluate(left);
        leaf(right, Role::second);
        return;
    }
    evaluate(right);
    const size_t kept = spill(Role::result);
    evaluate(left);
    load_frame(Role::second, spill_offset(kept));
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
        const auto no = label(), done = label();
        branch(e, no, false);
        constant(Role::result, 1);
        jump(done);
        bind(no);
        constant(Role::result, 0);
        bind(done);
        return;
    }
    case Operator::select:
        choose(e.operands[0], [&] { evaluate(e.operands[1]); }, [&] { evaluate(e.operands[2]); });
        return;
    case Operator::negate:
    case Operator::bit_not:
        evaluate(e.operands[0]);
        unary(e.op);
        return;
    case Operator::swap: swap_bytes(e); return;
    case Operator::add:
        if (e.operands[1].kind == Expression::Kind::number && e.operands[1].number == 0) {
            evaluate(e.operands[0]);
            return;
        }
        break;
    case Operator::divide:
        if (e.operands[1].kind == Expression::Kind::number) {
            evaluate(e.operands[0]);
            divide_by(uint64_t(e.operands[1].number));
            return;
        }
        break;
    default: break;
    }
    operands(e);
    binary(e.op);
}

void Compiler::choose(const Expression& condition, const std::function<void()>& yes, const std::function<void()>& no)
{
    const auto otherwise = label(), done = label();
    branch(condition, otherwise, false);
    yes();
    jump(done);
    bind(otherwise);
    no();
    bind(done);
}

void Compiler::branch(const Expression& e, Label target, bool when)
{
    if (e.kind == Expression::Kind::operation) {
        switch (e.op) {
        case Operator::logical_not: branch(e.operands[0], target, !when); return;
        case Operator::logical_and:
        case Operator::logical_or: {
            // `and` is false, and `or` true, as soon as its left side is.
            const bool decides = e.op == Operator::logical_or;
            const auto past = label();
            branch(e.operands[0], when == decides ? target : past, decides);
            branch(e.operands[1], target, when);
            bind(past);
            return;
        }
        case Operator::equal:
        case Operator::not_equal:
        case Operator::less:
        case Operator::less_equal:
        case Operator::greater:
        case Operator::greater_equal: {
            const Expression &left = e.operands[0], &right = e.operands[1];
            if (is_wide(left.type)) {
                branch_on_texts(e, target, when);
                return;
            }
            std::optional<int64_t> number;
            if (right.kind == Expression::Kind::number && compares_with(right.number)) {
                number = right.number;
                evaluate(left);
            } else {
                operands(e);
            }
            jump_if(e.op, number, left.is_signed && right.is_signed, when, target);
            return;
        }
        default: break;
        }
    }
    evaluate(e);
    jump_if_zero(Role::result, target, !when);
}

namespace {

// Eight bytes of a literal, from `at` on, as a stub has them in a register.
int64_t word_of(const std::string& text, size_t at)
{
    char word[8]{};
    if (at < text.size())
        std::memcpy(word, text.data() + at, std::min<size_t>(8, text.size() - at));
    return std::bit_cast<int64_t>(word);
}

int64_t mask_of(size_t bytes)
{
    return bytes < 8 ? (int64_t(1) << 8 * bytes) - 1 : -1;
}

} // namespace

void Compiler::compute(Operator op, int64_t number)
{
    constant(Role::second, number);
    binary(op);
}

void Compiler::store_slot(const Slot& slot, size_t at, Role from)
{
    store_frame(slot.word(at), from);
}

void Compiler::store_slot_number(const Slot& slot, size_t at, int64_t number)
{
    store_frame_number(slot.word(at), number);
}

void Compiler::zero(const Slot& slot, size_t from)
{
    for (size_t i = from; i < slot.size; i += 8)
        store_slot_number(slot, i, 0);
}

// As much as fits, and zeros behind it.
void Compiler::copy(const Slot& to, const Slot& from)
{
    for (size_t i = 0; i < std::min(to.size, from.size); i += 8) {
        load_frame(Role::result, from.offset + i);
        store_slot(to, i, Role::result);
    }
    zero(to, from.size);
}

Compiler::Slot Compiler::take_slot(Type type, const ShapePtr& shape)
{
    const size_t size = size_of(type, shape);
    return {spill_offset(take_spills(size / 8)), size};
}

Compiler::Slot Compiler::variable_slot(size_t variable) const
{
    const Variable& of = variables_of_->at(variable);
    return {spill_offset(variables_[variable]), size_of(of.type, of.shape)};
}

void Compiler::wide_value(const Expression& e, const Slot& to)
{
    const size_t size = size_of(e.type, e.shape);
    switch (e.kind) {
    case Expression::Kind::text:
        for (size_t i = 0; i < to.size; i += 8)
            store_slot_number(to, i, word_of(e.text, i));
        return;
    case Expression::Kind::variable: return copy(to, variable_slot(e.variable));
    case Expression::Kind::operation:
        return choose(e.operands[0], [&] { wide_value(e.operands[1], to); }, [&] { wide_value(e.operands[2], to); });
    default: break;
    }
    if (size > to.size) { // an array of char in a tuple has fewer bytes than a string
        const size_t spills = spills_;
        const Slot whole = take_slot(e.type, e.shape);
        whole_value(e, whole);
        copy(to, whole);
        spills_ = spills;
        return;
    }
    whole_value(e, {to.offset, size});
    zero(to, size);
}

void Compiler::whole_value(const Expression& e, const Slot& to)
{
    switch (e.kind) {
    case Expression::Kind::map: return map_text(e, to);
    case Expression::Kind::memory:
        if (e.type == Type::bytes)
            return bytes_in_memory(e.operands[0], e.shape->size, to);
        text_in_memory(e.operands[0], to);
        return cut(to, e.shape->size);
    case Expression::Kind::part: return part_text(e, to);
    case Expression::Kind::buffer: return buffer(e, to);
    case Expression::Kind::tuple:
        for (size_t i = 0; i < e.operands.size(); ++i) {
            const size_t at = e.shape->members[i].offset;
            const size_t end = i + 1 < e.operands.size() ? e.shape->members[i + 1].offset : e.shape->size;
            any_value(e.operands[i], to.part(at, end - at));
        }
        return;
    case Expression::Kind::value: break;
    default: throw std::logic_error("no string");
    }
    if (e.value == Value::comm) {
        want_system_calls("comm, which takes a system call");
        copy_comm(to.part(0, string_size).offset);
        return;
    }
    if (e.operands.empty()) {
        Expression address = e;
        address.type = Type::integer;
        address.value = Value::arg;
        text_in_memory(address, to);
    } else if (e.operands.size() == 1) {
        text_in_memory(e.operands[0], to);
    } else if (e.operands[1].kind == Expression::Kind::number) {
        text_in_memory(e.operands[0], to);
        cut(to, size_t(std::max<int64_t>(e.operands[1].number, 0)));
    } else {
        evaluate(e.operands[1]);
        const size_t length = spill(Role::result);
        text_in_memory(e.operands[0], to);
        cut_at(to, spill_offset(length));
        --spills_;
    }
}

void Compiler::text_in_memory(const Expression& address, const Slot& to)
{
    value(address, Role::result);
    copy_text(to.part(0, string_size).offset);
}

void Compiler::bytes_in_memory(const Expression& address, size_t bytes, const Slot& to)
{
    evaluate(address);
    const size_t start = spill(Role::result);
    for (size_t i = 0; i < bytes; i += 8) {
        load_frame(Role::result, spill_offset(start));
        if (i != 0)
            compute(Operator::add, int64_t(i));
        read_memory(std::min<size_t>(8, bytes - i), false);
        store_slot(to, i, Role::result);
    }
    --spills_;
}

void Compiler::buffer(const Expression& e, const Slot& to)
{
    const Expression& length = e.operands[1];
    const size_t bytes = e.shape->size - 8;
    const Slot content = to.part(8, to.size - 8);
    if (length.kind == Expression::Kind::number) {
        bytes_in_memory(e.operands[0], bytes, content);
        store_slot_number(to, 0, int64_t(bytes));
        return;
    }
    const auto fits = label();
    evaluate(length);
    jump_if(Operator::less_equal, int64_t(bytes), false, true, fits);
    constant(Role::result, int64_t(bytes));
    bind(fits);
    const size_t kept = spill(Role::result);
    bytes_in_memory(e.operands[0], bytes, content);
    load_frame(Role::result, spill_offset(kept));
    store_slot(to, 0, Role::result);
    cut_at(content, spill_offset(kept));
    --spills_;
}

void Compiler::cut(const Slot& slot, size_t at)
{
    const size_t word = at / 8 * 8;
    if (word >= slot.size)
        return;
    if (at != word) {
        load_frame(Role::result, slot.offset + word);
        compute(Operator::bit_and, mask_of(at - word));
        store_slot(slot, word, Role::result);
    }
    zero(slot, at == word ? word : word + 8);
}

void Compiler::cut_at(const Slot& slot, size_t length)
{
    for (size_t i = 0; i < slot.size; i += 8) {
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
        load_frame(Role::second, slot.offset + i);
        binary(Operator::bit_and);
        store_slot(slot, i, Role::result);
        jump(next);
        bind(none);
        store_slot_number(slot, i, 0);
        bind(next);
    }
}

// Copied to spills where it is not in the frame: they are the caller's to give back.
size_t Compiler::frame_place(const Expression& wide)
{
    if (wide.kind == Expression::Kind::variable)
        return variable_slot(wide.variable).offset;
    const Slot made = take_slot(wide.type, wide.shape);
    wide_value(wide, made);
    return made.offset;
}

void Compiler::load_part(size_t offset, size_t bytes, bool is_signed)
{
    const size_t inside = offset % 8, word = offset - inside;
    load_frame(Role::result, word);
    if (inside != 0)
        compute(Operator::shift_right, int64_t(8 * inside));
    if (inside + bytes > 8) {
        const size_t low = spill(Role::result);
        load_frame(Role::result, word + 8);
        compute(Operator::shift_left, int64_t(8 * (8 - inside)));
        load_frame(Role::second, spill_offset(low));
        binary(Operator::bit_or);
        --spills_;
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

void Compiler::part(const Expression& e)
{
    const size_t spills = spills_;
    load_part(frame_place(e.operands[0]) + size_t(e.number), e.shape->size, e.shape->is_signed);
    spills_ = spills;
}

void Compiler::part_text(const Expression& e, const Slot& to)
{
    const size_t spills = spills_, place = frame_place(e.operands[0]) + size_t(e.number);
    const size_t bytes = std::min(e.shape->size, to.size);
    for (size_t i = 0; i < bytes; i += 8) {
        load_part(place + i, std::min<size_t>(8, bytes - i), false);
        store_slot(to, i, Role::result);
    }
    zero(to, (bytes + 7) / 8 * 8);
    spills_ = spills;
}

// Of a variable.
void Compiler::step(const Expression& e)
{
    const size_t place = variable_slot(e.operands[0].variable).offset;
    load_frame(Role::result, place);
    compute(Operator::add, e.number);
    store_frame(place, Role::result);
    if (e.is_before)
        compute(Operator::subtract, e.number);
}

void Compiler::swap_bytes(const Expression& e)
{
    evaluate(e.operands[0]);
    const size_t bytes = size_t(e.number), from = spill(Role::result), made = take_spills(1);
    store_frame_number(spill_offset(made), 0);
    for (size_t i = 0; i < bytes; ++i) {
        load_frame(Role::result, spill_offset(from));
        compute(Operator::shift_right, int64_t(8 * i));
        compute(Operator::bit_and, 0xff);
        compute(Operator::shift_left, int64_t(8 * (bytes - 1 - i)));
        load_frame(Role::second, spill_offset(made));
        binary(Operator::bit_or);
        store_frame(spill_offset(made), Role::result);
    }
    spills_ -= 2;
}

// The clock, each of its bits spread over all: MurmurHash3's finalizer.
void Compiler::random_number()
{
    constexpr int64_t half = 33;
    constexpr uint64_t factors[] = {0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53};
    read_clock();
    for (const uint64_t factor : factors) {
        const size_t before = spill(Role::result);
        compute(Operator::shift_right, half);
        load_frame(Role::second, spill_offset(before));
        binary(Operator::bit_xor);
        compute(Operator::multiply, int64_t(factor));
        --spills_;
    }
    compute(Operator::shift_right, 32);
}

// == and != of strings and bytes. Behind a string's end are zeros. strncmp(): of so many bytes.
void Compiler::branch_on_texts(const Expression& e, Label target, bool when)
{
    const bool has_literal = e.operands[0].kind == Expression::Kind::text;
    const Expression &left = e.operands[has_literal ? 1 : 0], &right = e.operands[has_literal ? 0 : 1];
    const size_t size = std::min(size_of(left.type, left.shape), size_of(right.type, right.shape));
    size_t bytes = e.number > 0 ? std::min(size, size_t(e.number)) : size;
    if (right.kind == Expression::Kind::text && right.type == Type::string)
        bytes = std::min(bytes, right.text.size() / 8 * 8 + 8);
    const size_t spills = spills_, first = frame_place(left);
    const bool is_literal = right.kind == Expression::Kind::text;
    const size_t second = is_literal ? 0 : frame_place(right);
    const bool on_equal = (e.op == Operator::equal) == when;
    const auto unlike = on_equal ? label() : target;
    for (size_t i = 0; i < bytes; i += 8) {
        load_frame(Role::result, first + i);
        if (is_literal)
            constant(Role::second, word_of(right.text, i));
        else
            load_frame(Role::second, second + i);
        if (bytes - i >= 8) {
            jump_if_unlike(Role::result, Role::second, unlike);
            continue;
        }
        binary(Operator::bit_xor);
        compute(Operator::bit_and, mask_of(bytes - i));
        jump_if_zero(Role::result, unlike, false);
    }
    if (on_equal) {
        jump(target);
        bind(unlike);
    }
    spills_ = spills;
}

// A key that reads a map needs the frame's place of keys for that map's own keys. So such keys are evaluated first and
// wait among the spills.
void Compiler::fill_keys(const std::vector<Expression>& keys, const Table& table)
{
    const size_t spills = spills_;
    std::vector<Slot> waiting(keys.size());
    for (size_t i = 0; i < keys.size(); ++i)
        if (uses(keys[i], is_map)) {
            waiting[i] = {spill_offset(take_spills(table.key_size[i] / 8)), table.key_size[i]};
            any_value(keys[i], waiting[i]);
        }
    size_t offset = 0;
    for (size_t i = 0; i < keys.size(); offset += table.key_size[i++]) {
        const Slot key{offset, table.key_size[i]};
        if (waiting[i].size != 0)
            copy(key, waiting[i]);
        else
            any_value(keys[i], key);
    }
    spills_ = spills;
}

void Compiler::any_value(const Expression& e, const Slot& to)
{
    if (is_wide(e.type))
        return wide_value(e, to);
    evaluate(e);
    store_slot(to, 0, Role::result);
}

// The address of a shared map without keys, to Role::table.
void Compiler::shared_value(const Table& table)
{
    data_address(Role::table, table.offset);
}

void Compiler::call_with_keys(Label routine, const std::vector<Expression>& keys, const Table& table)
{
    fill_keys(keys, table);
    call_routine(routine);
}

// Goes on if the block's own entry has this thread's id, which is then in Role::result. Jumps to `free` if it has no id,
// and to `other` if it has another one.
void Compiler::if_own(const Table& table, const Expression& tid, Label free, Label other)
{
    evaluate(tid);
    load(Role::second, own(table, 0));
    jump_if_zero(Role::second, free);
    jump_if_unlike(Role::second, Role::result, other);
}

void Compiler::map_value(const Expression& e)
{
    const Table& table = tables_.maps[e.map];
    if (!is_assigned(script_.maps[e.map].kind))
        throw std::logic_error("an aggregation cannot be read");
    const auto done = label(), none = label();
    const auto look_up = [this, &e, &table] { call_with_keys(routines_.maps[e.map].load, e.operands, table); };
    if (table.own) {
        if_own(table, e.operands[0], none, cold([this, look_up, done] {
                   look_up();
                   jump(done);
               }));
        load(Role::result, own(table, 1));
        jump(done);
    } else if (table.entries > 1) {
        look_up();
        return;
    } else {
        shared_value(table);
        jump_if_empty({Role::table, 0}, none);
        load(Role::result, {Role::table, table.value});
        jump(done);
    }
    bind(none);
    constant(Role::result, 0);
    bind(done);
}

// A string or bytes. Zeros where the key is not there.
void Compiler::map_text(const Expression& e, const Slot& to)
{
    const Table& table = tables_.maps[e.map];
    const auto none = label(), done = label();
    call_with_keys(routines_.maps[e.map].load, e.operands, table);
    jump_if_zero(Role::result, none);
    copy(to, {key_bytes_, table.value_size});
    jump(done);
    bind(none);
    zero(to, 0);
    bind(done);
}

} // namespace fastsdt::engine
