/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sys/sdt.h: systemtap's probe macros (systemtap-sdt-dev 5.6) over fastsdt.h. Sources need no change.
 *
 *     STAP_PROBE(provider, name), STAP_PROBE1 ... STAP_PROBE12      and the same as DTRACE_PROBE...
 *     STAP_PROBEV(provider, name, args...)                          with SDT_USE_VARIADIC defined
 *     STAP_PROBE_ASM(provider, name, operands)                      a string for an asm statement of one's own
 *     STAP_PROBE_ASM_TEMPLATE(n), STAP_PROBE_ASM_OPERANDS(n, ...)   its operands from C values
 *
 * Defined by the user before the include, as there: STAP_SDT_ARG_CONSTRAINT, _SDT_HAS_SEMAPHORES (each probe then refers
 * to a semaphore <provider>_<name>_semaphore that the user defines). In .S files operands are recorded as written.
 */
#ifndef _SYS_SDT_H

#include "../fastsdt.h"
#include "sdt-config.h"

#if defined(__GNUC__) && !defined(__ASSEMBLER__)
#pragma GCC system_header
#endif
#define _SYS_SDT_H 1 /* behind the pragma, as the name is reserved */

#define STAP_PROBE(provider, name) _SDT_SITE(0, provider, name, ~)
#define STAP_PROBE1(provider, name, a1) \
    _SDT_SITE(1, provider, name, a1, ~)
#define STAP_PROBE2(provider, name, a1, a2) \
    _SDT_SITE(2, provider, name, a1, a2, ~)
#define STAP_PROBE3(provider, name, a1, a2, a3) \
    _SDT_SITE(3, provider, name, a1, a2, a3, ~)
#define STAP_PROBE4(provider, name, a1, a2, a3, a4) \
    _SDT_SITE(4, provider, name, a1, a2, a3, a4, ~)
#define STAP_PROBE5(provider, name, a1, a2, a3, a4, a5) \
    _SDT_SITE(5, provider, name, a1, a2, a3, a4, a5, ~)
#define STAP_PROBE6(provider, name, a1, a2, a3, a4, a5, a6) \
    _SDT_SITE(6, provider, name, a1, a2, a3, a4, a5, a6, ~)
#define STAP_PROBE7(provider, name, a1, a2, a3, a4, a5, a6, a7) \
    _SDT_SITE(7, provider, name, a1, a2, a3, a4, a5, a6, a7, ~)
#define STAP_PROBE8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8) \
    _SDT_SITE(8, provider, name, a1, a2, a3, a4, a5, a6, a7, a8, ~)
#define STAP_PROBE9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
    _SDT_SITE(9, provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, ~)
#define STAP_PROBE10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
    _SDT_SITE(10, provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, ~)
#define STAP_PROBE11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
    _SDT_SITE(11, provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, ~)
#define STAP_PROBE12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
    _SDT_SITE(12, provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, ~)

#define DTRACE_PROBE(provider, name) STAP_PROBE(provider, name)
#define DTRACE_PROBE1(provider, name, a1) \
    STAP_PROBE1(provider, name, a1)
#define DTRACE_PROBE2(provider, name, a1, a2) \
    STAP_PROBE2(provider, name, a1, a2)
#define DTRACE_PROBE3(provider, name, a1, a2, a3) \
    STAP_PROBE3(provider, name, a1, a2, a3)
#define DTRACE_PROBE4(provider, name, a1, a2, a3, a4) \
    STAP_PROBE4(provider, name, a1, a2, a3, a4)
#define DTRACE_PROBE5(provider, name, a1, a2, a3, a4, a5) \
    STAP_PROBE5(provider, name, a1, a2, a3, a4, a5)
#define DTRACE_PROBE6(provider, name, a1, a2, a3, a4, a5, a6) \
    STAP_PROBE6(provider, name, a1, a2, a3, a4, a5, a6)
#define DTRACE_PROBE7(provider, name, a1, a2, a3, a4, a5, a6, a7) \
    STAP_PROBE7(provider, name, a1, a2, a3, a4, a5, a6, a7)
#define DTRACE_PROBE8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8) \
    STAP_PROBE8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8)
#define DTRACE_PROBE9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
    STAP_PROBE9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9)
#define DTRACE_PROBE10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
    STAP_PROBE10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)
#define DTRACE_PROBE11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
    STAP_PROBE11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)
#define DTRACE_PROBE12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
    STAP_PROBE12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)

#ifdef SDT_USE_VARIADIC
#define STAP_PROBEV(...) _SDT_SITE(_FASTSDT_ARGC(__VA_ARGS__), __VA_ARGS__, ~)
#endif

/* ---- From here on: private, though some names have users (LTTng-UST, gdb's build) ---- */

#define _SDT_NOTE_NAME "stapsdt"
#define _SDT_NOTE_TYPE 3

