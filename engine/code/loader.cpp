// SPDX-License-Identifier: BSD-2-Clause
#include "code/loader.h"

#if defined(__x86_64__)
#include "code/x86/loader.h"
namespace of_machine = fastsdt::engine::x86;
#elif defined(FASTSDT_ENGINE_ARM64)
#include "code/arm64/loader.h"
namespace of_machine = fastsdt::engine::arm64;
#else
namespace of_machine { // arms nothing
static std::optional<fastsdt::engine::Patch> loader_patch(const fastsdt::engine::Loader&, std::span<const std::byte>,
                                                          uint64_t)
{
    return std::nullopt;
}
static bool is_loader_return(std::span<const std::byte>)
{
    return false;
}
static std::vector<std::byte> compile_loader_stub(const fastsdt::engine::Loader&, const fastsdt::engine::Arena&)
{
    return {};
}
} // namespace of_machine
#endif

namespace fastsdt::engine {

std::optional<Patch> loader_patch(const Loader& loader, std::span<const std::byte> function, uint64_t stub)
{
    return of_machine::loader_patch(loader, function, stub);
}

bool is_loader_return(std::span<const std::byte> bytes)
{
    return of_machine::is_loader_return(bytes);
}

std::vector<std::byte> compile_loader_stub(const Loader& loader, const Arena& arena)
{
    return of_machine::compile_loader_stub(loader, arena);
}

} // namespace fastsdt::engine
