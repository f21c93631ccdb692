/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fastsdt.h: USDT probe sites that the kernel can trace cheaply. See the second half for the macros.
 */

/* ---- Part 1: the format. Bytes of each layout and constants of .note.fastsdt; docs/format.md explains them. ----
 *
 * Everything that emits or recognizes a site takes these from here, so that each exists once. Only #defines:
 * this part can be included from C, C++, assembly, BPF and kernel code. */
#ifndef FASTSDT_FORMAT_H
#define FASTSDT_FORMAT_H

/* Bytes of each layout, in order of execution. On x86 the single nop is called nop1; on every other
 * architecture `nop` is that architecture's native nop and the assembler supplies its bytes. */
#define FASTSDT_NOP1_BYTES 0x90
#define FASTSDT_NOP4_BYTES 0x0f, 0x1f, 0x40, 0x00
#define FASTSDT_NOP5_BYTES 0x0f, 0x1f, 0x44, 0x00, 0x00
/* The one form that Linux 7.2 and later optimize: arch/x86/kernel/uprobes.c, can_optimize(). The kernel looks
 * at the first five bytes; libbpf looks at all ten, so the last five are zero. */
#define FASTSDT_NOP10_BYTES 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00

#define FASTSDT_BYTES_nop1 FASTSDT_NOP1_BYTES
#define FASTSDT_BYTES_nop1_nop4 FASTSDT_NOP1_BYTES, FASTSDT_NOP4_BYTES
#define FASTSDT_BYTES_nop5 FASTSDT_NOP5_BYTES
#define FASTSDT_BYTES_nop1_nop5 FASTSDT_NOP1_BYTES, FASTSDT_NOP5_BYTES
#define FASTSDT_BYTES_nop10 FASTSDT_NOP10_BYTES
#define FASTSDT_BYTES_nop1_nop10 FASTSDT_NOP1_BYTES, FASTSDT_NOP10_BYTES

/* The x86-64 layouts: X(name). */
#define FASTSDT_LAYOUTS(X) X(nop1) X(nop1_nop4) X(nop5) X(nop1_nop5) X(nop10) X(nop1_nop10)

/* Layout ids as the note carries them. Sites and function entries share one numbering. Never reuse a number. */
#define FASTSDT_LAYOUT_OTHER 0 /* as the compiler left it: only the bytes can tell */
#define FASTSDT_LAYOUT_NOP 1   /* the architecture's single nop; x86: nop1 */
#define FASTSDT_LAYOUT_NOP1_NOP4 2
#define FASTSDT_LAYOUT_NOP5 3
#define FASTSDT_LAYOUT_NOP1_NOP5 4
#define FASTSDT_LAYOUT_NOP10 5
#define FASTSDT_LAYOUT_NOP1_NOP10 6
#define FASTSDT_LAYOUT_PUSH 16 /* entries, x86-64: push of a 64-bit register */
#define FASTSDT_LAYOUT_STP 17  /* entries, arm64: stp x29, x30, [sp, #-N]! */

/* Per layout: id, offset of the patchable bytes from the layout's first byte, their number. */
#define FASTSDT_SHAPE_nop1 FASTSDT_LAYOUT_NOP, 0, 1
#define FASTSDT_SHAPE_nop1_nop4 FASTSDT_LAYOUT_NOP1_NOP4, 1, 4
#define FASTSDT_SHAPE_nop5 FASTSDT_LAYOUT_NOP5, 0, 5
#define FASTSDT_SHAPE_nop1_nop5 FASTSDT_LAYOUT_NOP1_NOP5, 1, 5
#define FASTSDT_SHAPE_nop10 FASTSDT_LAYOUT_NOP10, 0, 10
#define FASTSDT_SHAPE_nop1_nop10 FASTSDT_LAYOUT_NOP1_NOP10, 1, 10

/* .note.fastsdt: owner, note types, version. The types avoid the numbers that readelf and others print names
 * for with any owner. */
#define FASTSDT_NOTE_SECTION ".note.fastsdt"
#define FASTSDT_NOTE_OWNER "fastsdt"
#define FASTSDT_NOTE_SITE 0x53  /* 'S': one probe site */
#define FASTSDT_NOTE_ENTRY 0x45 /* 'E': one function entry */
#define FASTSDT_NOTE_INDEX 0x49 /* 'I': all of them, sorted, as fastsdt-index writes it */
#define FASTSDT_NOTE_VERSION 1

/* Descriptor of SITE and ENTRY: eight bytes, then two address-sized words in the file's class and byte order.
 *   +0 u8  version        FASTSDT_NOTE_VERSION
 *   +1 u8  layout         FASTSDT_LAYOUT_*
 *   +2 u8  patch offset   first patchable byte, from the layout's first byte
 *   +3 u8  patch length   patchable bytes, 0 = none
 *   +4 u8  bound          log2 of a boundary the patchable bytes are promised not to cross, 0 = no promise
 *   +5 u8  lead           entries: bytes from the function's address to the layout's first byte; sites: 0
 *   +6 u16 flags          FASTSDT_SITE_* or FASTSDT_ENTRY_*
 *   +8     address        site: pc (equal to the stapsdt note's); entry: the function's address
 *   +8+A   site: address of the semaphore, 0 = none; entry: bytes of stack arguments, all ones = unknown */
#define FASTSDT_SITE_FLAGS_DEAD 0x0001  /* CPU status flags hold nothing the program needs at the site */
#define FASTSDT_SITE_NO_REDZONE 0x0002  /* the function keeps nothing below the stack pointer at the site */
#define FASTSDT_SITE_UNGROUPED 0x0004   /* assembler without link-order groups: the note may outlive its code */
#define FASTSDT_ENTRY_RETURNS_TWICE 0x0001 /* setjmp-like: a return probe would fire twice */
#define FASTSDT_ENTRY_ADDED 0x0002      /* fastprobe put the layout there; otherwise found as compiled */
#define FASTSDT_ENTRY_MISSED 0x0004     /* the form asked for could not be had; the layout says what stands there */

#endif /* FASTSDT_FORMAT_H */

#if !defined(FASTSDT_FORMAT_ONLY) && !defined(FASTSDT_H)
#define FASTSDT_H
#endif
