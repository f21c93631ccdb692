// SPDX-License-Identifier: BSD-2-Clause
// The layouts of <fastsdt/note.h> as a table. All that has to know their shapes, names or lengths takes it from here. C++17, because
// fastprobe's plugins use it inside a compiler.
#pragma once
#include "base/arch.h"

#include <fastsdt/note.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace fastsdt {

struct Shape {
    uint8_t id = FASTSDT_LAYOUT_OTHER;
    uint8_t patch_offset = 0, patch_length = 0; ///< bytes that a kernel may write over, from the layout's first byte

    constexpr size_t length() const { return size_t(patch_offset) + patch_length; }
};

/// What some kernel writes over the patchable bytes.
enum class Rewritten { never, nop5_call, nop10_call };

/// A layout of x86-64 sites. On other architectures there is one, the native nop, which has the id of nop1.
struct Layout {
    Shape shape;
    Rewritten rewritten;
    std::string_view name; ///< "nop1+nop10"
};

inline constexpr Layout layouts[] = {
#define FASTSDT_X(name, rewritten, text) {{FASTSDT_SHAPE_##name}, Rewritten::rewritten, text},
    FASTSDT_LAYOUTS(FASTSDT_X)
#undef FASTSDT_X
};

/// nullptr: no site has this id.
constexpr const Layout* find_layout(uint8_t id)
{
    for (const Layout& layout : layouts)
        if (layout.shape.id == id)
            return &layout;
    return nullptr;
}

/// Whether this version knows the id. Function entries have some that sites have not.
constexpr bool known_layout(uint8_t id)
{
    return find_layout(id) || id == FASTSDT_LAYOUT_OTHER || id == FASTSDT_LAYOUT_PUSH || id == FASTSDT_LAYOUT_STP;
}

constexpr Rewritten rewritten(uint8_t id)
{
    const Layout* const layout = find_layout(id);
    return layout ? layout->rewritten : Rewritten::never;
}

/// Bytes of endbr64 and bti, which may stand before a layout.
inline constexpr size_t landing_pad = 4;
/// Bytes of the longest layout.
inline constexpr size_t longest_layout = [] {
    size_t longest = 0;
    for (const Layout& layout : layouts)
        longest = std::max(longest, layout.shape.length());
    return longest;
}();

/// "nop1+nop10", "push", ...; "other" for FASTSDT_LAYOUT_OTHER and ids it does not know.
inline std::string_view layout_name(uint8_t id, Arch arch)
{
    const bool x86 = arch == Arch::x86_64 || arch == Arch::i386;
    if (id == FASTSDT_LAYOUT_NOP && !x86)
        return "nop";
    if (id == FASTSDT_LAYOUT_PUSH)
        return "push";
    if (id == FASTSDT_LAYOUT_STP)
        return "stp";
    const Layout* const layout = find_layout(id);
    return layout ? layout->name : "other";
}

} // namespace fastsdt
