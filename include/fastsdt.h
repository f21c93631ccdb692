/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fastsdt.h: USDT probe sites that the kernel can trace cheaply. One file, no dependency, copy it where you like.
 *
 *     FASTSDT(provider, name, args...)
 *         A probe with up to 12 arguments: integers, pointers, enums, bools, arrays, bit-fields, floats, doubles. A statement;
 *         arguments are always evaluated, once each, whether somebody traces or not. Provider and name expand like any
 *         argument of a macro; C++ namespaces do not change them.
 *
 *     FASTSDT_NAMED(provider, name, (type, name, value)...)
 *         The same with a note that tells tools the arguments' names and types: FASTSDT_NAMED(shop, order, (int, id, i)).
 *         Each value is converted to its type. Up to 12 arguments, at least one. Not in assembly.
 *
 *     FASTSDT_WITH(layout, semaphore, provider, name, args...)
 *         The same, spelled out.
 *         layout:     `default`, or one of nop, nop1, nop1_nop4, nop5, nop1_nop5, nop10, nop1_nop10
 *         semaphore:  `none`, `implicit` (defined on the spot, shared by all sites of that probe),
 *                     or `explicit(sema)` (defined by you, see below)
 *
 *     FASTSDT_IS_ACTIVE(provider, name)        1 while somebody traces this probe, else 0. Reads its `implicit` semaphore
 *     FASTSDT_DEFINE_SEMA(sema)                defines a semaphore: once, at namespace or file scope, then a semicolon
 *     FASTSDT_DECLARE_SEMA(sema)               declares it in the other files of that executable or library
 *     FASTSDT_SEMA_IS_ACTIVE(sema)             1 while somebody traces a probe that has it, else 0
 *         Semaphores are hidden: each executable and library has its own. They are known by name alone: two namespaces
 *         that use one name share it.
 *
 *     FASTPROBE, NO_FASTPROBE                  before a function: ask the plugin fastprobe for a cheap entry; forbid it
 *     FASTPROBE_MODE("nop10")                  ask for an entry of this mode
 *     FASTPROBE_EXIT("nop10")                  ask for cheap sites in front of its ways out. Nothing without the plugin
 *
 * In assembly (.S) FASTSDT and FASTSDT_WITH take operands as the assembler writes them; they are recorded as they are.
 *
 * Settings, before the include or with -D:
 *
 *     FASTSDT_LAYOUT           layout of this file's sites: the names above. x86-64: nop1_nop10. Elsewhere: nop
 *     FASTSDT_BOUND            log2 of the boundary that a site's patchable bytes never cross: 6 (a cache line, and
 *                              with it every page). 4 to 12, or 0 for no promise and no padding
 *     FASTSDT_ARG_CONSTRAINT   constraint of arguments: nr on 64-bit targets, for operands that every tracer can parse
 *     FASTSDT_DISABLE          no site, no note; arguments are compiled but not evaluated, and every probe is inactive.
 *                              Also the default outside Linux/ELF: macOS, Windows, wasm, BPF
 *
 * nop5 and nop1_nop5 need FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1 to be defined: the kernels named rewrite a
 * traced nop5 into a call whose target a forked child has not mapped. A bare nop10 needs
 * FASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2.
 */

/* ---- Part 1: the format. Bytes of each layout and constants of .note.fastsdt; docs/format.md explains them. ----
 *
 * Everything that emits or recognizes a site takes these from here, so that each exists once. Only #defines:
 * this part can be included from C, C++, assembly, BPF and kernel code. */
#ifndef FASTSDT_FORMAT_H
#define FASTSDT_FORMAT_H

/* The version of the headers and of everything built with them: 10000 * major + 100 * minor + patch, for #if, and as text.
 *
 *     0.1.0    FASTSDT, FASTSDT_WITH, semaphores; sys/sdt.h of systemtap 5.6 and usdt.h of libbpf 0.1.0; FASTPROBE
 */
#define FASTSDT_VERSION 100
#define FASTSDT_VERSION_STRING "0.1.0"

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

/* The x86-64 layouts: X(name, what some kernel writes over the patchable bytes, name for people). */
#define FASTSDT_LAYOUTS(X)              \
    X(nop1, never, "nop1")              \
    X(nop1_nop4, never, "nop1+nop4")    \
    X(nop5, nop5_call, "nop5")          \
    X(nop1_nop5, nop5_call, "nop1+nop5") \
    X(nop10, nop10_call, "nop10")       \
    X(nop1_nop10, nop10_call, "nop1+nop10")

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

/* .note.fastsdt: owner, note types, version. The types avoid the numbers for which readelf and others print a
 * name whatever the owner is. */
#define FASTSDT_NOTE_SECTION ".note.fastsdt"
#define FASTSDT_NOTE_OWNER "fastsdt"
/* In .comment: the LLVM plugin selected functions, and their code was made where its pass was not loaded (LTO). */
#define FASTSDT_NO_PASS "fastprobe: compiled for LTO, linked without fastprobe-pass.so"
#define FASTSDT_NOTE_SITE 0x53  /* 'S': one probe site */
#define FASTSDT_NOTE_ENTRY 0x45 /* 'E': one function entry */
#define FASTSDT_NOTE_EXIT 0x58  /* 'X': one way out of a function */
#define FASTSDT_NOTE_INDEX 0x49 /* 'I': all of them, sorted, as fastsdt-index writes it */
#define FASTSDT_NOTE_VERSION 1
/* Names and types of arguments, by probe and not by site: a section of its own. */
#define FASTSDT_NAMES_SECTION ".note.fastsdt.names"
#define FASTSDT_NOTE_NAMES 0x4e /* 'N' */

/* Descriptor of SITE, ENTRY and EXIT: eight bytes, then two address-sized words in the file's class and byte order.
 *   +0 u8  version        FASTSDT_NOTE_VERSION
 *   +1 u8  layout         FASTSDT_LAYOUT_*
 *   +2 u8  patch offset   first patchable byte, from the layout's first byte
 *   +3 u8  patch length   patchable bytes, 0 = none
 *   +4 u8  bound          log2 of a boundary the patchable bytes are promised not to cross, 0 = no promise
 *   +5 u8  lead           entries: bytes from the function's address to the layout's first byte; sites: 0;
 *          result         exits: FASTSDT_RESULT_*
 *   +6 u16 flags          FASTSDT_SITE_*, FASTSDT_ENTRY_* or FASTSDT_EXIT_*
 *   +8     address        site: pc (equal to the stapsdt note's); entry: the function's address; exit: the layout's
 *   +8+A   site: address of the semaphore, 0 = none; entry: bytes of stack arguments, all ones = unknown;
 *          exit: the function's address */
#define FASTSDT_SITE_FLAGS_DEAD 0x0001  /* CPU status flags hold nothing the program needs at the site */
#define FASTSDT_SITE_NO_REDZONE 0x0002  /* the function keeps nothing below the stack pointer at the site */
#define FASTSDT_SITE_UNGROUPED 0x0004   /* assembler without link-order groups: the note may outlive its code */
#define FASTSDT_ENTRY_RETURNS_TWICE 0x0001 /* setjmp-like: a return probe would fire twice */
#define FASTSDT_ENTRY_ADDED 0x0002      /* fastprobe put the layout there; otherwise found as compiled */
#define FASTSDT_ENTRY_MISSED 0x0004     /* the form asked for was not possible; the layout says what stands there */
#define FASTSDT_ENTRY_EXITS 0x0008      /* every way out of the function has an EXIT record */
#define FASTSDT_EXIT_TAIL_CALL 0x0001   /* a jump to another function: its result is not there yet. Otherwise a return */
#define FASTSDT_EXIT_SIGNED 0x0002      /* the result is a signed integer */
#define FASTSDT_EXIT_UNSIGNED 0x0004    /* an unsigned one, or an address. Neither: unknown, or no integer */
#define FASTSDT_EXIT_SIZE_SHIFT 8       /* from this bit on: the result's bytes, 0 = unknown or more than 255 */

/* Where a function's result is when it returns. Never reuse a number. */
#define FASTSDT_RESULT_OTHER 0    /* elsewhere, or unknown */
#define FASTSDT_RESULT_NONE 1     /* there is none */
#define FASTSDT_RESULT_REGISTER 2 /* the first integer register: rax, x0. Bits above its size hold anything */
#define FASTSDT_RESULT_PAIR 3     /* the first two: rax and rdx, x0 and x1 */
#define FASTSDT_RESULT_VECTOR 4   /* the first vector register: xmm0, v0 */
#define FASTSDT_RESULT_MEMORY 5   /* where the caller wants it; x86-64: its address is in rax */

#endif /* FASTSDT_FORMAT_H */

#if !defined(FASTSDT_FORMAT_ONLY) && !defined(FASTSDT_H)
#define FASTSDT_H

#if defined(__GNUC__) && !defined(__ASSEMBLER__)
#pragma GCC system_header /* variadic macros and GNU asm are intended, whatever -std and -Wpedantic say */
#endif

/* ---- Part 2: what users call ---- */

#define FASTSDT(...) _FASTSDT_SITE(_FASTSDT_PICK_default, _none, _own, _FASTSDT_ARGC(__VA_ARGS__), __VA_ARGS__, _FASTSDT_LAST)
#define FASTSDT_WITH(layout, semaphore, ...) _FASTSDT_WITH(layout, semaphore, __VA_ARGS__)

#ifndef __ASSEMBLER__

#define FASTSDT_NAMED(provider, name, ...) \
    _FASTSDT_NAMED(_FASTSDT_CAT(_FASTSDT_N, _FASTSDT_ARGC(provider, name, __VA_ARGS__)), provider, name, __VA_ARGS__)
#define FASTSDT_IS_ACTIVE(provider, name) _FASTSDT_IS_ACTIVE(provider, name)
#define FASTSDT_DEFINE_SEMA(sema) _FASTSDT_DEFINE_SEMA(fastsdt_sema, _FASTSDT_SEMA_NAME(sema))
#define FASTSDT_DECLARE_SEMA(sema) _FASTSDT_DECLARE_SEMA(fastsdt_sema, _FASTSDT_SEMA_NAME(sema))
#define FASTSDT_SEMA_IS_ACTIVE(sema) _FASTSDT_SEMA_IS_ACTIVE(_FASTSDT_SEMA_NAME(sema))

