// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <string_view>

namespace fastsdt::engine {

/// How a frame of a stack is written.
enum class StackForm {
    bpftrace, ///< symbol+12
    perf,     ///< 7f0012345678 symbol+12 (/path/of/the/file)
    raw,      ///< 7f0012345678
    build_id  ///< 8f3a5b 0x1234: of the file, which has the code at this offset
};

struct StackStyle {
    StackForm form = StackForm::bpftrace;
    bool has_lines = false; ///< of form bpftrace: symbol+12@/src/a.c:34
};

/// As scripts call it.
constexpr std::string_view word_of(StackForm form)
{
    switch (form) {
    case StackForm::bpftrace: return "bpftrace";
    case StackForm::perf: return "perf";
    case StackForm::raw: return "raw";
    case StackForm::build_id: return "build_id";
    }
    return {};
}

} // namespace fastsdt::engine
