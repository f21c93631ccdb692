// SPDX-License-Identifier: BSD-2-Clause
#include "judge/judge.h"

#include "arch/architecture.h"

#include <fmt/core.h>

namespace fastsdt {

Judgement judge(const Kernel& kernel, Arch arch, std::span<const std::byte> bytes, uint64_t vaddr)
{
    const auto rules = architecture(arch).judge;
    if (!rules)
        return {Verdict::unknown, fmt::format("no rules for {}", name(arch))};
    const Judgement judgement = rules(Features(kernel.features.has), bytes, vaddr);
    // Judge with each combination of the unknown features.
    const uint32_t unknown = kernel.features.unknown & features_for(arch);
    for (uint32_t some = unknown; some; some = (some - 1) & unknown) {
        const Judgement other = rules(Features(kernel.features.has | some), bytes, vaddr);
        if (other.verdict != judgement.verdict)
            return {Verdict::unknown,
                    fmt::format("{} or {}: \"{}\" does not tell the build that it depends on", name(judgement.verdict),
                                name(other.verdict), kernel.name())};
    }
    return judgement;
}

} // namespace fastsdt
