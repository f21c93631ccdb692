// SPDX-License-Identifier: BSD-2-Clause
// Types, parameters and variables of programs, from their debug information.
#pragma once
#include "script/parse.h"

#include <map>
#include <memory>
#include <string>
#include <sys/types.h>

namespace fastsdt::engine {

class DebugFiles : public DebugTypes {
public:
    /// @param pid  of the process whose files are meant; 0: this one's
    explicit DebugFiles(pid_t pid);
    ~DebugFiles() override;

    ShapePtr record(const Probe& probe, const std::string& name) override;
    std::optional<std::vector<Parameter>> parameters(const Probe& probe) override;
    ShapePtr variable(const Probe& probe, const std::string& name) override;

private:
    class File;
    File* file_of(const Probe& probe);

    const pid_t pid_;
    std::map<std::string, std::unique_ptr<File>> files_; // by the probe's word for it
};

} // namespace fastsdt::engine
