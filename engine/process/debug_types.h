// SPDX-License-Identifier: BSD-2-Clause
// Types, parameters and variables of programs, from their debug information.
#pragma once
#include "process/view.h"
#include "script/parse.h"

#include <map>
#include <memory>
#include <string>

namespace fastsdt::engine {

/// All types and constants of enums of a file.
Declared declared_in(const std::string& path);

class DebugFiles : public DebugTypes {
public:
    /// @param view  of the process whose files are meant; of number 0: this one's
    explicit DebugFiles(const ProcessView& view);
    ~DebugFiles() override;

    ShapePtr record(const Probe& probe, const std::string& name) override;
    std::optional<Signature> signature(const Probe& probe) override;
    std::string why_undeclared(const Probe& probe) override;
    ShapePtr variable(const Probe& probe, const std::string& name) override;

    class File;

private:
    std::string path_of(const Probe& probe) const;
    File* file_of(const Probe& probe);
    std::string linked_name(File& file, const Probe& probe);

    const std::string root_;                             // in front of its paths
    std::map<std::string, std::unique_ptr<File>> files_; // by the probe's word for it
};

} // namespace fastsdt::engine
