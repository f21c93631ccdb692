// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracers.h"

#include <fastsdt/note.h>

namespace fastsdt {

std::string_view name(Tracer tracer)
{
    switch (tracer) {
    case Tracer::libbpf: return "libbpf";
    case Tracer::bcc: return "bcc";
    case Tracer::gdb: return "gdb";
    case Tracer::systemtap: return "systemtap";
    }
    return "";
}

std::string_view consequence(Tracer tracer)
{
    switch (tracer) {
    case Tracer::libbpf: return "refuses the whole probe";
    case Tracer::bcc: return "drops the argument and those after it";
    case Tracer::gdb: return "evaluates no argument of the probe";
    case Tracer::systemtap: return "cannot compile a script that reads it";
    }
    return "";
}

bool libbpf_attaches_at_patch(const Kernel& kernel, uint8_t layout)
{
    const Knowledge& features = kernel.features;
    return (layout == FASTSDT_LAYOUT_NOP1_NOP10 && features.surely(Feature::optimize_nop10))
        || (layout == FASTSDT_LAYOUT_NOP1_NOP5 && features.maybe(Feature::optimize)
            && !features.surely(Feature::optimize_nop10));
}

std::string which_attaches_at_patch(uint8_t layout)
{
    return layout == FASTSDT_LAYOUT_NOP1_NOP5 ? "libbpf 1.7" : "the libbpf of Linux " + name(nop10_first);
}

} // namespace fastsdt
