/* SPDX-License-Identifier: BSD-2-Clause
 * As much of the kernel's environment as the compared functions use. */
#ifndef STUB_KERNEL_H
#define STUB_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
#define ENOEXEC 8
#define EINVAL 22
#define ENOSYS 38
#define ENODATA 61
#define ENOTSUPP 524
#undef __LITTLE_ENDIAN
#define __LITTLE_ENDIAN 1234 /* asm/insn.h asks whether it is defined */
#define CONFIG_X86_64 1
#define CONFIG_IA32_EMULATION 1
#define CONFIG_64BIT 1
#define __kprobes
#define __always_inline inline
#define __always_unused
#define __packed __attribute__((packed))
#define fallthrough __attribute__((fallthrough))
#define likely(x) (x)
#define unlikely(x) (x)
#define IS_ENABLED(x) 1
#define BUILD_BUG() ((void)0)
#define BUILD_BUG_ON(x) ((void)0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PAGE_SIZE 4096UL
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define get_unaligned(p) ({ __typeof__(*(p)) v_; memcpy(&v_, (p), sizeof v_); v_; })
#define le16_to_cpu(x) (x)
#define le32_to_cpu(x) (x)
#define cpu_to_le32(x) (x)
#define test_bit(n, p) (((volatile u32 *)(p))[(n) / 32] >> ((n) % 32) & 1)
#endif
