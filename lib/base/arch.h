// SPDX-License-Identifier: BSD-2-Clause
// The instruction set a probed process executes.
#pragma once
#include <string_view>

namespace fastsdt {

enum class Arch { unknown, x86_64, i386, arm64, arm, riscv, powerpc, s390, loongarch, mips };

/// Name as printed and as written in JSON.
constexpr std::string_view name(Arch arch)
{
    constexpr std::string_view names[] = {"unknown", "x86_64",  "i386", "arm64",     "arm",
                                          "riscv",   "powerpc", "s390", "loongarch", "mips"};
    return names[static_cast<unsigned>(arch)];
}

} // namespace fastsdt
