// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_features.h"

#include <fastsdt/note.h>

namespace fastsdt {

Features features_of(const Kernel& kernel)
{
    const Kernel version{kernel.major, kernel.minor};
    const auto since = [&](unsigned major, unsigned minor) { return version >= Kernel{major, minor}; };
    return {.nop_table = since(6, 16) && !since(6, 19),
            .optimize_nop5 = version >= nop5_first && version <= nop5_last,
            .insn_is_nop = since(6, 19),
            .decode_rex2 = since(6, 10),
            .decode_xop = since(6, 18),
            .optimize_nop10 = version >= nop10_first};
}

bool libbpf_moves(const Kernel& kernel, uint8_t layout)
{
    const Features features = features_of(kernel);
    return (layout == FASTSDT_LAYOUT_NOP1_NOP10 && features.optimize_nop10)
        || (layout == FASTSDT_LAYOUT_NOP1_NOP5 && features.optimize_nop5);
}

} // namespace fastsdt
