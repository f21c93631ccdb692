// SPDX-License-Identifier: BSD-2-Clause
// bench_attach [--rounds N] [--sites 1,100,10000] [--most SECONDS]: how long the running kernel takes to attach uprobes to many
// sites of a process and to detach them, by the interface: perf events, perf events with a BPF program, one BPF link
// (uprobe_multi), tracefs. The process is this one; it has mapped its own file of sites. Prints a line of JSON for each
// interface
// and number of sites: the seconds of each round, or why there are none. Exit 1: a site was not counted; 2: nothing can be measured.
#include "base/unusable.h"
#include "counter.h"
#include "live_site.h"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fcntl.h>

#include <chrono>
#include <functional>
#include <sstream>

using namespace fastsdt;

namespace {

#if defined(__x86_64__)
const std::vector<uint8_t> code = {0x90, 0xc3}; // nop; ret
#else
const std::vector<uint8_t> code = {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};
#endif
constexpr size_t distance = 16; // bytes from a site to the next
const std::string tracing = "/sys/kernel/tracing/", group = "fastsdt_bench";

/// Many sites in one file.
struct Sites : test::LiveSite {
    explicit Sites(size_t count) : LiveSite(all(count), 0) {}
    static std::vector<uint8_t> all(size_t count)
    {
        std::vector<uint8_t> bytes(count * distance);
        for (size_t at = 0; at < bytes.size(); at += distance)
            std::copy(code.begin(), code.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
        return bytes;
    }
    std::vector<Target> targets(size_t count) const
    {
        std::vector<Target> found;
        for (size_t i = 0; i < count; ++i)
            found.push_back({path(), i * distance, 0, false});
        return found;
    }
};

struct Took {
    double attach, detach; ///< seconds
    uint64_t hits;         ///< of all sites, of which two were called in between, or one twice
};

Took time(const Sites& sites, size_t count, const std::function<void()>& attach, const std::function<uint64_t()>& hits,
          const std::function<void()>& detach)
{
    const auto seconds = [](const std::function<void()>& work) {
        const auto start = std::chrono::steady_clock::now();
        work();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    Took took{};
    took.attach = seconds(attach);
    sites.call(0);
    sites.call((count - 1) * distance);
    took.hits = hits();
    took.detach = seconds(detach);
    return took;
}

Took with_events(const Sites& sites, size_t count)
{
    allow_many_descriptors();
    std::vector<Descriptor> events;
    const auto attach = [&] {
        for (const Target& target : sites.targets(count)) {
            events.push_back(open_uprobe_event(target, getpid(), -1, false));
            if (!events.back())
                throw Unusable(fmt::format("perf_event_open: {}", errno_name(errno)));
        }
    };
    const auto hits = [&] {
        uint64_t all = 0, one = 0;
        for (const Descriptor& event : events)
            all += read(event.get(), &one, sizeof one) == sizeof one ? one : 0;
        return all;
    };
    return time(sites, count, attach, hits, [&] { events.clear(); });
}

Took with_bpf(const Sites& sites, size_t count, Means means)
{
    std::unique_ptr<Counter> counter;
    const auto attach = [&] {
        counter = std::make_unique<Counter>(sites.targets(count), getpid(), Scope::process, means);
        counter->start();
    };
    const auto hits = [&] {
        uint64_t all = 0;
        for (size_t i = 0; i < count; ++i)
            all += counter->counted(i).hits;
        return all;
    };
    return time(sites, count, attach, hits, [&] { counter.reset(); });
}

void say(const std::string& file, const std::string& text, int flags = 0)
{
    const Descriptor out(open((tracing + file).c_str(), O_WRONLY | flags));
    // One write may have several commands, each whole: kernel/trace/trace.c, trace_parse_run_command().
    for (size_t at = 0; at < text.size();) {
        size_t end = text.size();
        if (end - at > 4000)
            end = text.rfind('\n', at + 4000) + 1;
        if (!out || write(out.get(), text.data() + at, end - at) < 0)
            throw Unusable(fmt::format("{}{}: {}", tracing, file, errno_name(errno)));
        at = end;
    }
}

Took with_tracefs(const Sites& sites, size_t count)
{
    std::string make, remove;
    for (const Target& target : sites.targets(count)) {
        make += fmt::format("p:{}/s{} {}:{:#x}\n", group, target.file_offset, target.path, target.file_offset);
        remove += fmt::format("-:{}/s{}\n", group, target.file_offset);
    }
    const auto attach = [&] {
        say("uprobe_events", make, O_APPEND);
        say("events/" + group + "/enable", "1");
    };
    const auto hits = [&] {
        uint64_t all = 0, one = 0;
        std::ifstream profile(tracing + "uprobe_profile");
        for (std::string line, file, event; std::getline(profile, line);)
            if (std::istringstream(line) >> file >> event >> one && file == sites.path())
                all += one;
        return all;
    };
    return time(sites, count, attach, hits, [&] {
        say("events/" + group + "/enable", "0");
        say("uprobe_events", remove, O_APPEND);
    });
}

/// A way to attach, and what it took with one number of sites.
struct Interface {
    const char* name;
    std::function<Took(size_t)> measure;
    std::string why = {}; ///< why it is not measured any more; empty: it is
    double one = 0;       ///< seconds for a site, by the rounds so far
    std::vector<double> attach = {}, detach = {};

    void round(size_t sites)
    {
        try {
            const Took took = measure(sites);
            if (took.hits != 2)
                throw std::runtime_error(fmt::format("{}: two calls, {} hits", name, took.hits));
            attach.push_back(took.attach);
            detach.push_back(took.detach);
            one = (took.attach + took.detach) / static_cast<double>(sites);
        } catch (const Unusable& obstacle) {
            why = obstacle.what();
        }
    }
};

} // namespace

int main(int argc, char** argv)
try {
    unsigned rounds = 5;
    double most = 60;
    std::vector<size_t> numbers = {1, 100, 10000};
    CLI::App app{"How long the running kernel takes to attach uprobes and to detach them; lines of JSON"};
    app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
    app.add_option("--sites", numbers, "rising")->delimiter(',')->check(CLI::PositiveNumber);
    app.add_option("--most", most, "seconds that a round may take, as those with fewer sites tell")
        ->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);

