// SPDX-License-Identifier: BSD-2-Clause
#include "ir/interpret.h"

#include "maps/maps.h"

#include <algorithm>

namespace fastsdt::engine::ir {

// Nothing is signed but comparisons of two signed numbers. As in BPF x / 0 is 0, x % 0 is x, and shifts count modulo 64.
uint64_t compute(Operator op, uint64_t a, uint64_t b)
{
    switch (op) {
    case Operator::bit_or: return a | b;
    case Operator::bit_xor: return a ^ b;
    case Operator::bit_and: return a & b;
    case Operator::shift_left: return a << (b & 63);
    case Operator::shift_right: return a >> (b & 63);
    case Operator::add: return a + b;
    case Operator::subtract: return a - b;
    case Operator::multiply: return a * b;
    case Operator::divide: return b == 0 ? 0 : a / b;
    case Operator::modulo: return b == 0 ? a : a % b;
    default: throw std::logic_error("no arithmetic");
    }
}

bool compare(Operator op, bool is_signed, uint64_t a, uint64_t b)
{
    const bool less = is_signed ? int64_t(a) < int64_t(b) : a < b;
    switch (op) {
    case Operator::equal: return a == b;
    case Operator::not_equal: return a != b;
    case Operator::less: return less;
    case Operator::less_equal: return less || a == b;
    case Operator::greater: return !less && a != b;
    case Operator::greater_equal: return !less;
    default: throw std::logic_error("no comparison");
    }
}

namespace {

uint64_t number_in(std::string_view bytes, bool is_signed)
{
    return uint64_t(engine::number_in(bytes, bytes.size(), is_signed));
}

std::string bytes_of(uint64_t number)
{
    return engine::bytes_of(ValueType(), {int64_t(number), {}});
}

class Interpreter {
public:
    Interpreter(const Program& program, Host& host)
        : program_(program), host_(host), values_(program.values), labels_(program.labels)
    {
        for (const Slot& slot : program.slots)
            slots_.push_back(slot.is_literal ? slot.text : std::string(slot.size, '\0'));
        for (size_t i = 0; i < program.operations.size(); ++i)
            if (const auto* const label = std::get_if<Label>(&program.operations[i]))
                labels_[label->label] = i;
    }

    bool run()
    {
        while (at_ < program_.operations.size() && goes_on_) {
            const size_t now = at_++;
            std::visit([this](const auto& op) { perform(op); }, program_.operations[now]);
        }
        return goes_on_;
    }

private:
    void go(LabelId to) { at_ = labels_[to]; }
    void leave() { go(program_.end); }

    std::string_view read(const Place& place) const
    {
        return std::string_view(slots_[place.slot]).substr(place.offset, place.size);
    }
    /// What does not fit is cut off, and zeros are behind what is shorter.
    void write(const Place& place, std::string_view bytes)
    {
        const std::string whole(bytes.substr(0, place.size));
        std::string& slot = slots_[place.slot];
        std::fill_n(slot.begin() + std::ptrdiff_t(place.offset), place.size, '\0');
        std::copy(whole.begin(), whole.end(), slot.begin() + std::ptrdiff_t(place.offset));
    }
    std::string bytes(const Operand& operand) const
    {
        return operand.is_none() ? std::string()
            : operand.is_value() ? bytes_of(values_[operand.value])
                                 : std::string(read(operand.place));
    }

    /// What may be unread.
    void define(ValueId to, const std::optional<uint64_t>& value)
    {
        if (value)
            values_[to] = *value;
        else
            unread();
    }
    void unread()
    {
        host_.unread();
        leave();
    }

