// SPDX-License-Identifier: BSD-2-Clause
// Types, parameters and variables of a program, from its section .BTF: pahole -J writes it, and gcc -gbtf. It stays when a program is stripped.
#pragma once
#include "script/parse.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

struct btf;

namespace fastsdt::engine {

class BtfFile {
public:
    /// A file without a .BTF section, or with a damaged one, declares nothing.
    explicit BtfFile(const std::string& path);

    /// By "struct x", or by a typedef's name. None: not known
    ShapePtr record(const std::string& name) const;
    /// None: no function of that name, or several that differ
    std::optional<DebugTypes::Signature> signature(const std::string& function) const;
    ShapePtr variable(const std::string& name) const;

private:
    struct Free {
        void operator()(btf* all) const;
    };
    std::unique_ptr<btf, Free> btf_;
    // Numbers of types; a function's: 0, if several differ.
    std::map<std::string, unsigned> types_, functions_, variables_;
};

} // namespace fastsdt::engine
