// SPDX-License-Identifier: BSD-2-Clause
// movable_dump FILE...: what lib/movable says of all functions and sites, offsets from the function or the site. movable_dump --addresses: with
// addresses. Sites are what the section test.sites has: an address of 8 bytes, then a name in 24.
#include "base/integers.h"
#include "movable/movable.h"

#include <fmt/format.h>

#include <cstring>

using namespace fastsdt;

namespace {

bool addresses = false;

void print(std::string_view what, std::string_view name, uint64_t base, const Window& window)
{
    const std::string start =
        addresses ? fmt::format("{:#x}", window.address) : fmt::format("{}", int64_t(window.address - base));
    if (window.obstacle != Obstacle::none)
        fmt::print("{} {}: {}\n", what, name, text(window.obstacle));
    else
        fmt::print("{} {}: {}+{}{}{}{}{}{}\n", what, name, start, window.length,
                   what == "entry" ? "" : fmt::format(" at {}", window.at),
                   window.faults & (fastsdt::fault_memory | fastsdt::fault_division) ? " may fault" : "",
                   window.calls ? " calls" : "", window.leaves ? " leaves" : "", window.tail_call ? " tail" : "");
}

void dump(const Image& image)
{
    const Movable movable(image);
    for (const Function& function : image.functions()) {
        print("entry", function.name, function.address, movable.entry(function.address));
        const auto exits = movable.exits(function.address);
        if (exits.empty())
            fmt::print("exit {}: none\n", function.name);
        for (const Window& window : exits)
            print("exit", function.name, function.address, window);
    }
    if (const Section* const sites = image.section("test.sites")) {
        const auto bytes = image.contents(*sites);
        for (size_t at = 0; at + 32 <= bytes.size(); at += 32) {
            const uint64_t address = load(&bytes[at], 8, false);
            const auto* const name = reinterpret_cast<const char*>(&bytes[at + 8]);
            print("site", std::string_view(name, strnlen(name, 24)), address, movable.site(address));
        }
    }
}

} // namespace

int main(int argc, char** argv)
{
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--addresses") == 0) {
            addresses = true;
            continue;
        }
        try {
            Image::each(argv[i], dump, [](const Error& trouble) { fmt::print("{}\n", trouble.text()); });
        } catch (const Unusable& error) {
            fmt::print("unusable: {}\n", error.what());
        }
    }
}
