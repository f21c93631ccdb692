// SPDX-License-Identifier: BSD-2-Clause
// The instruction set a probed process executes.
#pragma once
#include <cstddef>
#include <iterator>
#include <string_view>

namespace fastsdt {

enum class Arch { unknown, x86_64, i386, arm64, arm, riscv, powerpc, s390, loongarch, mips };
inline constexpr Arch last_arch = Arch::mips;

/// Name as printed and as written in JSON.
constexpr std::string_view name(Arch arch)
{
    constexpr std::string_view names[] = {"unknown", "x86_64",  "i386", "arm64",     "arm",
                                          "riscv",   "powerpc", "s390", "loongarch", "mips"};
    static_assert(std::size(names) == static_cast<size_t>(last_arch) + 1);
    return names[static_cast<unsigned>(arch)];
}

/// Of this build.
#if defined(__x86_64__)
inline constexpr Arch own_arch = Arch::x86_64;
#elif defined(__aarch64__)
inline constexpr Arch own_arch = Arch::arm64;
#else
inline constexpr Arch own_arch = Arch::unknown;
#endif

/// How many of a function's arguments registers hold, on architectures whose entries can be armed (System V ABI for x86-64, 3.2.3;
/// AAPCS64, 6.8.2).
constexpr unsigned register_arguments(Arch arch)
{
    return arch == Arch::arm64 ? 8 : 6;
}

} // namespace fastsdt
