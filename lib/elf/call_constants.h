// SPDX-License-Identifier: BSD-2-Clause
// What a linked file asks of a function that it imports, or of the kernel: the constants in its calls.
#pragma once
#include "elf/image.h"

#include <cstdint>
#include <set>
#include <string_view>

namespace fastsdt {

struct Calls {
    std::set<uint32_t> numbers; ///< constant first arguments, or numbers of system calls, that were found
    bool others = false;        ///< some call's argument is not a constant, or the function's address escapes
};

/// Calls of an imported function. Nothing where the file does not import it.
Calls calls_of(const Image& image, std::string_view function);

/// Instructions that enter the kernel (syscall, svc), and the number of the system call.
Calls system_calls_of(const Image& image);

} // namespace fastsdt
