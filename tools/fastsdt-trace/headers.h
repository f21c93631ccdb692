// SPDX-License-Identifier: BSD-2-Clause
// #include in scripts: the C compiler of this machine reads the headers, and what they declare is in the debug information that it writes.
#pragma once
#include "options.h"
#include "script/parse.h"

namespace fastsdt::trace_tool {

class CompiledHeaders final : public engine::Headers {
public:
    /// @param folders  where they are looked for, before the compiler's own
    explicit CompiledHeaders(std::vector<std::string> folders) : folders_(std::move(folders)) {}
    engine::Declared read(const std::vector<std::string>& includes, const std::set<std::string>& words) override;

private:
    const std::vector<std::string> folders_;
};

/// What options and the variables of bpftrace's say beside a script. Variables that are not set are as `config` says.
engine::Surroundings surroundings(const Options& options, engine::Headers& headers);

} // namespace fastsdt::trace_tool
