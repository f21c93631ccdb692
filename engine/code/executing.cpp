// SPDX-License-Identifier: BSD-2-Clause
#include "code/executing.h"

#if defined(__x86_64__)
#include "code/x86/executing.h"
namespace of_machine = fastsdt::engine::x86;
#elif defined(FASTSDT_ENGINE_ARM64)
#include "code/arm64/executing.h"
namespace of_machine = fastsdt::engine::arm64;
#else
namespace of_machine { // arms nothing
static std::optional<size_t> executing_place(std::span<const std::byte>)
{
    return std::nullopt;
}
static fastsdt::engine::Patch executing_patch(uint64_t, uint64_t)
{
    return {};
}
static std::vector<std::byte> compile_executing_stub(uint64_t, const fastsdt::engine::Arena&)
{
    return {};
}
} // namespace of_machine
#endif

namespace fastsdt::engine {

std::optional<size_t> executing_place(std::span<const std::byte> function)
{
    return of_machine::executing_place(function);
}

Patch executing_patch(uint64_t place, uint64_t stub)
{
    return of_machine::executing_patch(place, stub);
}

std::vector<std::byte> compile_executing_stub(uint64_t place, const Arena& arena)
{
    return of_machine::compile_executing_stub(place, arena);
}

} // namespace fastsdt::engine
