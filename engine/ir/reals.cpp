// SPDX-License-Identifier: BSD-2-Clause
#include "ir/reals.h"

#include <functional>

namespace fastsdt::engine::ir {

// Towards zero. What no 64 bits have is the smallest signed one of them, as the processor's own instruction has it on x86-64.
ValueId Reals::truncated(ValueId bits, size_t size, bool is_signed)
{
    const Real form(size);
    const Place kept = slot(8, "real");
    emit(Store{kept, bits});
    const auto exponent = [&] {
        return with(Operator::bit_and, with(Operator::shift_right, load(kept), form.fraction), form.exponents());
    };
    const auto magnitude = [&] {
        return with(Operator::bit_or, with(Operator::bit_and, load(kept), form.fractions()),
                    int64_t(1) << form.fraction);
    };
    const int64_t whole = form.bias + int64_t(form.fraction); // where the fraction's last bit is 1
    const auto absolute = [&] {
        return either(
            compare(Operator::less, exponent(), form.bias), [&] { return constant(0); },
            [&] {
                return either(
                    compare(Operator::less, exponent(), whole),
                    [&] {
                        const ValueId by = binary(Operator::subtract, constant(whole), exponent());
                        return binary(Operator::shift_right, magnitude(), by);
                    },
                    [&] {
                        const ValueId by = with(Operator::subtract, exponent(), whole);
                        return binary(Operator::shift_left, magnitude(), by);
                    });
            });
    };
    return either(
        compare(Operator::greater_equal, exponent(), form.bias + (is_signed ? 63 : 64)),
        [&] { return constant(INT64_MIN); },
        [&] {
            const ValueId found = absolute();
            const Place of = slot(8, "absolute");
            emit(Store{of, found});
            return either(
                with(Operator::bit_and, with(Operator::shift_right, load(kept), form.sign()), 1),
                [&] { return define(Unary{0, Operator::negate, load(of)}); }, [&] { return load(of); });
        });
}

// A number of 4 bytes whose fraction has no first 1 before it: it is shifted until it has.
ValueId Reals::subnormal(Place fraction, Place by, const Real& narrow, const Real& wide)
{
    for (const unsigned step : {16U, 8U, 4U, 2U, 1U}) {
        const auto next = label();
        emit(Branch{compare(Operator::less, load(fraction), int64_t(1) << (narrow.fraction + 1 - step)), false, next});
        emit(Store{fraction, with(Operator::shift_left, load(fraction), step)});
        emit(Store{by, with(Operator::add, load(by), step)});
        bind(next);
    }
    const ValueId exponent = binary(Operator::subtract, constant(wide.bias - narrow.bias + 1), load(by));
    const ValueId high = with(Operator::shift_left, exponent, wide.fraction);
    const ValueId rest = with(Operator::bit_and, load(fraction), narrow.fractions());
    return binary(Operator::bit_or, high, with(Operator::shift_left, rest, wide.fraction - narrow.fraction));
}

// As 8 bytes.
ValueId Reals::widened(ValueId bits)
{
    const Real narrow(4), wide(8);
    const Place kept = slot(8, "real");
    emit(Store{kept, bits});
    const auto exponent = [&] {
        return with(Operator::bit_and, with(Operator::shift_right, load(kept), narrow.fraction), narrow.exponents());
    };
    const auto put = [&](const std::function<ValueId()>& exponent_of) {
        const ValueId fraction = with(Operator::shift_left, with(Operator::bit_and, load(kept), narrow.fractions()),
                                      wide.fraction - narrow.fraction);
        return binary(Operator::bit_or, with(Operator::shift_left, exponent_of(), wide.fraction), fraction);
    };
    const ValueId absolute = either(
        compare(Operator::equal, exponent(), 0),
        [&] {
            const ValueId fraction = with(Operator::bit_and, load(kept), narrow.fractions());
            const Place shifted = slot(8, "fraction"), by = slot(8, "shift");
            emit(Store{shifted, fraction});
            emit(Store{by, constant(0)});
            return either(
                load(shifted), [&] { return subnormal(shifted, by, narrow, wide); }, [&] { return constant(0); });
        },
        [&] {
            return either(
                compare(Operator::equal, exponent(), narrow.exponents()),
                [&] { return put([&] { return constant(wide.exponents()); }); },
                [&] { return put([&] { return with(Operator::add, exponent(), wide.bias - narrow.bias); }); });
        });
    const ValueId sign = with(Operator::bit_and, with(Operator::shift_right, load(kept), narrow.sign()), 1);
    return binary(Operator::bit_or, with(Operator::shift_left, sign, wide.sign()), absolute);
}

// A signed number that is the larger, the larger the floating-point number is: 0 of both zeros.
ValueId Reals::rank(ValueId bits)
{
    const Place kept = slot(8, "real");
    emit(Store{kept, bits});
    return either(
        with(Operator::shift_left, load(kept), 1),
        [&] {
            const ValueId sign = with(Operator::shift_right, load(kept), 63);
            const ValueId mask = with(Operator::shift_right, define(Unary{0, Operator::negate, sign}), 1);
            return binary(Operator::bit_xor, load(kept), mask); // of one below 0, all bits but the sign's turn
        },
        [&] { return constant(0); });
}

// What is no number is unequal to all, also to itself, and neither less nor greater.
ValueId Reals::compare_reals(const Expression& e, ValueId left, ValueId right)
{
    const auto as_wide = [&](ValueId of, size_t i) { return e.operands[i].type.shape->size == 4 ? widened(of) : of; };
    const Place a = slot(8, "real"), b = slot(8, "real"), both = slot(8, "truth");
    emit(Store{a, as_wide(left, 0)});
    emit(Store{b, as_wide(right, 1)});
    const auto is_number = [&](Place of) {
        constexpr int64_t infinity = int64_t(0xffe) << 52; // without its sign
        return compare(Operator::less_equal, with(Operator::shift_left, load(of), 1), infinity);
    };
    const auto done = label();
    emit(Store{both, constant(e.op == Operator::not_equal)});
    emit(Branch{is_number(a), false, done});
    emit(Branch{is_number(b), false, done});
    const ValueId first = rank(load(a)), second = rank(load(b));
    emit(Store{both, define(Compare{0, e.op, true, first, second})});
    bind(done);
    return load(both);
}

} // namespace fastsdt::engine::ir
