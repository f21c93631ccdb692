// SPDX-License-Identifier: BSD-2-Clause
// What the kernel puts on a stack for a signal handler: offsets in struct rt_sigframe. The stack pointer points to it when the handler starts.
#pragma once
#include "base/integers.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace fastsdt::engine::signal_frame {

#if defined(__x86_64__)
// arch/x86/include/asm/sigframe.h. The first word is where the handler returns to, the restorer: mov $15, %rax; syscall. In 64-bit code cs, gs, fs
// and ss are 0x33, 0, 0, 0x2b.
inline constexpr size_t stack = 24; ///< the alternate stack: its address, flags, size
inline constexpr size_t sp = 168, pc = 176, segments = 192, size = 200;
inline constexpr unsigned char restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

inline bool is_restorer(std::span<const std::byte> code)
{
    return code.size() == sizeof restorer && std::memcmp(code.data(), restorer, sizeof restorer) == 0;
}

inline bool is_64_bit(const std::byte* frame)
{
    return static_cast<uint16_t>(load_word(frame + segments)) == 0x33;
}
#elif defined(__aarch64__)
// arch/arm64/kernel/signal.c, and struct sigcontext of uapi/asm/sigcontext.h at +304. The return address is in lr, and the handler may save it
// anywhere, so it tells nothing. But the record of the vector registers is always the first after the general ones (setup_sigframe_layout()):
// FPSIMD_MAGIC, then its size.
inline constexpr size_t stack = 144, sp = 560, pc = 568, record = 592, size = 600;

inline bool has_record(const std::byte* frame)
{
    return load_word(frame + record) == (0x46508001 | uint64_t{0x210} << 32);
}
#endif
inline constexpr size_t stack_flags = 8, stack_size = 16; ///< behind its address

} // namespace fastsdt::engine::signal_frame
