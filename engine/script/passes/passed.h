// SPDX-License-Identifier: BSD-2-Clause
// Where a function finds its arguments and leaves its result, by their types: the System V ABI (x86-64, section 3.2.3), AAPCS64 (section 6.8) and
// Go's ABIInternal.
#pragma once
#include "base/arch.h"
#include "script/parse.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fastsdt::engine {

struct Passed {
    enum class Kind {
        unknown,
        registers, ///< `words`
        memory,    ///< x86-64, arguments: `offset` bytes behind the first one that is on the stack
        reference, ///< its address is in words[0], or, of a result, where the caller wanted it
    } kind = Kind::unknown;
    /// The low bytes of a register are `size` bytes of the value, from its byte `at` on.
    struct Word {
        bool is_vector = false;
        unsigned index = 0; ///< of the registers for such arguments, or results
        size_t at = 0, size = 8;
        bool operator==(const Word&) const = default;
    };
    std::vector<Word> words = {};
    size_t offset = 0;
    bool operator==(const Passed&) const = default;
};

/// By parameter. What comes behind one of which nothing is known is not known either.
std::vector<Passed> passed(const DebugTypes::Signature& function, Arch arch);
/// The same of its result. Kind::reference: on x86-64 the address is in rax too.
Passed returned(const DebugTypes::Value& result, Arch arch);
/// Of Go: the name of the first result that is in memory. Empty: there is only one.
std::string result_on_stack(const DebugTypes::Value& result, Arch arch);

} // namespace fastsdt::engine