#ifdef _SDT_HAS_SEMAPHORES
#define _SDT_SEMAPHORE _systemtap
#else
#define _SDT_SEMAPHORE _none
#endif
#define _SDT_SEMAPHORE_NAME(provider, name) _FASTSDT_CAT(_FASTSDT_CAT(provider, _), _FASTSDT_CAT(name, _semaphore))
#define _FASTSDT_SEMA_systemtap(provider, name) _FASTSDT_STR(_SDT_SEMAPHORE_NAME(provider, name))

/* LTTng-UST calls this. */
#define _SDT_PROBE(provider, name, n, args) _SDT_SITE(n, provider, name, _FASTSDT_CAT(_SDT_TAIL_, n) args ~)
#define _SDT_TAIL_0()
#define _SDT_TAIL_1(a1) a1,
#define _SDT_TAIL_2(a1, a2) a1, a2,
#define _SDT_TAIL_3(a1, a2, a3) a1, a2, a3,
#define _SDT_TAIL_4(a1, a2, a3, a4) a1, a2, a3, a4,
#define _SDT_TAIL_5(a1, a2, a3, a4, a5) a1, a2, a3, a4, a5,
#define _SDT_TAIL_6(a1, a2, a3, a4, a5, a6) a1, a2, a3, a4, a5, a6,
#define _SDT_TAIL_7(a1, a2, a3, a4, a5, a6, a7) a1, a2, a3, a4, a5, a6, a7,
#define _SDT_TAIL_8(a1, a2, a3, a4, a5, a6, a7, a8) a1, a2, a3, a4, a5, a6, a7, a8,
#define _SDT_TAIL_9(a1, a2, a3, a4, a5, a6, a7, a8, a9) a1, a2, a3, a4, a5, a6, a7, a8, a9,
#define _SDT_TAIL_10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) a1, a2, a3, a4, a5, a6, a7, a8, a9, a10,
#define _SDT_TAIL_11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11,
#define _SDT_TAIL_12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12,

#define _SDT_SITE(...) _FASTSDT_SITE(_FASTSDT_PICK_default, _SDT_SEMAPHORE, _SDT_RULES, __VA_ARGS__)

#ifdef __ASSEMBLER__

#define _FASTSDT_SEMA_STMT_systemtap _FASTSDT_EAT
#define _SDT_RULES _any

#else

#define _FASTSDT_SEMA_STMT_systemtap(provider, name) _FASTSDT_SEMA_USE(_SDT_SEMAPHORE_NAME(provider, name))

/* The user's constraint gets the argument as it is. */
#ifdef STAP_SDT_ARG_CONSTRAINT
#define _SDT_RULES _stap
#define _FASTSDT_CHECK_NAMES_stap(provider, name)
#define _FASTSDT_ARG_stap(n, x) , "n"(_FASTSDT_ANY_SIZE(n)), _FASTSDT_STR(STAP_SDT_ARG_CONSTRAINT)(x)
#define _FASTSDT_ARGS_stap _FASTSDT_ARGS_own
#define _FASTSDT_MEMORY_stap(...)
#define _FASTSDT_IN_MEMORY_stap 0
#define _SDT_CONSTRAINT _FASTSDT_STR(STAP_SDT_ARG_CONSTRAINT)
#else
#define _SDT_RULES _any
#define _SDT_CONSTRAINT _FASTSDT_CONSTRAINT
#endif

/* Operands of the user's own asm. They have names, because their numbers are not known here. */
#define _SDT_OPERAND(n, x) [_SDT_S##n] "n"(_FASTSDT_SIZE_OF(x)), [_SDT_A##n] _SDT_CONSTRAINT(x)
#define _SDT_ASM_OPERANDS_0() [_sdt_none] "n"(0)
#define _SDT_ASM_OPERANDS_1(a1) \
    _SDT_OPERAND(1, a1)
#define _SDT_ASM_OPERANDS_2(a1, a2) \
    _SDT_ASM_OPERANDS_1(a1), _SDT_OPERAND(2, a2)
#define _SDT_ASM_OPERANDS_3(a1, a2, a3) \
    _SDT_ASM_OPERANDS_2(a1, a2), _SDT_OPERAND(3, a3)
#define _SDT_ASM_OPERANDS_4(a1, a2, a3, a4) \
    _SDT_ASM_OPERANDS_3(a1, a2, a3), _SDT_OPERAND(4, a4)
#define _SDT_ASM_OPERANDS_5(a1, a2, a3, a4, a5) \
    _SDT_ASM_OPERANDS_4(a1, a2, a3, a4), _SDT_OPERAND(5, a5)
#define _SDT_ASM_OPERANDS_6(a1, a2, a3, a4, a5, a6) \
    _SDT_ASM_OPERANDS_5(a1, a2, a3, a4, a5), _SDT_OPERAND(6, a6)
#define _SDT_ASM_OPERANDS_7(a1, a2, a3, a4, a5, a6, a7) \
    _SDT_ASM_OPERANDS_6(a1, a2, a3, a4, a5, a6), _SDT_OPERAND(7, a7)
#define _SDT_ASM_OPERANDS_8(a1, a2, a3, a4, a5, a6, a7, a8) \
    _SDT_ASM_OPERANDS_7(a1, a2, a3, a4, a5, a6, a7), _SDT_OPERAND(8, a8)
