// SPDX-License-Identifier: BSD-2-Clause
// The options of tools that look for debug files.
#pragma once
#include "elf/debug_file.h"

namespace fastsdt {

/// @tparam App  CLI::App, which not every tool here includes
template <class App> void add_debug_options(App& app, DebugPlaces& places)
{
    app.add_option("--debug-dir,--debuginfo", places.folders,
                   "Look for debug files here too, before /usr/lib/debug: as DIR/.build-id/ab/cdef.debug, or by name; "
                   "can be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_flag("--debuginfod", places.servers,
                 "Ask the servers in DEBUGINFOD_URLS for debug files that are not here; without it no network is used");
}

} // namespace fastsdt
