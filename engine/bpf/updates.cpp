// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/maker.h"
#include "bpf_program.h"

#include <algorithm>
#include <stdexcept>

namespace fastsdt::engine::bpf {
namespace {

constexpr int most_tries = 8; // for an extreme that others change meanwhile

} // namespace

void Maker::map_and_key(size_t map, const ir::Operand& key)
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

void Maker::look_up(size_t map, const ir::Operand& key)
{
    map_and_key(map, key);
    a_.call(BPF_FUNC_map_lookup_elem);
}

void Maker::value_address(const ir::Operand& value)
{
    if (value.is_value()) {
        fetch(A::r0, value.value);
        a_.store(BPF_DW, A::r10, value_at, A::r0);
        own_address(A::r3, value_at);
    } else {
        address(A::r3, value.place);
    }
}

void Maker::place(size_t map, const ir::Operand& key, A::Label dropped)
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

void Maker::perform(const ir::Update& op)
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

void Maker::keep_extreme(const Map& map, ir::ValueId value, A::Label dropped)
{
    const auto done = a_.label();
    a_.move(A::r3, A::r0);
    fetch(A::r2, value);
    a_.wide(A::r1, uint64_t(1) << 63);
    a_.alu(BPF_XOR, A::r2, A::r1);
    if (map.kind == MapKind::min)
        a_.alu(BPF_XOR, A::r2, -1);
    a_.load(BPF_DW, A::r0, A::r3, 0);
    if (bpf_features().exchanges) {
        for (int i = 0; i < most_tries; ++i) {
            a_.jump_if(BPF_JGE, A::r0, A::r2, done);
            a_.move(A::r1, A::r0);
            a_.atomic(A::compare_exchange_op, A::r3, 0, A::r2); // r0 = what was there
            a_.jump_if(BPF_JEQ, A::r0, A::r1, done);
        }
        a_.jump(dropped);
    } else {
        a_.jump_if(BPF_JGE, A::r0, A::r2, done);
        a_.store(BPF_DW, A::r3, 0, A::r2);
    }
    a_.bind(done);
    a_.move(A::r1, 1);
    a_.add_atomic(A::r3, 8 * count_word, A::r1);
}

void Maker::bucket_of_power()
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

void Maker::bucket_of_step(const Map& map)
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

void Maker::add_to_bucket(size_t buckets)
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

void Maker::perform(const ir::Assign& op)
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

void Maker::perform(const ir::Add& op)
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

void Maker::perform(const ir::Remove& op)
{
    map_and_key(op.map, op.key);
    a_.call(BPF_FUNC_map_delete_elem);
}

void Maker::perform(const ir::Get& op)
{
    const auto none = a_.label();
    look_up(op.map, op.key);
    a_.jump_if(BPF_JEQ, A::r0, 0, none);
    a_.load(BPF_DW, A::r0, A::r0, 0);
    a_.bind(none);
    keep(op.to, A::r0);
}

void Maker::perform(const ir::Has& op)
{
    truth(op.to, [&](A::Label yes) {
        look_up(op.map, op.key);
        a_.jump_if(BPF_JNE, A::r0, 0, yes);
    });
}

void Maker::perform(const ir::GetWide& op)
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

void Maker::perform(const ir::Record& op)
{
    size_t size = sizeof(RecordHeader);
    for (const Expression& value : op.statement->values)
        size += value.type.size();
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
        const auto bytes = value.type.size();
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

void Maker::perform(const ir::Call&)
{
    throw Refusal({State::not_in_kernel, 0, "no function of the program can be called from there"});
}

} // namespace fastsdt::engine::bpf