    void perform(const Constant& op) { values_[op.to] = uint64_t(op.number); }
    void perform(const Argument& op) { define(op.to, host_.argument(op)); }
    void perform(const Ask& op) { define(op.to, host_.ask(op.what)); }
    void perform(const Register& op) { define(op.to, host_.register_value(op.number)); }
    void perform(const Symbol& op) { define(op.to, host_.symbol(op.name)); }
    void perform(const Stack& op) { define(op.to, host_.stack(op)); }
    void perform(const Unary& op) { values_[op.to] = op.op == Operator::negate ? 0 - values_[op.a] : ~values_[op.a]; }
    void perform(const Swap& op) { values_[op.to] = __builtin_bswap64(values_[op.a]) >> (64 - 8 * op.bytes); }
    void perform(const Binary& op) { values_[op.to] = compute(op.op, values_[op.a], values_[op.b]); }
    void perform(const Compare& op) { values_[op.to] = compare(op.op, op.is_signed, values_[op.a], values_[op.b]); }
    void perform(const Load& op) { values_[op.to] = number_in(read(op.from), op.is_signed); }
    void perform(const Store& op) { write(op.at, bytes_of(values_[op.a])); }
    void perform(const Copy& op) { write(op.at, std::string(read(op.from))); }
    void perform(const Zero& op) { write(op.at, {}); }
    void perform(const Cut& op)
    {
        const std::string whole(read(op.at));
        write(op.at, std::string_view(whole).substr(0, size_t(std::min<uint64_t>(values_[op.a], whole.size()))));
    }
    void perform(const Name& op)
    {
        if (const auto text = host_.name(op.what))
            write(op.at, std::string_view(*text).substr(0, string_size - 1));
        else
            unread();
    }
    void perform(const Equal& op)
    {
        values_[op.to] = read(op.from).substr(0, op.bytes) == read(op.other).substr(0, op.bytes);
    }
    void perform(const Contains& op)
    {
        const auto text = [this](const Place& place) {
            const std::string_view all = read(place);
            return all.substr(0, all.find('\0'));
        };
        const size_t at = text(op.from).find(text(op.other));
        const bool is_there = at != std::string_view::npos;
        values_[op.to] = !op.tells_where ? is_there : is_there ? at : ~uint64_t(0);
    }
    void perform(const Length& op)
    {
        const std::string_view all = read(op.from);
        values_[op.to] = std::min(all.find('\0'), all.size());
    }
    void perform(const Address& op)
    {
        values_[op.to] = reinterpret_cast<uintptr_t>(slots_[op.from.slot].data() + op.from.offset);
    }
    void perform(const Frames& op) { values_[op.to] = host_.frames(values_[op.a]); }
    /// Of a slot, or the program's.
    std::optional<std::string> memory(uint64_t address, size_t bytes)
    {
        for (const std::string& slot : slots_)
            if (const uint64_t at = address - reinterpret_cast<uintptr_t>(slot.data()); at < slot.size()) {
                std::string found = slot.substr(size_t(at), bytes);
                found.resize(bytes, '\0');
                return found;
            }
        return host_.memory(address, bytes);
    }
    void perform(const ReadWord& op)
    {
        const auto found = memory(values_[op.a], op.bytes);
        define(op.to, found ? std::optional(number_in(*found, op.is_signed)) : std::nullopt);
    }
    void perform(const ReadText& op)
    {
        const auto found = memory(values_[op.a], string_size - 1);
        if (!found)
            return unread();
        write(op.at, std::string_view(*found).substr(0, found->find('\0')));
    }
    void perform(const ReadBytes& op)
    {
        if (const auto found = memory(values_[op.a], op.bytes))
            write(op.at, *found);
        else
            unread();
    }
    void perform(const Label&) {}
    void perform(const Jump& op) { go(op.target); }
    void perform(const Branch& op)
    {
        if ((values_[op.a] != 0) == op.when)
            go(op.target);
    }
    void perform(const Turn& op)
    {
        const uint64_t turns = number_in(read(op.at), false) + 1;
        write(op.at, bytes_of(turns));
        if (turns > uint64_t(most_turns)) {
            host_.too_many_turns();
            leave();
        }
    }
    void perform(const Update& op) { host_.update(op.map, bytes(op.key), op.a == no_value ? 0 : values_[op.a]); }
    void perform(const Assign& op) { host_.assign(op.map, bytes(op.key), bytes(op.value)); }
    void perform(const Add& op) { host_.add(op.map, bytes(op.key), values_[op.a]); }
    void perform(const Remove& op) { host_.remove(op.map, bytes(op.key)); }
    void perform(const Get& op)
    {
        const auto found = host_.get(op.map, bytes(op.key));
        values_[op.to] = found ? number_in(std::string_view(*found).substr(0, 8), false) : 0;
    }
    void perform(const Has& op) { values_[op.to] = host_.get(op.map, bytes(op.key)).has_value(); }
    void perform(const Entries& op) { values_[op.to] = host_.entries(op.map); }
    void perform(const Keys& op)
    {
        values_[op.to] = keys_.size();
        keys_.push_back(host_.all_keys(op.map));
    }
    void perform(const NextKey& op)
    {
        std::vector<std::string>& left = keys_[size_t(values_[op.a])];
        values_[op.to] = !left.empty();
        write(op.at, left.empty() ? std::string() : left.back());
        if (!left.empty())
            left.pop_back();
    }
    void perform(const GetWide& op) { write(op.at, host_.get(op.map, bytes(op.key)).value_or(std::string())); }
    void perform(const Record& op)
    {
        std::vector<std::string> values;
        for (const Operand& each : op.values)
            values.push_back(bytes(each));
        goes_on_ = host_.record(*op.statement, values);
    }
    void perform(const Dump&) { host_.dump(); }
    [[noreturn]] void perform(const Signal&) { throw std::logic_error("of the kernel's engine"); }
    void perform(const Call& op) { host_.call(*op.statement); }

    const Program& program_;
    Host& host_;
    std::vector<uint64_t> values_;
    std::vector<std::string> slots_;
    std::vector<std::vector<std::string>> keys_; // of loops over maps, that are left
    std::vector<size_t> labels_;
    size_t at_ = 0;
    bool goes_on_ = true;
};

} // namespace

bool interpret(const Program& program, Host& host)
{
    return Interpreter(program, host).run();
}

} // namespace fastsdt::engine::ir
