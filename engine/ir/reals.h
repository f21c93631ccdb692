// SPDX-License-Identifier: BSD-2-Clause
// Floating-point numbers, as IEEE 754 has their bits: a sign, an exponent, a fraction. Integer operations do it on every machine.
#pragma once
#include "ir/builder.h"

namespace fastsdt::engine::ir {

struct Real {
    unsigned fraction, exponent; // bits
    int64_t bias;
    explicit Real(size_t size)
        : fraction(size == 4 ? 23 : 52), exponent(size == 4 ? 8 : 11), bias(size == 4 ? 127 : 1023)
    {}
    int64_t exponents() const { return (int64_t(1) << exponent) - 1; }
    int64_t fractions() const { return (int64_t(1) << fraction) - 1; }
    unsigned sign() const { return fraction + exponent; } // its bit
};

class Reals : protected Builder {
protected:
    ValueId truncated(ValueId bits, size_t size, bool is_signed);
    ValueId compare_reals(const Expression& e, ValueId left, ValueId right);

private:
    ValueId subnormal(Place fraction, Place by, const Real& narrow, const Real& wide);
    ValueId widened(ValueId bits);
    ValueId rank(ValueId bits);
};

} // namespace fastsdt::engine::ir
