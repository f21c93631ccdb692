// SPDX-License-Identifier: BSD-2-Clause
// Names of C++ and Rust functions as their sources have them.
#pragma once
#include <string>
#include <string_view>

namespace fastsdt {

/// "ns::Class::f(int)" of "_ZN2ns5Class1fEi", "app::order" of Rust's, old or v0. Empty: the name is not such a one, or would become endless.
std::string demangled(const std::string& name);

/// The same without parameters. Empty, as above.
std::string source_name(const std::string& name);

/// Whether what somebody calls a function by is its name in the source, or for the linker: with its parameters if there is a "(" in it, and
/// else without; without the arguments of its template if there is no "<" in it.
/// @param wanted  a pattern; a "*" stands for any text
bool has_source_name(const std::string& name, const std::string& wanted);

/// The name for people: demangled, unless set_demangling(false) was said.
std::string shown_name(const std::string& name);
/// A tool says it at its start, before other threads.
void set_demangling(bool on);

} // namespace fastsdt
