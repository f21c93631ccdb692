// SPDX-License-Identifier: BSD-2-Clause
// What `fastsdt-trace serve` is told: scripts, the processes of each, and how their maps are exported.
#pragma once
#include "options.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fastsdt::trace_tool {

struct MapConfig {
    std::string name, help, unit;    ///< empty: made from the map
    std::vector<std::string> labels; ///< of its keys; empty: made from the script
    std::optional<size_t> most_keys;
    bool exported = true;
};

struct ScriptConfig {
    std::string name;              ///< begins the names of its metrics
    std::vector<ScriptFile> files; ///< read one after another as one script
    Selection selection;
    std::vector<pid_t> pids;
    std::optional<bool> follow;
    bool read_memory = false;
    bool moves = Options().moves;          ///< engine::Session::Options
    std::map<std::string, MapConfig> maps; ///< by the map's name, with its @

    std::string text() const;
    std::string title() const; ///< for messages: "-e", or "script NAME"
    /// Whether what is traced stays the same, so that counts can be kept.
    bool traces_as(const ScriptConfig& other) const;
};

struct Config {
    std::string address = "127.0.0.1";
    uint16_t port = 9946;
    size_t most_keys = 1000; ///< of each map
    std::string otlp;        ///< URL of an OpenTelemetry collector; empty: none
    std::chrono::seconds otlp_period{10};
    std::vector<ScriptConfig> scripts;
};

/// Throws Unusable: one sentence with the file and the place.
Config read_config(const std::string& file);
/// "ADDRESS:PORT", "[::1]:PORT", "PORT". Throws Unusable.
void set_listen(Config& config, const std::string& text);
/// What the command line says. Throws Unusable.
Config config_of(const Options& options);

} // namespace fastsdt::trace_tool
