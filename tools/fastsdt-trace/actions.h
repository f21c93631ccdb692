// SPDX-License-Identifier: BSD-2-Clause
// What the tool does for a script: the statements of BEGIN, END and interval, and those of probes when it reads their events.
#pragma once
#include "attached.h"
#include "maps/events.h"
#include "output.h"
#include "processes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

class Actions {
public:
    /// All have to outlive it.
    Actions(Shared& shared, Processes& processes, Output& output)
        : shared_(shared), processes_(processes), output_(output)
    {}

    /// A clause without sites. @return  false: it wants the run to end
    bool run(const engine::Clause& clause);
    /// @return  false: it wants the run to end
    bool perform(const engine::Event& event) { return perform(*event.statement, event.values); }

private:
    using Values = std::vector<engine::Datum>;
    bool run(const engine::Clause& clause, const std::vector<engine::Statement>& statements);
    bool perform(const engine::Statement& statement, const Values& values);
    engine::Datum value(const engine::Expression& e);
    uint64_t number(const engine::Expression& e) { return static_cast<uint64_t>(value(e).number); }
    uint64_t operation(const engine::Expression& e);
    int64_t map_value(const engine::Expression& e);

    Shared& shared_;
    Processes& processes_;
    Output& output_;
    Values variables_;                         // of the clause
    std::optional<engine::Maps> maps_;         // as the clause's expressions see them
    const engine::Statement* shown_ = nullptr; // by the statement before
};

} // namespace fastsdt::trace_tool
