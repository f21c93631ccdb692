// SPDX-License-Identifier: BSD-2-Clause
// Short forms for tests of stubs: a site, and a script for it.
#pragma once
#include "code/site.h"

#include <string>
#include <utility>

/// A usdt site with these arguments.
inline fastsdt::engine::Site usdt(std::string arguments)
{
    fastsdt::engine::Site site;
    site.arguments = std::move(arguments);
    return site;
}

/// One clause of a script.
inline std::string action(const std::string& filter, const std::string& actions)
{
    return "usdt:*:p:n " + (filter.empty() ? "" : "/" + filter + "/ ") + "{ " + actions + " }";
}