#if defined(__FASTPROBE__) /* the plugin says that it is loaded */
#define FASTPROBE __attribute__((fastprobe))
#define FASTPROBE_MODE(mode) __attribute__((fastprobe(mode)))
#define FASTPROBE_EXIT(mode) __attribute__((fastprobe_exit(mode)))
#define NO_FASTPROBE __attribute__((no_fastprobe))
#elif defined(__clang__) /* the pass finds annotations also in IR that was made without the plugin */
#define FASTPROBE __attribute__((__annotate__("fastprobe")))
#define FASTPROBE_MODE(mode) __attribute__((__annotate__("fastprobe=" mode)))
#define FASTPROBE_EXIT(mode) __attribute__((__annotate__("fastprobe_exit=" mode)))
#define NO_FASTPROBE __attribute__((__annotate__("no_fastprobe")))
#else
#define FASTPROBE
#define FASTPROBE_MODE(mode)
#define FASTPROBE_EXIT(mode)
#define NO_FASTPROBE
#endif

#endif /* !__ASSEMBLER__ */

#define _FASTSDT_CAT(a, b) _FASTSDT_CAT_(a, b)
#define _FASTSDT_CAT_(a, b) a##b
/* An error at the macro, in C, C++ and assembly, whether or not a site follows. */
#ifdef __ASSEMBLER__
#define _FASTSDT_ERROR(text) .error text;
#else
#define _FASTSDT_ERROR(text) _FASTSDT_PRAGMA(GCC error text)
#define _FASTSDT_PRAGMA(...) _Pragma(#__VA_ARGS__)
#endif
#define _FASTSDT_TOO_MANY _FASTSDT_ERROR("fastsdt: a probe has at most 12 arguments")
/* Of provider, name, args...: the number of args. */
#define _FASTSDT_ARGC(...) \
    _FASTSDT_ARGC_(__VA_ARGS__, at_most_12_arguments, at_most_12_arguments, at_most_12_arguments, at_most_12_arguments, at_most_12_arguments, at_most_12_arguments, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0)
#define _FASTSDT_ARGC_(p, n, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, N, ...) N
#define _FASTSDT_SEMA_NAME(sema) _FASTSDT_CAT(__usdt_sema_, sema)

/* Names that no tracer could ask for. An empty one makes _FASTSDT_NAME_, one that was not given has _FASTSDT_LAST in its place,
 * and a string cannot be pasted. The macros of others (`any`) take what those take. */
