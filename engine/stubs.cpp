// SPDX-License-Identifier: BSD-2-Clause
#include "stubs.h"

#if defined(__x86_64__)
#include "compiler_x86.h"
#elif defined(FASTSDT_ENGINE_ARM64)
#include "compiler_arm64.h"
#endif

namespace fastsdt::engine {

// For processes of this build's architecture: no other can be armed.
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
    code.refusals.assign(sites.size(), "is of an architecture that only the kernel traces");
    return code;
#endif
}

} // namespace fastsdt::engine