#define _SDT_ASM_OPERANDS_9(a1, a2, a3, a4, a5, a6, a7, a8, a9) \
    _SDT_ASM_OPERANDS_8(a1, a2, a3, a4, a5, a6, a7, a8), _SDT_OPERAND(9, a9)
#define _SDT_ASM_OPERANDS_10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
    _SDT_ASM_OPERANDS_9(a1, a2, a3, a4, a5, a6, a7, a8, a9), _SDT_OPERAND(10, a10)
#define _SDT_ASM_OPERANDS_11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
    _SDT_ASM_OPERANDS_10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), _SDT_OPERAND(11, a11)
#define _SDT_ASM_OPERANDS_12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
    _SDT_ASM_OPERANDS_11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), _SDT_OPERAND(12, a12)

#ifdef _FASTSDT_OFF

#define STAP_PROBE_ASM(...) ""
#define STAP_PROBE_ASM_TEMPLATE(n)
#define STAP_PROBE_ASM_OPERANDS(n, ...) [_fastsdt_none] "n"(0)

#else

/* In the user's own asm statement, basic or extended. A basic one has no %=, hence no unique name for the site and no
 * link order: the note may outlive its code, and says so. A template is text like the user's own operands. */
#define STAP_PROBE_ASM(...) _SDT_PROBE_ASM(_FASTSDT_PICK_default, _SDT_SEMAPHORE, __VA_ARGS__)
#define STAP_PROBE_ASM_TEMPLATE(n) _FASTSDT_CAT(_SDT_ASM_TEMPLATE_, n)
#define STAP_PROBE_ASM_OPERANDS(n, ...) _FASTSDT_CAT(_SDT_ASM_OPERANDS_, n)(__VA_ARGS__)

#define _SDT_PROBE_ASM(...) _SDT_PROBE_ASM_(__VA_ARGS__)
#define _SDT_PROBE_ASM_(layout, semaphore, provider, name, ...)                                                        \
    _FASTSDT_PAD##layout "990: " _FASTSDT_INSNS##layout "\n" _FASTSDT_KEEP _FASTSDT_OPEN_PLAIN                         \
    _FASTSDT_NOTES(layout, "4", _FASTSDT_SEMA##semaphore(provider, name), #provider, #name,         \
                   ".asciz " _FASTSDT_STR(_SDT_TEXT(__VA_ARGS__)))
#define _SDT_TEXT(...) #__VA_ARGS__

#if defined(__x86_64__) && defined(__ILP32__)
#define _SDT_ARGFMT(no) %n[_SDT_S##no]@%q[_SDT_A##no]
#elif defined(__x86_64__)
#define _SDT_ARGFMT(no) %c[_SDT_S##no]@%q[_SDT_A##no]
#elif defined(__i386__)
#define _SDT_ARGFMT(no) %c[_SDT_S##no]@%k[_SDT_A##no]
#elif defined(__powerpc__)
#define _SDT_ARGFMT(no) %c[_SDT_S##no]@%I[_SDT_A##no]%[_SDT_A##no]
#else
#define _SDT_ARGFMT(no) %c[_SDT_S##no]@%[_SDT_A##no]
#endif
#define _SDT_ASM_TEMPLATE_0
#define _SDT_ASM_TEMPLATE_1 _SDT_ARGFMT(1)
#define _SDT_ASM_TEMPLATE_2 _SDT_ASM_TEMPLATE_1 _SDT_ARGFMT(2)
#define _SDT_ASM_TEMPLATE_3 _SDT_ASM_TEMPLATE_2 _SDT_ARGFMT(3)
#define _SDT_ASM_TEMPLATE_4 _SDT_ASM_TEMPLATE_3 _SDT_ARGFMT(4)
#define _SDT_ASM_TEMPLATE_5 _SDT_ASM_TEMPLATE_4 _SDT_ARGFMT(5)
#define _SDT_ASM_TEMPLATE_6 _SDT_ASM_TEMPLATE_5 _SDT_ARGFMT(6)
#define _SDT_ASM_TEMPLATE_7 _SDT_ASM_TEMPLATE_6 _SDT_ARGFMT(7)
#define _SDT_ASM_TEMPLATE_8 _SDT_ASM_TEMPLATE_7 _SDT_ARGFMT(8)
#define _SDT_ASM_TEMPLATE_9 _SDT_ASM_TEMPLATE_8 _SDT_ARGFMT(9)
#define _SDT_ASM_TEMPLATE_10 _SDT_ASM_TEMPLATE_9 _SDT_ARGFMT(10)
#define _SDT_ASM_TEMPLATE_11 _SDT_ASM_TEMPLATE_10 _SDT_ARGFMT(11)
#define _SDT_ASM_TEMPLATE_12 _SDT_ASM_TEMPLATE_11 _SDT_ARGFMT(12)

#endif /* switched off */

#endif /* C and C++ */

#endif /* _SYS_SDT_H */
