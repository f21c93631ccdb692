// SPDX-License-Identifier: GPL-3.0-or-later
// GCC's internal headers in an order that works, and every difference between its versions (11 to 16).
#pragma once

// Our headers and the standard library's come first, because GCC's headers poison names that these use. The path is
// relative because GCC has an options.h as well.
#include "../fastprobe/plan.h"

#include <map>

#include "gcc-plugin.h"
#include "plugin-version.h"

#include "backend.h"
#include "tree.h"
#include "rtl.h"
#include "df.h"
#include "memmodel.h"
#include "tm_p.h"
#include "cgraph.h"
#include "stringpool.h"
#include "attribs.h"
#include "calls.h"
#include "context.h"
#include "cpplib.h"
#include "diagnostic-core.h"
#include "emit-rtl.h"
#include "insn-attr.h"
#include "insn-codes.h"
#include "insn-config.h"
#include "output.h"
#include "recog.h"
#include "regs.h"
#include "rtl-iter.h"
#include "target.h"
#include "tree-pass.h"
#include "varasm.h"

#if BUILDING_GCC_VERSION < 11000
#error "fastprobe needs GCC 11 or later: older ones keep the entry's patchable area elsewhere"
#endif

// Only in the compilers of the C family, not in lto1 and those of other languages, hence weak.
extern cpp_reader* parse_in __attribute__((weak));
extern void cpp_define(cpp_reader*, const char*) __attribute__((weak));
extern mkdeps* cpp_get_deps(cpp_reader*) __attribute__((weak));
extern void deps_add_dep(mkdeps*, const char*) __attribute__((weak)); // mkdeps.h is not installed
extern cpp_options* cpp_get_options(cpp_reader*) __attribute__((weak));

#ifdef GCC_AARCH64_H
// Weak, so that a compiler for another target can load the plugin and hear from it that it is the wrong one.
#ifndef aarch64_cmodel
extern enum aarch64_code_model aarch64_cmodel __attribute__((weak));
#endif
#if BUILDING_GCC_VERSION >= 13000
bool aarch_bti_enabled() __attribute__((weak));
#else
bool aarch64_bti_enabled() __attribute__((weak));
#endif
inline bool compat_bti_enabled()
{
#if BUILDING_GCC_VERSION >= 13000
    return aarch_bti_enabled();
#else
    return aarch64_bti_enabled();
#endif
}
#endif
