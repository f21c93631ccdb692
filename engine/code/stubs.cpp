// SPDX-License-Identifier: BSD-2-Clause
#include "code/stubs.h"

#if defined(__x86_64__)
#include "code/x86/compiler.h"
#include "code/x86/moved.h"
#elif defined(FASTSDT_ENGINE_ARM64)
#include "code/arm64/compiler.h"
#include "code/arm64/moved.h"
#endif

namespace fastsdt::engine {

// Compiles for this build's architecture: processes of another cannot be armed.
Code compile(const Script& script, const Tables& tables, std::span<const Site> sites, const Arena& arena,
             const Environment& environment)
{
#if defined(__x86_64__)
    return x86::Compiler(script, tables, arena, environment).compile(sites);
#elif defined(FASTSDT_ENGINE_ARM64)
    return arm64::Compiler(script, tables, arena, environment).compile(sites);
#else
    Code code;
    code.stubs.resize(sites.size());
    code.refusals.assign(sites.size(), {State::other_architecture});
    return code;
#endif
}

bool is_of_go(const Site& site)
{
    if (!site.go || !site.moves() || own_machine.arch != Arch::x86_64)
        return false;
    const auto first = step(own_machine.arch, site.moved.bytes, site.patch);
    return !first || first->length < site.length;
}

std::vector<uint64_t> reached_from([[maybe_unused]] const Site& site)
{
#if defined(__x86_64__)
    return x86::reached_from(site.patch, site.moved.bytes);
#elif defined(FASTSDT_ENGINE_ARM64)
    return arm64::reached_from(site.patch, site.moved.bytes);
#else
    return {};
#endif
}

} // namespace fastsdt::engine
