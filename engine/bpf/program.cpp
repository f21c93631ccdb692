// SPDX-License-Identifier: BSD-2-Clause
#include "bpf/program.h"

#include "bpf/arguments.h"
#include "bpf/maker.h"
#include "bpf_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fastsdt::engine::bpf {
namespace {

constexpr unsigned pieces = 4;              // of scratch memory, of a processor: a power of two
constexpr size_t most_instructions = 30000; // a jump spans 32,767

bool reads_memory(const ir::Program& program, const Site& site)
{
    return std::any_of(program.operations.begin(), program.operations.end(), [&](const ir::Operation& op) {
        if (const auto* const argument = std::get_if<ir::Argument>(&op))
            return argument_source(site, *argument).kind == Source::Kind::memory;
        return std::holds_alternative<ir::ReadWord>(op) || std::holds_alternative<ir::ReadText>(op)
            || std::holds_alternative<ir::ReadBytes>(op);
    });
}

} // namespace

A& Maker::make()
{
    for (const size_t clause : site_.clauses) {
        frames_.push_back(lay_out_frame(context_.programs[clause]));
        if (frames_.back().size > frame_size)
            throw Refusal({State::too_much_stack, frame_size});
        scratch_size_ = std::max(scratch_size_, frames_.back().scratch_size);
    }
    const auto unwinds = [&](size_t clause) {
        return std::ranges::any_of(context_.programs[clause].operations, [](const ir::Operation& operation) {
            const auto* const op = std::get_if<ir::Stack>(&operation);
            return op && op->unwinds;
        });
    };
    if (std::ranges::any_of(site_.clauses, unwinds)) {
        walk_at_ = (scratch_size_ + 7) / 8 * 8;
        scratch_size_ = walk_at_ + size_of_walk();
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

void Maker::clause(const ir::Program& program, const Frame& frame)
{
    program_ = &program;
    frame_ = &frame;
    labels_.clear();
    for (ir::LabelId i = 0; i < program.labels; ++i)
        labels_.push_back(a_.label());
    for (size_t i = 0; i < program.slots.size(); ++i)
        if (program.slots[i].is_literal && frame.slots[i].has_memory)
            for (size_t at = 0; at < program.slots[i].size; at += 8)
                store_number({uint32_t(i), at, 8}, program.slots[i].word(at));
    for (const ir::Operation& operation : program.operations)
        std::visit([this](const auto& op) { perform(op); }, operation);
    // The operation behind which the hit leaves is the last one, so this falls through.
}

Maker::Where Maker::where(const ir::Place& place) const
{
    const Frame::Slot& slot = frame_->slots[place.slot];
    return {slot.in_scratch ? A::r9 : A::r10, slot.at + int(place.offset)};
}

void Maker::number(A::Register to, int64_t value)
{
    if (fits(value))
        a_.move(to, int32_t(value));
    else
        a_.wide(to, uint64_t(value));
}

std::optional<int64_t> Maker::constant_of(ir::ValueId value) const
{
    const int at = frame_->constants[value];
    if (at < 0)
        return std::nullopt;
    return std::get<ir::Constant>(program_->operations[size_t(at)]).number;
}

void Maker::fetch(A::Register to, ir::ValueId value)
{
    if (const auto known = constant_of(value))
        return number(to, *known);
    a_.load(BPF_DW, to, A::r10, frame_->values[value]);
}

void Maker::load_word(A::Register to, const ir::Place& place, size_t at)
{
    if (is_number(place))
        return number(to, program_->slots[place.slot].word(place.offset + at));
    const Where from = where(place);
    a_.load(BPF_DW, to, from.base, from.offset + int(at));
}

void Maker::store_word(const ir::Place& place, A::Register from, size_t at)
{
    const Where to = where(place);
    a_.store(BPF_DW, to.base, to.offset + int(at), from);
}

void Maker::store_number(const ir::Place& place, int64_t value, size_t at)
{
    const Where to = where(place);
    if (fits(value)) {
        a_.store(BPF_DW, to.base, to.offset + int(at), int32_t(value));
    } else {
        a_.wide(A::r0, uint64_t(value));
        a_.store(BPF_DW, to.base, to.offset + int(at), A::r0);
    }
}

void Maker::address(A::Register to, const ir::Place& place)
{
    const Where of = where(place);
    a_.move(to, of.base);
    a_.add(to, of.offset);
}

void Maker::own_address(A::Register to, int at)
{
    a_.move(to, A::r10);
    a_.add(to, at);
}

void Maker::count(size_t field)
{
    a_.map_value(A::r1, context_.maps.counters().fd());
    a_.move(A::r2, 1);
    a_.add_atomic(A::r1, int(field), A::r2);
}

void Maker::drop(A::Label next)
{
    count(offsetof(Counters, dropped));
    a_.jump(next);
}

void Maker::unread()
{
    count(offsetof(Counters, unread));
    a_.jump(at_label(program_->end));
}

void Maker::take_scratch(A::Label none)
{
    const int piece = scratch_header + scratch_size_;
    if (size_t(piece) * pieces > 32768)
        throw Refusal({State::too_much_stack, frame_size});
    scratch_ = BpfMap(BPF_MAP_TYPE_PERCPU_ARRAY, "fastsdt_scratch", 4, size_t(piece) * pieces, 1);
    a_.store(BPF_W, A::r10, key_at, 0);
    a_.map(A::r1, scratch_.fd());
    own_address(A::r2, key_at);
    a_.call(BPF_FUNC_map_lookup_elem);
    a_.jump_if(BPF_JEQ, A::r0, 0, none);
    a_.move(A::r9, A::r0);
    if (!bpf_features().exchanges)
        return a_.add(A::r9, scratch_header);
    a_.move(A::r8, A::r9);
    const auto got = a_.label();
    for (unsigned i = 0; i < pieces; ++i) {
        if (i)
            a_.add(A::r9, piece);
        a_.move(A::r0, 0);
        a_.move(A::r1, 1);
        a_.store(BPF_DW, A::r9, 8, int32_t(i));
        a_.atomic(A::compare_exchange_op, A::r9, 0, A::r1);
        a_.jump_if(BPF_JEQ, A::r0, 0, got);
    }
    count(offsetof(Counters, dropped));
    a_.jump(none);
    a_.bind(got);
    // Read back from memory, it may be any of them: a verifier looks at what follows once, and not for each.
    a_.load(BPF_DW, A::r1, A::r9, 8);
    a_.bit_and(A::r1, int32_t(pieces - 1));
    a_.alu(BPF_MUL, A::r1, piece);
    a_.move(A::r9, A::r8);
    a_.alu(BPF_ADD, A::r9, A::r1);
    a_.add(A::r9, scratch_header);
}

std::string program_key(const Context& context, const Site& site, std::optional<uint64_t> offset)
{
    std::string key = fmt::format("{}|{}|{}|{}|{}|{}|", int(site.kind), site.arguments, site.stack_bytes, site.result,
                                  offset.value_or(UINT64_MAX), fmt::join(site.clauses, ","));
    for (const std::string& name : site.argument_names)
        key += name + ",";
    key += fmt::format("|{}", int(site.found.state == State::other_architecture));
    if (site.go)
        key += fmt::format("go {}", int(*site.go));
    key += fmt::format("|{}", site.goroutine);
    const auto asks_which = [](const ir::Operation& operation) {
        const auto* const op = std::get_if<ir::Ask>(&operation);
        return op && (op->what == Value::probe || op->what == Value::function);
    };
    for (const size_t clause : site.clauses)
        for (const ir::Operation& operation : context.programs[clause].operations)
            if (!bpf_features().cookies && asks_which(operation))
                key += fmt::format("|cookie {}", cookie_of(site));
            else if (const auto* const op = std::get_if<ir::Symbol>(&operation); op && context.symbol)
                key += fmt::format("|{:x}", context.symbol(site, op->name).value_or(0) - site.address);
    return key;
}

Descriptor make_program(const Context& context, const Site& site, std::optional<uint64_t> offset, bool multi,
                        bool sleepable)
{
    bool reads = false, stacks = false;
    size_t unwound = 0;
    for (const size_t clause : site.clauses) {
        reads = reads || reads_memory(context.programs[clause], site);
        for (const ir::Operation& operation : context.programs[clause].operations)
            if (const auto* const stack = std::get_if<ir::Stack>(&operation)) {
                stacks = true;
                unwound += stack->unwinds;
            }
    }
    const bool waits = sleepable && reads && !stacks; // such a program may use no stacks' map
    Maker maker(context, site, offset, waits);
    std::string log;
    Descriptor made = maker.make().load_program({.attach_type = multi ? bpf_trace_uprobe_multi : 0, .sleepable = waits},
                                                "fastsdt", &log);
    if (made)
        return made;
    const int error = errno;
    if (waits && error == EINVAL && log.empty()) // Linux 6.0
        return make_program(context, site, offset, multi, false);
    while (log.ends_with('\n'))
        log.pop_back();
    // The last lines are counts; what was refused is in front of them.
    const size_t end = log.find("\nprocessed ");
    log = log.substr(0, end);
    const size_t start = log.rfind('\n');
    const bool too_large = error == E2BIG || log.find("is too complex") != log.npos;
    if (too_large && unwound > 1)
        throw Refusal({State::not_in_kernel, 0,
                       fmt::format("the script unwinds {} times there, too often for this kernel: have one clause, "
                                   "$s = ustack(dwarf) in it, and $s wherever the stack is wanted",
                                   unwound)});
    throw Refusal(
        {State::not_in_kernel, 0,
         fmt::format("{}the BPF program is refused ({}{}{})",
                     too_large
                         ? "the script does too much there for this kernel, and can be shared out among several runs: "
                         : "",
                     std::strerror(error), log.empty() ? "" : ": ", start == log.npos ? log : log.substr(start + 1))});
}

} // namespace fastsdt::engine::bpf
