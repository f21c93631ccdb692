// SPDX-License-Identifier: BSD-2-Clause
#include "code/executing.h"

#if defined(__x86_64__)
#include "code/x86/executing.h"
#endif

namespace fastsdt::engine {

#if defined(__x86_64__)
std::optional<size_t> executing_place(std::span<const std::byte> function)
{
    return x86::executing_place(function);
}

Patch executing_patch(uint64_t place, uint64_t stub)
{
    return x86::executing_patch(place, stub);
}

std::vector<std::byte> compile_executing_stub(uint64_t place, const Arena& arena)
{
    return x86::compile_executing_stub(place, arena);
}
#else
std::optional<size_t> executing_place(std::span<const std::byte>)
{
    return std::nullopt;
}

Patch executing_patch(uint64_t, uint64_t)
{
    return {};
}

std::vector<std::byte> compile_executing_stub(uint64_t, const Arena&)
{
    return {};
}
#endif

} // namespace fastsdt::engine
