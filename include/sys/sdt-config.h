/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sys/sdt-config.h: part of systemtap-sdt-dev, kept because builds include it. Every assembler that fastsdt supports
 * knows "?" in .pushsection.
 */
#ifndef _SDT_CONFIG_H
#if defined(__GNUC__) && !defined(__ASSEMBLER__)
#pragma GCC system_header
#endif
#define _SDT_CONFIG_H

#define _SDT_ASM_SECTION_AUTOGROUP_SUPPORT 1

#endif