#define _FASTSDT_CHECK_NAMES_own(provider, name) \
    _FASTSDT_CHECK_NAME(_FASTSDT_NAME_##provider) _FASTSDT_CHECK_NAME(_FASTSDT_NAME_##name)
#define _FASTSDT_CHECK_NAMES_any(provider, name)
#define _FASTSDT_CHECK_NAME(name) _FASTSDT_CAT(_FASTSDT_CHECKED_, _FASTSDT_SECOND(name, fine, ~))
#define _FASTSDT_NAME_ ~, missing
#define _FASTSDT_NAME__FASTSDT_LAST ~, missing
#define _FASTSDT_SECOND(...) _FASTSDT_SECOND_(__VA_ARGS__)
#define _FASTSDT_SECOND_(a, b, ...) b
#define _FASTSDT_CHECKED_fine
#define _FASTSDT_CHECKED_missing _FASTSDT_ERROR("fastsdt: a probe has a provider and a name, both words without quotes")

#ifndef __ASSEMBLER__
struct fastsdt_sema {
    volatile unsigned short active;
};
#endif

/* FASTSDT_NAMED: of each (type, name, value) the value, and the text for the note. */
#ifndef __ASSEMBLER__
#define _FASTSDT_N_VALUE(type, name, value) (type)(value)
#define _FASTSDT_N_TEXT(type, name, value) ".asciz \"" #type "\", \"" #name "\"\n"
#define _FASTSDT_N1(t) _FASTSDT_N_VALUE t
#define _FASTSDT_N2(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N1(__VA_ARGS__)
#define _FASTSDT_N3(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N2(__VA_ARGS__)
#define _FASTSDT_N4(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N3(__VA_ARGS__)
#define _FASTSDT_N5(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N4(__VA_ARGS__)
#define _FASTSDT_N6(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N5(__VA_ARGS__)
#define _FASTSDT_N7(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N6(__VA_ARGS__)
#define _FASTSDT_N8(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N7(__VA_ARGS__)
#define _FASTSDT_N9(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N8(__VA_ARGS__)
#define _FASTSDT_N10(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N9(__VA_ARGS__)
#define _FASTSDT_N11(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N10(__VA_ARGS__)
#define _FASTSDT_N12(t, ...) _FASTSDT_N_VALUE t, _FASTSDT_N11(__VA_ARGS__)
#define _FASTSDT_T0(end)
#define _FASTSDT_T1(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T0(__VA_ARGS__)
#define _FASTSDT_T2(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T1(__VA_ARGS__)
#define _FASTSDT_T3(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T2(__VA_ARGS__)
#define _FASTSDT_T4(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T3(__VA_ARGS__)
#define _FASTSDT_T5(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T4(__VA_ARGS__)
#define _FASTSDT_T6(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T5(__VA_ARGS__)
#define _FASTSDT_T7(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T6(__VA_ARGS__)
#define _FASTSDT_T8(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T7(__VA_ARGS__)
#define _FASTSDT_T9(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T8(__VA_ARGS__)
#define _FASTSDT_T10(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T9(__VA_ARGS__)
#define _FASTSDT_T11(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T10(__VA_ARGS__)
#define _FASTSDT_T12(t, ...) _FASTSDT_N_TEXT t _FASTSDT_T11(__VA_ARGS__)
#endif

#if defined(FASTSDT_DISABLE) || !defined(__ELF__) || !defined(__linux__) || defined(__bpf__) || defined(__TINYC__)
#define _FASTSDT_OFF
#if defined(__TINYC__) && !defined(FASTSDT_DISABLE)
#warning "fastsdt.h: tcc's assembler knows no note sections: there are no probes in what it compiles (-DFASTSDT_DISABLE: intended)"
#endif

/* ---- Part 2b: switched off. What the other parts define for users and for the other headers, without a site ---- */

#define _FASTSDT_WITH(layout, semaphore, ...) _FASTSDT_OWN(_default, _none, __VA_ARGS__)

#ifdef __ASSEMBLER__

#define _FASTSDT_OWN(layout, semaphore, ...)
#define _FASTSDT_SITE(...)

#else

#define _FASTSDT_OWN(layout, semaphore, ...) \
    _FASTSDT_SITE(layout, semaphore, _own, _FASTSDT_ARGC(__VA_ARGS__), __VA_ARGS__, _FASTSDT_LAST)
#define _FASTSDT_NAMED(values, provider, name, ...) FASTSDT(provider, name, values(__VA_ARGS__))
#if defined(_MSC_VER) && !defined(__clang__) /* its preprocessor cannot count arguments */
#define _FASTSDT_SITE(...) ((void)0)
#else
#define _FASTSDT_SITE(...) _FASTSDT_SITE_(__VA_ARGS__)
#endif
/* The arguments are never evaluated, but used, so that no compiler warns of unused ones. */
#define _FASTSDT_SITE_(layout, semaphore, rules, n, provider, name, ...)                                               \
    do {                                                                                                               \
        _FASTSDT_CHECK_NAMES##rules(provider, name)                                                                    \
        if (0) {                                                                                                       \
            _FASTSDT_UNUSED_##n(__VA_ARGS__)                                                                           \
        }                                                                                                              \
    } while (0)
#define _FASTSDT_UNUSED_at_most_12_arguments(...) _FASTSDT_TOO_MANY
#define _FASTSDT_UNUSED_0(end)
#define _FASTSDT_UNUSED_1(a, ...) (void)(a); _FASTSDT_UNUSED_0(__VA_ARGS__)
#define _FASTSDT_UNUSED_2(a, ...) (void)(a); _FASTSDT_UNUSED_1(__VA_ARGS__)
#define _FASTSDT_UNUSED_3(a, ...) (void)(a); _FASTSDT_UNUSED_2(__VA_ARGS__)
#define _FASTSDT_UNUSED_4(a, ...) (void)(a); _FASTSDT_UNUSED_3(__VA_ARGS__)
#define _FASTSDT_UNUSED_5(a, ...) (void)(a); _FASTSDT_UNUSED_4(__VA_ARGS__)
#define _FASTSDT_UNUSED_6(a, ...) (void)(a); _FASTSDT_UNUSED_5(__VA_ARGS__)
#define _FASTSDT_UNUSED_7(a, ...) (void)(a); _FASTSDT_UNUSED_6(__VA_ARGS__)
#define _FASTSDT_UNUSED_8(a, ...) (void)(a); _FASTSDT_UNUSED_7(__VA_ARGS__)
#define _FASTSDT_UNUSED_9(a, ...) (void)(a); _FASTSDT_UNUSED_8(__VA_ARGS__)
#define _FASTSDT_UNUSED_10(a, ...) (void)(a); _FASTSDT_UNUSED_9(__VA_ARGS__)
#define _FASTSDT_UNUSED_11(a, ...) (void)(a); _FASTSDT_UNUSED_10(__VA_ARGS__)
#define _FASTSDT_UNUSED_12(a, ...) (void)(a); _FASTSDT_UNUSED_11(__VA_ARGS__)

#define _FASTSDT_IS_ACTIVE(provider, name) 0
#define _FASTSDT_SEMA_IS_ACTIVE(symbol) 0
#ifdef __ELF__ /* hidden as ever, so that a library's exports do not depend on the setting */
#define _FASTSDT_DEFINE_SEMA(type, symbol) \
    extern struct type symbol;             \
    struct type symbol __attribute__((__visibility__("hidden"))) = {0}
#else
#define _FASTSDT_DEFINE_SEMA(type, symbol) \
    extern struct type symbol;             \
    struct type symbol = {0}
#endif
#define _FASTSDT_DECLARE_SEMA(type, symbol) extern struct type symbol

#endif

#else

/* ---- Part 3: settings, checked ---- */

/* The default is never a word of its own: a program may have a macro called nop. */
#ifdef FASTSDT_LAYOUT
#define _FASTSDT_PICK_default _FASTSDT_CAT(_, FASTSDT_LAYOUT)
#elif defined(__x86_64__)
#define _FASTSDT_PICK_default _nop1_nop10
#else
#define _FASTSDT_PICK_default _nop
#endif

/* Whether a layout exists here, by its name: 1 yes, otherwise the number of an error below. A name that is not in the
 * list gives 0. */
#define _FASTSDT_CAN_nop 1
#define _FASTSDT_CAN_custom 1
#if defined(__x86_64__)
#define _FASTSDT_CAN_nop1 1
#define _FASTSDT_CAN_nop1_nop4 1
#define _FASTSDT_CAN_nop1_nop10 1
#ifdef FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1
#define _FASTSDT_CAN_nop5 1
#define _FASTSDT_CAN_nop1_nop5 1
#else
#define _FASTSDT_CAN_nop5 3
#define _FASTSDT_CAN_nop1_nop5 3
#endif
#ifdef FASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2
#define _FASTSDT_CAN_nop10 1
#else
#define _FASTSDT_CAN_nop10 4
#endif
#else
#ifdef __i386__
#define _FASTSDT_CAN_nop1 1
#else
#define _FASTSDT_CAN_nop1 2
#endif
#define _FASTSDT_CAN_nop1_nop4 2
#define _FASTSDT_CAN_nop5 2
#define _FASTSDT_CAN_nop1_nop5 2
#define _FASTSDT_CAN_nop10 2
#define _FASTSDT_CAN_nop1_nop10 2
#endif

#define _FASTSDT_CHECK_1
#define _FASTSDT_CHECK_2 _FASTSDT_ERROR("fastsdt: this layout exists on x86-64 only; use nop, or default, here")
#define _FASTSDT_CHECK_3 _FASTSDT_ERROR("fastsdt: on Linux 6.18 to 7.1 a traced nop5 crashes forked children: if you accept that, define FASTSDT_ALLOW_NOP5_FORK_CRASH_ON_LINUX_6_18_TO_7_1")
#define _FASTSDT_CHECK_4 _FASTSDT_ERROR("fastsdt: a bare nop10 cannot be traced before Linux 7.2: use nop1_nop10, or define FASTSDT_ALLOW_NOP10_UNTRACEABLE_BEFORE_LINUX_7_2")

#ifndef FASTSDT_LAYOUT
#elif _FASTSDT_CAT(_FASTSDT_CAN_, FASTSDT_LAYOUT) == 0
#error "fastsdt: FASTSDT_LAYOUT is none of nop, nop1, nop1_nop4, nop5, nop1_nop5, nop10, nop1_nop10"
#else
_FASTSDT_CAT(_FASTSDT_CHECK_, _FASTSDT_CAT(_FASTSDT_CAN_, FASTSDT_LAYOUT))
#endif

#ifndef FASTSDT_BOUND
#define FASTSDT_BOUND 6
#endif
#if FASTSDT_BOUND != 0 && (FASTSDT_BOUND < 4 || FASTSDT_BOUND > 12)
#error "fastsdt: FASTSDT_BOUND is the log2 of a boundary, 4 to 12, or 0 for none"
#endif

/* nr keeps symbols, thread-local and vector operands out of the argument string, so that libbpf, bcc and gdb can all
 * parse it. 32-bit targets, and clang's mips, have too few registers for 12 arguments and may use memory; gcc's arm puts
 * constants into memory then, so it keeps systemtap's constraint. */
#if defined(__arm__) && !defined(__clang__)
#define _FASTSDT_CONSTRAINT "g"
#elif (defined(__LP64__) || defined(__x86_64__)) && !(defined(__mips__) && defined(__clang__))
#define _FASTSDT_CONSTRAINT "nr"
#define _FASTSDT_REGISTERS
#else
#define _FASTSDT_CONSTRAINT "nor"
#endif

/* ---- Part 4: a site and its two notes, in assembly ----
 *
 *             .p2align 6,,10                              pads only a site that would cross the boundary
 *     site:   nop; .byte 0x66, 0x2e, 0x0f, ...
 *             .reloc site, NONE, note                     no byte in the output, but the code now refers to both notes and
 *             .reloc site, NONE, layout note              to the base: live code keeps them (--gc-sections, --icf, -r)
 *             .reloc site, NONE, _.stapsdt.base
 *             .pushsection .note.fastsdt, "?o", "note", site      and dead code takes them along: link order and
 *             .pushsection .note.stapsdt, "?o", "note", site      COMDAT group
 *     note:   stapsdt note, .popsection, layout note, .popsection
 *
 * Linkers keep or drop whole sections, so one pair of note sections serves all sites of a section, and the relocations
 * of the first site keep the pair. gas cannot say which section it is in. We find out with subsection 8000, which stays
 * empty: its start is one address per section. If this site's label there has another value than the last site's, the
 * section has changed, and gas gets a new macro that opens the notes of the current one. (The last site's label is
 * compared through .Lfastsdt_section, which was set to it before it was defined: only so does gas compare labels of two
 * sections.) Few sections keep gas fast: for each new one it looks through all that have the same name. clang's assembler cannot compare such
 * labels, finds sections by a hash, and gets a pair for each site (docs/linking.md has what was tried).
 *
 * The text is in strings, not in tokens: a program may have macros called byte, weak or size. There are few strings,
 * and few macros with arguments: the preprocessor is most of what a probe costs to compile.
 * gas before 2.35 has no link order, and 2.35 warns at each note that has it (PR 26256): both get plain sections, and
 * the note says so (FASTSDT_SITE_UNGROUPED). GNU ld before 2.36 keeps all notes, in either form, and dead functions
 * with them (PR 26681). Only gas defines .gasversion.; clang's assembler has had link order in all versions that this
 * header supports. */

#define _FASTSDT_STR(...) _FASTSDT_STR_(__VA_ARGS__)
#define _FASTSDT_STR_(...) #__VA_ARGS__

/* Instructions: strings for C and C++, one-word macro arguments in .S files. */
#ifdef __ASSEMBLER__
#define _FASTSDT_BYTES(...) _FASTSDT_STR_(.byte __VA_ARGS__)
#define _FASTSDT_NOP_BYTES(...) _FASTSDT_STR_(nop; .byte __VA_ARGS__)
#else
#define _FASTSDT_BYTES(...) ".byte " #__VA_ARGS__
#define _FASTSDT_NOP_BYTES(...) "nop\n.byte " #__VA_ARGS__
#endif

/* A debugger finds a site by its source line, and gas makes a line entry for a mnemonic or, when told to, for a label,
 * never for .byte. So the first nop is written as a mnemonic, and bytes without one follow a marked label. clang's
 * assembler makes an entry for everything and does not know the directive. */
#if defined(__clang__)
#define _FASTSDT_LINE_BYTES(...) _FASTSDT_BYTES(__VA_ARGS__)
#elif defined(__ASSEMBLER__)
#define _FASTSDT_LINE_BYTES(...) _FASTSDT_STR_(.loc_mark_labels 1; 988: .loc_mark_labels 0; .byte __VA_ARGS__)
#else
#define _FASTSDT_LINE_BYTES(...) ".loc_mark_labels 1\n988: .loc_mark_labels 0\n.byte " #__VA_ARGS__
#endif

/* The architectures whose assemblers are known to do what part 4 needs. On others labels of one section cannot be compared (sparc, hppa,
 * sh), .set is another directive (alpha), or there is no empty relocation (clang for hexagon and ve): notes go into plain sections, as
 * systemtap's header has them. */
#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__) && !defined(__arm__) && !defined(__riscv) && !defined(__powerpc__) \
    && !defined(__s390__) && !defined(__mips__) && !defined(__loongarch__) && !defined(__m68k__)
#define _FASTSDT_SIMPLE
#endif

/* Words of the notes' text. The generic name of the relocation is unknown to clang's assembler before 13, before 16 on mips. */
#ifdef __ASSEMBLER__
#define _FASTSDT_TEXT(x) x
#else
#define _FASTSDT_TEXT(x) #x
#endif
#ifdef __LP64__
#define _FASTSDT_ADDR _FASTSDT_TEXT(.8byte)
#define _FASTSDT_DESC_SIZE _FASTSDT_TEXT(24)
#else
#define _FASTSDT_ADDR _FASTSDT_TEXT(.4byte)
#define _FASTSDT_DESC_SIZE _FASTSDT_TEXT(16)
#endif
#if defined(__x86_64__)
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(R_X86_64_NONE)
#elif defined(__i386__)
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(R_386_NONE)
#elif defined(__aarch64__) && defined(__LP64__)
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(R_AARCH64_NONE)
#elif defined(__arm__)
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(R_ARM_NONE)
#elif defined(__riscv)
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(R_RISCV_NONE)
#elif defined(__powerpc64__)
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(R_PPC64_NONE)
#elif defined(__mips__)
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(R_MIPS_NONE)
#else
#define _FASTSDT_RELOC_NONE _FASTSDT_TEXT(BFD_RELOC_NONE)
#endif

/* The instructions of each layout. `custom` is what usdt.h's users put into USDT_NOP. */
#define _FASTSDT_APPLY(macro, ...) macro(__VA_ARGS__)
#define _FASTSDT_INSNS_nop1_nop4 _FASTSDT_APPLY(_FASTSDT_NOP_BYTES, FASTSDT_NOP4_BYTES)
#define _FASTSDT_INSNS_nop5 _FASTSDT_APPLY(_FASTSDT_LINE_BYTES, FASTSDT_NOP5_BYTES)
#define _FASTSDT_INSNS_nop1_nop5 _FASTSDT_APPLY(_FASTSDT_NOP_BYTES, FASTSDT_NOP5_BYTES)
#define _FASTSDT_INSNS_nop10 _FASTSDT_APPLY(_FASTSDT_LINE_BYTES, FASTSDT_NOP10_BYTES)
#define _FASTSDT_INSNS_nop1_nop10 _FASTSDT_APPLY(_FASTSDT_NOP_BYTES, FASTSDT_NOP10_BYTES)
#define _FASTSDT_INSNS_custom _FASTSDT_STR(USDT_NOP)
#define _FASTSDT_SHAPE_nop1_nop4 FASTSDT_SHAPE_nop1_nop4
#define _FASTSDT_SHAPE_nop5 FASTSDT_SHAPE_nop5
#define _FASTSDT_SHAPE_nop1_nop5 FASTSDT_SHAPE_nop1_nop5
#define _FASTSDT_SHAPE_nop10 FASTSDT_SHAPE_nop10
#define _FASTSDT_SHAPE_nop1_nop10 FASTSDT_SHAPE_nop1_nop10
#define _FASTSDT_SHAPE_custom FASTSDT_LAYOUT_OTHER, 0, 0

#if defined(__x86_64__) || defined(__i386__)
#define _FASTSDT_INSNS_nop "nop"
#define _FASTSDT_SHAPE_nop FASTSDT_SHAPE_nop1
#elif defined(__s390__)
#define _FASTSDT_INSNS_nop "nop 0"
#define _FASTSDT_SHAPE_nop FASTSDT_LAYOUT_NOP, 0, 4
#elif defined(__arm__) /* each function and each assembly file chooses Thumb or ARM: measure */
#define _FASTSDT_INSNS_nop "988: nop; 989:"
#define _FASTSDT_SHAPE_nop FASTSDT_LAYOUT_NOP, 0, 989b - 988b
#elif defined(__riscv_compressed)
#define _FASTSDT_INSNS_nop "nop"
#define _FASTSDT_SHAPE_nop FASTSDT_LAYOUT_NOP, 0, 2
#else
#define _FASTSDT_INSNS_nop "nop"
#define _FASTSDT_SHAPE_nop FASTSDT_LAYOUT_NOP, 0, 4
#endif
#define _FASTSDT_INSNS_nop1 _FASTSDT_INSNS_nop
#define _FASTSDT_SHAPE_nop1 _FASTSDT_SHAPE_nop

/* Padding. A layout that would cross the boundary needs at most its length less one. A single byte crosses nothing, and
 * other architectures align their instructions. */
#ifdef __ASSEMBLER__
#define _FASTSDT_PAD(max) max
#define _FASTSDT_NO_PAD 0
#else
#define _FASTSDT_PAD(max) ".p2align " _FASTSDT_STR(FASTSDT_BOUND) ",," #max "\n"
#define _FASTSDT_NO_PAD ""
#endif
#if FASTSDT_BOUND == 0
#undef _FASTSDT_PAD
#define _FASTSDT_PAD(max) _FASTSDT_NO_PAD
#endif
#define _FASTSDT_PAD_nop _FASTSDT_NO_PAD
#define _FASTSDT_PAD_nop1 _FASTSDT_NO_PAD
#define _FASTSDT_PAD_nop1_nop4 _FASTSDT_PAD(4)
#define _FASTSDT_PAD_nop5 _FASTSDT_PAD(4)
#define _FASTSDT_PAD_nop1_nop5 _FASTSDT_PAD(5)
#define _FASTSDT_PAD_nop10 _FASTSDT_PAD(9)
#define _FASTSDT_PAD_nop1_nop10 _FASTSDT_PAD(10)
#define _FASTSDT_PAD_custom _FASTSDT_NO_PAD
#define _FASTSDT_BOUND_nop 0
#define _FASTSDT_BOUND_nop1 0
#define _FASTSDT_BOUND_nop1_nop4 FASTSDT_BOUND
#define _FASTSDT_BOUND_nop5 FASTSDT_BOUND
#define _FASTSDT_BOUND_nop1_nop5 FASTSDT_BOUND
#define _FASTSDT_BOUND_nop10 FASTSDT_BOUND
#define _FASTSDT_BOUND_nop1_nop10 FASTSDT_BOUND
#define _FASTSDT_BOUND_custom 0

/* Whether sections are plain, and the flag that says so. gas: true is -1; | and & bind alike. */
#define _FASTSDT_PLAIN_GAS _FASTSDT_TEXT(.gasversion. < 23600)
#if defined(_FASTSDT_SIMPLE)
#define _FASTSDT_OLD_GAS _FASTSDT_TEXT(4)
#elif defined(__clang__)
#define _FASTSDT_OLD_GAS _FASTSDT_TEXT(0)
#else
#define _FASTSDT_OLD_GAS _FASTSDT_TEXT(((.gasversion. < 23600) & 4))
#endif

/* The text has the format's numbers as literals: making strings of them at each site takes time. */
#if FASTSDT_NOTE_SITE != 0x53 || FASTSDT_SITE_FLAGS_DEAD != 1 || FASTSDT_SITE_NO_REDZONE != 2 || FASTSDT_SITE_UNGROUPED != 4
#error "fastsdt.h: the text has other numbers than part 1"
#endif

/* Words that the header passes on begin with an underscore: a program may have macros called none or nop. */
#define _FASTSDT_WITH(layout, semaphore, ...) _FASTSDT_OWN(_##layout, _##semaphore, __VA_ARGS__)
#define _FASTSDT_PICK_nop _nop
#define _FASTSDT_PICK_nop1 _nop1
#define _FASTSDT_PICK_nop1_nop4 _nop1_nop4
#define _FASTSDT_PICK_nop5 _nop5
#define _FASTSDT_PICK_nop1_nop5 _nop1_nop5
#define _FASTSDT_PICK_nop10 _nop10
#define _FASTSDT_PICK_nop1_nop10 _nop1_nop10
#define _FASTSDT_PICK_custom _custom

/* One site: layout, semaphore, whose rules for arguments, their number, provider, name, arguments. After the arguments comes
 * a last word, because an empty list is not C89. */
#define _FASTSDT_SITE(...) _FASTSDT_SITE_(__VA_ARGS__)
#define _FASTSDT_OWN(layout, semaphore, ...) \
    _FASTSDT_SITE(_FASTSDT_PICK##layout, semaphore, _own, _FASTSDT_ARGC(__VA_ARGS__), __VA_ARGS__, _FASTSDT_LAST)

#define _FASTSDT_EAT(...)
#define _FASTSDT_IMPLICIT_NAME(provider, name) _FASTSDT_CAT(_FASTSDT_CAT(__usdt_sema_, provider), _FASTSDT_CAT(__, name))

/* The semaphore that the note refers to, as text, by the word that the user wrote. Arguments: (provider, name). */
#define _FASTSDT_SEMA_none "0" _FASTSDT_EAT
#define _FASTSDT_SEMA_implicit(provider, name) _FASTSDT_STR(_FASTSDT_IMPLICIT_NAME(provider, name))
#define _FASTSDT_SEMA_explicit(sema) _FASTSDT_STR(_FASTSDT_SEMA_NAME(sema)) _FASTSDT_EAT

#ifdef __ASSEMBLER__

/* ---- Part 5a: in assembly ---- */

#ifdef __hppa__ /* a semicolon begins a comment */
#define _FASTSDT_END_OF_LINE !
#else
#define _FASTSDT_END_OF_LINE ;
#endif
#ifdef __alpha__ /* .set switches what the assembler does */
#define _FASTSDT_SET .equ
#else
#define _FASTSDT_SET .set
#endif

#define _FASTSDT_SITE_(layout, semaphore, rules, n, provider, name, ...)                                               \
    _FASTSDT_CHECK_NAMES##rules(provider, name)                                                                        \
    _fastsdt_begin %1+1 _FASTSDT_END_OF_LINE                                                                                           \
    _FASTSDT_SEMA_STMT##semaphore(provider, name)                                                                      \
    _FASTSDT_CAT(_FASTSDT_CHECK_, _FASTSDT_CAN##layout)                                                                \
    _fastsdt_site _FASTSDT_PAD##layout, _FASTSDT_INSNS##layout, _FASTSDT_STR(_FASTSDT_SHAPE##layout),                  \
        _FASTSDT_BOUND##layout, _FASTSDT_SEMA##semaphore(provider, name), #provider, #name,                            \
        _FASTSDT_STR(_FASTSDT_WORDS_##n(__VA_ARGS__)) _FASTSDT_END_OF_LINE                                             \
    _fastsdt_end _FASTSDT_END_OF_LINE

#define _FASTSDT_SEMA_STMT_none _FASTSDT_EAT
#define _FASTSDT_SEMA_STMT_explicit(sema) _FASTSDT_EAT
#define _FASTSDT_SEMA_STMT_implicit(provider, name) _fastsdt_implicit _FASTSDT_IMPLICIT_NAME(provider, name) _FASTSDT_END_OF_LINE

/* Operands as written, separated by blanks. */
#define _FASTSDT_WORDS_0(end)
#define _FASTSDT_WORDS_1(a, end) a
#define _FASTSDT_WORDS_2(a, b, end) a b
#define _FASTSDT_WORDS_3(a, b, c, end) a b c
#define _FASTSDT_WORDS_4(a, b, c, d, end) a b c d
#define _FASTSDT_WORDS_5(a, b, c, d, e, end) a b c d e
#define _FASTSDT_WORDS_6(a, b, c, d, e, f, end) a b c d e f
#define _FASTSDT_WORDS_7(a, b, c, d, e, f, g, end) a b c d e f g
#define _FASTSDT_WORDS_8(a, b, c, d, e, f, g, h, end) a b c d e f g h
#define _FASTSDT_WORDS_9(a, b, c, d, e, f, g, h, i, end) a b c d e f g h i
#define _FASTSDT_WORDS_10(a, b, c, d, e, f, g, h, i, j, end) a b c d e f g h i j
#define _FASTSDT_WORDS_11(a, b, c, d, e, f, g, h, i, j, k, end) a b c d e f g h i j k
#define _FASTSDT_WORDS_12(a, b, c, d, e, f, g, h, i, j, k, l, end) a b c d e f g h i j k l

	/* In .altmacro mode strings keep their quotes and % computes: leave the mode, and return to it afterwards. */
	.macro _fastsdt_begin mode
	.ifc "\mode", "2"
	.noaltmacro
	_FASTSDT_SET .Lfastsdt_altmacro, 1
	.else
	_FASTSDT_SET .Lfastsdt_altmacro, 0
	.endif
	.endm

	.macro _fastsdt_end
	.if .Lfastsdt_altmacro
	.altmacro
	.endif
	.endm

	.macro _fastsdt_implicit symbol
	.ifndef \symbol
	.pushsection .probes, "aw", "progbits"
	.weak \symbol
	.hidden \symbol
	.balign 2
\symbol:
	.2byte 0
	.type \symbol, STT_OBJECT
	.size \symbol, 2
	.popsection
	.endif
	.endm

	/* The text of part 5b again, as statements: a preprocessor cannot turn strings into statements. */
	.macro _fastsdt_site pad, insns, shape, bound, sema, provider, name, args
	.if \pad
	.p2align FASTSDT_BOUND,,\pad
	.endif
.Lfastsdt\@:
	\insns
#if defined(_FASTSDT_SIMPLE)
	_fastsdt_base
	.pushsection .note.fastsdt, "?", "note"
	.pushsection .note.stapsdt, "?", "note"
#elif defined(__clang__)
	_fastsdt_keep .Lfastsdt\@
	.pushsection .note.fastsdt, "?o", "note", .Lfastsdt\@
	.pushsection .note.stapsdt, "?o", "note", .Lfastsdt\@
#else
	_fastsdt_mark_section
	.if 995b != .Lfastsdt_section
	.ifdef .Lfastsdt_section
	.purgem _fastsdt_open
	.endif
	.set .Lfastsdt_section, 995f
	_fastsdt_mark_section
	_fastsdt_keep .Lfastsdt\@
	.if _FASTSDT_PLAIN_GAS
	.macro _fastsdt_open
	.pushsection .note.fastsdt, "?", "note"
	.pushsection .note.stapsdt, "?", "note"
	.endm
	.else
	.macro _fastsdt_open
	.pushsection .note.fastsdt, "?o", "note", .Lfastsdt\@
	.pushsection .note.stapsdt, "?o", "note", .Lfastsdt\@
	.endm
	.endif
	.endif
	_fastsdt_open
#endif
	.balign 4
992:
	.4byte 8, 994f - 993f, 3
	.asciz "stapsdt"
993:
	_FASTSDT_ADDR .Lfastsdt\@, _.stapsdt.base, \sema
	.asciz "\provider"
	.asciz "\name"
	.asciz "\args"
994:
	.balign 4
	.popsection
	.balign 4
991:
	.4byte 8, _FASTSDT_DESC_SIZE, FASTSDT_NOTE_SITE
	.asciz FASTSDT_NOTE_OWNER
	.byte FASTSDT_NOTE_VERSION, \shape, \bound, 0
	.2byte _FASTSDT_OLD_GAS
	_FASTSDT_ADDR .Lfastsdt\@, \sema
	.popsection
	.endm

	.macro _fastsdt_mark_section
	.pushsection .text
	.previous
	.subsection 8000
995:
	.popsection
	.endm

	.macro _fastsdt_keep site
	.reloc \site, _FASTSDT_RELOC_NONE, 992f
	.reloc \site, _FASTSDT_RELOC_NONE, 991f
	.reloc \site, _FASTSDT_RELOC_NONE, _.stapsdt.base
	_fastsdt_base
	.endm

	.macro _fastsdt_base
	.ifndef _.stapsdt.base
	.pushsection .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak _.stapsdt.base
	.hidden _.stapsdt.base
_.stapsdt.base:
	.space 1
	.size _.stapsdt.base, 1
	.popsection
	.endif
	.endm

#else /* C and C++ */

/* ---- Part 5b: in C and C++ ---- */

/* The relocations at the site's first byte (990b), which keep the notes and the base; then the base itself. */
#define _FASTSDT_KEEP                                                                                                  \
    ".reloc 990b, " _FASTSDT_RELOC_NONE ", 992f\n"                                                                     \
    ".reloc 990b, " _FASTSDT_RELOC_NONE ", 991f\n"                                                                     \
    ".reloc 990b, " _FASTSDT_RELOC_NONE ", _.stapsdt.base\n" _FASTSDT_BASE
#define _FASTSDT_BASE                                                                                                  \
    ".ifndef _.stapsdt.base\n"                                                                                         \
    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                                        \
    ".weak _.stapsdt.base\n"                                                                                           \
    ".hidden _.stapsdt.base\n"                                                                                         \
    "_.stapsdt.base: .space 1\n"                                                                                       \
    ".size _.stapsdt.base, 1\n"                                                                                        \
    ".popsection\n"                                                                                                    \
    ".endif\n"
/* Into the note sections: the stapsdt note first. */
#define _FASTSDT_OPEN_PLAIN                                                                                            \
    ".pushsection .note.fastsdt, \"?\", \"note\"\n"                                                                    \
    ".pushsection .note.stapsdt, \"?\", \"note\"\n"
#define _FASTSDT_OPEN_LINKED                                                                                           \
    ".pushsection .note.fastsdt, \"?o\", \"note\", .Lfastsdt%=\n"                                                      \
    ".pushsection .note.stapsdt, \"?o\", \"note\", .Lfastsdt%=\n"
#if defined(_FASTSDT_SIMPLE)
#define _FASTSDT_OPEN _FASTSDT_BASE _FASTSDT_OPEN_PLAIN
#elif defined(__clang__)
#define _FASTSDT_OPEN ".Lfastsdt%=:\n" _FASTSDT_KEEP _FASTSDT_OPEN_LINKED
#else
/* A label in subsection 8000 of the current section. The push is undone, and with it which section was the previous one. */
#define _FASTSDT_MARK_SECTION                                                                                          \
    ".pushsection .text\n"                                                                                             \
    ".previous\n"                                                                                                      \
    ".subsection 8000\n"                                                                                               \
    "995: .popsection\n"
#define _FASTSDT_OPEN                                                                                                  \
    _FASTSDT_MARK_SECTION                                                                                              \
    ".if 995b != .Lfastsdt_section\n"                                                                                  \
    ".ifdef .Lfastsdt_section\n"                                                                                       \
    ".purgem _fastsdt_open\n"                                                                                          \
    ".endif\n"                                                                                                         \
    ".set .Lfastsdt_section, 995f\n"                                                                                   \
    _FASTSDT_MARK_SECTION                                                                                              \
    ".Lfastsdt%=:\n" _FASTSDT_KEEP                                                                                     \
    ".if " _FASTSDT_PLAIN_GAS "\n"                                                                                      \
    ".macro _fastsdt_open\n" _FASTSDT_OPEN_PLAIN ".endm\n"                                                             \
    ".else\n"                                                                                                          \
    ".macro _fastsdt_open\n" _FASTSDT_OPEN_LINKED ".endm\n"                                                            \
    ".endif\n"                                                                                                         \
    ".endif\n"                                                                                                         \
    "_fastsdt_open\n"
#endif
/* stapsdt: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation. Then the layout note. */
#define _FASTSDT_NOTES(layout, flags, sema, provider, name, args)                                                      \
    ".balign 4\n"                                                                                                      \
    "992: .4byte 8, 994f - 993f, 3\n"                                                                                  \
    ".asciz \"stapsdt\"\n"                                                                                             \
    "993: " _FASTSDT_ADDR " 990b, _.stapsdt.base, " sema "\n"                                                          \
    ".asciz " _FASTSDT_STR_(provider) "\n"                                                                             \
    ".asciz " _FASTSDT_STR_(name) "\n"                                                                                 \
    args "\n"                                                                                                          \
    "994: .balign 4\n"                                                                                                 \
    ".popsection\n"                                                                                                    \
    ".balign 4\n"                                                                                                      \
    "991: .4byte 8, " _FASTSDT_DESC_SIZE ", 0x53\n"                                                                    \
    ".asciz \"" FASTSDT_NOTE_OWNER "\"\n"                                                                              \
    ".byte " _FASTSDT_STR(FASTSDT_NOTE_VERSION, _FASTSDT_SHAPE##layout, _FASTSDT_BOUND##layout, 0) "\n"                \
    ".2byte " flags "\n" _FASTSDT_ADDR " 990b, " sema "\n"                                                             \
    ".popsection\n"

/* Status flags: every asm statement on x86 clobbers them, so the compiler keeps nothing there. */
#if defined(__x86_64__) || defined(__i386__)
#define _FASTSDT_FLAGS_PLAIN "1 | " _FASTSDT_OLD_GAS
#define _FASTSDT_FLAGS_CALL "1 | 2 | " _FASTSDT_OLD_GAS
#else
#define _FASTSDT_FLAGS_PLAIN _FASTSDT_OLD_GAS
#endif

/* Before and after the asm text and its operands. `inline`: gcc else takes the lines of the asm for instructions and stops
 * inlining small functions with a probe. "memory": tracers read what an argument points to, so that has to be stored
 * before; and they write semaphores, so those have to be read again. */
#define _FASTSDT_BEGIN_PLAIN __asm__ __volatile__ __inline__(
#define _FASTSDT_END_PLAIN : "memory")

/* The kernels that optimize nop5 put a call there, which writes below the stack pointer: keep the enclosing function out
 * of the red zone. Reading the flags register pushes, and compilers know it: a function that does so anywhere keeps
 * nothing below the stack pointer. A cold block that is never reached is enough. */
#if defined(__FASTPROBE_NOREDZONE__) /* the compiler plugin does that */
#define _FASTSDT_BEGIN_CALL _FASTSDT_BEGIN_PLAIN
#define _FASTSDT_END_CALL _FASTSDT_END_PLAIN
#elif !defined(__clang__) && __GNUC__ >= 15
#define _FASTSDT_BEGIN_CALL _FASTSDT_BEGIN_PLAIN
#define _FASTSDT_END_CALL : "memory", "redzone")
#elif defined(__clang__) && __clang_major__ < 19 /* these refuse asm goto next to destructors and cleanups */
#define _FASTSDT_BEGIN_CALL _FASTSDT_BEGIN_PLAIN
#define _FASTSDT_END_CALL : "memory"); __asm__ __volatile__("" : : "r"(__builtin_ia32_readeflags_u64()))
#else
#define _FASTSDT_BEGIN_CALL                                                                                            \
    {                                                                                                                  \
        __label__ _fastsdt_cold;                                                                                       \
        __asm__ __inline__ goto(
#define _FASTSDT_END_CALL                                                                                              \
            : "memory" : _fastsdt_cold);                                                                               \
        if (0) {                                                                                                       \
        _fastsdt_cold:                                                                                                 \
            __asm__ __volatile__("" : : "r"(__builtin_ia32_readeflags_u64()));                                         \
            __builtin_trap();                                                                                          \
        }                                                                                                              \
    }
#endif

/* What the first kernels that optimize a layout write over it: CALL, such a call; PLAIN, nothing that uses the stack.
 * `part`: BEGIN, END, FLAGS. */
#define _FASTSDT_PLAIN(part) part##_PLAIN
#define _FASTSDT_CALL(part) part##_CALL
#define _FASTSDT_CLASS_nop _FASTSDT_PLAIN
#define _FASTSDT_CLASS_nop1 _FASTSDT_PLAIN
#define _FASTSDT_CLASS_nop1_nop4 _FASTSDT_PLAIN
#define _FASTSDT_CLASS_nop5 _FASTSDT_CALL
#define _FASTSDT_CLASS_nop1_nop5 _FASTSDT_CALL
#define _FASTSDT_CLASS_nop10 _FASTSDT_PLAIN
#define _FASTSDT_CLASS_nop1_nop10 _FASTSDT_PLAIN
#define _FASTSDT_CLASS_custom _FASTSDT_PLAIN

/* Semaphores: statements that define or use one. They follow the site: LLVM gives the line entry to what is first. */
#define _FASTSDT_SEMA_STMT_none _FASTSDT_EAT
#define _FASTSDT_SEMA_STMT_implicit _FASTSDT_IMPLICIT_STMT
#define _FASTSDT_SEMA_STMT_explicit(sema) _FASTSDT_SEMA_USE(_FASTSDT_SEMA_NAME(sema)) _FASTSDT_EAT
/* The compiler has to see the use, or a static or LTO build drops the definition. */
#define _FASTSDT_SEMA_USE(symbol) __asm__ __volatile__("" : : "m"(symbol));
#define _FASTSDT_IMPLICIT_STMT(provider, name) _FASTSDT_IMPLICIT_DEF(_FASTSDT_IMPLICIT_NAME(provider, name))
#define _FASTSDT_IMPLICIT_DEF(symbol) _FASTSDT_IMPLICIT_DEF_(_FASTSDT_STR(symbol))
#define _FASTSDT_IMPLICIT_DEF_(symbol)                                                                                 \
    __asm__ __volatile__ __inline__(".ifndef " symbol "\n"                                                             \
                                    ".pushsection .probes, \"aw\", \"progbits\"\n"                                     \
                                    ".weak " symbol "\n"                                                               \
                                    ".hidden " symbol "\n"                                                             \
                                    ".balign 2\n"                                                                      \
                                    symbol ": .2byte 0\n"                                                              \
                                    ".type " symbol ", STT_OBJECT\n"                                                   \
                                    ".size " symbol ", 2\n"                                                            \
                                    ".popsection\n"                                                                    \
                                    ".endif\n");

#define _FASTSDT_SEMA_IS_ACTIVE(symbol) ((symbol).active > 0)
#define _FASTSDT_DEFINE_SEMA(type, symbol)                                                                             \
    _FASTSDT_DECLARE_SEMA(type, symbol);                                                                               \
    struct type __attribute__((__section__(".probes"))) symbol __asm__(_FASTSDT_STR(symbol))                           \
        __attribute__((__visibility__("hidden"))) = {0}
#define _FASTSDT_DECLARE_SEMA(type, symbol) extern struct type symbol __asm__(_FASTSDT_STR(symbol))
#define _FASTSDT_IS_ACTIVE(provider, name)                                                                             \
    (__extension__({                                                                                                   \
        _FASTSDT_DECLARE_SEMA(fastsdt_sema, _FASTSDT_IMPLICIT_NAME(provider, name));                                   \
        _FASTSDT_IMPLICIT_STMT(provider, name)                                                                         \
        _FASTSDT_IMPLICIT_NAME(provider, name).active > 0;                                                             \
    }))

/* clang takes strings made by # for the user's: in spite of the system header it warns of more than C89's 509 bytes. */
#if defined(__clang__) && !defined(__cplusplus) && !defined(__STDC_VERSION__)
#define _FASTSDT_QUIET_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Woverlength-strings\"")
#define _FASTSDT_QUIET_END _Pragma("clang diagnostic pop")
#else
#define _FASTSDT_QUIET_BEGIN
#define _FASTSDT_QUIET_END
#endif

/* A site, and the note with the names: once in a file, and once in a program because of its group. Both are by provider, name and
 * number of arguments, with dots between, which no identifier has. */
#define _FASTSDT_NAMED(values, provider, name, ...)                                                                    \
    do {                                                                                                               \
        FASTSDT(provider, name, values(__VA_ARGS__));                                                                  \
        _FASTSDT_NAMES_NOTE(_FASTSDT_ARGC(provider, name, __VA_ARGS__), provider, name, __VA_ARGS__)                   \
    } while (0)
#define _FASTSDT_NAMES_NOTE(...) _FASTSDT_NAMES_NOTE_(__VA_ARGS__)
#define _FASTSDT_NAMES_NOTE_(n, provider, name, ...)                                                                   \
    _FASTSDT_QUIET_BEGIN                                                                                               \
    __asm__ __volatile__ __inline__(                                                                                   \
        ".ifndef .Lfastsdt_names_" #provider "." #name "." #n "\n"                                                     \
        ".pushsection " FASTSDT_NAMES_SECTION ", \"G\", \"note\", fastsdt.names." #provider "." #name "." #n ", comdat\n" \
        ".balign 4\n"                                                                                                  \
        ".Lfastsdt_names_" #provider "." #name "." #n ": .4byte 8, 994f - 993f, " _FASTSDT_STR(FASTSDT_NOTE_NAMES) "\n" \
        ".asciz \"" FASTSDT_NOTE_OWNER "\"\n"                                                                          \
        "993: .byte " _FASTSDT_STR(FASTSDT_NOTE_VERSION) ", " #n ", 0, 0\n"                                            \
        ".asciz \"" #provider "\", \"" #name "\"\n"                                                                    \
        _FASTSDT_T##n(__VA_ARGS__, ~)                                                                                  \
        "994: .balign 4\n"                                                                                             \
        ".popsection\n"                                                                                                \
        ".endif\n");                                                                                                   \
    _FASTSDT_QUIET_END

/* Arguments pass unchanged through as few macros as possible. */
#define _FASTSDT_SITE_(layout, semaphore, rules, n, provider, name, ...)                                               \
    do {                                                                                                               \
        _FASTSDT_CHECK_NAMES##rules(provider, name)                                                                    \
        _FASTSDT_CAT(_FASTSDT_CHECK_, _FASTSDT_CAN##layout)                                                            \
        _FASTSDT_QUIET_BEGIN                                                                                           \
        _FASTSDT_EACH_##n(_FASTSDT_TYPE, __VA_ARGS__)                                                                  \
        _FASTSDT_MEMORY##rules(n, __VA_ARGS__)                                                                         \
        _FASTSDT_CLASS##layout(_FASTSDT_BEGIN)                                                                         \
            _FASTSDT_PAD##layout "990: " _FASTSDT_INSNS##layout "\n" _FASTSDT_OPEN                                     \
            _FASTSDT_NOTES(layout, _FASTSDT_CLASS##layout(_FASTSDT_FLAGS), _FASTSDT_SEMA##semaphore(provider, name),   \
                           #provider, #name, _FASTSDT_ARGS##rules(n))                                                  \
            : : "n"(_FASTSDT_IN_MEMORY##rules) _FASTSDT_EACH_##n(_FASTSDT_ARG##rules, __VA_ARGS__)                     \
        _FASTSDT_CLASS##layout(_FASTSDT_END);                                                                          \
        _FASTSDT_QUIET_END                                                                                             \
        _FASTSDT_SEMA_STMT##semaphore(provider, name)                                                                  \
    } while (0)

/* ---- Part 6: arguments ---- */

/* macro(n, argument) for each of them. */
#define _FASTSDT_EACH_0(m, end)
#define _FASTSDT_EACH_1(m, a1, end) m(1, a1)
#define _FASTSDT_EACH_2(m, a1, a2, end) m(1, a1) m(2, a2)
#define _FASTSDT_EACH_3(m, a1, a2, a3, end) m(1, a1) m(2, a2) m(3, a3)
#define _FASTSDT_EACH_4(m, a1, a2, a3, a4, end) m(1, a1) m(2, a2) m(3, a3) m(4, a4)
#define _FASTSDT_EACH_5(m, a1, a2, a3, a4, a5, end) m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5)
#define _FASTSDT_EACH_6(m, a1, a2, a3, a4, a5, a6, end) m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5) m(6, a6)
#define _FASTSDT_EACH_7(m, a1, a2, a3, a4, a5, a6, a7, end) m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5) m(6, a6) m(7, a7)
#define _FASTSDT_EACH_8(m, a1, a2, a3, a4, a5, a6, a7, a8, end) \
    m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5) m(6, a6) m(7, a7) m(8, a8)
#define _FASTSDT_EACH_9(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, end) \
    m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5) m(6, a6) m(7, a7) m(8, a8) m(9, a9)
#define _FASTSDT_EACH_10(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, end) \
    m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5) m(6, a6) m(7, a7) m(8, a8) m(9, a9) m(10, a10)
#define _FASTSDT_EACH_11(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, end) \
    m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5) m(6, a6) m(7, a7) m(8, a8) m(9, a9) m(10, a10) m(11, a11)
#define _FASTSDT_EACH_12(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, end) \
    m(1, a1) m(2, a2) m(3, a3) m(4, a4) m(5, a5) m(6, a6) m(7, a7) m(8, a8) m(9, a9) m(10, a10) m(11, a11) m(12, a12)
#define _FASTSDT_EACH_at_most_12_arguments(m, ...) _FASTSDT_MANY##m
#define _FASTSDT_MANY_FASTSDT_TYPE _FASTSDT_TOO_MANY

/* Operand 0 says whether all arguments are in memory. Then come, for each argument, its size in bytes, negative when signed,
 * and its value. */
#ifdef FASTSDT_ARG_CONSTRAINT
#define _FASTSDT_ARG_own(n, x) , "n"(_FASTSDT_SIZE(n)), _FASTSDT_STR(FASTSDT_ARG_CONSTRAINT)(x)
#else
#define _FASTSDT_ARG_own(n, x) , "n"(_FASTSDT_SIZE(n)), _FASTSDT_CONSTRAINT(_FASTSDT_VALUE(n, x))
#endif
#define _FASTSDT_ARG_any(n, x) , "n"(_FASTSDT_ANY_SIZE(n)), _FASTSDT_CONSTRAINT(_FASTSDT_ANY_VALUE(n, x))

/* As text: size@value. The whole register, whatever the operand's size: gdb knows no %r8b, and on i386 gcc printed 16-bit
 * names (PR80115). Readers take as many bytes as stand before the @. _FASTSDT_AT: an argument in memory, by the register
 * that holds its address. %n: gcc -mx32 knows no %c of a negative number, so the size is negated there. %I: powerpc's
 * suffix of immediates. */
#define _FASTSDT_SIGN_OR_NOT -1 : 1
#define _FASTSDT_AT(s, v) "%c" #s "@0(%" #v ")"
#if defined(__x86_64__) && defined(__ILP32__)
#undef _FASTSDT_SIGN_OR_NOT
#undef _FASTSDT_AT
#define _FASTSDT_SIGN_OR_NOT 1 : -1
#define _FASTSDT_IN(s, v) "%n" #s "@%q" #v
#define _FASTSDT_AT(s, v) "%n" #s "@(%q" #v ")"
#elif defined(__x86_64__)
#undef _FASTSDT_AT
#define _FASTSDT_IN(s, v) "%c" #s "@%q" #v
#define _FASTSDT_AT(s, v) "%c" #s "@(%q" #v ")"
#elif defined(__sh__) /* %c writes a # */
#undef _FASTSDT_SIGN_OR_NOT
#define _FASTSDT_SIGN_OR_NOT 1 : -1
#define _FASTSDT_IN(s, v) "%n" #s "@%" #v
#elif defined(__i386__)
#define _FASTSDT_IN(s, v) "%c" #s "@%k" #v
#elif defined(__powerpc__)
#define _FASTSDT_IN(s, v) "%c" #s "@%I" #v "%" #v
#elif defined(__aarch64__)
#undef _FASTSDT_AT
#define _FASTSDT_IN(s, v) "%c" #s "@%" #v
#define _FASTSDT_AT(s, v) "%c" #s "@[%" #v "]"
#else
#define _FASTSDT_IN(s, v) "%c" #s "@%" #v
#endif
/* Tracers read operands as AT&T writes them. Of {att|intel} the compiler takes what the file is compiled for. Without arguments
 * both are the same. Once in a site, as clang takes time for it. */
#if defined(__x86_64__) || defined(__i386__)
#define _FASTSDT_ATT(n) "{|.if " #n "\n.error \"fastsdt: tracers cannot read arguments as -masm=intel writes them: use -masm=att here\"\n.endif\n}"
#else
#define _FASTSDT_ATT(n) ""
#endif
#define _FASTSDT_LIST_0(f) ""
#define _FASTSDT_LIST_1(f) f(1, 2)
#define _FASTSDT_LIST_2(f) f(1, 2) " " f(3, 4)
#define _FASTSDT_LIST_3(f) f(1, 2) " " f(3, 4) " " f(5, 6)
#define _FASTSDT_LIST_4(f) f(1, 2) " " f(3, 4) " " f(5, 6) " " f(7, 8)
#define _FASTSDT_LIST_5(f) _FASTSDT_LIST_4(f) " " f(9, 10)
#define _FASTSDT_LIST_6(f) _FASTSDT_LIST_4(f) " " f(9, 10) " " f(11, 12)
#define _FASTSDT_LIST_7(f) _FASTSDT_LIST_4(f) " " f(9, 10) " " f(11, 12) " " f(13, 14)
#define _FASTSDT_LIST_8(f) _FASTSDT_LIST_4(f) " " f(9, 10) " " f(11, 12) " " f(13, 14) " " f(15, 16)
#define _FASTSDT_LIST_9(f) _FASTSDT_LIST_8(f) " " f(17, 18)
#define _FASTSDT_LIST_10(f) _FASTSDT_LIST_8(f) " " f(17, 18) " " f(19, 20)
#define _FASTSDT_LIST_11(f) _FASTSDT_LIST_8(f) " " f(17, 18) " " f(19, 20) " " f(21, 22)
#define _FASTSDT_LIST_12(f) _FASTSDT_LIST_8(f) " " f(17, 18) " " f(19, 20) " " f(21, 22) " " f(23, 24)
#define _FASTSDT_LIST_at_most_12_arguments(f) ""

/* The rules for arguments. `own`: FASTSDT(), constants and registers. `any`: the macros of others, which also accept
 * what does not fit into a register: if there is such an argument, the addresses of all are passed. */
#define _FASTSDT_ARGS_own(n) _FASTSDT_ATT(n) ".asciz \"" _FASTSDT_LIST_##n(_FASTSDT_IN) "\""
#define _FASTSDT_MEMORY_own(...)
#define _FASTSDT_IN_MEMORY_own 0
#ifdef _FASTSDT_REGISTERS
#define _FASTSDT_ARGS_any(n) _FASTSDT_ATT(n) ".if %c0\n.asciz \"" _FASTSDT_LIST_##n(_FASTSDT_AT) "\"\n.else\n.asciz \"" _FASTSDT_LIST_##n(_FASTSDT_IN) "\"\n.endif"
#define _FASTSDT_MEMORY_any(n, ...) typedef char _fastsdt_memory[1 + (0 _FASTSDT_EACH_##n(_FASTSDT_WIDE, __VA_ARGS__))];
#define _FASTSDT_IN_MEMORY_any (sizeof(_fastsdt_memory) - 1)
#else
#define _FASTSDT_ARGS_any _FASTSDT_ARGS_own
#define _FASTSDT_MEMORY_any(...)
#define _FASTSDT_IN_MEMORY_any 0
#endif

/* clang leaves a register variable where it is, in a vector register too, and takes no bit-field where it may use memory. */
#ifdef __clang__
#define _FASTSDT_RVALUE(x) ((void)0, (x))
#else
#define _FASTSDT_RVALUE(x) (x)
#endif

#ifdef __cplusplus
extern "C++" {
/* True for signed arithmetic types, for enumerations with a signed underlying type, and for wrappers such as std::atomic<T>, recognised
 * by a T::value_type of the same size. */
template <typename _fastsdt_T, int _fastsdt_kind = __is_enum(_fastsdt_T) ? 1 : __is_class(_fastsdt_T) ? 2 : 0>
struct _fastsdt_signed { enum { _fastsdt_value = 0 }; };
#if defined(__clang__) || __GNUC__ > 4 || (__GNUC__ == 4 && __GNUC_MINOR__ >= 7)
template <typename _fastsdt_T> struct _fastsdt_signed<_fastsdt_T, 1> : _fastsdt_signed<__underlying_type(_fastsdt_T)> {};
#endif
#if __cplusplus >= 201103L
template <typename _fastsdt_T> struct _fastsdt_signed<_fastsdt_T, 2> {
    template <typename _fastsdt_U> static char (&_fastsdt_look(typename _fastsdt_U::value_type *))
        [_fastsdt_signed<typename _fastsdt_U::value_type>::_fastsdt_value && sizeof(typename _fastsdt_U::value_type) == sizeof(_fastsdt_U) ? 2 : 1];
    template <typename _fastsdt_U> static char (&_fastsdt_look(...))[1];
    enum { _fastsdt_value = sizeof(_fastsdt_look<_fastsdt_T>(0)) == 2 };
};
#endif
#define _FASTSDT_SIGNED(type) template <> struct _fastsdt_signed<type> { enum { _fastsdt_value = (type)(-1) < (type)(1) }; };
_FASTSDT_SIGNED(char)
_FASTSDT_SIGNED(signed char)
_FASTSDT_SIGNED(short)
_FASTSDT_SIGNED(int)
_FASTSDT_SIGNED(long)
__extension__ _FASTSDT_SIGNED(long long)
_FASTSDT_SIGNED(wchar_t)
#undef _FASTSDT_SIGNED
#if defined(__clang__) && defined(__BITINT_MAXWIDTH__)
__extension__ template <int _fastsdt_n> struct _fastsdt_signed<_BitInt(_fastsdt_n)> { enum { _fastsdt_value = 1 }; };
#endif

/* A value is cast to what is passed: itself; the bytes of an object that would fit into a register, which may have no copy
 * constructor; the address of anything else. A cast leaves constants constant and costs nothing without optimization. */
template <int _fastsdt_size> struct _fastsdt_uint;
template <> struct _fastsdt_uint<1> { typedef unsigned char _fastsdt_type; };
template <> struct _fastsdt_uint<2> { typedef unsigned short _fastsdt_type; };
template <> struct _fastsdt_uint<4> { typedef unsigned int _fastsdt_type; };
template <> struct _fastsdt_uint<8> { __extension__ typedef unsigned long long _fastsdt_type; };
template <int _fastsdt_size> struct _fastsdt_bytes {
    typename _fastsdt_uint<_fastsdt_size>::_fastsdt_type _fastsdt_value;
    template <typename _fastsdt_T> __attribute__((__always_inline__, __artificial__)) inline _fastsdt_bytes(const _fastsdt_T &_fastsdt_x)
    {
        __builtin_memcpy(&_fastsdt_value, const_cast<const char *>(&reinterpret_cast<const volatile char &>(_fastsdt_x)), _fastsdt_size);
    }
};
struct _fastsdt_address {
    const volatile void *_fastsdt_value;
    template <typename _fastsdt_T> __attribute__((__always_inline__, __artificial__)) inline _fastsdt_address(const _fastsdt_T &_fastsdt_x)
        : _fastsdt_value(&reinterpret_cast<const volatile char &>(_fastsdt_x)) {}
};
/* An array or a function decays to a pointer, which has to be somewhere until the site is passed: in a temporary of the caller's. */
struct _fastsdt_pointer { mutable const volatile void *_fastsdt_value; };
struct _fastsdt_address_of_pointer {
    const volatile void *_fastsdt_value;
    template <typename _fastsdt_T>
    __attribute__((__always_inline__, __artificial__)) inline _fastsdt_address_of_pointer(const _fastsdt_T &_fastsdt_x, const _fastsdt_pointer &_fastsdt_p = _fastsdt_pointer())
        : _fastsdt_value(&_fastsdt_p)
    {
        _fastsdt_p._fastsdt_value = &reinterpret_cast<const volatile char &>(_fastsdt_x);
    }
};
/* More than any register, so that the compiler has to leave it in memory. */
template <typename _fastsdt_T> struct _fastsdt_stored {
    _fastsdt_T _fastsdt_value;
    char _fastsdt_more[9];
    __attribute__((__always_inline__, __artificial__)) inline _fastsdt_stored(_fastsdt_T _fastsdt_x) : _fastsdt_value(_fastsdt_x) {}
};
/* The same for an object. */
template <typename _fastsdt_T> struct _fastsdt_copy {
    char _fastsdt_value[sizeof(_fastsdt_T)], _fastsdt_more[9];
    __attribute__((__always_inline__, __artificial__)) inline _fastsdt_copy(const _fastsdt_T &_fastsdt_x)
    {
        __builtin_memcpy(_fastsdt_value, const_cast<const char *>(&reinterpret_cast<const volatile char &>(_fastsdt_x)), sizeof _fastsdt_value);
    }
};
template <typename _fastsdt_T, bool _fastsdt_object, int _fastsdt_size> struct _fastsdt_pass { typedef _fastsdt_T _fastsdt_type; };
#define _FASTSDT_PASS(size, type) \
    template <typename _fastsdt_T> struct _fastsdt_pass<_fastsdt_T, true, size> { typedef type _fastsdt_type; };
_FASTSDT_PASS(1, _fastsdt_bytes<1>)
_FASTSDT_PASS(2, _fastsdt_bytes<2>)
_FASTSDT_PASS(4, _fastsdt_bytes<4>)
#ifdef _FASTSDT_REGISTERS
_FASTSDT_PASS(8, _fastsdt_bytes<8>)
_FASTSDT_PASS(0, _fastsdt_address)
template <typename _fastsdt_T> struct _fastsdt_pass<_fastsdt_T, false, 0> { typedef _fastsdt_address _fastsdt_type; };
#else
_FASTSDT_PASS(8, _fastsdt_copy<_fastsdt_T>)
_FASTSDT_PASS(0, _fastsdt_copy<_fastsdt_T>)
#ifndef __LP64__
template <typename _fastsdt_T> struct _fastsdt_pass<_fastsdt_T, false, 8> { typedef _fastsdt_stored<_fastsdt_T> _fastsdt_type; };
#endif
#endif
#undef _FASTSDT_PASS
#ifdef __clang__ /* takes no pointer to a member for an operand */
#define _FASTSDT_MEMBER(type) || __is_member_object_pointer(type)
#else
#define _FASTSDT_MEMBER(type)
#endif
#if __cplusplus >= 201103L /* vectors and complex numbers too */
#define _FASTSDT_OBJECT(type) ((unsigned)__builtin_classify_type(*(type *)nullptr) - 1 >= 8 _FASTSDT_MEMBER(type))
#elif defined(__clang__)
#define _FASTSDT_OBJECT(type) (!__is_scalar(type) _FASTSDT_MEMBER(type))
#else
#define _FASTSDT_OBJECT(type) (__is_class(type) || __is_union(type) _FASTSDT_MEMBER(type))
#endif
template <typename _fastsdt_T> struct _fastsdt_arg {
    enum { _fastsdt_size = (_fastsdt_signed<_fastsdt_T>::_fastsdt_value ? _FASTSDT_SIGN_OR_NOT) * (int)sizeof(_fastsdt_T) };
    static typename _fastsdt_pass<_fastsdt_T, _FASTSDT_OBJECT(_fastsdt_T),
                                  8 % sizeof(_fastsdt_T) ? 0 : (int)sizeof(_fastsdt_T)>::_fastsdt_type _fastsdt_value();
};
/* Arrays and functions decay, and qualifiers do not matter. */
template <typename _fastsdt_T> struct _fastsdt_arg<const _fastsdt_T> : _fastsdt_arg<_fastsdt_T> {};
template <typename _fastsdt_T> struct _fastsdt_arg<volatile _fastsdt_T> : _fastsdt_arg<_fastsdt_T> {};
template <typename _fastsdt_T> struct _fastsdt_arg<const volatile _fastsdt_T> : _fastsdt_arg<_fastsdt_T> {};
template <typename _fastsdt_T> struct _fastsdt_arg<_fastsdt_T &> : _fastsdt_arg<_fastsdt_T> {};
#define _FASTSDT_ARRAY(of)                                                                                             \
    template <typename _fastsdt_T> struct _fastsdt_arg<of _fastsdt_T[]> : _fastsdt_arg<of _fastsdt_T *> {};            \
    template <typename _fastsdt_T, __SIZE_TYPE__ _fastsdt_n>                                                           \
    struct _fastsdt_arg<of _fastsdt_T[_fastsdt_n]> : _fastsdt_arg<of _fastsdt_T *> {};
_FASTSDT_ARRAY()
_FASTSDT_ARRAY(const)
_FASTSDT_ARRAY(volatile)
_FASTSDT_ARRAY(const volatile)
#undef _FASTSDT_ARRAY
#ifdef _FASTSDT_REGISTERS
template <typename _fastsdt_T, bool _fastsdt_memory> struct _fastsdt_passed : _fastsdt_arg<_fastsdt_T> {};
template <typename _fastsdt_T> struct _fastsdt_passed<_fastsdt_T, true> { static _fastsdt_address _fastsdt_value(); };
template <typename _fastsdt_T> struct _fastsdt_passed<_fastsdt_T &, true> : _fastsdt_passed<_fastsdt_T, true> {};
template <typename _fastsdt_T> struct _fastsdt_passed<_fastsdt_T[], true> { static _fastsdt_address_of_pointer _fastsdt_value(); };
template <typename _fastsdt_T, __SIZE_TYPE__ _fastsdt_n>
struct _fastsdt_passed<_fastsdt_T[_fastsdt_n], true> : _fastsdt_passed<_fastsdt_T[], true> {};
#define _FASTSDT_FUNCTION_PASSED(...) \
    template <typename _fastsdt_T, typename... _fastsdt_A> struct _fastsdt_passed<__VA_ARGS__, true> : _fastsdt_passed<char[], true> {};
#else
#define _FASTSDT_FUNCTION_PASSED(...)
#endif
#define _FASTSDT_FUNCTION(...)                                                                                         \
    template <typename _fastsdt_T, typename... _fastsdt_A>                                                             \
    struct _fastsdt_arg<_fastsdt_T(__VA_ARGS__)> : _fastsdt_arg<_fastsdt_T (*)(__VA_ARGS__)> {};                       \
    _FASTSDT_FUNCTION_PASSED(_fastsdt_T(__VA_ARGS__))
#define _FASTSDT_NOEXCEPT(...)                                                                                         \
    template <typename _fastsdt_T, typename... _fastsdt_A>                                                             \
    struct _fastsdt_arg<_fastsdt_T(__VA_ARGS__) noexcept> : _fastsdt_arg<_fastsdt_T (*)(__VA_ARGS__)> {};              \
    _FASTSDT_FUNCTION_PASSED(_fastsdt_T(__VA_ARGS__) noexcept)
#if __cplusplus < 201103L && (defined(__clang__) || __GNUC__ >= 12) /* preprocessed with -P, the header is no system's any more */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wc++11-extensions"
#endif
_FASTSDT_FUNCTION(_fastsdt_A...)
_FASTSDT_FUNCTION(_fastsdt_A..., ...)
#if __cplusplus < 201103L && (defined(__clang__) || __GNUC__ >= 12)
#pragma GCC diagnostic pop
#endif
#if __cplusplus >= 201703L
_FASTSDT_NOEXCEPT(_fastsdt_A...)
_FASTSDT_NOEXCEPT(_fastsdt_A..., ...)
#endif
#undef _FASTSDT_FUNCTION
#undef _FASTSDT_FUNCTION_PASSED
#undef _FASTSDT_NOEXCEPT
template <int _fastsdt_n> struct _fastsdt_checked {
#if __cplusplus >= 201103L
    static_assert(8 % _fastsdt_n == 0, "fastsdt: an argument that is not of 1, 2, 4 or 8 bytes: pass its address, or its parts");
#else
    typedef char fastsdt_an_argument_not_of_1_2_4_or_8_bytes__pass_its_address_or_its_parts[8 % _fastsdt_n == 0 ? 1 : -1];
#endif
    enum { _fastsdt_size = _fastsdt_n };
};
}
#define _FASTSDT_TYPE(n, x) typedef __typeof__(x) _fastsdt_t##n;
#define _FASTSDT_WIDE(n, x) || 8 % _fastsdt_arg<_fastsdt_t##n>::_fastsdt_size != 0
#define _FASTSDT_SIZE_OF(x) _fastsdt_arg<__typeof__(x)>::_fastsdt_size
#define _FASTSDT_ANY_SIZE(n) _fastsdt_arg<_fastsdt_t##n>::_fastsdt_size
#define _FASTSDT_SIZE(n) _fastsdt_checked<_fastsdt_arg<_fastsdt_t##n>::_fastsdt_size>::_fastsdt_size
#define _FASTSDT_VALUE(n, x) (__typeof__(_fastsdt_arg<_fastsdt_t##n>::_fastsdt_value())) _FASTSDT_RVALUE(x)
#ifdef _FASTSDT_REGISTERS
#define _FASTSDT_ANY_VALUE(n, x) (__typeof__(_fastsdt_passed<_fastsdt_t##n, (sizeof(_fastsdt_memory) > 1)>::_fastsdt_value()))_FASTSDT_RVALUE(x)
#else
#define _FASTSDT_ANY_VALUE(n, x) _FASTSDT_VALUE(n, x)
#endif
#else
/* The comma makes arrays and functions decay and bit-fields acceptable. Types of class 1 to 8 are numbers and pointers, 1 to
 * 4 of them integers, chars, enums and bools; 18 is _BitInt. */
#define _FASTSDT_TYPE(n, x) __extension__ typedef __typeof__(((void)0, (x))) _fastsdt_t##n;
#define _FASTSDT_SIZE_OF_TYPE(type)                                                                                    \
    ((__typeof__(__builtin_choose_expr(0x4001eu >> (__builtin_classify_type(*(type *)0) & 31) & 1, *(type *)0, 0U))) - 1 < 1 ? _FASTSDT_SIGN_OR_NOT) * (int)sizeof(type)
#define _FASTSDT_SIZE_OF(x) _FASTSDT_SIZE_OF_TYPE(__typeof__(((void)0, (x))))
#define _FASTSDT_ANY_SIZE(n) _FASTSDT_SIZE_OF_TYPE(_fastsdt_t##n)
/* A value that is too wide becomes an error that names the struct, because a struct cannot be multiplied. */
extern struct fastsdt_an_argument_not_of_1_2_4_or_8_bytes__pass_its_address_or_its_parts _fastsdt_too_wide;
#define _FASTSDT_SIZE(n) _FASTSDT_SIZE_OF_TYPE(_fastsdt_t##n) * __builtin_choose_expr(8 % sizeof(_fastsdt_t##n) == 0, 1, _fastsdt_too_wide)
#ifdef _FASTSDT_REGISTERS
#define _FASTSDT_WIDE(n, x) || 8 % sizeof(_fastsdt_t##n) != 0 || (unsigned)__builtin_classify_type(*(_fastsdt_t##n *)0) - 1 >= 8
#define _FASTSDT_VALUE(n, x) _FASTSDT_RVALUE(x)
#define _FASTSDT_ANY_VALUE(n, x) __builtin_choose_expr(sizeof(_fastsdt_memory) > 1, __extension__(_fastsdt_t##n[1]){x}, _FASTSDT_RVALUE(x))
#elif !defined(__LP64__) && !defined(__hppa__) && !defined(__m68k__) && !defined(__sh__)
/* Readers know no pairs of registers. A structure of three words is in memory; where gcc has its old reload pass, it refuses one. */
struct _fastsdt_stored { char _fastsdt_bytes[12]; };
#define _FASTSDT_VALUE(n, x) \
    __builtin_choose_expr(sizeof(_fastsdt_t##n) == 8, *(struct _fastsdt_stored *)__extension__(_fastsdt_t##n[2]){x}, _FASTSDT_RVALUE(x))
#define _FASTSDT_ANY_VALUE(n, x) _FASTSDT_VALUE(n, x)
#else
#define _FASTSDT_VALUE(n, x) _FASTSDT_RVALUE(x)
#define _FASTSDT_ANY_VALUE(n, x) _FASTSDT_RVALUE(x)
#endif
#endif

#endif /* C and C++ */

#endif /* switched off */

#endif /* FASTSDT_H */
