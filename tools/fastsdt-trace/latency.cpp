// SPDX-License-Identifier: BSD-2-Clause
// `fastsdt-trace latency` is a script, nothing else: what it prints can be had, and changed, by writing it down.
#include "options.h"
#include "say.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace fastsdt::tracing {
namespace {

// A word of a probe's name; anything else would be script.
void check_name(const std::string& name)
{
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
            || std::string_view("_.-*?:~<>&()").find(c) != std::string_view::npos;
    };
    if (name.empty() || !std::all_of(name.begin(), name.end(), plain))
        give_up(fmt::format("latency: \"{}\" is no name of a probe or function", name));
}

std::string probe(const std::string& name)
{
    check_name(name);
    const size_t colon = name.find(':');
    if (colon == name.npos)
        return "usdt:*:*:" + name;
    if (name.find(':', colon + 1) != name.npos)
        give_up(fmt::format("latency: \"{}\" is no probe: PROVIDER:NAME or NAME", name));
    return "usdt:*:" + name;
}

} // namespace

std::string latency_script(const std::vector<std::string>& places)
{
    std::string start, end;
    if (places.size() == 1) {
        check_name(places[0]);
        if (places[0].find(':') != std::string::npos)
            give_up(fmt::format("latency: one place is a function, and \"{}\" is a probe; name two probes", places[0]));
        start = "uprobe:*:" + places[0];
        end = "uretprobe:*:" + places[0];
    } else {
        start = probe(places[0]);
        end = probe(places[1]);
    }
    return fmt::format("{} {{ @start[tid] = nsecs; }}\n"
                       "{} /@start[tid]/ {{ @ns = hist(nsecs - @start[tid]); @total = stats(nsecs - @start[tid]); "
                       "delete(@start[tid]); }}\n"
                       "END {{ clear(@start); }}\n",
                       start, end);
}

} // namespace fastsdt::tracing
