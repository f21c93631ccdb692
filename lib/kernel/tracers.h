// SPDX-License-Identifier: BSD-2-Clause
// The tracers whose rules are known here, and what they do apart from reading arguments (arch/args.h).
#pragma once
#include "kernel/kernel.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastsdt {

enum class Tracer { libbpf, bcc, gdb, systemtap };
inline constexpr std::array<Tracer, 4> tracers = {Tracer::libbpf, Tracer::bcc, Tracer::gdb, Tracer::systemtap};
std::string_view name(Tracer tracer);

/// What the tracer does with a probe that has an argument it rejects: "refuses the whole probe".
std::string_view consequence(Tracer tracer);

/// Whether libbpf, in the version that belongs to the kernel, attaches at the patchable instruction of such a site
/// (FASTSDT_LAYOUT_*) although the note names the nop1 before it. libbpf 1.7 does so for nop5 where system call 336
/// gives ENXIO; the libbpf of Linux 7.2 for nop10 where the call gives EPROTO: tools/lib/bpf/usdt.c, has_nop_combo().
bool libbpf_attaches_at_patch(const Kernel& kernel, uint8_t layout);
/// The first version of libbpf that does so, as texts name it: "libbpf 1.7", "the libbpf of Linux 7.2".
std::string which_attaches_at_patch(uint8_t layout);

} // namespace fastsdt
