// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_features.h"

namespace fastsdt {

Features features_of(const Kernel& kernel)
{
    const Kernel version{kernel.major, kernel.minor};
    const auto since = [&](unsigned major, unsigned minor) { return version >= Kernel{major, minor}; };
    using BcCond = Features::BcCond;
    return {.nop_table = since(6, 16) && !since(6, 19),
            .optimize_nop5 = version >= nop5_first && version <= nop5_last,
            .insn_is_nop = since(6, 19),
            .decode_rex2 = since(6, 10),
            .decode_xop = since(6, 18),
            .optimize_nop10 = version >= nop10_first,
            .uretprobe_breaks_shadow_stack = since(6, 6) && !since(6, 11),
            .simulate_nop = since(6, 13),
            .simulate_stp = kernel.arm64_stp,
            .reject_mops = since(6, 6),
            .bc_cond = since(7, 1) ? BcCond::simulated
                : since(6, 6)      ? BcCond::either
                                   : BcCond::stepped};
}

} // namespace fastsdt
