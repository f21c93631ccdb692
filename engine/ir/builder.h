// SPDX-License-Identifier: BSD-2-Clause
// Operations of a program, appended one after another.
#pragma once
#include "ir/ir.h"

#include <string>
#include <utility>

namespace fastsdt::engine::ir {

class Builder {
protected:
    void emit(Operation operation) { program_.operations.push_back(std::move(operation)); }
    LabelId label() { return program_.labels++; }
    void bind(LabelId label) { emit(Label{label}); }
    ValueId value() { return program_.values++; }
    /// Emits an operation that defines a value.
    template <class Op> ValueId define(Op op)
    {
        op.to = value();
        const ValueId to = op.to;
        emit(std::move(op));
        return to;
    }
    ValueId constant(int64_t number) { return define(Constant{0, number}); }
    ValueId ask(Value what) { return define(Ask{0, what}); }
    ValueId binary(Operator op, ValueId a, ValueId b) { return define(Binary{0, op, a, b}); }
    ValueId load(Place from, bool is_signed = false)
    {
        const Slot& slot = program_.slots[from.slot];
        if (!slot.is_literal)
            return define(Load{0, from, is_signed});
        const size_t unused = 8 * (8 - from.size);
        const uint64_t word = uint64_t(slot.word(from.offset)) << unused;
        return constant(is_signed ? int64_t(word) >> unused : int64_t(word >> unused));
    }

    Place slot(size_t size, std::string name, bool lasts = false, bool is_key = false)
    {
        program_.slots.push_back({.size = size, .name = std::move(name), .lasts = lasts, .is_key = is_key, .text = {}});
        return {uint32_t(program_.slots.size() - 1), 0, size};
    }
    Place literal(const std::string& text, size_t size)
    {
        program_.slots.push_back({.size = size, .name = "literal", .is_literal = true, .text = text});
        program_.slots.back().text.resize(size, '\0');
        return {uint32_t(program_.slots.size() - 1), 0, size};
    }

    ValueId with(Operator op, ValueId a, int64_t b) { return binary(op, a, constant(b)); }
    ValueId compare(Operator op, ValueId a, int64_t b, bool is_signed = false)
    {
        return define(Compare{0, op, is_signed, a, constant(b)});
    }
    // One of two values.
    template <class Yes, class No> ValueId either(ValueId condition, const Yes& yes, const No& no)
    {
        const Place made = slot(8, "choice");
        const auto otherwise = label(), done = label();
        emit(Branch{condition, false, otherwise});
        emit(Store{made, yes()});
        emit(Jump{done});
        bind(otherwise);
        emit(Store{made, no()});
        bind(done);
        return load(made);
    }

    Program program_;
};

} // namespace fastsdt::engine::ir
