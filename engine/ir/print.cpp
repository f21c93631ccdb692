// SPDX-License-Identifier: BSD-2-Clause
#include "ir/ir.h"

#include "script/language.h"

#include <fmt/format.h>

#include <string_view>

namespace fastsdt::engine::ir {
namespace {

std::string_view name(Value what)
{
    return what == Value::start ? "start" : label_of(what);
}

class Printer {
public:
    Printer(const Program& program, const Script& script) : program_(program), script_(script) {}

    std::string line(const Operation& operation) const
    {
        if (const auto* const label = std::get_if<Label>(&operation))
            return fmt::format("L{}:", label->label);
        const ValueId to = defined(operation);
        const std::string left = to == no_value ? "" : fmt::format("v{} = ", to);
        return "    " + left + std::visit([this](const auto& op) { return text(op); }, operation);
    }

private:
    std::string place(const Place& of) const
    {
        const Slot& slot = program_.slots.at(of.slot);
        if (slot.is_literal)
            return fmt::format("{:?}", slot.text.substr(0, slot.text.find_last_not_of('\0') + 1));
        const std::string whole = fmt::format("{}.{}", slot.name, of.slot);
        return of.offset == 0 && of.size == slot.size ? whole : fmt::format("{}[{}:{}]", whole, of.offset, of.size);
    }
    std::string operand(const Operand& of) const
    {
        return of.is_value() ? fmt::format("v{}", of.value) : of.is_none() ? "" : place(of.place);
    }
    std::string map(size_t index, const Operand& key) const
    {
        const std::string& name = script_.maps.at(index).name;
        return key.is_none() ? name : fmt::format("{}[{}]", name, operand(key));
    }

    static std::string text(const Constant& op) { return std::to_string(op.number); }
    static std::string text(const Argument& op)
    {
        return !op.name.empty() ? "args." + op.name
            : op.real           ? fmt::format("x{}, {} bytes", op.index, op.real)
                                : fmt::format("{}arg{}", op.on_stack ? "s" : "", op.index);
    }
    static std::string text(const Ask& op) { return std::string(name(op.what)); }
    static std::string text(const Register& op) { return fmt::format("register {}", op.number); }
    static std::string text(const Symbol& op) { return fmt::format("symbol {}", op.name); }
    static std::string text(const Stack& op)
    {
        return fmt::format("stack of {}{}", op.most, op.unwinds ? ", unwound" : "");
    }
    static std::string text(const Unary& op) { return fmt::format("{}v{}", word_of(op.op), op.a); }
    static std::string text(const Swap& op) { return fmt::format("swap v{}, {} bytes", op.a, op.bytes); }
    static std::string text(const Binary& op) { return fmt::format("v{} {} v{}", op.a, word_of(op.op), op.b); }
    static std::string text(const Compare& op)
    {
        return fmt::format("v{} {} v{}{}", op.a, word_of(op.op), op.b, op.is_signed ? ", signed" : "");
    }
    std::string text(const Load& op) const
    {
        return fmt::format("load {}{}", place(op.from), op.is_signed ? ", signed" : "");
    }
    std::string text(const Store& op) const { return fmt::format("store {}, v{}", place(op.at), op.a); }
    std::string text(const Copy& op) const { return fmt::format("copy {}, {}", place(op.at), place(op.from)); }
    std::string text(const Zero& op) const { return fmt::format("zero {}", place(op.at)); }
    std::string text(const Cut& op) const { return fmt::format("cut {} at v{}", place(op.at), op.a); }
    std::string text(const Name& op) const { return fmt::format("{} to {}", name(op.what), place(op.at)); }
    std::string text(const Equal& op) const
    {
        return fmt::format("{} equals {}, {} bytes", place(op.from), place(op.other), op.bytes);
    }
    std::string text(const Contains& op) const
    {
        return fmt::format("{} {} {}", place(op.from), op.tells_where ? "contains where" : "contains", place(op.other));
    }
    std::string text(const Length& op) const { return fmt::format("length of {}", place(op.from)); }
    std::string text(const Address& op) const { return fmt::format("address of {}", place(op.from)); }
    static std::string text(const Frames& op) { return fmt::format("frames of v{}", op.a); }
    static std::string text(const ReadWord& op)
    {
        return fmt::format("read {} bytes at v{}{}", op.bytes, op.a, op.is_signed ? ", signed" : "");
    }
    std::string text(const ReadText& op) const { return fmt::format("read text at v{} to {}", op.a, place(op.at)); }
    std::string text(const ReadBytes& op) const
    {
        return fmt::format("read {} bytes at v{} to {}", op.bytes, op.a, place(op.at));
    }
    static std::string text(const Label&) { return ""; }
    static std::string text(const Jump& op) { return fmt::format("jump L{}", op.target); }
    static std::string text(const Branch& op)
    {
        return fmt::format("jump L{} if {}v{}", op.target, op.when ? "" : "not ", op.a);
    }
    std::string text(const Turn& op) const { return fmt::format("turn {}", place(op.at)); }
    std::string text(const Update& op) const
    {
        const std::string value = op.a == no_value ? "" : fmt::format(" v{}", op.a);
        return fmt::format("{} {}{}", word_of(script_.maps.at(op.map).kind), map(op.map, op.key), value);
    }
    std::string text(const Assign& op) const
    {
        return fmt::format("put {}, {}", map(op.map, op.key), operand(op.value));
    }
    std::string text(const Add& op) const { return fmt::format("add {}, v{}", map(op.map, op.key), op.a); }
    std::string text(const Remove& op) const { return fmt::format("delete {}", map(op.map, op.key)); }
    std::string text(const Get& op) const { return fmt::format("get {}", map(op.map, op.key)); }
    std::string text(const Has& op) const { return fmt::format("has {}", map(op.map, op.key)); }
    std::string text(const Entries& op) const { return fmt::format("entries of {}", script_.maps.at(op.map).name); }
    std::string text(const Keys& op) const { return fmt::format("keys of {}", script_.maps.at(op.map).name); }
    std::string text(const NextKey& op) const { return fmt::format("next key of v{} to {}", op.a, place(op.at)); }
    std::string text(const GetWide& op) const { return fmt::format("get {} to {}", map(op.map, op.key), place(op.at)); }
    std::string text(const Record& op) const
    {
        std::string all = fmt::format("event {}, {}", op.statement->number, word_of(op.statement->kind));
        for (const Operand& each : op.values)
            all += ", " + operand(each);
        return all;
    }
    static std::string text(const Dump&) { return "dump"; }
    static std::string text(const Signal& op) { return fmt::format("signal v{}", op.a); }
    static std::string text(const Call&) { return "call"; }

    const Program& program_;
    const Script& script_;
};

} // namespace

std::string print(const Program& program, const Script& script)
{
    const Printer printer(program, script);
    std::string all;
    for (const Operation& each : program.operations)
        all += printer.line(each) + "\n";
    return all;
}

} // namespace fastsdt::engine::ir
