// SPDX-License-Identifier: BSD-2-Clause
// Tells a site from other code by its bytes: all that is left where a note may outlive the code it describes.
#pragma once
#include "arch.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fastsdt {

/// Whether `code` begins with the bytes of `layout` (FASTSDT_LAYOUT_*), in the form in which files have them.
/// True where the layout has no fixed bytes (OTHER, unknown layouts and architectures).
bool layout_stands_at(Arch arch, uint8_t layout, std::span<const std::byte> code);

/// Whether `code` begins with a nop of any form, as every stapsdt site does. True on unknown architectures.
bool any_nop_at(Arch arch, std::span<const std::byte> code);

} // namespace fastsdt