    if (const std::string why = cannot_attach(); !why.empty())
        throw Unusable(why);
    const Sites sites(numbers.back());
    Interface interfaces[] = {
        {"perf events", [&](size_t n) { return with_events(sites, n); }},
        {"perf events with BPF", [&](size_t n) { return with_bpf(sites, n, Means::bpf_events); }},
        {"one BPF link (uprobe_multi)", [&](size_t n) { return with_bpf(sites, n, Means::bpf_multi); }},
        {"tracefs", [&](size_t n) { return with_tracefs(sites, n); }},
    };
    if (multi_support() == MultiSupport::none)
        interfaces[2].why = "this kernel has no uprobe_multi";
    for (const size_t n : numbers) {
        for (Interface& interface : interfaces) {
            interface.attach.clear();
            interface.detach.clear();
            if (const double seconds = interface.one * static_cast<double>(n); interface.why.empty() && seconds > most)
                interface.why = fmt::format("not run: both would take about {:.0f} s", seconds);
        }
        for (unsigned round = 0; round < rounds; ++round)
            for (Interface& interface : interfaces)
                if (interface.why.empty())
                    interface.round(n);
        for (const Interface& interface : interfaces) {
            nlohmann::json row = {{"interface", interface.name}, {"sites", n}};
            if (interface.why.empty()) {
                row["attach_s"] = interface.attach;
                row["detach_s"] = interface.detach;
            } else {
                row["why"] = interface.why;
            }
            std::printf("%s\n", row.dump().c_str());
        }
    }
    return 0;
} catch (const Unusable& error) {
    std::fprintf(stderr, "bench_attach: %s\n", error.what());
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_attach: %s\n", error.what());
    return 1;
}
