// SPDX-License-Identifier: BSD-2-Clause
// What the parts of the report share: findings_sites.cpp, findings_functions.cpp, findings_file.cpp.
#pragma once
#include "report/findings.h"

#include <string>

namespace fastsdt {

inline constexpr char nop10_crosses[] = "the nop10 crosses a page: every kernel rejects a probe on it";

inline bool is_x86(Arch arch)
{
    return arch == Arch::x86_64 || arch == Arch::i386;
}

// The layouts whose patchable bytes a kernel writes a call over.
inline bool nop10_kind(uint8_t layout)
{
    return rewritten(layout) == Rewritten::nop10_call;
}
inline bool nop5_kind(uint8_t layout)
{
    return rewritten(layout) == Rewritten::nop5_call;
}

inline bool crosses(uint64_t address, uint64_t length, uint64_t boundary)
{
    return length > 0 && address % boundary + length > boundary;
}

/// Whether the bytes that a kernel would write over are in two pages. False for objects, whose addresses are not final.
// `address`: of the layout.
bool patch_crosses_page(const Image& image, uint64_t address, const Evaluation& judged);

/// "90 66 2e"
std::string hex(std::span<const std::byte> bytes);

} // namespace fastsdt
