/* SPDX-License-Identifier: BSD-2-Clause
 *
 * usdt.h: libbpf's probe macros (usdt.h 0.1.0) over fastsdt.h. Sources need no change.
 *
 *     USDT(group, name, args...)                               no semaphore
 *     USDT_WITH_SEMA(group, name, args...)                     a semaphore defined on the spot ...
 *     USDT_IS_ACTIVE(group, name)                              ... and the question whether somebody traces the probe
 *     USDT_WITH_EXPLICIT_SEMA(sema, group, name, args...)      a semaphore of one's own
 *     USDT_DEFINE_SEMA(sema), USDT_DECLARE_SEMA(sema), USDT_SEMA(sema), USDT_SEMA_IS_ACTIVE(sema)
 *
 * Defined by the user before the include, as there: USDT_ARG_CONSTRAINT; USDT_NOP, instructions that take the place of
 * the layout (the note then names no layout).
 */
#ifndef __USDT_H

#include "fastsdt.h"

#if defined(__GNUC__) && !defined(__ASSEMBLER__)
#pragma GCC system_header
#endif
#define __USDT_H /* behind the pragma, as the name is reserved */

#define USDT_MAJOR_VERSION 0
#define USDT_MINOR_VERSION 1
#define USDT_PATCH_VERSION 0

#define USDT(...) _USDT(_none, __VA_ARGS__)
#define USDT_WITH_SEMA(...) _USDT(_implicit, __VA_ARGS__)
#define USDT_WITH_EXPLICIT_SEMA(sema, ...) _USDT(_explicit(sema), __VA_ARGS__)
#define USDT_IS_ACTIVE(group, name) _FASTSDT_IS_ACTIVE(group, name)
#define USDT_SEMA(sema) _FASTSDT_SEMA_NAME(sema)
#define USDT_DEFINE_SEMA(sema) _FASTSDT_DEFINE_SEMA(usdt_sema, USDT_SEMA(sema))
#define USDT_DECLARE_SEMA(sema) _FASTSDT_DECLARE_SEMA(usdt_sema, USDT_SEMA(sema))
#define USDT_SEMA_IS_ACTIVE(sema) _FASTSDT_SEMA_IS_ACTIVE(USDT_SEMA(sema))

#ifndef __ASSEMBLER__
struct usdt_sema { /* of our own: libbpf's usdt.h may follow fastsdt.h, and no macro may take a word that names a probe */
    volatile unsigned short active;
};
#endif

/* The user's constraint gets the argument as it is. */
#ifdef USDT_ARG_CONSTRAINT
#define _USDT_RULES _usdt
#define _FASTSDT_CHECK_NAMES_usdt(provider, name)
#define _FASTSDT_ARG_usdt(n, x) , "n"(_FASTSDT_ANY_SIZE(n)), _FASTSDT_STR(USDT_ARG_CONSTRAINT)(x)
#define _FASTSDT_ARGS_usdt _FASTSDT_ARGS_own
#define _FASTSDT_MEMORY_usdt(...)
#define _FASTSDT_IN_MEMORY_usdt 0
#else
#define _USDT_RULES _any
#endif

#if defined(USDT_NOP) && !defined(__ASSEMBLER__)
#define _USDT_LAYOUT _custom
#else
#define _USDT_LAYOUT _FASTSDT_PICK_default
#endif
#define _USDT(semaphore, ...) \
    _FASTSDT_SITE(_USDT_LAYOUT, semaphore, _USDT_RULES, _FASTSDT_ARGC(__VA_ARGS__), __VA_ARGS__, ~)

#endif /* __USDT_H */
