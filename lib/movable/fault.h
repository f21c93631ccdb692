// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <cstdint>

namespace fastsdt {

/// Signals whose handler would see where an instruction stands that was moved. Bits.
enum Fault : uint8_t {
    fault_memory = 1,   ///< SIGSEGV, SIGBUS: it accesses memory that is not the stack's
    fault_floating = 2, ///< SIGFPE: it calculates with floating point, whose exceptions a program may unmask
    fault_illegal = 4,  ///< SIGILL: not every processor of the architecture has it
    fault_division = 8, ///< SIGFPE: it divides integers
};

} // namespace fastsdt
